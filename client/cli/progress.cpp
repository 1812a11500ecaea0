#include "client/cli/progress.hpp"

#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

#include "client/cli/output.hpp"

namespace cubind::cli {

Progress Progress::to_stderr(bool json) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  winsize size{};
  const bool known = terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return Progress(terminal, json && !terminal, known ? size.ws_col : 80, [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  });
}

void Progress::show(std::string_view what, const ProgressReply& reply) {
  const std::string text = std::string(what) + ": " + std::to_string(reply.ready) + " of " +
                           std::to_string(reply.total) + " kernels, " + std::to_string(reply.compiling) +
                           " compiling, " + std::to_string(reply.queued) + " queued, " + seconds_text(reply.elapsed_ms);
  line(text, last_ != reply.ready);
  last_ = reply.ready;
}

void Progress::show(std::string_view what, std::size_t done) {
  line(std::string(what) + ": " + std::to_string(done) + " done", last_ != done);
  last_ = done;
}

void Progress::line(const std::string& text, bool changed) {
  if (silent_) return;
  if (terminal_) {
    // One column less than there are: a full line makes some terminals wrap.
    write_("\r\x1b[K" + text.substr(0, columns_ - 1));
    drawn_ = true;
  } else if (changed) {
    write_(text + "\n");
  }
}

void Progress::finish() {
  if (drawn_) write_("\r\x1b[K");
  drawn_ = false;
}

}  // namespace cubind::cli
