// What a hit costs beside the bare socket calls. Client and daemon share one core, so that the figure is the software's
// own cost and not that of waking an idle core. The daemon logs each request, to a file. Blocks of requests to the
// daemon and to the raw server alternate.
#include <algorithm>
#include <chrono>

#include <sched.h>

#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"
#include "bench/service/kernel_in_hand.hpp"
#include "bench/service/raw_epoll.hpp"
#include "client/connection.hpp"
#include "client/wire.hpp"
#include "codegen/plan/planner.hpp"

namespace cubind::bench {

namespace {

using std::chrono::steady_clock;

// A hit of 60 KB is a real kernel's: of those that there are, the one with the most code, give or take so much.
constexpr Arch kHitArch{120, '\0'};
constexpr std::size_t kHitBytes = 60 << 10;
constexpr std::size_t kHitSlack = kHitBytes / 20;
constexpr std::chrono::milliseconds kPatience{120'000};
constexpr std::size_t kRequestsPerBlock = 400;
constexpr std::size_t kBatchesPerBlock = 60;

// One request and the sizes of everything that answers it: each reply's frame with the code behind it.
struct Exchange {
  KernelsRequest request;
  std::size_t request_bytes = 0;
  std::vector<std::size_t> frames;
  std::size_t kernels = 0;

  std::size_t reply_bytes() const {
    std::size_t sum = 0;
    for (const auto bytes : frames) sum += bytes;
    return sum;
  }
};

Result<SummaryReply> exchange(Connection& connection, const KernelsRequest& request,
                              std::vector<std::size_t>* frames = nullptr) {
  const auto give_up = deadline_after(kPatience);  // as every caller of the client library has one
  CUBIND_CHECK(connection.send(request, give_up));
  for (;;) {
    CUBIND_TRY(const auto incoming, connection.next(give_up));
    if (frames != nullptr) frames->push_back(wire::encode(incoming.reply).size() + incoming.code.size());
    if (const auto* summary = std::get_if<SummaryReply>(&incoming.reply)) return *summary;
    if (const auto* error = std::get_if<ErrorReply>(&incoming.reply)) return Error{error->code, error->message};
  }
}

// Asks once to have everything in the daemon's memory, and once more for the sizes.
Result<Exchange> rehearse(Connection& connection, const KernelsRequest& request) {
  Exchange rehearsed{request, wire::encode(Request(request)).size(), {}, 0};
  CUBIND_TRY([[maybe_unused]] const auto warm, exchange(connection, request));
  CUBIND_TRY(const auto summary, exchange(connection, request, &rehearsed.frames));
  if (summary.hits_memory != summary.total || summary.total == 0) {
    return Error{ErrorCode::internal, "a repeated request was not answered from memory"};
  }
  rehearsed.kernels = summary.total;
  return rehearsed;
}

// Microseconds of the median of `count` calls.
template <class Call>
Result<double> block_median(std::size_t count, Call call) {
  Samples microseconds;
  for (std::size_t i = 0; i < count; ++i) {
    const auto start = steady_clock::now();
    CUBIND_CHECK(call());
    microseconds.add(std::chrono::duration<double, std::micro>(steady_clock::now() - start).count());
  }
  return microseconds.median();
}

struct Comparison {
  Samples ours, raw, ratios;  // one of each for a pair of blocks
};

Result<Comparison> compare(const Programs& programs, Connection& connection, const Exchange& rehearsed,
                           std::size_t blocks, std::size_t requests) {
  const auto socket = programs.scratch + "/raw";
  CUBIND_TRY(const auto server, RawServer::start(socket, rehearsed.request_bytes, rehearsed.reply_bytes()));
  CUBIND_TRY(auto raw, RawClient::connect(socket, rehearsed.request_bytes, rehearsed.frames));
  Comparison comparison;
  for (std::size_t block = 0; block < blocks; ++block) {
    CUBIND_TRY(const double ours, block_median(requests, [&]() -> Status {
                 CUBIND_TRY([[maybe_unused]] const auto summary, exchange(connection, rehearsed.request));
                 return {};
               }));
    CUBIND_TRY(const double theirs, block_median(requests, [&] { return raw.round_trip(); }));
    comparison.ours.add(ours);
    comparison.raw.add(theirs);
    comparison.ratios.add(ours / theirs);
  }
  return comparison;
}

std::string sizes_text(const Exchange& rehearsed) {
  return std::to_string(rehearsed.request_bytes) + " bytes asked, " + std::to_string(rehearsed.reply_bytes()) +
         " answered in " + std::to_string(rehearsed.frames.size()) + " frames; ";
}

// The largest tile of the format that takes the most instructions to unpack.
Result<KernelsRequest> hit_request(const LayerSpec& layer) {
  auto descriptor = layer.descriptor;
  descriptor.activation = descriptor.output = descriptor.weight_scale_type = DType::f16;
  descriptor.group_k = 32;
  descriptor.zero_point = ZeroPointKind::integer;
  CUBIND_TRY(const auto configs, reachable(descriptor, kHitArch, kMaxM));
  const auto largest = std::max_element(configs.begin(), configs.end(), [](const auto& a, const auto& b) {
    return a.tile_m * a.tile_n < b.tile_m * b.tile_n;
  });
  auto request = request_of_kernel({descriptor, config_name(*largest)});
  request.arch = kHitArch;
  request.id = 1;
  return request;
}

}  // namespace

Result<Figures> hit_figures(const Programs& programs, const LayerSpec& layer, std::size_t blocks) {
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "hit"));
  const PinnedToCore pinned(::sched_getcpu());
  CUBIND_CHECK(daemon.start({}));
  CUBIND_TRY(const auto hit, hit_request(layer));
  CUBIND_TRY(auto connection, Connection::open(daemon.socket(), "bench", deadline_after(kPatience)));

  CUBIND_TRY(const auto one, rehearse(connection, hit));
  CUBIND_TRY(const auto hits, compare(programs, connection, one, blocks, kRequestsPerBlock));
  auto table_request = request_of({layer});
  table_request.id = 1;
  CUBIND_TRY(const auto table, rehearse(connection, table_request));
  CUBIND_TRY(const auto batches, compare(programs, connection, table, blocks, kBatchesPerBlock));
  CUBIND_CHECK(daemon.stop());

  const auto kernels = static_cast<double>(table.kernels);
  const bool is_60_kb = one.reply_bytes() + kHitSlack >= kHitBytes && one.reply_bytes() <= kHitBytes + kHitSlack;
  return Figures{
      {"hit.pinned_ratio", hits.ratios.median(), Figure::Bound::at_most, 2.5,
       sizes_text(one) + "p50 " + fixed(hits.ours.median(), 1) + " us, raw " + fixed(hits.raw.median(), 1) +
           " us; ratio " + hits.ratios.text(2) + (is_60_kb ? "" : "; no kernel has 60 KB any more: choose another one"),
       is_60_kb},
      {"batch.ratio", batches.ratios.median(), Figure::Bound::at_most, 2.0,
       sizes_text(table) + std::to_string(table.kernels) + " kernels; p50 a kernel " +
           fixed(batches.ours.median() / kernels, 1) + " us, raw " + fixed(batches.raw.median() / kernels, 1) +
           " us; ratio " + batches.ratios.text(2)},
  };
}

}  // namespace cubind::bench
