// Processes that all begin at once: forked, behind a barrier, each handing back one result of plain data. No wait is
// for ever: a process that dies, or takes too long, ends the fleet with an error that names it.
#pragma once

#include <chrono>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace cubind::bench {

// Far above what any step takes, also on a busy machine.
inline constexpr std::chrono::milliseconds kFleetPatience{300'000};

// What a process calls around the part that is measured. After end() the others are through too: what is done then, and
// going away, costs them nothing.
class Race {
 public:
  Race(int report, int start, int end) : report_(report), start_(start), end_(end) {}
  void start();  // returns when all are ready
  void end();    // returns when all are through

 private:
  int report_, start_, end_;
};

// Forks `count` processes and runs `work(index, race, outcome)` in each: it gets ready, calls race.start(), does what
// is measured, calls race.end(), and fills in the outcome's bytes. The first error ends the fleet at once: a work's
// own, `internal` for a process that died, `timed_out` for one that did not get through a step within `patience`. No
// process is left when this returns. `released` is called in the parent when all are ready, right before they start.
// Precondition: this process has one thread.
Result<std::vector<Bytes>> run_processes(std::size_t count, std::size_t outcome_bytes,
                                         const std::function<Status(std::size_t, Race&, std::byte*)>& work,
                                         const std::function<void()>& released, std::chrono::milliseconds patience);

template <class Outcome>
Result<std::vector<Outcome>> run_fleet(
    std::size_t count, const std::function<Status(std::size_t, Race&, Outcome&)>& work,
    const std::function<void()>& released = [] {}, std::chrono::milliseconds patience = kFleetPatience) {
  static_assert(std::is_trivially_copyable_v<Outcome>);
  const auto run = [&work](std::size_t index, Race& race, std::byte* bytes) {
    Outcome outcome{};
    auto status = work(index, race, outcome);
    std::memcpy(bytes, &outcome, sizeof(outcome));
    return status;
  };
  CUBIND_TRY(const auto results, run_processes(count, sizeof(Outcome), run, released, patience));
  std::vector<Outcome> outcomes(count);
  for (std::size_t index = 0; index < count; ++index) {
    std::memcpy(&outcomes[index], results[index].data(), sizeof(Outcome));
  }
  return outcomes;
}

}  // namespace cubind::bench
