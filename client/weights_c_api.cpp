// weights.h over client/weights: structs in, errors into cubind_error, no exception past this file.
#include <algorithm>

#include "client/c_calls.hpp"
#include "client/repacker.hpp"
#include "client/weights/act_order.hpp"
#include "client/weights/repack.hpp"
#include "client/weights/tile_writer.hpp"
#include "cubind/weights.h"
#include "protocol/kernel_abi.hpp"

struct cubind_repacker {
  std::unique_ptr<const cubind::Repacker> repacker;
};

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
    CUBIND_TRY(const cubind_gptq_tensors tensors,
               read_struct(given, "tensors", offsetof(cubind_gptq_tensors, k_order)));
    CUBIND_TRY(const PackedView buffers, read_buffers(out));
    const std::size_t columns = n / 8, groups = layout.k_groups;
    GptqTensors source;
    CUBIND_CHECK(read_enum(tensors.scale_type, "scale_type", source.scale_type));
    CUBIND_CHECK(read_flag(tensors.v2, "v2", source.v2));
    source.qweight = tensor(words(tensors.qweight), std::size_t{k} / 8 * n);
    source.qzeros = tensor(words(tensors.qzeros), groups * columns);
    source.scales = tensor(tensors.scales, groups * n);
    source.g_idx = tensor(tensors.g_idx, k);
    source.k_order = tensor(tensors.k_order, k);
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

cubind_status cubind_act_order(const cubind_gemm* gemm, uint32_t n, uint32_t k, const int32_t* g_idx, int32_t* k_order,
                               cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_TRY(const PackedLayout layout, read_layout(gemm, n, k));
    CUBIND_CHECK(not_null(g_idx, "g_idx"));
    CUBIND_CHECK(not_null(k_order, "k_order"));
    CUBIND_TRY(const auto order, act_order(layout, tensor(g_idx, k)));
    std::copy(order.begin(), order.end(), k_order);
    return {};
  });
}

cubind_status cubind_repacker_open(int32_t device, cubind_repacker** out, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(out, "out"));
    CUBIND_TRY(const auto* api, cuda::driver());
    auto handle = std::make_unique<cubind_repacker>();
    if (device == CUBIND_CURRENT_CONTEXT) {
      CUBIND_TRY(handle->repacker, Repacker::open(*api, nullptr));
    } else {
      CUBIND_TRY(const cuda::Device chosen, chosen_device(*api, device));
      CUBIND_TRY(auto primary, cuda::PrimaryContext::retain(*api, chosen));
      CUBIND_TRY(const auto scope, cuda::ContextScope::enter(*api, primary->get()));
      CUBIND_TRY(handle->repacker, Repacker::open(*api, std::move(primary)));
    }
    *out = handle.release();
    return {};
  });
}

void cubind_repacker_close(cubind_repacker* repacker) {
  delete repacker;
}

cubind_status cubind_repack_on_device(const cubind_repacker* repacker, const cubind_gemm* gemm, uint32_t n, uint32_t k,
                                      const cubind_device_tensors* given, const cubind_packed_buffers* out,
                                      cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(repacker, "repacker"));
    CUBIND_TRY(const PackedLayout layout, read_layout(gemm, n, k));
    CUBIND_TRY(const cubind_device_tensors tensors, read_struct(given, "tensors"));
    CUBIND_TRY(const PackedView buffers, read_buffers(out));
    CUBIND_CHECK(weights_detail::check_buffers(layout, buffers));
    DeviceTensors source;
    CUBIND_CHECK(read_enum(tensors.source, "source", source.layout));
    CUBIND_CHECK(read_enum(tensors.scale_type, "scale_type", source.scale_type));
    source.qweight = tensors.qweight;
    source.qzeros = tensors.qzeros;
    source.scales = tensors.scales;
    source.k_order = tensors.k_order;
    source.fault = tensors.fault;
    source.stream = tensors.stream;
    return repacker->repacker->repack(layout, source,
                                      {buffers.weights.data(), buffers.scales.data(), buffers.zeros.data()});
  });
}
