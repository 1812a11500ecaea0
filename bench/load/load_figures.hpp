// The figures of a daemon under load and under faults: scripts/bench.sh load and faults. As in bench/service, each
// measures real processes, and an error means that it could not be measured.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/result.hpp"
#include "bench/service/figures.hpp"

namespace cubind::bench {

inline constexpr std::size_t kHotClients = 64;
inline constexpr std::size_t kIdleConnections = 936;  // beside the hot ones: a thousand in all
inline constexpr std::size_t kManyConnections = 10'000;
inline constexpr std::size_t kFewConnections = 10;

// load.hits_ratio, load.tail_ratio: `hits` in all by the hot clients, in pairs of blocks with a bare epoll server that
// has as many clients and the same sizes.
Result<Figures> hot_client_figures(const Programs& programs, std::size_t hits);

// load.connection_memory_ratio: of connections a third says nothing, a third half a greeting, a third greets and
// trickles a request.
Result<Figures> connection_figures(const Programs& programs);

// load.memory_growth, load.descriptor_growth, load.errors, load.store_over_limit, load.hot_kernel_compiles: hits,
// batches, lists, misses that fail and come and go of connections for `duration`; the slopes are those of its last two
// thirds.
Result<Figures> steady_figures(const Programs& programs, std::chrono::seconds duration);

// faults.kills, faults.wrong_answers, faults.lost_answers, faults.extra_compiles: kill -9 at random moments while
// clients ask for new kernels and for old ones.
Result<Figures> kill_figures(const Programs& programs, std::size_t kills);

}  // namespace cubind::bench
