// How a kernel is timed: a CUDA graph of launches that go round many copies of the weights, together larger than the L2
// three times over, so that every launch reads its weights from memory; the median of several replays. Random data:
// some devices draw less power, and clock higher, on constant data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/support/gpu/gpu_api.hpp"

namespace cubind::bench {

inline constexpr std::size_t kRotatedBytes = std::size_t{240} << 20;  // three times the L2 of an H200, and more
inline constexpr std::size_t kMinCopies = 3;
inline constexpr int kReplays = 5;

// Copies of a matrix of this size to go round.
inline std::size_t copies_for(std::size_t bytes) {
  return std::max(kMinCopies, (kRotatedBytes + bytes - 1) / bytes);
}

// Microseconds a launch; `launch(copy)` enqueues one with the copy's weights on the stream, for copy in [0, copies).
// If one replay takes longer than `give_up_us` a launch, that first time is returned.
template <class Launch>
double microseconds(const test::Stream& stream, std::size_t copies, double give_up_us, Launch launch) {
  const test::Graph graph(stream, [&] {
    for (std::size_t copy = 0; copy < copies; ++copy) launch(copy);
  });
  const test::Timer timer;
  std::vector<double> times;
  for (int replay = -1; replay < kReplays; ++replay) {  // the first one warms up
    timer.start(stream);
    graph.launch(stream);
    const double us = static_cast<double>(timer.stop(stream)) * 1000 / static_cast<double>(copies);
    if (replay >= 0) times.push_back(us);
    if (us > give_up_us) return us;
  }
  std::nth_element(times.begin(), times.begin() + kReplays / 2, times.end());
  return times[kReplays / 2];
}

}  // namespace cubind::bench
