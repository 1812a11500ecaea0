#include "client/weights/pack.hpp"

#include <cstdio>
#include <string>

#include "client/weights/half.hpp"
#include "client/weights/tile_writer.hpp"

namespace cubind {

namespace {

Error not_held(std::string_view field, std::string_view value, std::string_view held) {
  return {ErrorCode::not_supported, std::string(field) + " \"" + std::string(value) +
                                        "\" is not held by weight_layout 1: " + std::string(held) + " is"};
}

}  // namespace

Result<PackedLayout> packed_layout(const GemmDescriptor& descriptor, std::uint32_t n, std::uint32_t k) {
  CUBIND_CHECK(validate(descriptor));
  if (descriptor.kind != GemmKind::dense) return not_held("kind", to_string(descriptor.kind), "dense");
  if (descriptor.weight != DType::int4) return not_held("weight", to_string(descriptor.weight), "int4");
  if (descriptor.activation != DType::f16 && descriptor.activation != DType::bf16) {
    return not_held("activation", to_string(descriptor.activation), "f16 or bf16");
  }
  if (descriptor.weight_scale != ScaleKind::group && descriptor.weight_scale != ScaleKind::channel) {
    return not_held("weight_scale", to_string(descriptor.weight_scale), "group or channel");
  }
  if (descriptor.weight_scale_type != DType::f16 && descriptor.weight_scale_type != DType::bf16) {
    return not_held("weight_scale_type", to_string(descriptor.weight_scale_type), "f16 or bf16");
  }
  if (descriptor.weight_global_scale) return not_held("weight_global_scale", "true", "false");
  if (descriptor.zero_point == ZeroPointKind::floating) {
    return not_held("zero_point", to_string(descriptor.zero_point), "none or integer");
  }
  CUBIND_CHECK(validate_shape(descriptor, n, k));

  PackedLayout layout;
  layout.n = n;
  layout.k = k;
  layout.n_tiles = (n + kPackRows - 1) / kPackRows;
  layout.k_tiles = (k + kPackColumns - 1) / kPackColumns;
  layout.group_k = descriptor.weight_scale == ScaleKind::channel ? k : descriptor.group_k;
  layout.k_groups = k / layout.group_k;
  layout.zero_points = descriptor.zero_point == ZeroPointKind::integer;
  layout.scale_type = descriptor.weight_scale_type;
  layout.weight_bytes = std::size_t{layout.n_tiles} * layout.k_tiles * kPackRows * kPackColumns / 2;
  const std::size_t scales = std::size_t{layout.n_tiles} * kPackRows * layout.k_groups;
  layout.scale_bytes = 2 * scales;
  layout.zero_bytes = layout.zero_points ? scales : 0;
  return layout;
}

PackedWeights allocate(const PackedLayout& layout) {
  return {Bytes(layout.weight_bytes), Bytes(layout.scale_bytes), Bytes(layout.zero_bytes)};
}

Status pack(const PackedLayout& layout, const PlainWeights& weights, const PackedView& out) {
  const std::size_t columns = layout.k, groups = layout.k_groups;
  CUBIND_CHECK(weights_detail::check_length("q", weights.q.size(), layout.n * columns));
  CUBIND_CHECK(weights_detail::check_length("scales", weights.scales.size(), layout.n * groups));
  CUBIND_CHECK(weights_detail::check_length("zeros", weights.zeros.size(), layout.zero_points ? layout.n * groups : 0));
  for (std::size_t i = 0; i < weights.q.size(); ++i) {
    if (weights.q[i] <= 15) continue;
    return Error{ErrorCode::invalid_argument, "q of row " + std::to_string(i / columns) + ", column " +
                                                  std::to_string(i % columns) + " is \"" +
                                                  std::to_string(weights.q[i]) + "\": int4 is at most 15"};
  }
  return weights_detail::write_tiles(
      layout, out, weights.scale_type,
      [&](std::uint32_t row, std::uint32_t column) { return std::uint32_t{weights.q[row * columns + column]}; },
      [&](std::uint32_t row, std::uint32_t group) { return weights.scales[row * groups + group]; },
      [&](std::uint32_t row, std::uint32_t group) {
        return layout.zero_points ? std::uint32_t{weights.zeros[row * groups + group]} : 8u;
      });
}

namespace weights_detail {

Status check_buffers(const PackedLayout& layout, const PackedView& out) {
  const struct {
    const char* name;
    std::size_t size, expected;
  } buffers[] = {{"weights", out.weights.size(), layout.weight_bytes},
                 {"scales", out.scales.size(), layout.scale_bytes},
                 {"zeros", out.zeros.size(), layout.zero_bytes}};
  for (const auto& buffer : buffers) {
    if (buffer.size == buffer.expected) continue;
    return Error{ErrorCode::invalid_argument, std::string("packed ") + buffer.name + " buffer has \"" +
                                                  std::to_string(buffer.size) + "\" bytes: the layout needs " +
                                                  std::to_string(buffer.expected)};
  }
  return {};
}

Result<std::uint16_t> convert_scale(DType from, std::uint16_t bits, DType to, std::uint32_t row, std::uint32_t group) {
  char pattern[8];
  std::snprintf(pattern, sizeof pattern, "0x%04x", bits);
  if (!is_finite(from, bits)) {
    return Error{ErrorCode::invalid_argument, position("scale", row, group) + " is \"" + pattern + "\" of type " +
                                                  std::string(to_string(from)) + ": scales are finite"};
  }
  if (from == to) return bits;
  const std::uint16_t converted = from_double(to, to_double(from, bits));
  if (!is_finite(to, converted)) {
    return Error{ErrorCode::invalid_argument, position("scale", row, group) + " is \"" + pattern + "\" of type " +
                                                  std::string(to_string(from)) + ": too large for " +
                                                  std::string(to_string(to))};
  }
  return converted;
}

Status check_scale_type(DType type) {
  if (type == DType::f16 || type == DType::bf16) return {};
  return not_held("scale_type", to_string(type), "f16 or bf16");
}

}  // namespace weights_detail

}  // namespace cubind
