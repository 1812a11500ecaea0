// explain: every ingredient of a kernel's key, the source that was generated for it, or what differs from the nearest
// stored key.
#include <nlohmann/json.hpp>

#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"

namespace cubind::cli {

namespace {

Status print_nearest(const CommonOptions& common, const ExplainOptions& options, Client& client) {
  NearestRequest request{0, options.kernel.spec, options.kernel.arch, options.kernel.toolchain};
  CUBIND_TRY(const NearestReply reply,
             client.nearest(std::move(request), deadline_of(common, std::chrono::minutes(1))));
  if (reply.nearest.is_zero()) return Error{ErrorCode::not_found, "no kernel is stored"};
  if (common.json) {
    nlohmann::ordered_json listed = nlohmann::ordered_json::array();
    for (const auto& one : reply.differences) {
      listed.push_back({{"name", one.name}, {"asked", one.asked}, {"stored", one.stored}});
    }
    return print_json({{"key", reply.key.hex()},
                       {"nearest", reply.nearest.hex()},
                       {"name", reply.name},
                       {"differences", std::move(listed)}});
  }
  std::string text = table({{"key", reply.key.hex()}, {"nearest", reply.nearest.hex()}, {"", printable(reply.name)}});
  if (reply.differences.empty()) return print_text(text + "it is stored: nothing differs\n");
  std::vector<std::vector<std::string>> rows{{"differs", "asked", "stored"}};
  for (const auto& one : reply.differences) {
    rows.push_back({printable(one.name), printable(one.asked), printable(one.stored)});
  }
  return print_text(text + "\n" + table(rows));
}

}  // namespace

Status run(const CommonOptions& common, const ExplainOptions& options) {
  CUBIND_TRY(const auto client, open_client(common));
  if (options.nearest) return print_nearest(common, options, *client);
  ExplainRequest request;
  request.kernel = options.kernel.spec;
  request.arch = options.kernel.arch;
  request.toolchain = options.kernel.toolchain;
  request.with_source = options.source;
  CUBIND_TRY(const ExplainReply reply,
             client->explain(std::move(request), deadline_of(common, std::chrono::minutes(1))));

  if (common.json) {
    nlohmann::ordered_json ingredients = nlohmann::ordered_json::array();
    for (const auto& ingredient : reply.ingredients) {
      ingredients.push_back({{"name", ingredient.name}, {"value", ingredient.value}});
    }
    nlohmann::ordered_json document{{"key", reply.key.hex()}, {"ingredients", std::move(ingredients)}};
    if (options.source) document["source"] = reply.source;
    return print_json(document);
  }
  if (options.source) return print_text(reply.source);
  std::vector<std::vector<std::string>> rows{{"key", reply.key.hex()}};
  for (const auto& ingredient : reply.ingredients) rows.push_back({ingredient.name, printable(ingredient.value)});
  return print_text(table(rows));
}

}  // namespace cubind::cli
