// kill -9 at random moments, with clients that ask all the time: what they were answered before a kill has to be a hit
// after it, with the bytes it had, and they themselves must not notice more than a pause. Zygotes, workers and client
// processes are killed in between.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "bench/load/load_figures.hpp"
#include "bench/service/example_model.hpp"
#include "bench/service/kernel_in_hand.hpp"
#include "protocol/gemm_descriptor.hpp"

namespace cubind::bench {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint16_t kArchs[] = {75, 80, 86, 89, 90, 100, 120};
constexpr std::size_t kSearchers = 4;  // ask for anything, mostly for what is not there yet
constexpr std::size_t kRepeaters = 2;  // ask for what was answered before
constexpr milliseconds kRepeatPause{10};
constexpr unsigned kWorkers = 2;
constexpr std::size_t kFirstAnswers = 4;
constexpr std::size_t kKillsWithoutNew = 4;  // then one that is new is waited for: kills meet publishing to the end
constexpr milliseconds kPatience{300'000};

std::vector<KernelsRequest> kernels_to_ask_for(const GemmDescriptor& model) {
  std::vector<KernelsRequest> requests;
  for (const auto number : kArchs) {
    const Arch arch{number, '\0'};
    for (const auto& kernel : kernels_like(model, arch)) {
      requests.push_back(request_of_kernel(kernel));
      requests.back().arch = arch;
    }
  }
  return requests;
}

// What all clients were answered, by the kernel's number. An answer to who asked after another had been answered must
// be a hit.
class Ledger {
 public:
  explicit Ledger(std::size_t kernels) : known_(kernels) {}

  bool knows(std::size_t number) const {
    const std::lock_guard lock(mutex_);
    return known_[number].has_value();
  }
  // One that was answered, the later the likelier; none before the first.
  std::optional<std::size_t> any(std::mt19937& random) const {
    const std::lock_guard lock(mutex_);
    if (order_.empty()) return std::nullopt;
    return order_[std::max(random() % order_.size(), random() % order_.size())];
  }
  void add(std::size_t number, const KernelInHand& kernel, bool was_known) {
    const auto digest = sha256(kernel.code);
    const bool compiled = kernel.reply.outcome == Outcome::built || kernel.reply.outcome == Outcome::joined;
    const std::lock_guard lock(mutex_);
    if (!known_[number]) {
      known_[number] = digest;
      order_.push_back(number);
    }
    ++answers_;
    if (digest != kernel.reply.cubin_digest || digest != *known_[number]) ++wrong_;
    if (compiled && was_known) ++lost_;
  }
  std::size_t distinct() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
  }
  std::size_t answers() const { return answers_; }
  std::size_t wrong() const { return wrong_; }
  std::size_t lost() const { return lost_; }

 private:
  mutable std::mutex mutex_;
  std::vector<std::optional<Digest>> known_;
  std::vector<std::size_t> order_;
  std::size_t answers_ = 0, wrong_ = 0, lost_ = 0;
};

// Clients in threads of their own, until they are joined.
class Askers {
 public:
  Askers(const DaemonUnderTest& daemon, const std::vector<KernelsRequest>& kernels, Ledger& ledger)
      : daemon_(daemon), kernels_(kernels), ledger_(ledger), outcomes_(kSearchers + kRepeaters) {
    for (std::size_t i = 0; i < outcomes_.size(); ++i) threads_.emplace_back([this, i] { outcomes_[i] = run(i); });
  }
  ~Askers() { static_cast<void>(join()); }
  Askers(const Askers&) = delete;
  Askers& operator=(const Askers&) = delete;

  Status join() {
    over_ = true;
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    for (const auto& outcome : outcomes_) CUBIND_CHECK(outcome);
    return {};
  }
  std::size_t told_of_killed_workers() const { return told_; }

 private:
  Status run(std::size_t number) {
    std::mt19937 random(static_cast<unsigned>(number));
    CUBIND_TRY(const auto client, daemon_.connect("bench"));
    while (!over_) {
      if (number < kSearchers) {
        CUBIND_CHECK(ask(*client, random() % kernels_.size()));
        continue;
      }
      if (const auto known = ledger_.any(random)) CUBIND_CHECK(ask(*client, *known));
      std::this_thread::sleep_for(kRepeatPause);
    }
    return {};
  }

  Status ask(Client& client, std::size_t number) {
    const bool was_known = ledger_.knows(number);
    const auto kernel = get_kernel(client, kernels_[number]);
    if (kernel.ok()) {
      ledger_.add(number, *kernel, was_known);
      return {};
    }
    // A killed worker cannot be told from one that met the OOM killer: who waits for it hears of it, and asks again.
    if (kernel.error().message.find("signal 9") == std::string::npos) return kernel.error();
    ++told_;
    return {};
  }

  const DaemonUnderTest& daemon_;
  const std::vector<KernelsRequest>& kernels_;
  Ledger& ledger_;
  std::atomic<bool> over_ = false;
  std::atomic<std::size_t> told_ = 0;
  std::vector<Status> outcomes_;
  std::vector<std::thread> threads_;
};

// The first process whose parent is `parent`; 0 if there is none.
int child_of(int parent) {
  std::error_code gone;
  for (fs::directory_iterator entry("/proc", gone), end; !gone && entry != end; entry.increment(gone)) {
    const auto name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream status(entry->path() / "status");
    for (std::string word; status >> word;) {
      if (word != "PPid:") continue;
      if (int its_parent = 0; status >> its_parent && its_parent == parent) return std::stoi(name);
      break;
    }
  }
  return 0;
}

struct Killed {
  std::size_t daemons = 0, zygotes = 0, workers = 0, clients = 0;
};

void kill_process(int pid, std::size_t& count) {
  if (pid > 0 && ::kill(pid, SIGKILL) == 0) ++count;
}

}  // namespace

Result<Figures> kill_figures(const Programs& programs, std::size_t kills) {
  CUBIND_TRY(const auto layers, model_layers(programs.model));
  const auto& layer = layers.front();
  const auto kernels = kernels_to_ask_for(layer.descriptor);
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "kills"));
  DaemonUnderTest::Options options;
  options.workers = kWorkers;
  CUBIND_CHECK(daemon.start(options));

  Ledger ledger(kernels.size());
  Askers askers(daemon, kernels, ledger);
  const auto wait_for_answers = [&](std::size_t distinct) {
    const auto give_up = steady_clock::now() + kPatience;
    while (ledger.distinct() < std::min(distinct, kernels.size()) && steady_clock::now() < give_up) {
      std::this_thread::sleep_for(milliseconds(50));
    }
  };
  // Some answers first: they tell how long a compile takes here, and so in which time a kill may meet anything.
  const auto start = steady_clock::now();
  wait_for_answers(kFirstAnswers);
  const auto longest_pause = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start) / 4;
  // A process that asks for a whole table, as an engine does when it starts.
  const std::vector<std::string> command = {programs.boot_client, daemon.socket(), to_string(kArch),
                                            std::to_string(kSmCount),
                                            short_name(layer.descriptor) + ":" + std::to_string(layer.n) + ":" +
                                                std::to_string(layer.k) + ":" + std::to_string(layer.max_m)};
  std::mt19937 random(7);
  const auto pause = [&] { std::this_thread::sleep_for(longest_pause * (random() % 1000) / 1000); };
  ChildProcess::Options quiet;
  quiet.stderr_file = daemon.log_file();
  ChildProcess engine;
  Killed killed;
  while (killed.daemons < kills) {
    if (killed.daemons % kKillsWithoutNew == 0) wait_for_answers(kFirstAnswers + killed.daemons / kKillsWithoutNew);
    if (!engine.running()) {
      CUBIND_TRY(engine, ChildProcess::start(command, quiet));
    }
    pause();
    switch (killed.daemons % 4) {
      case 0: kill_process(child_of(daemon.pid()), killed.zygotes); break;
      case 1:
        if (const int zygote = child_of(daemon.pid())) kill_process(child_of(zygote), killed.workers);
        break;
      case 2:
        if (engine.running()) kill_process(engine.pid(), killed.clients);
        break;
      default: break;
    }
    pause();
    daemon.kill();
    ++killed.daemons;
    CUBIND_CHECK(daemon.launch(options));
  }
  CUBIND_CHECK(askers.join());
  const auto told = askers.told_of_killed_workers();
  {  // What was compiled for a client that was killed is somebody's answer now.
    CUBIND_TRY(const auto client, daemon.connect("bench"));
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i].arch != kArch || kernels[i].kernels.front().descriptor != layer.descriptor) continue;
      const bool was_known = ledger.knows(i);
      CUBIND_TRY(const auto kernel, get_kernel(*client, kernels[i]));
      ledger.add(i, kernel, was_known);
    }
  }
  CUBIND_CHECK(daemon.stop());

  const auto distinct = ledger.distinct();
  const auto compiles = daemon.compiles();
  const auto seen = std::to_string(killed.daemons) + " daemons, " + std::to_string(killed.zygotes) + " zygotes, " +
                    std::to_string(killed.workers) + " workers and " + std::to_string(killed.clients) +
                    " clients killed; " + std::to_string(ledger.answers()) + " answers, " + std::to_string(distinct) +
                    " distinct kernels of " + std::to_string(kernels.size()) + ", " + std::to_string(compiles) +
                    " compiles begun; of " + std::to_string(kSearchers + kRepeaters) + " clients one was told " +
                    std::to_string(told) + " times that its worker was killed, and of nothing else";
  const auto extra = static_cast<double>(compiles > distinct ? compiles - distinct : 0);
  const auto most = (killed.daemons + killed.zygotes) * kWorkers + killed.workers;
  return Figures{
      {"faults.kills", static_cast<double>(killed.daemons), Figure::Bound::at_least, static_cast<double>(kills), seen},
      {"faults.wrong_answers", static_cast<double>(ledger.wrong()), Figure::Bound::equal, 0, seen},
      {"faults.lost_answers", static_cast<double>(ledger.lost()), Figure::Bound::equal, 0, seen},
      // A kill ends what the workers are at, and no more.
      {"faults.extra_compiles", extra, Figure::Bound::at_most, static_cast<double>(most),
       seen + "; a kill costs at most the compiles that it ended, of " + std::to_string(kWorkers) + " workers"},
  };
}

}  // namespace cubind::bench
