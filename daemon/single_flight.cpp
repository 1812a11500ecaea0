#include "daemon/single_flight.hpp"

#include <algorithm>

namespace cubind {

SingleFlight::Joined SingleFlight::join(const KernelKey& key, Priority priority, FlightWaiter& waiter,
                                        std::size_t tag) {
  auto& flight = flights_[key];
  const bool first = flight == nullptr;
  if (first) {
    flight = std::make_unique<Flight>();
    flight->priority = priority;  // the first one's priority is not a change
  }
  flight->waiters.push_back(Waiter{++last_ticket_, priority, &waiter, tag});
  const Joined joined{last_ticket_, first, flight->missed};
  update_priority(key, *flight);
  return joined;
}

void SingleFlight::leave(const KernelKey& key, Ticket ticket) {
  const auto remove = [ticket](Flight& flight, bool calling) {
    const auto found =
        std::find_if(flight.waiters.begin(), flight.waiters.end(), [&](const Waiter& w) { return w.ticket == ticket; });
    if (found == flight.waiters.end()) return false;
    if (calling) {
      found->waiter = nullptr;
    } else {
      flight.waiters.erase(found);
    }
    return true;
  };
  for (Flight* flight : calling_) remove(*flight, true);  // finished ones are no longer in flights_
  const auto found = flights_.find(key);
  if (found == flights_.end()) return;
  Flight& flight = *found->second;
  const bool calling = std::find(calling_.begin(), calling_.end(), &flight) != calling_.end();
  if (calling || remove(flight, false)) update_priority(key, flight);
}

void SingleFlight::missed(const KernelKey& key) {
  const auto found = flights_.find(key);
  if (found == flights_.end() || found->second->missed) return;
  Flight& flight = *found->second;
  flight.missed = true;
  calling_.push_back(&flight);
  const auto count = flight.waiters.size();  // who joins from inside knows already
  for (std::size_t i = 0; i < count; ++i) {
    if (flight.waiters[i].waiter != nullptr) flight.waiters[i].waiter->flight_missed(flight.waiters[i].tag);
  }
  calling_.pop_back();
  std::erase_if(flight.waiters, [](const Waiter& w) { return w.waiter == nullptr; });
}

void SingleFlight::finish(const KernelKey& key, const FlightResult& result) {
  const auto found = flights_.find(key);
  if (found == flights_.end()) return;
  const std::unique_ptr<Flight> flight = std::move(found->second);
  flights_.erase(found);
  calling_.push_back(flight.get());
  for (std::size_t i = 0; i < flight->waiters.size(); ++i) {
    if (FlightWaiter* waiter = flight->waiters[i].waiter) waiter->flight_done(flight->waiters[i].tag, result);
  }
  calling_.pop_back();
}

Priority SingleFlight::priority(const KernelKey& key) const {
  const auto found = flights_.find(key);
  return found == flights_.end() ? Priority::prewarm : found->second->priority;
}

std::size_t SingleFlight::waiters(const KernelKey& key) const {
  const auto found = flights_.find(key);
  if (found == flights_.end()) return 0;
  const auto& list = found->second->waiters;
  return static_cast<std::size_t>(
      std::count_if(list.begin(), list.end(), [](const Waiter& w) { return w.waiter != nullptr; }));
}

void SingleFlight::update_priority(const KernelKey& key, Flight& flight) {
  auto highest = Priority::prewarm;
  for (const auto& waiter : flight.waiters) {
    if (waiter.waiter != nullptr && waiter.priority < highest) highest = waiter.priority;
  }
  if (highest == flight.priority) return;
  flight.priority = highest;
  priority_changed_(key, highest);
}

}  // namespace cubind
