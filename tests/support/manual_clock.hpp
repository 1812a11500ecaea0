// A clock that moves when told to. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

namespace cubind {

class ManualClock final : public Clock {
 public:
  SteadyTime now() const override { return SteadyTime(std::chrono::milliseconds(ms_.load())); }
  WallTime wall_now() const override { return WallTime(std::chrono::milliseconds(ms_.load())); }
  void advance(std::chrono::milliseconds by) { ms_ += by.count(); }

 private:
  std::atomic<std::int64_t> ms_{1'800'000'000'000};  // some day in 2027
};

}  // namespace cubind
