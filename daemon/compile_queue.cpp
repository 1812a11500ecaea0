#include "daemon/compile_queue.hpp"

#include <algorithm>

namespace cubind {

void CompileQueue::insert(JobId job, Priority priority, Owner owner, bool front) {
  auto& line_class = class_of(priority);
  auto [found, is_new] = line_class.lines.try_emplace(owner);
  if (is_new) line_class.turns.push_back(owner);
  auto& line = found->second;
  places_[job] = {priority, owner, line.insert(front ? line.begin() : line.end(), job)};
  ++line_class.jobs;
  ++counts_[owner];
}

void CompileQueue::take_out(JobId job) {
  const auto place = places_.at(job);
  auto& line_class = class_of(place.priority);
  auto& line = line_class.lines.at(place.owner);
  line.erase(place.at);
  if (line.empty()) {
    line_class.lines.erase(place.owner);
    line_class.turns.remove(place.owner);
  }
  --line_class.jobs;
  if (--counts_.at(place.owner) == 0) counts_.erase(place.owner);
  places_.erase(job);
}

std::optional<CompileQueue::JobId> CompileQueue::last_of(Owner owner) {
  for (const auto priority : {Priority::prewarm, Priority::foreground}) {
    const auto& lines = class_of(priority).lines;
    if (const auto line = lines.find(owner); line != lines.end()) return line->second.back();
  }
  return std::nullopt;
}

// The job that has to go for a new one of `owner`, if any.
std::optional<CompileQueue::JobId> CompileQueue::make_room(Priority priority, Owner owner) {
  const auto most = std::max_element(counts_.begin(), counts_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto own = counts_.find(owner);
  const std::size_t has = own == counts_.end() ? 0 : own->second;
  if (most != counts_.end() && most->second > has + 1) return last_of(most->first);
  // What he waits for goes before what he had queued for later.
  if (priority == Priority::foreground && class_of(Priority::prewarm).lines.contains(owner)) return last_of(owner);
  return std::nullopt;
}

CompileQueue::Pushed CompileQueue::push(JobId job, Priority priority, Owner owner) {
  Pushed pushed{true, std::nullopt};
  if (places_.size() >= max_jobs_) {
    pushed.displaced = make_room(priority, owner);
    if (!pushed.displaced) return {};
    take_out(*pushed.displaced);
  }
  insert(job, priority, owner, false);
  return pushed;
}

void CompileQueue::push_front(JobId job, Priority priority, Owner owner) {
  insert(job, priority, owner, true);
}

bool CompileQueue::remove(JobId job) {
  if (!places_.contains(job)) return false;
  take_out(job);
  return true;
}

void CompileQueue::set_priority(JobId job, Priority priority) {
  const auto found = places_.find(job);
  if (found == places_.end() || found->second.priority == priority) return;
  const auto owner = found->second.owner;
  take_out(job);
  insert(job, priority, owner, false);
}

void CompileQueue::share(JobId job, Owner owner) {
  const auto found = places_.find(job);
  if (found == places_.end() || found->second.owner == owner) return;
  const auto priority = found->second.priority;
  const auto& lines = class_of(priority).lines;
  const auto line = lines.find(owner);
  if (line != lines.end() && line->second.size() >= lines.at(found->second.owner).size()) return;
  take_out(job);
  insert(job, priority, owner, false);
}

std::optional<CompileQueue::JobId> CompileQueue::pop(const std::function<bool(JobId)>& can_run) {
  for (auto& line_class : classes_) {
    for (auto turn = line_class.turns.begin(); turn != line_class.turns.end(); ++turn) {
      const auto& line = line_class.lines.at(*turn);
      const auto job = std::find_if(line.begin(), line.end(), can_run);
      if (job == line.end()) continue;
      const auto id = *job;
      line_class.turns.splice(line_class.turns.end(), line_class.turns, turn);  // the others' turn now
      take_out(id);
      return id;
    }
  }
  return std::nullopt;
}

std::vector<CompileQueue::JobId> CompileQueue::jobs() const {
  std::vector<JobId> all;
  for (const auto& line_class : classes_) {
    for (const auto owner : line_class.turns) {
      const auto& line = line_class.lines.at(owner);
      all.insert(all.end(), line.begin(), line.end());
    }
  }
  return all;
}

std::size_t CompileQueue::size(Priority priority) const {
  return class_of(priority).jobs;
}

}  // namespace cubind
