#include "tests/emulator/machine/wgmma.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "tests/emulator/machine/float16.hpp"

namespace cubind::emulator {
namespace {

constexpr unsigned kLanes = 32, kK = 16, kRows = 16;
constexpr unsigned kPoison = 0x7fc0dead;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("wgmma: " + what);
}

float to_float(unsigned bits, bool bf16) {
  return bf16 ? bf16_to_float(bits) : f16_to_float(bits);
}

unsigned row_of(unsigned lane, unsigned element) {
  return lane / 4 + element / 2 % 2 * 8;
}
unsigned column_of(unsigned lane, unsigned element) {
  return element / 4 * 8 + lane % 4 * 2 + element % 2;
}

}  // namespace

void WgmmaQueue::fence() {
  fenced_ = true;
  for (auto& [registers, content] : at_fence_) std::memcpy(content.data(), registers, content.size() * 4);
}

void WgmmaQueue::check_fenced(const void* registers, unsigned words) {
  const auto [found, first_time] = at_fence_.try_emplace(registers);
  auto& content = found->second;
  if (!first_time && std::memcmp(content.data(), registers, content.size() * 4) != 0) {
    fail("a register operand was written after the last wgmma_fence");
  }
  if (first_time) {
    content.resize(words);
    std::memcpy(content.data(), registers, words * 4);
  }
}

// visit(address, n, k) for each 16-byte run of 8 k of one n.
template <class Visit>
void WgmmaQueue::visit_b(const WgmmaArguments& arguments, Visit visit) {
  const std::uint64_t descriptor = arguments.b;
  const auto start = static_cast<unsigned>(descriptor & 0x3fff) << 4;
  const auto leading = static_cast<unsigned>(descriptor >> 16 & 0x3fff) << 4;
  const auto stride = static_cast<unsigned>(descriptor >> 32 & 0x3fff) << 4;
  const auto mode = static_cast<unsigned>(descriptor >> 62);
  if ((descriptor >> 49 & 7) != 0) fail("a descriptor's base offset is not 0");
  const unsigned row_bytes = mode == 0 ? 16 : 256u >> mode;
  if (mode != 0 && start % (8 * row_bytes) >= row_bytes) fail("a descriptor's address is not in an atom's first row");
  for (unsigned n = 0; n < 2 * arguments.count; ++n) {
    for (unsigned chunk = 0; chunk < 2; ++chunk) {
      unsigned address = start + n / 8 * stride + n % 8 * row_bytes;
      if (mode == 0) {
        address += chunk * leading;
      } else {
        address += chunk * 16;
        address ^= address >> 3 & (row_bytes - 16);
      }
      visit(address, n, chunk * 8);
    }
  }
}

void WgmmaQueue::issue(const Lanes& lanes, SharedMemory& shared, const std::array<const Observer*, 32>& observers,
                       bool read_now) {
  const auto& first = lanes[0];
  for (const auto& lane : lanes) {
    if (lane.b != first.b || lane.count != first.count || lane.accumulate != first.accumulate) {
      fail("the lanes of a warp disagree about the descriptor or the shape");
    }
  }
  if (!fenced_) fail("no wgmma_fence since registers were last written or a group was waited for");
  history_.push_back(first.b * 1024 + first.count * 4 + (first.bf16 ? 2 : 0) + (first.accumulate ? 1 : 0));

  Operation operation{lanes, {}, {}, ++operations_};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    check_fenced(lanes[lane].a, 4);
    std::memcpy(operation.a[lane].data(), lanes[lane].a, 16);
  }
  auto& sums = sums_[first.d];
  if (sums.d.empty()) {
    const unsigned columns = 2 * first.count;
    sums.d.resize(kRows * columns);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      float* d = lanes[lane].d;
      check_fenced(d, first.count);
      for (unsigned e = 0; e < first.count; ++e) {
        sums.d[row_of(lane, e) * columns + column_of(lane, e)] = d[e];
        std::memcpy(&d[e], &kPoison, 4);
      }
      sums.registers.push_back(d);
    }
  }
  if (sums.d.size() != kRows * 2 * first.count) fail("accumulators in use by a wgmma of another shape");
  sums.last = operation.id;

  const Stamp as{actor_, 0, group_, Stamp::kNoInterval};
  std::vector<Stamp> writers;
  visit_b(first, [&](unsigned address, unsigned, unsigned) {
    shared.start_async_read(address, 16, *observers[0], as, &writers);
  });
  for (const Stamp& writer : writers) {
    for (const Observer* observer : observers) {
      if (!observer->knows(writer)) fail("a lane has not waited for the operand in shared memory");
    }
  }
  if (read_now) operation.b = read_b(operation, shared);
  open_.push_back(std::move(operation));
}

std::vector<float> WgmmaQueue::read_b(const Operation& operation, const SharedMemory& shared) const {
  const auto& first = operation.lanes[0];
  std::vector<float> b(kK * 2 * first.count);
  visit_b(first, [&](unsigned address, unsigned n, unsigned k) {
    std::uint16_t values[8];
    std::memcpy(values, shared.at(address, 16), 16);
    for (unsigned i = 0; i < 8; ++i) b[(k + i) * 2 * first.count + n] = to_float(values[i], first.bf16);
  });
  return b;
}

void WgmmaQueue::commit() {
  groups_.push_back(std::move(open_));
  open_.clear();
  ++group_;
}

void WgmmaQueue::wait(unsigned pending, SharedMemory& shared, const std::array<Observer*, 32>& observers) {
  while (groups_.size() > pending) {
    for (const auto& operation : groups_.front()) {
      retire(operation, shared);
      fenced_ = false;
    }
    groups_.pop_front();
  }
  const auto done = group_ - 1 - static_cast<std::uint32_t>(groups_.size());
  for (Observer* observer : observers) observer->knowledge.known.raise(actor_, done);
}

void WgmmaQueue::retire(const Operation& operation, const SharedMemory& shared) {
  const auto& first = operation.lanes[0];
  const unsigned columns = 2 * first.count;
  float a[kK][kRows];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned* now = operation.lanes[lane].a;
    if (std::memcmp(now, operation.a[lane].data(), 16) != 0) {
      fail("a register of A was written before wgmma_wait_group");
    }
    for (unsigned j = 0; j < 4; ++j) {
      for (unsigned half = 0; half < 2; ++half) {
        a[j / 2 * 8 + lane % 4 * 2 + half][lane / 4 + j % 2 * 8] = to_float(now[j] >> 16 * half & 0xffff, first.bf16);
      }
    }
  }
  const auto b = operation.b.empty() ? read_b(operation, shared) : operation.b;
  auto& sums = sums_.at(first.d);
  if (!first.accumulate) std::fill(sums.d.begin(), sums.d.end(), 0.0f);
  for (unsigned row = 0; row < kRows; ++row) {
    float* d = &sums.d[row * columns];
    for (unsigned k = 0; k < kK; ++k) {
      const float factor = a[k][row];
      const float* from = &b[k * columns];
      for (unsigned column = 0; column < columns; ++column) d[column] += factor * from[column];
    }
  }
  if (sums.last != operation.id) return;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    float* d = sums.registers[lane];
    for (unsigned e = 0; e < first.count; ++e) {
      if (std::memcmp(&d[e], &kPoison, 4) != 0) fail("an accumulator was written before wgmma_wait_group");
      d[e] = sums.d[row_of(lane, e) * columns + column_of(lane, e)];
    }
  }
  sums_.erase(first.d);
}

}  // namespace cubind::emulator
