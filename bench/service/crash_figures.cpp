// What a client was answered before the daemon is killed has to be a hit afterwards, with the bytes it had. The daemon
// dies at a named step of publishing, is started again on the same store, and all that it ever answered is asked for
// once more.
#include <chrono>
#include <csignal>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include <sys/wait.h>

#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"
#include "bench/service/kernel_in_hand.hpp"
#include "client/connection.hpp"
#include "protocol/gemm_descriptor.hpp"

namespace cubind::bench {

namespace {

using std::chrono::milliseconds;

// Every step from a finished compile to its answer.
constexpr const char* kSteps[] = {"service.before_put", "store.put.begin", "store.put.before_write",
                                  "store.put.after_write", "service.after_put"};
constexpr std::size_t kAskedAtOnce = 3;
constexpr milliseconds kConnectPause{2};
constexpr milliseconds kPatience{120'000};
constexpr milliseconds kDeathPatience{10'000};

// Everything that was ever answered, and whether each answer had the bytes of its digest and of all answers before it.
struct Answers {
  std::map<KernelKey, Digest> acknowledged;
  std::size_t wrong = 0;

  void take(const KernelReply& reply, const Bytes& code) {
    const auto digest = sha256(code);
    const auto [known, is_new] = acknowledged.emplace(reply.key, digest);
    if (digest != reply.cubin_digest || digest != known->second) ++wrong;
  }
};

Result<Connection> connect_to(const DaemonUnderTest& daemon) {
  const auto give_up = deadline_after(kPatience);
  for (;;) {
    auto connection = Connection::open(daemon.socket(), "bench", give_up);
    if (connection.ok() || std::chrono::steady_clock::now() >= *give_up) return connection;
    std::this_thread::sleep_for(kConnectPause);
  }
}

// Keeps some kernels asked for, until the daemon is gone. Those that were answered leave `kernels`; those that were in
// the making come first again.
Status ask_until_killed(const DaemonUnderTest& daemon, std::deque<KernelSpec>& kernels, Answers& answers) {
  CUBIND_TRY(auto connection, connect_to(daemon));
  const auto give_up = deadline_after(kPatience);
  std::map<std::uint64_t, KernelSpec> asked;  // by request
  std::uint64_t last_id = 0;
  Status alive;
  const auto ask_one = [&]() -> Status {
    if (kernels.empty()) return Error{ErrorCode::internal, "the daemon lives on: a build without fault points?"};
    auto request = request_of({});
    request.id = ++last_id;
    request.kernels.push_back(kernels.front());
    asked.emplace(request.id, std::move(kernels.front()));
    kernels.pop_front();
    return connection.send(request, give_up);
  };
  for (std::size_t i = 0; alive && i < kAskedAtOnce; ++i) alive = ask_one();
  while (alive) {
    auto incoming = connection.next(give_up);
    if (!incoming.ok()) {
      alive = std::move(incoming).error();
    } else if (const auto* kernel = std::get_if<KernelReply>(&incoming->reply)) {
      if (kernel->code != ErrorCode::ok) return Error{kernel->code, kernel->message};
      answers.take(*kernel, incoming->code);
      asked.erase(kernel->id);
      alive = ask_one();
    } else if (const auto* error = std::get_if<ErrorReply>(&incoming->reply)) {
      return Error{error->code, error->message};
    }
  }
  for (auto& [id, kernel] : asked) kernels.push_front(std::move(kernel));
  if (alive.error().code == ErrorCode::unavailable) return {};  // the connection broke
  return alive;
}

// Of everything that was ever answered: how much is no hit. Asked by key, so that nothing can be compiled again.
Result<std::size_t> count_lost(const DaemonUnderTest& daemon, Answers& answers) {
  if (answers.acknowledged.empty()) return std::size_t{0};
  CUBIND_TRY(auto connection, connect_to(daemon));
  const auto give_up = deadline_after(kPatience);
  auto request = request_of({});
  request.id = 1;
  for (const auto& [key, digest] : answers.acknowledged) request.keys.push_back(key);
  CUBIND_CHECK(connection.send(request, give_up));
  std::size_t hits = 0;
  for (;;) {
    CUBIND_TRY(const auto incoming, connection.next(give_up));
    if (const auto* kernel = std::get_if<KernelReply>(&incoming.reply); kernel && kernel->code == ErrorCode::ok) {
      answers.take(*kernel, incoming.code);
      ++hits;
    }
    if (const auto* error = std::get_if<ErrorReply>(&incoming.reply)) return Error{error->code, error->message};
    if (std::holds_alternative<SummaryReply>(incoming.reply)) return request.keys.size() - hits;
  }
}

}  // namespace

Result<Figures> crash_figures(const Programs& programs, const LayerSpec& layer, std::size_t kills_per_step) {
  std::size_t kills = 0, answered = 0, lost = 0, wrong = 0;
  std::string steps;
  for (const std::string step : kSteps) {
    CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "crash-" + step));
    const auto all = kernels_like(layer.descriptor, kArch);  // enough: each kill comes with the second one published
    std::deque<KernelSpec> kernels(all.begin(), all.end());
    Answers answers;
    const auto check = [&]() -> Status {
      CUBIND_TRY(const auto lost_now, count_lost(daemon, answers));
      lost += lost_now;
      return {};
    };
    DaemonUnderTest::Options fatal;
    fatal.fault = step + "=kill@2";
    for (std::size_t kill = 0; kill < kills_per_step; ++kill) {
      CUBIND_CHECK(daemon.launch(fatal));
      CUBIND_CHECK(check());
      CUBIND_CHECK(ask_until_killed(daemon, kernels, answers));
      CUBIND_TRY(const auto status, daemon.wait_for_end(kDeathPatience));
      if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
        return Error{ErrorCode::internal, "the daemon ended with wait status \"" + std::to_string(status) + "\" at \"" +
                                              step + "\", see \"" + daemon.log_file() + "\""};
      }
      ++kills;
    }
    CUBIND_CHECK(daemon.start({}));
    CUBIND_CHECK(check());
    CUBIND_CHECK(daemon.stop());
    answered += answers.acknowledged.size();
    wrong += answers.wrong;
    steps += (steps.empty() ? "" : ", ") + std::to_string(kills_per_step) + " at " + step;
  }
  const auto detail = std::to_string(kills) + " kills: " + steps + "; " + std::to_string(answered) +
                      " kernels were answered, and asked for again after every later start";
  // Without an answer in each store there was nothing to lose.
  const bool is_sound = answered >= kills / 2;
  return Figures{{"crash.lost_answers", static_cast<double>(lost), Figure::Bound::equal, 0, detail, is_sound},
                 {"crash.wrong", static_cast<double>(wrong), Figure::Bound::equal, 0, detail, is_sound}};
}

}  // namespace cubind::bench
