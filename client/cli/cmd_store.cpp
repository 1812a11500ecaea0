// ls, verify and purge: what is stored.
#include <nlohmann/json.hpp>

#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"
#include "client/cli/progress.hpp"

namespace cubind::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t kPage = 256;
constexpr std::chrono::seconds kQuick{60};

ordered_json record_json(const RecordSummary& record) {
  return {{"key", record.key.hex()},
          {"name", record.name},
          {"arch", to_string(record.arch)},
          {"toolchain", record.toolchain},
          {"cubin_bytes", record.cubin_bytes},
          {"created_ms", record.created_ms},
          {"last_used_ms", record.last_used_ms},
          {"hits", record.hits},
          {"compile_ms", record.compile_ms}};
}

std::vector<std::string> record_row(const RecordSummary& record) {
  return {record.key.hex(),
          printable(record.name),
          to_string(record.arch),
          bytes_text(record.cubin_bytes),
          std::to_string(record.hits),
          seconds_text(record.compile_ms),
          time_text(record.created_ms)};
}

}  // namespace

Status run(const CommonOptions& common, const ListOptions&) {
  CUBIND_TRY(const auto client, open_client(common));
  std::vector<RecordSummary> records;
  ListRequest request;
  request.limit = kPage;
  for (bool more = true; more;) {
    CUBIND_TRY(ListReply reply, client->list(request, deadline_of(common, kQuick)));
    more = reply.records.size() == kPage && reply.records.back().key > request.after;
    if (!reply.records.empty()) request.after = reply.records.back().key;
    records.insert(records.end(), std::make_move_iterator(reply.records.begin()),
                   std::make_move_iterator(reply.records.end()));
  }
  if (common.json) {
    ordered_json document = ordered_json::array();
    for (const auto& record : records) document.push_back(record_json(record));
    return print_json(document);
  }
  std::vector<std::vector<std::string>> rows{{"key", "name", "arch", "size", "hits", "compile", "created (UTC)"}};
  for (const auto& record : records) rows.push_back(record_row(record));
  return print_text(table(rows));
}

Status run(const CommonOptions& common, const VerifyOptions& options) {
  CUBIND_TRY(const auto client, open_client(common));
  Progress progress = Progress::to_stderr(true);
  std::vector<VerifyReply> records;
  VerifyRequest request;
  request.key = options.key;
  CUBIND_TRY(const SummaryReply summary, client->verify(
                                             std::move(request),
                                             [&](const VerifyReply& reply) {
                                               records.push_back(reply);
                                               progress.show("verify", records.size());
                                             },
                                             deadline_of(common, std::chrono::hours(24))));
  progress.finish();

  std::size_t mismatches = 0;
  ordered_json document = ordered_json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& record : records) {
    mismatches += record.matches ? 0 : 1;
    document.push_back(
        {{"key", record.key.hex()}, {"name", record.name}, {"matches", record.matches}, {"message", record.message}});
    rows.push_back({record.key.hex(), printable(record.name), record.matches ? "same" : printable(record.message)});
  }
  if (common.json) {
    CUBIND_CHECK(print_json({{"total", records.size()},
                             {"mismatches", mismatches},
                             {"elapsed_ms", summary.elapsed_ms},
                             {"records", std::move(document)}}));
  } else {
    CUBIND_CHECK(print_text(table(rows) + std::to_string(records.size()) + " records, " + std::to_string(mismatches) +
                            " differ\n"));
  }
  if (mismatches == 0) return {};
  return Error{ErrorCode::corruption,
               std::to_string(mismatches) + " of " + std::to_string(records.size()) + " records differ"};
}

Status run(const CommonOptions& common, const PurgeOptions& options) {
  CUBIND_TRY(const auto client, open_client(common));
  PurgeRequest request;
  request.key = options.key;
  CUBIND_TRY(const PurgeReply reply, client->purge(request, deadline_of(common, kQuick)));
  if (reply.records == 0 && !options.key.is_zero()) {
    return Error{ErrorCode::not_found, "--key \"" + options.key.hex() + "\" names no stored kernel"};
  }
  if (common.json) return print_json({{"records", reply.records}, {"bytes", reply.bytes}});
  return print_text("removed " + std::to_string(reply.records) + " records, " + bytes_text(reply.bytes) + "\n");
}

}  // namespace cubind::cli
