// gpu_layouts [--dry-run]: the packed layout against the hardware, and the repack on the GPU against the CPU's.
//
//   fragments   where the tensor core looks for the operands of mma.sync and wgmma, dumped from the device
//               (fragment_probes.cu), against where client/weights puts a weight of each row and k; ldmatrix and
//               stmatrix against what the kernels take them for
//   repack      AWQ and GPTQ, with act-order, symmetric and with zero points: the same bytes
//
// Exit code 77 and a reason if there is nothing to run on.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "client/driver/device.hpp"
#include "client/weights/act_order.hpp"
#include "client/weights/repack.hpp"
#include "cubind/weights.h"
#include "tests/support/gpu/gpu_api.hpp"
#include "tests/support/gpu/nvrtc_source.hpp"

namespace cubind::test {

extern const char kFragmentProbesSource[];  // made from fragment_probes.cu at build time

namespace {

int failures = 0;
void expect(bool condition, const std::string& what) {
  if (condition || dry_run()) return;
  ++failures;
  std::printf("FAILED %s\n", what.c_str());
}
template <class T>
T must(Result<T> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "gpu_layouts: %s\n", to_string(result.error()).c_str());
  std::exit(1);
}

template <class T>
Buffer on_device(const std::vector<T>& values) {
  Buffer buffer(std::max<std::size_t>(values.size() * sizeof(T), 16));
  if (!values.empty()) GPU(copy_to_device, buffer.get(), values.data(), values.size() * sizeof(T));
  return buffer;
}

// ---- fragments ----

PackedLayout layout_of(DType scale_type, std::uint32_t n, std::uint32_t k, std::uint32_t group_k, bool zero_points) {
  GemmDescriptor gemm;
  gemm.activation = gemm.output = gemm.weight_scale_type = scale_type;
  gemm.group_k = group_k;
  gemm.weight_scale = group_k == 0 ? ScaleKind::channel : ScaleKind::group;
  gemm.zero_point = zero_points ? ZeroPointKind::integer : ZeroPointKind::none;
  return must(packed_layout(gemm, n, k));
}

// Where the library packs the weight (row, k) of a 16 x 16 step: lane * 8 + register * 2 + half, for which the kernels
// take bit 4 * register + 16 * half of a lane's word.
std::uint32_t packed_at(std::uint32_t row, std::uint32_t k) {
  const auto layout = layout_of(DType::f16, 16, 64, 0, true);
  std::vector<std::uint8_t> q(16 * 64), zeros(16);
  const std::vector<std::uint16_t> scales(16, 0x3c00);
  q[row * 64 + k] = 1;
  auto packed = allocate(layout);
  if (const auto status = pack(layout, {q, scales, DType::f16, zeros}, packed.view()); !status) {
    must(Result<int>(status.error()));
  }
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const auto word = load_le<std::uint32_t>(packed.weights.data() + 16 * lane);  // step 0
    if (word == 0) continue;
    const auto nibble = static_cast<std::uint32_t>(std::countr_zero(word)) / 4;
    return lane * 8 + nibble % 4 * 2 + nibble / 4;
  }
  return ~0u;
}

class Probes {
 public:
  explicit Probes(Arch arch) {
    const Bytes cubin = must(compile_cuda(kFragmentProbesSource, arch));
    GPU(library_load_data, &library_, cubin.data(), nullptr, nullptr, 0u, nullptr, nullptr, 0u);
  }
  template <class... Args>
  void launch(const char* name, unsigned blocks, unsigned threads, Args... args) const {
    cuda::Kernel kernel = nullptr;
    cuda::Function function = nullptr;
    GPU(library_get_kernel, &kernel, library_, name);
    GPU(kernel_get_function, &function, kernel);
    void* pointers[] = {&args...};
    GPU(launch_kernel, function, blocks, 1u, 1u, threads, 1u, 1u, 0u, nullptr, pointers, nullptr);
    GPU(context_synchronize);
  }

 private:
  cuda::Library library_ = nullptr;
};

// Every weight of `rows` x 16 k as A, every (n, k) of B: the result lies at row and n, and only where the k are equal.
void check_products(const Probes& probes, const char* name, std::uint32_t rows) {
  std::vector<std::uint32_t> where;
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t k = 0; k < 16; ++k) where.push_back(row / 16 * 256 + packed_at(row % 16, k));
  }
  const auto blocks = static_cast<unsigned>(where.size());
  const Buffer table = on_device(where);
  const Buffer found(where.size() * 128 * 4);
  found.fill(0xff);
  probes.launch(name, blocks, rows * 2, table.get(), found.get());
  const auto got = found.read<int>(where.size() * 128);
  int wrong = 0;
  for (std::uint32_t a = 0; a < blocks; ++a) {
    const std::uint32_t row = a / 16, k = a % 16;
    for (std::uint32_t b = 0; b < 128; ++b) {
      const std::uint32_t n = b / 16, thread = row / 16 * 32 + 4 * (row % 8) + n / 2;
      const int expected = b % 16 == k ? static_cast<int>(thread * 4 + row % 16 / 8 * 2 + n % 2) : -1;
      wrong += got[a * 128 + b] != expected;
    }
  }
  expect(wrong == 0,
         std::string(name) + ": " + std::to_string(wrong) + " of " + std::to_string(got.size()) + " products");
  std::printf("%s: %zu products of one weight and one activation, %d elsewhere than the layout says\n", name,
              got.size(), wrong);
}

void check_matrix_loads(const Probes& probes) {
  const Buffer seen(128 * 4);
  probes.launch("probe_ldmatrix", 1, 32, seen.get());
  const auto got = seen.read<std::uint32_t>(128);
  int wrong = 0;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t j = 0; j < 4; ++j) {
      const std::uint32_t low = j * 64 + lane / 4 * 8 + lane % 4 * 2;
      wrong += got[lane * 4 + j] != (low | (low + 1) << 16);
    }
  }
  expect(wrong == 0, "ldmatrix: " + std::to_string(wrong) + " of 128 registers");
}

void check_matrix_stores(const Probes& probes) {
  const Buffer after(256 * 2);
  probes.launch("probe_stmatrix", 1, 32, after.get());
  const auto got = after.read<std::uint16_t>(256);
  int wrong = 0;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t j = 0; j < 4; ++j) {
      for (std::uint32_t half = 0; half < 2; ++half) {
        wrong += got[j * 64 + (lane % 4 * 2 + half) * 8 + lane / 4] != lane * 8 + j * 2 + half;
      }
    }
  }
  expect(wrong == 0, "stmatrix: " + std::to_string(wrong) + " of 256 elements");
}

// ---- repack ----

struct Checkpoint {
  const char* name;
  std::uint32_t source;  // CUBIND_SOURCE_*
  bool act_order;
  const char* format;
  std::uint32_t n, k;
};
constexpr Checkpoint kCheckpoints[] = {
    {"awq", CUBIND_SOURCE_AWQ, false, "w4a16-bf16-g128-zp", 4096, 4096},
    {"awq, tails", CUBIND_SOURCE_AWQ, false, "w4a16-f16-g32-zp", 1032, 1440},
    {"awq, per channel", CUBIND_SOURCE_AWQ, false, "w4a16-bf16-ch-zp", 640, 2048},
    {"gptq, symmetric", CUBIND_SOURCE_GPTQ, false, "w4a16-bf16-g128", 4096, 4096},
    {"gptq, zero points", CUBIND_SOURCE_GPTQ, false, "w4a16-f16-g64-zp", 1056, 4160},
    {"gptq, act-order", CUBIND_SOURCE_GPTQ, true, "w4a16-bf16-g128-zp", 4096, 14336},
    {"gptq v2, act-order, symmetric", CUBIND_SOURCE_GPTQ_V2, true, "w4a16-f16-g32", 136, 2880},
};

cubind_error error{sizeof(cubind_error), 0, 0, 0, {}};
void good(cubind_status status, const char* call) {
  if (status == CUBIND_OK) return;
  std::fprintf(stderr, "gpu_layouts: %s: %s\n", call, error.message);
  std::exit(1);
}
#define GOOD(call) good(call, #call)

template <class Buffers>
cubind_packed_buffers buffers_of(const cubind_packed_layout& layout, const Buffers& weights, const Buffers& scales,
                                 const Buffers& zeros) {
  cubind_packed_buffers out{};
  out.struct_size = sizeof out;
  out.weights = const_cast<void*>(static_cast<const void*>(weights.data()));
  out.weight_bytes = layout.weight_bytes;
  out.scales = const_cast<void*>(static_cast<const void*>(scales.data()));
  out.scale_bytes = layout.scale_bytes;
  if (layout.zero_bytes != 0) out.zeros = const_cast<void*>(static_cast<const void*>(zeros.data()));
  out.zero_bytes = layout.zero_bytes;
  return out;
}

void check_repack(const cubind_repacker* repacker, const Checkpoint& c) {
  cubind_gemm gemm{};
  gemm.struct_size = sizeof gemm;
  cubind_packed_layout layout{};
  layout.struct_size = sizeof layout;
  GOOD(cubind_gemm_from_name(c.format, &gemm, &error));
  GOOD(cubind_packed_sizes(&gemm, c.n, c.k, &layout, &error));
  std::mt19937 random(c.n);
  const std::size_t n = c.n, k = c.k, groups = layout.k_groups;
  std::vector<std::int32_t> qweight(k * n / 8), qzeros(layout.zero_bytes == 0 ? 0 : groups * n / 8), g_idx(k), order(k);
  std::vector<std::uint16_t> scales(groups * n);
  for (auto& word : qweight) word = static_cast<std::int32_t>(random());
  for (auto& word : qzeros) word = static_cast<std::int32_t>(random());
  for (auto& scale : scales) scale = static_cast<std::uint16_t>(0x1000 + random() % 0x2800);  // f16, subnormals too
  for (std::size_t i = 0; i < k; ++i) g_idx[i] = static_cast<std::int32_t>(i * groups / k);
  if (c.act_order) std::shuffle(g_idx.begin(), g_idx.end(), random);
  GOOD(cubind_act_order(&gemm, c.n, c.k, g_idx.data(), order.data(), &error));

  std::vector<char> weights(layout.weight_bytes), packed_scales(layout.scale_bytes), zeros(layout.zero_bytes);
  const auto expected = buffers_of(layout, weights, packed_scales, zeros);
  const auto* zero_words = qzeros.empty() ? nullptr : qzeros.data();
  if (c.source == CUBIND_SOURCE_AWQ) {
    const cubind_awq_tensors tensors{sizeof tensors, CUBIND_DTYPE_F16, qweight.data(), zero_words, scales.data()};
    GOOD(cubind_repack_awq(&gemm, c.n, c.k, &tensors, &expected, &error));
  } else {
    const cubind_gptq_tensors tensors{sizeof tensors,
                                      CUBIND_DTYPE_F16,
                                      qweight.data(),
                                      zero_words,
                                      scales.data(),
                                      g_idx.data(),
                                      c.source == CUBIND_SOURCE_GPTQ_V2 ? 1u : 0u,
                                      0,
                                      order.data()};
    GOOD(cubind_repack_gptq(&gemm, c.n, c.k, &tensors, &expected, &error));
  }

  const Buffer q = on_device(qweight), z = on_device(qzeros), s = on_device(scales), o = on_device(order);
  const Buffer fault = on_device(std::vector<std::uint32_t>{0});
  const Buffer w(layout.weight_bytes), ps(layout.scale_bytes), pz(std::max<std::size_t>(layout.zero_bytes, 16));
  const Stream stream;
  const Timer timer;
  float ms = 0;
  for (const bool again : {false, true}) {
    w.fill(0xa5);
    ps.fill(0xa5);
    pz.fill(0xa5);
    cubind_device_tensors tensors{};
    tensors.struct_size = sizeof tensors;
    tensors.source = c.source;
    tensors.scale_type = CUBIND_DTYPE_F16;
    tensors.qweight = static_cast<const std::int32_t*>(q.data());
    tensors.qzeros = qzeros.empty() ? nullptr : static_cast<const std::int32_t*>(z.data());
    tensors.scales = static_cast<const std::uint16_t*>(s.data());
    tensors.k_order = c.act_order ? static_cast<const std::int32_t*>(o.data()) : nullptr;
    tensors.fault = static_cast<std::uint32_t*>(fault.data());
    tensors.stream = reinterpret_cast<cubind_stream>(stream.get());
    const auto out = buffers_of(layout, w, ps, pz);
    GPU(context_synchronize);
    timer.start(stream);
    GOOD(cubind_repack_on_device(repacker, &gemm, c.n, c.k, &tensors, &out, &error));
    ms = timer.stop(stream);
    const auto what = std::string("repack, ") + c.name + (again ? ", again" : "");
    expect(fault.read<std::uint32_t>(1)[0] == 0, what + ": fault");
    expect(w.read<char>(weights.size()) == weights, what + ": weights differ from the CPU's");
    expect(ps.read<char>(packed_scales.size()) == packed_scales, what + ": scales differ from the CPU's");
    expect(zeros.empty() || pz.read<char>(zeros.size()) == zeros, what + ": zero points differ from the CPU's");
  }
  std::printf("repack, %s: %u x %u, %.3f ms\n", c.name, c.n, c.k, static_cast<double>(ms));
}

int run() {
  if (const std::string reason = no_gpu_reason(); !reason.empty()) {
    std::fprintf(stderr, "skipped: %s\n", reason.c_str());
    return kSkipped;
  }
  const PrimaryContext context;
  const auto target = must(cuda::device_target(gpu(), must(cuda::current_device(gpu()))));
  if (target.arch.number >= 80) {
    const Probes probes(target.arch);
    check_products(probes, "probe_mma", 16);
    check_matrix_loads(probes);
    if (target.arch.number == 90) {
      check_products(probes, "probe_wgmma", 64);
      check_matrix_stores(probes);
    }
  }
  cubind_repacker* repacker = nullptr;
  GOOD(cubind_repacker_open(CUBIND_CURRENT_CONTEXT, &repacker, &error));
  for (const Checkpoint& checkpoint : kCheckpoints) check_repack(repacker, checkpoint);
  cubind_repacker_close(repacker);
  std::printf("gpu_layouts: %s\n", failures == 0 ? "all as it should be" : "failed");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cubind::test

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--dry-run") == 0) cubind::test::dry_run() = true;
  return cubind::test::run();
}
