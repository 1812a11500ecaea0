// cubind: the daemon. Exit codes: 0 after a clean end, 1 if it cannot start, 2 for a wrong flag or config.
#include <csignal>
#include <cstdio>

#include "base/log.hpp"
#include "daemon/app.hpp"
#include "daemon/config.hpp"

namespace {

constexpr int kCannotStart = 1;
constexpr int kWrongConfig = 2;

int serve(const cubind::Config& config, int argc, char** argv) {
  cubind::configure_log(config.log_level, config.log_format);
  std::signal(SIGPIPE, SIG_IGN);

  // Flags win over the file, at a reload as at the start.
  const auto read_again = [argc, argv]() -> cubind::Result<cubind::Config> {
    auto line = cubind::parse_command_line(argc, argv);
    if (!line.ok()) return std::move(line).error();
    return std::move(line->config);
  };
  auto app = cubind::App::create(config, {}, read_again);
  if (!app.ok()) {
    std::fprintf(stderr, "cubind: %s\n", app.error().message.c_str());
    return kCannotStart;
  }
  (*app)->handle_signals();
  (*app)->run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using Action = cubind::CommandLine::Action;
  const auto line = cubind::parse_command_line(argc, argv);
  if (!line.ok()) {
    std::fprintf(stderr, "cubind: %s\n", line.error().message.c_str());
    return kWrongConfig;
  }
  switch (line->action) {
    case Action::run: return serve(line->config, argc, argv);
    case Action::check: return 0;
    case Action::print_config: std::fputs(cubind::to_toml(line->config).c_str(), stdout); return 0;
    case Action::print_and_exit: std::fputs(line->text.c_str(), stdout); return 0;
  }
  return kCannotStart;
}
