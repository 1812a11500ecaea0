// What every C function does around its body: errors into cubind_error, no exception past it, arguments that several
// functions read. For c_api.cpp and weights_c_api.cpp.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <string>

#include "client/c_structs.hpp"
#include "client/driver/device.hpp"
#include "cubind/cubind.h"
#include "protocol/gemm_descriptor.hpp"

namespace cubind {

inline cubind_status report(const Error& problem, cubind_error* error) {
  const auto status = static_cast<cubind_status>(problem.code);
  cubind_error filled{};
  filled.code = status;
  filled.cuda_result = cuda::take_last_result();
  if (error == nullptr) return status;
  copy_text(filled.message, problem.message);
  if (!write_struct(error, filled, "error", offsetof(cubind_error, message) + 1)) return status;
  if (error->struct_size < sizeof filled) reinterpret_cast<char*>(error)[error->struct_size - 1] = '\0';
  return status;
}

// Runs the body of one C function. `error` is written only on failure.
template <class Body>
cubind_status guarded(cubind_error* error, Body body) noexcept {
  try {
    const Status status = body();
    return status ? CUBIND_OK : report(status.error(), error);
  } catch (const std::bad_alloc&) {
    return report({ErrorCode::resource_exhausted, "out of memory"}, error);
  } catch (const std::exception& problem) {
    return report({ErrorCode::internal, problem.what()}, error);
  }
}

template <class T>
Status not_null(T* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return Error{ErrorCode::invalid_argument, std::string(name) + " is null"};
}

inline Error out_of_range(const char* field, std::uint64_t value, const std::string& rule) {
  return {ErrorCode::invalid_argument, std::string(field) + " \"" + std::to_string(value) + "\" " + rule};
}

// Values the enums do not have are for validate() and the planner to refuse, as long as they fit the enum's byte.
template <class E>
Status read_enum(std::uint32_t value, const char* field, E& out) {
  if (value > 255) return out_of_range(field, value, "is no value of its enum");
  out = static_cast<E>(value);
  return {};
}

inline Status read_flag(std::uint32_t value, const char* field, bool& out) {
  if (value > 1) return out_of_range(field, value, "is not 0 or 1");
  out = value != 0;
  return {};
}

inline Result<cuda::Device> chosen_device(const cuda::DriverApi& api, std::int32_t device) {
  if (device == CUBIND_CURRENT_CONTEXT) return cuda::current_device(api);
  if (device < 0) {
    return Error{ErrorCode::invalid_argument,
                 "device \"" + std::to_string(device) + "\" is no ordinal and not CUBIND_CURRENT_CONTEXT"};
  }
  return cuda::device_at(api, device);
}

inline Result<GemmDescriptor> read_gemm(const cubind_gemm* given) {
  CUBIND_TRY(const cubind_gemm gemm, read_struct(given, "gemm"));
  GemmDescriptor out;
  CUBIND_CHECK(read_enum(gemm.kind, "kind", out.kind));
  CUBIND_CHECK(read_enum(gemm.activation, "activation", out.activation));
  CUBIND_CHECK(read_enum(gemm.weight, "weight", out.weight));
  CUBIND_CHECK(read_enum(gemm.output, "output", out.output));
  CUBIND_CHECK(read_enum(gemm.weight_scale, "weight_scale", out.weight_scale));
  CUBIND_CHECK(read_enum(gemm.weight_scale_type, "weight_scale_type", out.weight_scale_type));
  out.group_k = gemm.group_k;
  out.group_n = gemm.group_n;
  CUBIND_CHECK(read_flag(gemm.weight_global_scale, "weight_global_scale", out.weight_global_scale));
  CUBIND_CHECK(read_enum(gemm.zero_point, "zero_point", out.zero_point));
  CUBIND_CHECK(read_enum(gemm.activation_scale, "activation_scale", out.activation_scale));
  CUBIND_CHECK(read_enum(gemm.activation_scale_type, "activation_scale_type", out.activation_scale_type));
  out.activation_group_k = gemm.activation_group_k;
  CUBIND_CHECK(read_flag(gemm.bias, "bias", out.bias));
  CUBIND_CHECK(read_enum(gemm.epilogue, "epilogue", out.epilogue));
  CUBIND_CHECK(read_enum(gemm.accumulation, "accumulation", out.accumulation));
  out.promotion_k = gemm.promotion_k;
  CUBIND_CHECK(read_enum(gemm.determinism, "determinism", out.determinism));
  return out;
}

}  // namespace cubind
