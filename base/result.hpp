// Errors as values. Every fallible function returns Result<T> (or Status, which is Result<void>); exceptions stop at
// the library that throws them. The codes below are shared by the wire, the C ABI (cubind_status) and cubinctl's exit
// codes: never renumber one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cubind {

enum class ErrorCode : std::uint16_t {
  ok = 0,
  invalid_argument = 1,    // a value breaks a rule; the message names the field, the value and the rule
  not_supported = 2,       // well formed, but nothing here can do it; the message says what can
  not_found = 3,           // no such record, file or kernel
  corruption = 4,          // bytes that fail their check
  compile_failed = 5,      // the compiler refused the source
  resource_exhausted = 6,  // a queue, table or quota is full
  timed_out = 7,           // a compile passed its own limit
  cancelled = 8,           // the asker withdrew
  unavailable = 9,         // not now, ask again: daemon absent or stopping, no toolchain
  permission_denied = 10,  // the peer may not do this
  internal = 11,           // a bug or an unexpected failure of the system
  pending = 12,            // not an error: the deadline passed (wait) or the work was queued (hit_only, prefetch)
};

// Lower-case name as in the list above, e.g. "not_supported"; "unknown" for a number that is not listed.
std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // one line, lower case, the offending value in quotes and the rule it broke

  bool operator==(const Error&) const = default;
};

// "invalid_argument: group_k \"48\" is not a power of two"
std::string to_string(const Error& error);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace cubind

#define CUBIND_CONCAT_(a, b) a##b
#define CUBIND_CONCAT(a, b) CUBIND_CONCAT_(a, b)

// Returns the error of a Status or Result to the caller.
#define CUBIND_CHECK(expr)                                    \
  do {                                                        \
    if (auto cubind_status_ = (expr); !cubind_status_.ok()) { \
      return std::move(cubind_status_).error();               \
    }                                                         \
  } while (false)

// CUBIND_TRY(const auto plan, make_plan(...)): declares plan, or returns the error to the caller.
#define CUBIND_TRY(declaration, expr) CUBIND_TRY_(declaration, expr, CUBIND_CONCAT(cubind_result_, __LINE__))
#define CUBIND_TRY_(declaration, expr, name)      \
  auto name = (expr);                             \
  if (!name.ok()) return std::move(name).error(); \
  declaration = std::move(name).value()
