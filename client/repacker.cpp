#include "client/repacker.hpp"

#include <algorithm>
#include <cstring>

#include "client/driver/device.hpp"
#include "client/fork_guard.hpp"
#include "client/weights/repack_kernel.cuh"
#include "client/weights/repack_ptx.hpp"
#include "client/weights/tile_writer.hpp"

namespace cubind {
namespace {

constexpr char kEntry[] = "cubind_repack";
constexpr std::uint32_t kThreads = 256, kBlocksPerSm = 8;  // all that fit; each does its share

Status check(const char* name, const void* pointer, std::uintptr_t alignment) {
  if (pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0) return {};
  return Error{ErrorCode::invalid_argument,
               std::string(name) + " is null or not aligned to \"" + std::to_string(alignment) + "\" bytes"};
}

}  // namespace

Repacker::Repacker(const cuda::DriverApi& api, std::shared_ptr<const cuda::PrimaryContext> primary)
    : api_(api), primary_(std::move(primary)), generation_(fork_generation()) {}

Result<std::unique_ptr<Repacker>> Repacker::open(const cuda::DriverApi& api,
                                                 std::shared_ptr<const cuda::PrimaryContext> primary) {
  std::unique_ptr<Repacker> made(new Repacker(api, std::move(primary)));
  CUBIND_TRY(const auto device, cuda::current_device(api));
  CUBIND_TRY(const auto target, cuda::device_target(api, device));
  made->sm_count_ = target.sm_count;
  const auto* ptx = reinterpret_cast<const std::byte*>(kRepackPtx);
  CUBIND_TRY(made->library_, cuda::LibraryBox::load(api, {ptx, std::strlen(kRepackPtx) + 1}, kEntry));
  CUBIND_CU(api, kernel_get_function, &made->function_, made->library_->kernel());
  // A lazily loaded function is loaded by the first question that only its code can answer.
  int registers = 0;
  CUBIND_CU(api, function_get_attribute, &registers, cuda::FunctionAttribute::num_regs, made->function_);
  return made;
}

Status Repacker::repack(const PackedLayout& layout, const DeviceTensors& tensors, const DevicePacked& out) const {
  if (generation_ != fork_generation()) {
    return Error{ErrorCode::not_supported,
                 "CUDA does not survive fork: this repacker was opened by the parent process"};
  }
  if (layout.n % 8 != 0) {
    return Error{ErrorCode::invalid_argument,
                 "n \"" + std::to_string(layout.n) + "\" is not a multiple of 8: checkpoints pack 8 columns a word"};
  }
  CUBIND_CHECK(weights_detail::check_scale_type(tensors.scale_type));
  if (tensors.layout > CheckpointLayout::gptq_v2) {
    return Error{ErrorCode::invalid_argument, "source \"" + std::to_string(static_cast<unsigned>(tensors.layout)) +
                                                  "\" is not AWQ, GPTQ or GPTQ v2"};
  }
  CUBIND_CHECK(check("qweight", tensors.qweight, 4));
  CUBIND_CHECK(check("scales", tensors.scales, 2));
  CUBIND_CHECK(check("fault", tensors.fault, 4));
  CUBIND_CHECK(check("out.weights", out.weights, 16));
  CUBIND_CHECK(check("out.scales", out.scales, 16));
  if (layout.zero_points) {
    CUBIND_CHECK(check("qzeros", tensors.qzeros, 4));
    CUBIND_CHECK(check("out.zeros", out.zeros, 16));
  } else if (out.zeros != nullptr) {
    return Error{ErrorCode::invalid_argument, "out.zeros is not null, the layer has no zero points"};
  }

  repack::Params params{};
  params.qweight = static_cast<const unsigned*>(tensors.qweight);
  params.qzeros = static_cast<const unsigned*>(tensors.qzeros);
  params.scales = static_cast<const unsigned short*>(tensors.scales);
  params.k_order = static_cast<const int*>(tensors.k_order);
  params.weights = static_cast<unsigned*>(out.weights);
  params.packed_scales = static_cast<unsigned short*>(out.scales);
  params.packed_zeros = static_cast<unsigned char*>(out.zeros);
  params.fault = static_cast<unsigned*>(tensors.fault);
  params.n = layout.n;
  params.k = layout.k;
  params.n_tiles = layout.n_tiles;
  params.k_tiles = layout.k_tiles;
  params.k_groups = layout.k_groups;
  params.awq = tensors.layout == CheckpointLayout::awq ? 1 : 0;
  params.stored_less = tensors.layout == CheckpointLayout::gptq ? 0x11111111u : 0;
  params.scales_bf16 = tensors.scale_type == DType::bf16 ? 1 : 0;
  params.packed_bf16 = layout.scale_type == DType::bf16 ? 1 : 0;
  const std::uint64_t lanes = std::uint64_t{layout.n_tiles} * layout.k_tiles * 32;
  const auto blocks = static_cast<unsigned>(
      std::min<std::uint64_t>((lanes + kThreads - 1) / kThreads, std::uint64_t{sm_count_} * kBlocksPerSm));
  void* pointers[] = {&params};
  CUBIND_CU(api_, launch_kernel, function_, blocks, 1, 1, kThreads, 1, 1, 0, tensors.stream, pointers, nullptr);
  return {};
}

}  // namespace cubind
