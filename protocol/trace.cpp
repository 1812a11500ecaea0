#include "protocol/trace.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "protocol/limits.hpp"

namespace cubind {

namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const auto word = line.substr(0, line.find(' '));
    if (!word.empty()) words.push_back(word);
    line.remove_prefix(std::min(line.size(), word.size() + 1));
  }
  return words;
}

Status read_number(const char* name, std::string_view word, std::uint32_t most, std::uint32_t& value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc() && end == word.data() + word.size() && value >= 1 && value <= most) return {};
  return Error{ErrorCode::invalid_argument,
               std::string(name) + " \"" + std::string(word) + "\" is not a number from 1 to " + std::to_string(most)};
}

Result<TraceEntry> parse_line(const std::vector<std::string_view>& words) {
  const auto kind = words.front();
  const bool kernel = kind == "kernel";
  if (!kernel && kind != "layer" && kind != "catalogue") {
    return Error{ErrorCode::invalid_argument, "\"" + std::string(kind) + "\" is not layer, catalogue or kernel"};
  }
  const std::size_t expected = kernel ? 5 : 8;
  if (words.size() != expected) {
    return Error{ErrorCode::invalid_argument, std::string(kind) + " with \"" + std::to_string(words.size()) +
                                                  "\" words does not have " + std::to_string(expected)};
  }
  TraceEntry entry;
  CUBIND_TRY(entry.arch, arch_from_string(words[1]));
  CUBIND_TRY(entry.descriptor, descriptor_from_name(words[kernel ? 2 : 3]));
  entry.toolchain = words.back();
  if (kernel) {
    entry.config = words[3];
    return entry;
  }
  entry.whole_catalogue = kind == "catalogue";
  CUBIND_CHECK(read_number("sm_count", words[2], limits::kMaxSmCount, entry.sm_count));
  CUBIND_CHECK(read_number("n", words[4], limits::kMaxNK, entry.n));
  CUBIND_CHECK(read_number("k", words[5], limits::kMaxNK, entry.k));
  CUBIND_CHECK(read_number("max_m", words[6], limits::kMaxM, entry.max_m));
  return entry;
}

}  // namespace

std::string trace_line(const TraceEntry& entry) {
  const auto format = short_name(entry.descriptor);
  if (!entry.config.empty()) {
    return "kernel " + to_string(entry.arch) + " " + format + " " + entry.config + " " + entry.toolchain + "\n";
  }
  return std::string(entry.whole_catalogue ? "catalogue " : "layer ") + to_string(entry.arch) + " " +
         std::to_string(entry.sm_count) + " " + format + " " + std::to_string(entry.n) + " " + std::to_string(entry.k) +
         " " + std::to_string(entry.max_m) + " " + entry.toolchain + "\n";
}

Result<std::vector<TraceEntry>> parse_trace(std::string_view text) {
  if (!text.starts_with(kTraceHeader)) {
    return Error{ErrorCode::invalid_argument, "line 1 is not \"cubind-trace 1\": no trace, or one of another version"};
  }
  text.remove_prefix(kTraceHeader.size());
  std::vector<TraceEntry> entries;
  for (std::size_t line = 2; !text.empty(); ++line) {
    const auto content = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), content.size() + 1));
    const auto words = words_of(content);
    if (words.empty()) continue;
    auto entry = parse_line(words);
    if (!entry.ok()) {
      return Error{ErrorCode::invalid_argument, "line " + std::to_string(line) + ": " + entry.error().message};
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

}  // namespace cubind
