// kill -9 at random moments, with clients that wait all the time: what they were answered before a kill has to be a hit
// after it, with the bytes it had, and they themselves must not notice more than a pause.
#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "bench/load/load_figures.hpp"
#include "bench/service/example_model.hpp"
#include "bench/service/kernel_in_hand.hpp"
#include "codegen/plan/planner.hpp"

namespace cubind::bench {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kClients = 4;
constexpr unsigned kWorkers = 2;
constexpr std::size_t kFirstAnswers = 4;
constexpr unsigned kLongestPauseMs = 3000;  // a compile takes about as long: some kills meet it, some what comes after
constexpr milliseconds kPatience{300'000};

Result<std::vector<KernelsRequest>> kernels_to_ask_for(const GemmDescriptor& model) {
  std::vector<KernelsRequest> kernels;
  for (const auto type : {DType::bf16, DType::f16}) {
    for (const auto zero_point : {ZeroPointKind::none, ZeroPointKind::integer}) {
      for (const auto group : {128u, 32u}) {
        auto descriptor = model;
        descriptor.activation = descriptor.output = descriptor.weight_scale_type = type;
        descriptor.group_k = group;
        descriptor.zero_point = zero_point;
        CUBIND_TRY(const auto configs, reachable(descriptor, kArch, kMaxM));
        for (const auto& config : configs) kernels.push_back(request_of_kernel(descriptor, config_name(config)));
      }
    }
  }
  return kernels;
}

// What all clients were answered. An answer that began after another had been given must be a hit.
class Ledger {
 public:
  using Known = std::map<KernelKey, Digest>;

  Known known() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }
  void add(const KernelInHand& kernel, const Known& before) {
    const auto digest = sha256(kernel.code);
    const bool compiled = kernel.reply.outcome == Outcome::built || kernel.reply.outcome == Outcome::joined;
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = known_.emplace(kernel.reply.key, digest);
    ++answers_;
    if (digest != kernel.reply.cubin_digest || digest != entry->second) ++wrong_;
    if (compiled && before.contains(kernel.reply.key)) ++lost_;
  }
  std::size_t answers() const { return answers_; }
  std::size_t wrong() const { return wrong_; }
  std::size_t lost() const { return lost_; }

 private:
  mutable std::mutex mutex_;
  Known known_;
  std::size_t answers_ = 0, wrong_ = 0, lost_ = 0;
};

}  // namespace

Result<Figures> kill_figures(const Programs& programs, std::size_t kills) {
  CUBIND_TRY(const auto layers, model_layers(programs.model));
  CUBIND_TRY(const auto kernels, kernels_to_ask_for(layers.front().descriptor));
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "kills"));
  DaemonUnderTest::Options options;
  options.workers = kWorkers;
  CUBIND_CHECK(daemon.start(options));

  Ledger ledger;
  std::atomic<bool> over = false;
  std::vector<Status> outcomes(kClients);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      auto client = daemon.connect("bench");
      if (!client.ok()) outcomes[i] = client.error();
      while (outcomes[i].ok() && !over) {
        const auto before = ledger.known();
        // Half of the time one that is likely there already.
        const auto most = random() % 2 == 0 ? kernels.size() : std::min(before.size() + 2, kernels.size());
        auto kernel = get_kernel(**client, kernels[random() % most]);
        if (kernel.ok()) {
          ledger.add(*kernel, before);
        } else {
          outcomes[i] = kernel.error();
        }
      }
    });
  }
  // Some answers first, or early kills on a slow machine would meet nothing but compiles.
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (ledger.known().size() < kFirstAnswers && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(milliseconds(50));
  }
  std::mt19937 random(7);
  Status restarted;
  std::size_t done = 0;
  for (; done < kills && restarted.ok(); ++done) {
    std::this_thread::sleep_for(milliseconds(random() % kLongestPauseMs));
    daemon.kill();
    restarted = daemon.launch(options);
  }
  over = true;
  for (auto& thread : threads) thread.join();
  CUBIND_CHECK(restarted);
  for (const auto& outcome : outcomes) CUBIND_CHECK(outcome);
  CUBIND_CHECK(daemon.stop());

  const auto distinct = ledger.known().size();
  const auto compiles = daemon.compiles();
  const auto seen = std::to_string(ledger.answers()) + " answers, " + std::to_string(distinct) + " distinct kernels, " +
                    std::to_string(compiles) + " compiles begun, " + std::to_string(kClients) +
                    " clients that never saw an error";
  const auto extra = static_cast<double>(compiles > distinct ? compiles - distinct : 0);
  return Figures{
      {"faults.kills", static_cast<double>(done), Figure::Bound::at_least, static_cast<double>(kills), seen},
      {"faults.wrong_answers", static_cast<double>(ledger.wrong()), Figure::Bound::equal, 0, seen},
      {"faults.lost_answers", static_cast<double>(ledger.lost()), Figure::Bound::equal, 0, seen},
      // A kill ends what the workers are at, and no more.
      {"faults.extra_compiles", extra, Figure::Bound::at_most, static_cast<double>(done * kWorkers),
       seen + "; a kill costs at most the " + std::to_string(kWorkers) + " compiles that were running"},
  };
}

}  // namespace cubind::bench
