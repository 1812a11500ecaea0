// weights.h over client/weights: structs in, errors into cubind_error, no exception past this file.
#include "client/c_calls.hpp"
#include "client/weights/repack.hpp"
#include "cubind/weights.h"
#include "protocol/kernel_abi.hpp"

namespace cubind {
namespace {

static_assert(sizeof(std::int32_t) == sizeof(std::uint32_t));

// Checkpoints hold int32; the words are bit fields.
const std::uint32_t* words(const std::int32_t* tensor) {
  return reinterpret_cast<const std::uint32_t*>(tensor);
}

Result<PackedLayout> read_layout(const cubind_gemm* gemm, std::uint32_t n, std::uint32_t k) {
  CUBIND_TRY(const GemmDescriptor descriptor, read_gemm(gemm));
  return packed_layout(descriptor, n, k);
}

Result<PackedView> read_buffers(const cubind_packed_buffers* given) {
  CUBIND_TRY(const cubind_packed_buffers buffers, read_struct(given, "out"));
  const auto span = [](void* data, std::uint64_t bytes) {
    return std::span<std::byte>(static_cast<std::byte*>(data), data == nullptr ? 0 : bytes);
  };
  CUBIND_CHECK(not_null(buffers.weights, "out.weights"));
  CUBIND_CHECK(not_null(buffers.scales, "out.scales"));
  return PackedView{span(buffers.weights, buffers.weight_bytes), span(buffers.scales, buffers.scale_bytes),
                    span(buffers.zeros, buffers.zero_bytes)};
}

template <class T>
std::span<const T> tensor(const T* data, std::size_t size) {
  return {data, data == nullptr ? 0 : size};
}

cubind_packed_layout written_layout(const PackedLayout& layout) {
  cubind_packed_layout out{};
  out.n_padded = layout.n_tiles * kPackRows;
  out.k_padded = layout.k_tiles * kPackColumns;
  out.k_groups = layout.k_groups;
  out.weight_layout = kWeightLayout;
  out.weight_bytes = layout.weight_bytes;
  out.scale_bytes = layout.scale_bytes;
  out.zero_bytes = layout.zero_bytes;
  return out;
}

}  // namespace
}  // namespace cubind

using namespace cubind;

cubind_status cubind_packed_sizes(const cubind_gemm* gemm, uint32_t n, uint32_t k, cubind_packed_layout* out,
                                  cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_TRY(const PackedLayout layout, read_layout(gemm, n, k));
    return write_struct(out, written_layout(layout), "out");
  });
}

cubind_status cubind_repack_awq(const cubind_gemm* gemm, uint32_t n, uint32_t k, const cubind_awq_tensors* given,
                                const cubind_packed_buffers* out, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_TRY(const PackedLayout layout, read_layout(gemm, n, k));
    CUBIND_TRY(const cubind_awq_tensors tensors, read_struct(given, "tensors"));
    CUBIND_TRY(const PackedView buffers, read_buffers(out));
    const std::size_t columns = n / 8, groups = layout.k_groups;
    AwqTensors source;
    CUBIND_CHECK(read_enum(tensors.scale_type, "scale_type", source.scale_type));
    source.qweight = tensor(words(tensors.qweight), k * columns);
    source.qzeros = tensor(words(tensors.qzeros), groups * columns);
    source.scales = tensor(tensors.scales, groups * n);
    return repack_awq(layout, source, buffers);
  });
}

cubind_status cubind_repack_gptq(const cubind_gemm* gemm, uint32_t n, uint32_t k, const cubind_gptq_tensors* given,
                                 const cubind_packed_buffers* out, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_TRY(const PackedLayout layout, read_layout(gemm, n, k));
    CUBIND_TRY(const cubind_gptq_tensors tensors, read_struct(given, "tensors"));
    CUBIND_TRY(const PackedView buffers, read_buffers(out));
    const std::size_t columns = n / 8, groups = layout.k_groups;
    GptqTensors source;
    CUBIND_CHECK(read_enum(tensors.scale_type, "scale_type", source.scale_type));
    CUBIND_CHECK(read_flag(tensors.v2, "v2", source.v2));
    source.qweight = tensor(words(tensors.qweight), std::size_t{k} / 8 * n);
    source.qzeros = tensor(words(tensors.qzeros), groups * columns);
    source.scales = tensor(tensors.scales, groups * n);
    source.g_idx = tensor(tensors.g_idx, k);
    return repack_gptq(layout, source, buffers);
  });
}

cubind_status cubind_pack_weights(const cubind_gemm* gemm, uint32_t n, uint32_t k, const cubind_plain_weights* given,
                                  const cubind_packed_buffers* out, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_TRY(const PackedLayout layout, read_layout(gemm, n, k));
    CUBIND_TRY(const cubind_plain_weights weights, read_struct(given, "weights"));
    CUBIND_TRY(const PackedView buffers, read_buffers(out));
    const std::size_t groups = layout.k_groups;
    PlainWeights source;
    CUBIND_CHECK(read_enum(weights.scale_type, "scale_type", source.scale_type));
    source.q = tensor(weights.q, std::size_t{n} * k);
    source.scales = tensor(weights.scales, n * groups);
    source.zeros = tensor(weights.zeros, n * groups);
    return pack(layout, source, buffers);
  });
}
