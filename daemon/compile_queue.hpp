// What waits to be compiled: two classes, foreground before prewarm, first come first served within each. Bounded.
// Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "protocol/messages.hpp"

namespace cubind {

class CompileQueue {
 public:
  using JobId = std::uint64_t;

  explicit CompileQueue(std::size_t max_jobs) : max_jobs_(max_jobs) {}

  bool push(JobId job, Priority priority);          // false if full
  void push_front(JobId job, Priority priority);    // a job that ran and must run again; never refused
  bool remove(JobId job);                           // false if it is not here
  void set_priority(JobId job, Priority priority);  // to the end of that class; nothing if it is there or not here

  // The first job that can run now. Those that cannot (their toolchain is still starting) keep their places.
  std::optional<JobId> pop(const std::function<bool(JobId)>& can_run);

  std::vector<JobId> jobs() const;  // in order
  std::size_t size(Priority priority) const { return classes_[index(priority)].size(); }

 private:
  using Class = std::list<JobId>;
  struct Place {
    Priority priority;
    Class::iterator at;
  };
  static std::size_t index(Priority priority) { return priority == Priority::foreground ? 0 : 1; }

  std::size_t max_jobs_;
  Class classes_[2];
  std::unordered_map<JobId, Place> places_;
};

}  // namespace cubind
