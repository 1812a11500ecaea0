#include "codegen/embedded_headers.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace cubind {
namespace {

std::string_view skip_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

// The name in a line of the form #include "name". A line that starts a comment is none; an include inside a comment
// that began on an earlier line counts, which costs a header too many and never one too few. Angle brackets name what
// the compiler brings itself.
std::optional<std::string_view> included_name(std::string_view line) {
  line = skip_blanks(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = skip_blanks(line.substr(1));
  constexpr std::string_view kInclude = "include";
  if (!line.starts_with(kInclude)) return std::nullopt;
  line = skip_blanks(line.substr(kInclude.size()));
  if (!line.starts_with('"')) return std::nullopt;
  line.remove_prefix(1);
  const auto end = line.find('"');
  if (end == std::string_view::npos) return std::nullopt;
  return line.substr(0, end);
}

const EmbeddedHeader* find_header(std::string_view name) {
  const auto all = embedded_headers();
  const auto it = std::lower_bound(all.begin(), all.end(), name,
                                   [](const EmbeddedHeader& h, std::string_view n) { return h.name < n; });
  return it != all.end() && it->name == name ? &*it : nullptr;
}

}  // namespace

Result<std::vector<const EmbeddedHeader*>> include_closure(std::string_view source) {
  const auto by_name = [](const EmbeddedHeader* a, const EmbeddedHeader* b) { return a->name < b->name; };
  std::set<const EmbeddedHeader*, decltype(by_name)> found(by_name);
  std::vector<std::pair<std::string_view, std::string_view>> unread{{"the source", source}};
  while (!unread.empty()) {
    auto [where, text] = unread.back();
    unread.pop_back();
    while (!text.empty()) {
      const auto end = text.find('\n');
      const auto name = included_name(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      if (!name) continue;
      const auto* header = find_header(*name);
      if (header == nullptr) {
        return Error{ErrorCode::internal,
                     "include \"" + std::string(*name) + "\" in " + std::string(where) + " is not an embedded header"};
      }
      if (found.insert(header).second) unread.emplace_back(header->name, header->text);
    }
  }
  return std::vector<const EmbeddedHeader*>(found.begin(), found.end());
}

}  // namespace cubind
