// trace: what the daemon was asked for, as a text that `prewarm --from-trace` takes.
#include <optional>

#include <nlohmann/json.hpp>

#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"
#include "client/cli/output_file.hpp"
#include "protocol/trace.hpp"

namespace cubind::cli {

Status run(const CommonOptions& common, const TraceOptions& options) {
  std::optional<OutputFile> file;
  if (options.output != "-") {
    CUBIND_TRY(file, OutputFile::create(options.output));
  }
  CUBIND_TRY(const auto client, open_client(common));
  CUBIND_TRY(const std::string text, client->trace(deadline_of(common, std::chrono::minutes(1))));
  CUBIND_TRY(const auto entries, parse_trace(text));
  if (!file && !common.json) return print_text(text);
  if (file) CUBIND_CHECK(file->publish(as_bytes(text)));
  if (common.json) return print_json({{"entries", entries.size()}});
  return print_text(std::to_string(entries.size()) + " entries\n");
}

}  // namespace cubind::cli
