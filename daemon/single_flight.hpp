// Joins everybody who wants one key to one flight, so that the work for it is done once. Knows neither sockets nor
// compilers: who starts a flight does the work and reports `missed` and `finish` here. Belongs to the loop's thread.
//
// A flight's priority is the highest of its waiters'. One that nobody waits for any more is demoted to prewarm, never
// stopped: what was begun is of use to the next who asks.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "protocol/artifact.hpp"
#include "protocol/messages.hpp"

namespace cubind {

struct FlightResult {
  Result<std::shared_ptr<const Artifact>> artifact;
  bool built = false;       // compiled by this flight; false: found on disk, or failed
  std::string failure_log;  // the compiler's, if it refused the source
};

// Called at most once each, `flight_missed` before `flight_done`, never after leave() and never from inside join().
// `tag` is what was given to join(). A waiter may join and leave any flight from inside.
class FlightWaiter {
 public:
  virtual ~FlightWaiter() = default;
  virtual void flight_missed(std::size_t tag) = 0;  // not on disk: its compile is queued
  virtual void flight_done(std::size_t tag, const FlightResult& result) = 0;
};

class SingleFlight {
 public:
  using Ticket = std::uint64_t;  // 0 is never used
  using PriorityChanged = std::function<void(const KernelKey&, Priority)>;

  struct Joined {
    Ticket ticket = 0;
    bool first = false;   // there was no flight for the key: the caller starts the work
    bool missed = false;  // the flight has passed the disk already; flight_missed will not be called
  };

  explicit SingleFlight(PriorityChanged priority_changed) : priority_changed_(std::move(priority_changed)) {}

  Joined join(const KernelKey& key, Priority priority, FlightWaiter& waiter, std::size_t tag);
  void leave(const KernelKey& key, Ticket ticket);  // harmless once the flight is done

  void missed(const KernelKey& key);
  void finish(const KernelKey& key, const FlightResult& result);  // in the order in which the waiters joined

  // Of a flight in progress; prewarm if there is none.
  Priority priority(const KernelKey& key) const;
  std::size_t waiters(const KernelKey& key) const;
  std::size_t size() const { return flights_.size(); }

 private:
  struct Waiter {
    Ticket ticket;
    Priority priority;
    FlightWaiter* waiter;  // null once it has left while the flight calls its waiters
    std::size_t tag;
  };
  struct Flight {
    std::vector<Waiter> waiters;
    Priority priority = Priority::prewarm;
    bool missed = false;
  };
  using Flights = std::unordered_map<KernelKey, std::unique_ptr<Flight>, DigestHash>;

  void update_priority(const KernelKey& key, Flight& flight);

  PriorityChanged priority_changed_;
  Flights flights_;
  std::vector<Flight*> calling_;  // flights whose waiters are being called: their lists only grow or get nulls
  Ticket last_ticket_ = 0;
};

}  // namespace cubind
