// can: whether a format, an architecture and a shape are served, by the planner that is linked in. "No" is an answer
// and an exit code.
#include <nlohmann/json.hpp>

#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"
#include "codegen/plan/planner.hpp"

namespace cubind::cli {

namespace {

using nlohmann::ordered_json;

struct Answer {
  Arch code;
  std::vector<GemmConfig> configs;
  LaunchTable table;  // empty without a shape
};

Result<Answer> ask(const GemmDescriptor& descriptor, const CanOptions& options) {
  Answer answer;
  CUBIND_TRY(answer.code, code_arch(options.arch));
  CUBIND_TRY(answer.configs, reachable(descriptor, answer.code, options.max_m));
  if (options.n != 0) {
    CUBIND_CHECK(validate_shape(descriptor, options.n, options.k));
    CUBIND_TRY(answer.table,
               launch_table(descriptor, answer.code, options.sm_count, options.n, options.k, options.max_m));
  }
  return answer;
}

ordered_json answer_json(const Answer& answer) {
  ordered_json kernels = ordered_json::array(), rows = ordered_json::array();
  for (const auto& config : answer.configs) kernels.push_back(config_name(config));
  for (const auto& interval : answer.table.intervals) {
    rows.push_back({{"m_first", interval.m_first},
                    {"m_last", interval.m_last},
                    {"config", config_name(answer.table.configs[interval.config])},
                    {"splits", interval.splits}});
  }
  ordered_json out{{"can", true}, {"arch", to_string(answer.code)}, {"kernels", std::move(kernels)}};
  if (!rows.empty()) out["rows"] = std::move(rows);
  return out;
}

std::string answer_text(const Answer& answer) {
  std::string text =
      "yes, with code for " + to_string(answer.code) + ", " + std::to_string(answer.configs.size()) + " kernels\n";
  if (answer.table.intervals.empty()) {
    for (const auto& config : answer.configs) text += "  " + config_name(config) + "\n";
    return text;
  }
  std::vector<std::vector<std::string>> rows{{"m", "config", "splits"}};
  for (const auto& interval : answer.table.intervals) {
    rows.push_back({std::to_string(interval.m_first) + ".." + std::to_string(interval.m_last),
                    config_name(answer.table.configs[interval.config]), std::to_string(interval.splits)});
  }
  return text + table(rows);
}

}  // namespace

Status run(const CommonOptions& common, const CanOptions& options) {
  // A name that does not parse is a wrong argument; all that follows is the answer.
  CUBIND_TRY(const GemmDescriptor descriptor, descriptor_from_name(options.format));
  const auto answer = ask(descriptor, options);
  if (answer.ok()) return common.json ? print_json(answer_json(*answer)) : print_text(answer_text(*answer));
  if (common.json) {
    CUBIND_CHECK(
        print_json({{"can", false}, {"code", to_string(answer.error().code)}, {"reason", answer.error().message}}));
  }
  return answer.error();
}

}  // namespace cubind::cli
