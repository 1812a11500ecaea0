#include "tests/emulator/machine/mbarrier.hpp"

#include <stdexcept>

#include "tests/emulator/machine/shared_memory.hpp"

namespace cubind::emulator {
namespace {

constexpr unsigned kMaxCount = (1u << 20) - 1;  // of arrivals and of bytes

}  // namespace

Mbarrier::Mbarrier(unsigned address, unsigned count, const Stamp& init, std::uint16_t actor)
    : address_(address), count_(count), pending_(count), init_(init), actor_(actor) {
  if (count == 0 || count > kMaxCount) fail("count " + std::to_string(count) + " is not in [1, 2^20)");
}

void Mbarrier::fail(const std::string& what) const {
  throw std::runtime_error("mbarrier at byte " + std::to_string(address_ - SharedMemory::kBase) + ", phase " +
                           std::to_string(phase_) + ": " + what);
}

void Mbarrier::check_usable(const Observer& by, bool needs_fence) const {
  if (!by.knows(init_)) {
    fail("used by thread " + std::to_string(by.number) + " though no barrier puts its init before that");
  }
  if (needs_fence && !fenced_) fail("no fence between its init and a use by the async proxy or another block");
}

void Mbarrier::arrive(Observer& by) {
  if (pending_ == 0) fail("more arrivals than its count of " + std::to_string(count_));
  by.release_into(gathered_);
  --pending_;
  advance_if_complete();
}

void Mbarrier::expect_tx(std::int64_t bytes) {
  if (bytes < 0 || bytes > kMaxCount) fail("expects " + std::to_string(bytes) + " bytes, not in [0, 2^20)");
  tx_ += bytes;
  if (tx_ > kMaxCount) fail("expects more than 2^20 - 1 bytes in one phase");
}

void Mbarrier::land_copy(std::int64_t bytes) {
  in_flight_ -= bytes;
  tx_ -= bytes;
  advance_if_complete();
}

void Mbarrier::arrive_by_copies() {
  if (pending_ == 0) fail("more arrivals than its count of " + std::to_string(count_));
  --pending_;
  advance_if_complete();
}

void Mbarrier::end(const Observer& by) {
  check_usable(by, false);
  if (in_flight_ != 0) fail("ends while a copy of its is on its way");
  alive_ = false;
}

void Mbarrier::advance_if_complete() {
  if (pending_ != 0 || tx_ != 0) return;
  if (in_flight_ != 0) {
    fail("wrong byte count: the phase is complete while " + std::to_string(in_flight_) +
         " bytes of its copies are on their way");
  }
  ++phase_;
  pending_ = count_;
  gathered_.known.raise(actor_, static_cast<std::uint32_t>(phase_));
  completed_ = gathered_;
}

bool Mbarrier::passes(unsigned parity, const Observer& waiter) const {
  if (parity > 1) fail("parity " + std::to_string(parity) + " is not 0 or 1");
  // The thread knows that so many phases are complete; it means the next one or the last of them.
  const std::uint64_t known = waiter.knowledge.known.of(actor_);
  const std::uint64_t after_meant = known % 2 == parity ? known + 1 : known;
  if (phase_ > after_meant) {
    fail("thread " + std::to_string(waiter.number) + " waits with parity " + std::to_string(parity) + " for phase " +
         std::to_string(static_cast<std::int64_t>(after_meant) - 1) + ", but the one after it is complete too: missed");
  }
  return phase_ % 2 != parity;
}

std::string Mbarrier::stuck() const {
  const auto name =
      "mbarrier at byte " + std::to_string(address_ - SharedMemory::kBase) + ", phase " + std::to_string(phase_) + ": ";
  if (pending_ == 0) {
    return name + "wrong byte count: all have arrived, " +
           (tx_ > 0 ? std::to_string(tx_) + " bytes are expected and no copy brings them"
                    : std::to_string(-tx_) + " bytes were copied that nobody expected");
  }
  if (pending_ != count_ || tx_ != 0) {
    return name + std::to_string(pending_) + " of " + std::to_string(count_) + " arrivals and " + std::to_string(tx_) +
           " bytes are missing";
  }
  return "";
}

}  // namespace cubind::emulator
