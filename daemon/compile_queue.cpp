#include "daemon/compile_queue.hpp"

namespace cubind {

bool CompileQueue::push(JobId job, Priority priority) {
  if (places_.size() >= max_jobs_) return false;
  auto& line = classes_[index(priority)];
  places_[job] = {priority, line.insert(line.end(), job)};
  return true;
}

void CompileQueue::push_front(JobId job, Priority priority) {
  auto& line = classes_[index(priority)];
  places_[job] = {priority, line.insert(line.begin(), job)};
}

bool CompileQueue::remove(JobId job) {
  const auto found = places_.find(job);
  if (found == places_.end()) return false;
  classes_[index(found->second.priority)].erase(found->second.at);
  places_.erase(found);
  return true;
}

void CompileQueue::set_priority(JobId job, Priority priority) {
  const auto found = places_.find(job);
  if (found == places_.end() || found->second.priority == priority) return;
  auto& from = classes_[index(found->second.priority)];
  auto& to = classes_[index(priority)];
  to.splice(to.end(), from, found->second.at);
  found->second.priority = priority;
}

std::optional<CompileQueue::JobId> CompileQueue::pop(const std::function<bool(JobId)>& can_run) {
  for (auto& line : classes_) {
    for (auto it = line.begin(); it != line.end(); ++it) {
      if (!can_run(*it)) continue;
      const auto job = *it;
      line.erase(it);
      places_.erase(job);
      return job;
    }
  }
  return std::nullopt;
}

std::vector<CompileQueue::JobId> CompileQueue::jobs() const {
  std::vector<JobId> all;
  for (const auto& line : classes_) all.insert(all.end(), line.begin(), line.end());
  return all;
}

}  // namespace cubind
