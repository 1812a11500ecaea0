#include "client/cli/output.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include <nlohmann/json.hpp>

namespace cubind::cli {

int report(const Error& error) {
  std::fprintf(stderr, "cubinctl: %s\n", printable(cubind::to_string(error)).c_str());
  return static_cast<int>(error.code);
}

Status print_text(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return {};
  return Error{ErrorCode::internal, "standard output cannot be written"};
}

Status print_json(const nlohmann::ordered_json& document) {
  return print_text(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - row[i].size() + 2, ' ');
    }
    out += '\n';
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  return out;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return std::to_string(bytes) + " B";
  if (bytes < 1024 * 1024) return fixed(value / 1024, 1) + " KB";
  if (bytes < 1024ull * 1024 * 1024) return fixed(value / (1024 * 1024), 1) + " MB";
  return fixed(value / (1024.0 * 1024 * 1024), 1) + " GB";
}

std::string seconds_text(double milliseconds) {
  return fixed(milliseconds / 1000, milliseconds < 10'000 ? 2 : 1) + " s";
}

std::string time_text(std::uint64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "-";
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::none: return "none";
    case Outcome::hit_memory: return "hit_memory";
    case Outcome::hit_disk: return "hit_disk";
    case Outcome::built: return "built";
    case Outcome::joined: return "joined";
  }
  return "unknown";
}

std::string_view to_string(HealthState state) {
  switch (state) {
    case HealthState::ok: return "ok";
    case HealthState::degraded: return "degraded";
    case HealthState::stopping: return "stopping";
  }
  return "unknown";
}

}  // namespace cubind::cli
