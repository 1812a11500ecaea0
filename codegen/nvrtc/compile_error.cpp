#include "codegen/nvrtc/compile_error.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>

#include <sys/wait.h>

namespace cubind {

namespace {
// nvrtcResult's numbers.
constexpr int kOutOfMemory = 1;
constexpr int kCompilation = 6;
constexpr int kBuiltinOperation = 7;

bool contains(std::string_view text, std::string_view lower_case) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), lower_case.begin(), lower_case.end(), same) != text.end();
}

bool speaks_of_memory(std::string_view text) {
  return contains(text, "memory allocation failure") || contains(text, "out of memory") || contains(text, "bad_alloc");
}

std::string_view first_line_with(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    if (contains(line, word)) return line;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

std::string with_detail(std::string message, std::string_view detail) {
  constexpr std::size_t kMaxDetail = 200;  // a message is one line for a log
  if (!detail.empty()) message += ": " + std::string(detail.substr(0, kMaxDetail));
  return message;
}
}  // namespace

Error classify_nvrtc(int code, std::string_view words, std::string_view log) {
  auto line = first_line_with(log, "error");
  if (line.empty()) line = first_line_with(log, "fatal");
  const auto message = with_detail("nvrtc: " + std::string(words), line);
  if (code == kOutOfMemory || speaks_of_memory(log)) return {ErrorCode::resource_exhausted, message};
  if (code == kBuiltinOperation) return {ErrorCode::unavailable, message};
  if (code == kCompilation && !contains(log, "internal error")) return {ErrorCode::compile_failed, message};
  return {ErrorCode::internal, message};
}

Error classify_exit(int wait_status, std::string_view last_words) {
  if (WIFEXITED(wait_status)) {
    const auto message = "compile ended with exit code " + std::to_string(WEXITSTATUS(wait_status));
    const bool memory = speaks_of_memory(last_words);
    return {memory ? ErrorCode::resource_exhausted : ErrorCode::internal,
            with_detail(message, first_line_with(last_words, ""))};
  }
  const int signal = WTERMSIG(wait_status);
  const auto message = "compile was ended by signal " + std::to_string(signal);
  if (signal == SIGXCPU) return {ErrorCode::timed_out, message + ", its limit of processor time"};
  if (signal == SIGKILL) return {ErrorCode::resource_exhausted, message + ", as when memory runs out"};
  const auto words =
      speaks_of_memory(last_words) ? first_line_with(last_words, "memory") : first_line_with(last_words, "");
  return {speaks_of_memory(last_words) ? ErrorCode::resource_exhausted : ErrorCode::internal,
          with_detail(message, words)};
}

}  // namespace cubind
