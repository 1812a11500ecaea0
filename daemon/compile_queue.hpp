// What waits to be compiled: two classes, foreground before prewarm. Within a class the users take turns, and each
// user's jobs go first come first served: who queues a thousand kernels does not hold up who queues one. Bounded, and
// the bound belongs to all users in equal parts: when the queue is full, a newcomer takes the last place of whoever has
// the most, prewarm first. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "protocol/messages.hpp"

namespace cubind {

class CompileQueue {
 public:
  using JobId = std::uint64_t;
  using Owner = std::uint32_t;  // a uid

  struct Pushed {
    bool queued = false;             // false: full, and the owner has his part of it already
    std::optional<JobId> displaced;  // has left the queue to make room
  };

  explicit CompileQueue(std::size_t max_jobs) : max_jobs_(max_jobs) {}

  Pushed push(JobId job, Priority priority, Owner owner);
  void push_front(JobId job, Priority priority, Owner owner);  // a job that ran and must run again; never refused
  bool remove(JobId job);                                      // false if it is not here
  void set_priority(JobId job, Priority priority);  // to the end of that class; nothing if it is there or not here

  // `owner` waits for the job too: it moves to his line if that is shorter, so that nobody waits behind the jobs of
  // whoever asked first.
  void share(JobId job, Owner owner);

  // The first job that can run now. Those that cannot (their toolchain is still starting) keep their places.
  std::optional<JobId> pop(const std::function<bool(JobId)>& can_run);

  std::vector<JobId> jobs() const;  // foreground first; within a class user after user
  std::size_t size(Priority priority) const;

 private:
  using Line = std::list<JobId>;
  struct Class {
    std::map<Owner, Line> lines;  // none is empty
    std::list<Owner> turns;       // the owners of `lines`, whose turn it is first
    std::size_t jobs = 0;
  };
  struct Place {
    Priority priority;
    Owner owner;
    Line::iterator at;
  };
  Class& class_of(Priority priority) { return classes_[priority == Priority::foreground ? 0 : 1]; }
  const Class& class_of(Priority priority) const { return classes_[priority == Priority::foreground ? 0 : 1]; }

  void insert(JobId job, Priority priority, Owner owner, bool front);
  void take_out(JobId job);
  std::optional<JobId> last_of(Owner owner);  // of prewarm if there is any
  std::optional<JobId> make_room(Priority priority, Owner owner);

  std::size_t max_jobs_;
  Class classes_[2];
  std::unordered_map<JobId, Place> places_;
  std::map<Owner, std::size_t> counts_;  // jobs of each owner, in both classes; none is 0
};

}  // namespace cubind
