// health and stats: how the daemon is; ready and reload: what it is told.
#include <nlohmann/json.hpp>

#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"

namespace cubind::cli {

namespace {

constexpr std::chrono::seconds kQuick{10};

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : "; ") + part;
  return out;
}

}  // namespace

Result<std::unique_ptr<Client>> open_client(const CommonOptions& common) {
  ClientOptions options;
  options.socket_path = common.socket;
  options.name = "cubinctl";
  return Client::open(std::move(options));
}

std::chrono::milliseconds deadline_of(const CommonOptions& common, std::chrono::seconds otherwise) {
  return common.deadline_s != 0 ? std::chrono::seconds(common.deadline_s) : otherwise;
}

Status run(const CommonOptions& common, const HealthOptions& options) {
  CUBIND_TRY(const auto client, open_client(common));
  CUBIND_TRY(const HealthReply reply, client->health(deadline_of(common, kQuick)));
  if (common.json) {
    CUBIND_CHECK(print_json({{"state", to_string(reply.state)},
                             {"reasons", reply.reasons},
                             {"daemon", reply.daemon},
                             {"pid", reply.pid},
                             {"uptime_ms", reply.uptime_ms},
                             {"toolchains", reply.toolchains},
                             {"store", reply.store}}));
  } else {
    std::vector<std::vector<std::string>> rows{{"state", std::string(to_string(reply.state))}};
    for (const auto& reason : reply.reasons) rows.push_back({"reason", printable(reason)});
    rows.push_back({"daemon", printable(reply.daemon)});
    rows.push_back({"pid", std::to_string(reply.pid)});
    rows.push_back({"uptime", seconds_text(static_cast<double>(reply.uptime_ms))});
    for (const auto& toolchain : reply.toolchains) rows.push_back({"toolchain", printable(toolchain)});
    rows.push_back({"store", printable(reply.store)});
    CUBIND_CHECK(print_text(table(rows)));
  }
  if (reply.state == HealthState::ok || options.alive) return {};
  return Error{ErrorCode::unavailable,
               "the daemon is " + std::string(to_string(reply.state)) + ": " + joined(reply.reasons)};
}

Status run(const CommonOptions& common, const StatsOptions&) {
  CUBIND_TRY(const auto client, open_client(common));
  CUBIND_TRY(const StatsReply reply, client->stats(deadline_of(common, kQuick)));
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  std::vector<std::vector<std::string>> rows;
  for (const auto& counter : reply.counters) {
    document[counter.name] = counter.value;
    const bool whole = counter.value == static_cast<double>(static_cast<long long>(counter.value));
    rows.push_back({printable(counter.name), fixed(counter.value, whole ? 0 : 3)});
  }
  return common.json ? print_json(document) : print_text(table(rows));
}

namespace {

Status print_done(const CommonOptions& common, const DoneReply& done) {
  if (common.json) return print_json({{"message", done.message}});
  return print_text(printable(done.message) + "\n");
}

}  // namespace

Status run(const CommonOptions& common, const ReadyOptions& options) {
  CUBIND_TRY(const auto client, open_client(common));
  CUBIND_TRY(const DoneReply done, client->declare_user_ready(!options.off, deadline_of(common, kQuick)));
  return print_done(common, done);
}

Status run(const CommonOptions& common, const ReloadOptions&) {
  CUBIND_TRY(const auto client, open_client(common));
  CUBIND_TRY(const DoneReply done, client->reload(deadline_of(common, kQuick)));
  return print_done(common, done);
}

}  // namespace cubind::cli
