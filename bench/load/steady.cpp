// A long mixed load on a daemon whose limits are far too small for it: memory and descriptors must not creep, eviction
// must keep the limit, and what is asked for all the time must stay.
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <thread>

#include "bench/load/load_figures.hpp"
#include "bench/service/example_model.hpp"
#include "bench/service/kernel_in_hand.hpp"

namespace cubind::bench {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t kDiskLimit = 1 << 20;  // half of what is asked for
constexpr std::size_t kWindow = 8;             // kernels that are asked for in turn, before one goes and another comes
constexpr std::size_t kTurnsPerWindow = 256;
constexpr milliseconds kSamplePause{1000};
constexpr milliseconds kPause{2};  // between a client's requests: they share the machine with the compiles

// Least squares over (seconds, value): what it grew from the first to the last, and the standard error of that.
struct Growth {
  double total = 0, error = 0;
};

Growth growth(const std::vector<std::pair<double, double>>& samples) {
  const auto count = static_cast<double>(samples.size());
  double mean_x = 0, mean_y = 0;
  for (const auto& [x, y] : samples) mean_x += x / count, mean_y += y / count;
  double xx = 0, xy = 0;
  for (const auto& [x, y] : samples) xx += (x - mean_x) * (x - mean_x), xy += (x - mean_x) * (y - mean_y);
  if (samples.size() < 3 || xx == 0) return {};
  const double slope = xy / xx, span = samples.back().first - samples.front().first;
  double residual = 0;
  for (const auto& [x, y] : samples) {
    const double off = y - mean_y - slope * (x - mean_x);
    residual += off * off;
  }
  return {slope * span, std::sqrt(residual / (count - 2) / xx) * span};
}

}  // namespace

Result<Figures> steady_figures(const Programs& programs, std::chrono::seconds duration) {
  CUBIND_TRY(const auto layers, model_layers(programs.model));
  const auto kernels = kernels_like(layers.front().descriptor, kArch);
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "steady"));
  DaemonUnderTest::Options options;
  options.workers = 1;
  options.arguments = {"--disk-limit", std::to_string(kDiskLimit), "--memory-limit", std::to_string(kDiskLimit)};
  CUBIND_CHECK(daemon.start(options));

  const auto hot = request_of_kernel(kernels.front());
  {  // Everything once, so that store and memory are full when the load begins.
    CUBIND_TRY(const auto client, daemon.connect("bench"));
    for (const auto& kernel : kernels) {
      CUBIND_TRY([[maybe_unused]] const auto built, get_kernel(*client, request_of_kernel(kernel)));
      CUBIND_TRY([[maybe_unused]] const auto kept, get_kernel(*client, hot));
    }
  }
  std::atomic<bool> over = false;
  std::atomic<std::size_t> requests = 0, errors = 0, hot_misses = 0;
  const auto ask_hot = [&](Client& client) {
    const auto kernel = get_kernel(client, hot);
    if (!kernel.ok()) return false;
    if (kernel->reply.outcome == Outcome::built) ++hot_misses;
    return true;
  };
  std::size_t turn = 0;
  const std::function<bool(Client&)> work[] = {
      ask_hot,
      [&](Client& client) {  // a window that moves over all of them: hits, now and then a miss and an eviction
        const auto number = turn / kTurnsPerWindow + turn % kWindow;
        ++turn;
        return get_kernel(client, request_of_kernel(kernels[number % kernels.size()])).ok();
      },
      [&](Client& client) {  // nothing of that is served
        auto request = hot;
        request.kernels.front().descriptor.weight = DType::int2;
        const auto refused = get_kernel(client, request);
        return !refused.ok() && refused.error().code != ErrorCode::internal;
      },
      [&](Client& client) {
        ListRequest request;
        return client.list(request).ok() && client.stats().ok() && client.health().ok();
      },
      [&](Client&) {  // one that comes and goes
        const auto other = daemon.connect("bench");
        return other.ok() && ask_hot(**other);
      },
  };
  std::vector<std::thread> threads;
  for (const auto& one : work) {
    threads.emplace_back([&] {
      const auto client = daemon.connect("bench");
      while (!over) {
        ++requests;
        if (!client.ok() || !one(**client)) ++errors;
        std::this_thread::sleep_for(kPause);
      }
    });
  }
  std::vector<std::pair<double, double>> memory, descriptors;
  double largest_store = 0, evictions = 0;
  const auto start = steady_clock::now();
  const auto watcher = daemon.connect("bench");
  while (steady_clock::now() - start < duration) {
    std::this_thread::sleep_for(kSamplePause);
    const double seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
    if (watcher.ok()) {
      if (const auto stats = (*watcher)->stats(); stats.ok()) {
        for (const auto& counter : stats->counters) {
          if (counter.name == "cubind_store_bytes") largest_store = std::max(largest_store, counter.value);
          if (counter.name == "cubind_store_evictions_total") evictions = counter.value;
        }
      }
    }
    if (steady_clock::now() - start < duration / 3) continue;  // caches fill
    memory.emplace_back(seconds, static_cast<double>(daemon.resident_bytes()) / (1 << 20));
    descriptors.emplace_back(seconds, static_cast<double>(daemon.open_descriptors()));
  }
  over = true;
  for (auto& thread : threads) thread.join();
  const auto compiles = daemon.compiles();
  CUBIND_CHECK(daemon.stop());

  const auto seen = std::to_string(duration.count()) + " s, " + std::to_string(requests) + " requests, " +
                    std::to_string(compiles) + " compiles, " + fixed(evictions, 0) + " evictions; ";
  const auto flat = [&](const char* name, const std::vector<std::pair<double, double>>& samples, double grain,
                        const std::string& unit) {
    const auto grown = growth(samples);
    const double noise = std::max(3 * grown.error, grain);
    return Figure{name,
                  grown.total,
                  Figure::Bound::at_most,
                  noise,
                  seen + "growth over the last two thirds, " + unit + "; at the end " +
                      (samples.empty() ? "?" : fixed(samples.back().second, 1)) +
                      "; the bound is three standard errors, at least " + fixed(grain, 0),
                  samples.size() >= 3};
  };
  return Figures{
      flat("load.memory_growth", memory, 2, "MB resident"),
      flat("load.descriptor_growth", descriptors, 2, "descriptors"),
      {"load.errors", static_cast<double>(errors), Figure::Bound::equal, 0, seen + "that were not asked for"},
      {"load.store_over_limit", largest_store / static_cast<double>(kDiskLimit), Figure::Bound::at_most, 1,
       seen + "largest store of all samples / its limit", evictions > 0},
      {"load.hot_kernel_compiles", static_cast<double>(hot_misses), Figure::Bound::equal, 0,
       seen + "of the one that is asked for all the time", evictions > 0},
  };
}

}  // namespace cubind::bench
