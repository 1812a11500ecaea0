#include "base/result.hpp"

namespace cubind {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::ok: return "ok";
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::not_supported: return "not_supported";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::corruption: return "corruption";
    case ErrorCode::compile_failed: return "compile_failed";
    case ErrorCode::resource_exhausted: return "resource_exhausted";
    case ErrorCode::timed_out: return "timed_out";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::unavailable: return "unavailable";
    case ErrorCode::permission_denied: return "permission_denied";
    case ErrorCode::internal: return "internal";
    case ErrorCode::pending: return "pending";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  return std::string(to_string(error.code)) + ": " + error.message;
}

}  // namespace cubind
