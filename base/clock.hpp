// Time behind an interface, so that expiry and deadlines are tested without sleeping.
#pragma once

#include <chrono>

namespace cubind {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime now() const = 0;     // for durations and deadlines
  virtual WallTime wall_now() const = 0;  // for what is stored or shown
};

class SystemClock final : public Clock {
 public:
  SteadyTime now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall_now() const override { return std::chrono::system_clock::now(); }
};

inline std::uint64_t unix_ms(WallTime time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

}  // namespace cubind
