// The service around a scripted pool and a store in a map, on a clock and an executor that the test drives: no thread,
// no socket, no disk, no waiting.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/session_logic.hpp"
#include "protocol/codec.hpp"
#include "protocol/frame.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/scripted_kernels.hpp"
#include "tests/support/scripted_pool.hpp"

namespace cubind::test {

class ManualExecutor final : public Executor {
 public:
  void on_disk_thread(Work work) override { disk_.push_back(std::move(work)); }
  void on_loop(Work work) override { loop_.push_back(std::move(work)); }

  void run() {  // until nothing is left
    while (!disk_.empty() || !loop_.empty()) {
      run_one(disk_);
      run_one(loop_);
    }
  }
  void run_loop() {
    while (!loop_.empty()) run_one(loop_);
  }
  std::size_t disk_work() const { return disk_.size(); }

 private:
  static void run_one(std::deque<Work>& queue) {
    if (queue.empty()) return;
    auto work = std::move(queue.front());
    queue.pop_front();
    work();
  }
  std::deque<Work> disk_, loop_;
};

class MapStore final : public ArtifactStore {
 public:
  bool put_fails = false;
  int gets = 0, touches = 0;

  void touch(const KernelKey&) override { ++touches; }
  Result<std::optional<Artifact>> get(const KernelKey& key, const std::vector<Ingredient>&) override {
    ++gets;
    const auto found = artifacts.find(key);
    if (found == artifacts.end()) return std::optional<Artifact>();
    return std::optional(found->second);
  }
  Status put_as(const Artifact& artifact, const std::vector<Ingredient>& from, std::uint32_t owner) override {
    if (put_fails) return Error{ErrorCode::resource_exhausted, "no space left"};
    artifacts[artifact.key] = artifact;
    owners[artifact.key] = owner;
    ingredients_of[artifact.key] = from;
    return {};
  }
  Result<std::uint64_t> erase(const KernelKey& key) override {
    const auto found = artifacts.find(key);
    if (found == artifacts.end()) return std::uint64_t{0};
    const std::uint64_t bytes = found->second.cubin->size();
    artifacts.erase(found);
    return bytes;
  }
  Result<std::vector<RecordSummary>> list(const KernelKey& after, std::size_t limit) override {
    std::vector<RecordSummary> page;
    for (auto it = artifacts.upper_bound(after); it != artifacts.end() && page.size() < limit; ++it) {
      RecordSummary summary;
      summary.key = it->first;
      summary.name = it->second.info.name;
      summary.arch = it->second.info.arch;
      summary.toolchain = it->second.info.toolchain;
      summary.cubin_bytes = it->second.cubin->size();
      page.push_back(std::move(summary));
    }
    return page;
  }
  Result<std::optional<std::vector<Ingredient>>> ingredients(const KernelKey& key) override {
    const auto found = ingredients_of.find(key);
    if (found == ingredients_of.end()) return std::optional<std::vector<Ingredient>>();
    return std::optional(found->second);
  }
  Status put_failure(const KernelKey& key, const StoredFailure& failure) override {
    failures[key] = failure;
    return {};
  }
  Result<std::optional<StoredFailure>> get_failure(const KernelKey& key) override {
    const auto found = failures.find(key);
    if (found == failures.end()) return std::optional<StoredFailure>();
    return std::optional(found->second);
  }
  Status remember_toolchain(const ToolchainIdentity& toolchain) override {
    toolchains.push_back(toolchain);
    return {};
  }
  StoreStats stats() const override {
    StoreStats stats;
    stats.records = artifacts.size();
    return stats;
  }

  std::map<KernelKey, Artifact> artifacts;
  std::map<KernelKey, std::uint32_t> owners;
  std::map<KernelKey, std::vector<Ingredient>> ingredients_of;
  std::map<KernelKey, StoredFailure> failures;
  std::vector<ToolchainIdentity> toolchains;
};

struct Heard {
  Reply reply;
  Bytes code;
};

struct Service {
  ManualClock clock;
  ManualExecutor executor;
  Metrics metrics;
  MapStore store;
  MemoryStore memory{64 << 20};
  ScriptedPool pool;
  RequestPlanner planner;
  KernelService kernels;
  Admin admin;
  SessionLogic::Parts parts;

  explicit Service(std::vector<Toolchain> toolchains = {test_toolchain()}, std::size_t max_queue = 1000)
      : pool(executor, max_queue),
        planner(toolchains, {}, ""),
        kernels({memory, store, pool, executor, clock, metrics, build_without_reading}),
        admin({kernels, planner, memory, store, pool, metrics, clock, "cubind test", "/nowhere"}),
        parts{kernels,      planner,  admin,   store, memory,
              pool,         executor, metrics, clock, AccessRules(1000, {{1001}, {}}, {}),
              "cubind test"} {}
};

// The client's side of one connection.
class Conversation {
 public:
  explicit Conversation(Service& service, Peer peer = {1000, 1000, 1, {}}, bool greet = true,
                        std::uint16_t version = kProtocolMax)
      : service_(service), logic(std::in_place, service.parts, std::move(peer), [this] { ++wakeups; }) {
    if (greet) {
      send_bytes(codec::encode(ClientHello{1, version, "test"}));
      static_cast<void>(hello());
    }
  }

  void send_bytes(ByteView bytes) {
    while (!bytes.empty() && logic->wants_input()) {
      const auto space = logic->input_space();
      const auto count = std::min(space.size(), bytes.size());
      std::copy_n(bytes.begin(), count, space.begin());
      logic->received(count, service_.clock.now());
      bytes = bytes.subspan(count);
    }
  }
  void send(const Request& request) { send_bytes(codec::encode(request)); }

  ServerHello hello() {
    take(SIZE_MAX);
    auto frame = reader_.next();
    return codec::decode_server_hello(**frame).value();
  }

  // What the daemon has said since the last call. `most` bytes are taken: a slow reader takes few.
  std::vector<Heard> heard(std::size_t most = SIZE_MAX) {
    take(most);
    std::vector<Heard> all;
    for (;;) {
      if (!partial_) {
        auto frame = reader_.next();
        if (!frame.ok() || !frame->has_value()) return all;
        partial_ = Heard{codec::decode_reply(**frame).value(), {}};
      }
      const auto* kernel = std::get_if<KernelReply>(&partial_->reply);
      const std::size_t code_bytes = kernel == nullptr ? 0 : kernel->code_bytes;
      if (reader_.buffered() < code_bytes) return all;
      partial_->code.resize(code_bytes);
      reader_.take(partial_->code);
      all.push_back(*std::move(partial_));
      partial_.reset();
    }
  }

  template <class Kind>
  std::vector<Kind> heard_of(const std::vector<Heard>& all) const {
    std::vector<Kind> found;
    for (const auto& one : all) {
      if (const auto* reply = std::get_if<Kind>(&one.reply)) found.push_back(*reply);
    }
    return found;
  }

 private:
  void take(std::size_t most) {
    while (!logic->output().empty() && most != 0) {
      iovec pieces[8];
      const auto used = logic->output().gather(pieces);
      std::size_t count = 0;
      for (std::size_t i = 0; i < used && count < most; ++i) {
        const auto size = std::min(pieces[i].iov_len, most - count);
        reader_.append({static_cast<const std::byte*>(pieces[i].iov_base), size});
        count += size;
      }
      most -= count;
      logic->written(count, service_.clock.now());
    }
  }

  Service& service_;
  FrameReader reader_{64 << 20};
  std::optional<Heard> partial_;

 public:
  std::optional<SessionLogic> logic;  // reset() = the client has gone
  int wakeups = 0;
};

}  // namespace cubind::test
