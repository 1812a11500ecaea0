// The questions about the daemon itself: counters, health, a key's ingredients. Answered at once, on the loop's thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/kernel_service.hpp"
#include "daemon/metrics.hpp"
#include "daemon/request_planner.hpp"
#include "protocol/messages.hpp"

namespace cubind {

class Admin {
 public:
  struct Parts {
    KernelService& service;
    RequestPlanner& planner;
    const MemoryStore& memory;
    const ArtifactStore& store;
    const CompilePool& pool;
    const Metrics& metrics;
    const Clock& clock;
    std::string daemon;  // name and version
    std::string store_folder;
    std::string base_trouble;  // why the base layer is not there; empty: it is, or none is configured
  };

  explicit Admin(Parts parts);

  std::vector<Measured> measure() const;
  StatsReply stats(const StatsRequest& request) const;
  HealthReply health(const HealthRequest& request) const;
  Result<ExplainReply> explain(const ExplainRequest& request);

 private:
  Parts parts_;
  SteadyTime started_;
};

}  // namespace cubind
