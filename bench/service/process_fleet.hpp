// Processes that all begin at once: forked, behind a barrier, each writing one result of plain data.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/result.hpp"

namespace cubind::bench {

// Where the processes of a fleet wait for each other, and the parent with them.
class Meeting {
 public:
  explicit Meeting(unsigned count) {
    pthread_barrierattr_t attributes;
    ::pthread_barrierattr_init(&attributes);
    ::pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    for (auto* barrier : {&ready_, &start_, &end_}) ::pthread_barrier_init(barrier, &attributes, count);
  }
  void ready() { ::pthread_barrier_wait(&ready_); }
  void start() { ::pthread_barrier_wait(&start_); }
  void end() { ::pthread_barrier_wait(&end_); }

 private:
  pthread_barrier_t ready_, start_, end_;
};

// What a process calls around the part that is measured. After end() the others are through too: what is done then, and
// going away, costs them nothing.
class Race {
 public:
  explicit Race(Meeting& meeting) : meeting_(meeting) {}
  Race(const Race&) = delete;
  Race& operator=(const Race&) = delete;
  ~Race() { end(); }  // the others must not wait for ever

  void start() {
    if (started_) return;
    started_ = true;
    meeting_.ready();
    meeting_.start();
  }
  void end() {
    start();
    if (!ended_) meeting_.end();
    ended_ = true;
  }

 private:
  Meeting& meeting_;
  bool started_ = false, ended_ = false;
};

// Runs `work(index, race, outcome)` in `count` processes. `work` gets ready, calls race.start(), does what is measured,
// and calls race.end(). An error makes the fleet fail with the first one's message; a process may not die before end().
// Precondition: this process has one thread. `released` is called in the parent when all processes are ready, right
// before they start.
template <class Outcome>
Result<std::vector<Outcome>> run_fleet(
    std::size_t count, const std::function<Status(std::size_t, Race&, Outcome&)>& work,
    const std::function<void()>& released = [] {}) {
  static_assert(std::is_trivially_copyable_v<Outcome>);
  struct Slot {
    Outcome outcome;
    ErrorCode code;
    char message[256];
  };
  struct Shared {
    Meeting meeting;
    Slot slots[1];  // `count` of them
  };
  const std::size_t bytes = sizeof(Shared) + (count - 1) * sizeof(Slot);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Error{ErrorCode::resource_exhausted, "no shared memory for the fleet"};
  const auto unmap = [bytes](void* mapped) { ::munmap(mapped, bytes); };
  const std::unique_ptr<void, decltype(unmap)> owner(memory, unmap);
  auto* shared = static_cast<Shared*>(memory);
  Slot* slots = shared->slots;
  auto* meeting = new (&shared->meeting) Meeting(static_cast<unsigned>(count + 1));

  std::vector<pid_t> children;
  for (std::size_t index = 0; index < count; ++index) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      Status status;
      {
        Race race(*meeting);
        status = work(index, race, slots[index].outcome);
      }
      if (!status.ok()) {
        slots[index].code = status.error().code;
        std::snprintf(slots[index].message, sizeof(slots[index].message), "%s", status.error().message.c_str());
      }
      ::_exit(status.ok() ? 0 : 1);
    }
    if (pid < 0) std::abort();  // the barrier can no longer be met
    children.push_back(pid);
  }
  meeting->ready();
  released();
  meeting->start();
  meeting->end();
  Status failed;
  for (std::size_t index = 0; index < count; ++index) {
    int status = 0;
    ::waitpid(children[index], &status, 0);
    if (status == 0 || !failed.ok()) continue;
    failed = slots[index].code != ErrorCode::ok ? Error{slots[index].code, slots[index].message}
                                                : Error{ErrorCode::internal, "a process of the fleet died"};
  }
  CUBIND_CHECK(failed);
  std::vector<Outcome> outcomes;
  for (std::size_t index = 0; index < count; ++index) outcomes.push_back(slots[index].outcome);
  return outcomes;
}

}  // namespace cubind::bench
