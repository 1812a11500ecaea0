// What commands print: JSON documents, tables, and the one line of an error. Text from the daemon is shown without its
// control characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "protocol/messages.hpp"

namespace cubind::cli {

// "cubinctl: not_found: ..." on standard error; returns the exit code.
int report(const Error& error);

// One document and a newline on standard output. internal if it cannot be written (a full disk, a closed pipe).
Status print_json(const nlohmann::ordered_json& document);
Status print_text(std::string_view text);

// Columns as wide as their widest cell, two spaces between, numbers as they are given.
std::string table(const std::vector<std::vector<std::string>>& rows);

std::string printable(std::string_view text);
std::string bytes_text(std::uint64_t bytes);    // "53.1 KB"
std::string seconds_text(double milliseconds);  // "0.41 s"
std::string time_text(std::uint64_t unix_ms);   // "2026-11-30 18:56:30" UTC
std::string_view to_string(Outcome outcome);    // "built"
std::string_view to_string(HealthState state);  // "degraded"
std::string fixed(double value, int digits);

}  // namespace cubind::cli
