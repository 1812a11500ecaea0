// 64 clients that ask for the same hit as fast as they can, with a thousand connections open, against a bare epoll
// server of the same sizes with as many. Clients are threads of this process: what they cost is the same on both sides.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "bench/load/load_figures.hpp"
#include "bench/service/example_model.hpp"
#include "bench/service/kernel_in_hand.hpp"
#include "bench/service/raw_epoll.hpp"
#include "client/connection.hpp"
#include "client/wire.hpp"

namespace cubind::bench {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kBlocks = 10;

struct Block {
  double hits_per_second = 0;
  std::vector<double> microseconds;  // of each hit
};

Status hit(Connection& connection, const KernelsRequest& request, std::vector<std::size_t>* frames) {
  CUBIND_CHECK(connection.send(request, std::nullopt));
  for (;;) {
    CUBIND_TRY(const auto incoming, connection.next(std::nullopt));
    if (frames != nullptr) frames->push_back(wire::encode(incoming.reply).size() + incoming.code.size());
    if (const auto* summary = std::get_if<SummaryReply>(&incoming.reply)) {
      if (summary->hits_memory == 1) return {};
      return Error{ErrorCode::internal, "a kernel that was in memory is no hit"};
    }
    if (const auto* error = std::get_if<ErrorReply>(&incoming.reply)) return Error{error->code, error->message};
  }
}

// `call(client)` again and again in as many threads as there are clients; `hits` in all.
template <class Client, class Call>
Result<Block> run_block(std::vector<Client>& clients, std::size_t hits, Call call) {
  const auto each = std::max<std::size_t>(hits / clients.size(), 1);
  std::vector<std::vector<double>> times(clients.size());
  std::vector<Status> outcomes(clients.size());
  std::atomic<bool> go = false;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    threads.emplace_back([&, i] {
      times[i].reserve(each);
      go.wait(false);
      for (std::size_t n = 0; n < each && outcomes[i].ok(); ++n) {
        const auto start = steady_clock::now();
        outcomes[i] = call(clients[i]);
        times[i].push_back(std::chrono::duration<double, std::micro>(steady_clock::now() - start).count());
      }
    });
  }
  const auto start = steady_clock::now();
  go = true;
  go.notify_all();
  for (auto& thread : threads) thread.join();
  Block block;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    CUBIND_CHECK(outcomes[i]);
    block.microseconds.insert(block.microseconds.end(), times[i].begin(), times[i].end());
  }
  block.hits_per_second = static_cast<double>(block.microseconds.size()) /
                          std::chrono::duration<double>(steady_clock::now() - start).count();
  return block;
}

}  // namespace

Result<Figures> hot_client_figures(const Programs& programs, std::size_t hits) {
  CUBIND_TRY(const auto layers, model_layers(programs.model));
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "load"));
  CUBIND_CHECK(daemon.start({}));
  CUBIND_TRY(const auto configs, catalogue_of(layers.front()));
  auto request = request_of_kernel({layers.front().descriptor, configs.front()});
  request.id = 1;
  {
    CUBIND_TRY(const auto client, daemon.connect("bench"));
    CUBIND_TRY([[maybe_unused]] const auto built, get_kernel(*client, request));
  }
  std::vector<Connection> idle, hot;
  for (std::size_t i = 0; i < kIdleConnections + kHotClients; ++i) {
    CUBIND_TRY(auto connection, Connection::open(daemon.socket(), "bench", std::nullopt));
    (i < kIdleConnections ? idle : hot).push_back(std::move(connection));
  }
  std::vector<std::size_t> frames;
  CUBIND_CHECK(hit(hot.front(), request, &frames));
  const auto request_bytes = wire::encode(Request(request)).size();
  std::size_t reply_bytes = 0;
  for (const auto bytes : frames) reply_bytes += bytes;

  const auto socket = programs.scratch + "/raw-load";
  CUBIND_TRY(const auto server, RawServer::start(socket, request_bytes, reply_bytes));
  std::vector<RawClient> raw;
  for (std::size_t i = 0; i < kHotClients; ++i) {
    CUBIND_TRY(auto client, RawClient::connect(socket, request_bytes, frames));
    raw.push_back(std::move(client));
  }

  Samples ours, theirs, ratios, tails, p50s;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    CUBIND_TRY(auto one, run_block(hot, hits / kBlocks, [&](Connection& c) { return hit(c, request, nullptr); }));
    CUBIND_TRY(const auto bare, run_block(raw, hits / kBlocks, [](RawClient& c) { return c.round_trip(); }));
    const Samples times{std::move(one.microseconds)};
    ours.add(one.hits_per_second);
    theirs.add(bare.hits_per_second);
    ratios.add(one.hits_per_second / bare.hits_per_second);
    p50s.add(times.percentile(0.5));
    tails.add(times.percentile(0.99) / times.percentile(0.5));
  }
  CUBIND_CHECK(daemon.stop());
  const auto sizes = std::to_string(kHotClients) + " clients, " + std::to_string(kIdleConnections) +
                     " idle connections, " + std::to_string(hits) + " hits, " + std::to_string(request_bytes) +
                     " bytes asked, " + std::to_string(reply_bytes) + " answered; ";
  return Figures{{"load.hits_ratio", ratios.median(), Figure::Bound::at_least, 0.5,
                  sizes + "hits a second " + fixed(ours.median(), 0) + ", raw " + fixed(theirs.median(), 0) +
                      "; ratio " + ratios.text(2)},
                 {"load.tail_ratio", tails.median(), Figure::Bound::at_most, 20,
                  sizes + "p99 / p50 " + tails.text(1) + "; p50 us " + p50s.text(0)}};
}

}  // namespace cubind::bench
