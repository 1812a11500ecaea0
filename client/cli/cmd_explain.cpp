// explain: every ingredient of a kernel's key, or the source that was generated for it.
#include <nlohmann/json.hpp>

#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"

namespace cubind::cli {

Status run(const CommonOptions& common, const ExplainOptions& options) {
  CUBIND_TRY(const auto client, open_client(common));
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
