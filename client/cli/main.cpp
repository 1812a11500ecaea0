// cubinctl: the arguments are checked, one command runs, its error is one line and the exit code.
#include <csignal>

#include "client/cli/commands.hpp"
#include "client/cli/options.hpp"
#include "client/cli/output.hpp"

namespace {

using namespace cubind;

int run(int argc, char** argv) {
  const auto parsed = cli::parse_command_line(argc, argv);
  if (!parsed.ok()) return cli::report(parsed.error());
  if (const auto* help = std::get_if<cli::HelpText>(&*parsed)) {
    const auto printed = cli::print_text(help->text);
    return printed.ok() ? 0 : cli::report(printed.error());
  }
  const auto& invocation = std::get<cli::Invocation>(*parsed);
  const Status status =
      std::visit([&](const auto& options) { return cli::run(invocation.common, options); }, invocation.command);
  return status.ok() ? 0 : cli::report(status.error());
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error like any other
  try {
    return run(argc, argv);
  } catch (const std::exception& problem) {
    return cubind::cli::report({cubind::ErrorCode::internal, problem.what()});
  }
}
