#include "bench/service/figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cubind::bench {

bool Figure::holds() const {
  if (!is_sound) return false;
  if (const bool* boolean = std::get_if<bool>(&value)) return *boolean;
  const double number = std::get<double>(value);
  switch (bound) {
    case Bound::at_most: return number <= limit;
    case Bound::at_least: return number >= limit;
    case Bound::equal: return number == limit;
  }
  return false;
}

namespace {

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

}  // namespace

std::string to_json(const Figure& figure) {
  const bool* boolean = std::get_if<bool>(&figure.value);
  const char* relation = figure.bound == Figure::Bound::at_most    ? "<= "
                         : figure.bound == Figure::Bound::at_least ? ">= "
                                                                   : "= ";
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  return "{\"figure\": " + quoted(figure.name) +
         ", \"value\": " + (boolean ? truth(*boolean) : number_text(std::get<double>(figure.value))) +
         ", \"bound\": " + quoted(boolean ? "= true" : relation + number_text(figure.limit)) +
         ", \"holds\": " + truth(figure.holds()) + ", \"detail\": " + quoted(figure.detail) + "}";
}

double Samples::percentile(double share) const {
  auto sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto index = static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)));
  return sorted[index];
}

double Samples::sum() const {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

std::string Samples::text(int digits) const {
  std::string out = "median " + fixed(median(), digits) + ", min " + fixed(min(), digits) + ", of";
  for (const double value : values) out += " " + fixed(value, digits);
  return out;
}

std::string fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

}  // namespace cubind::bench
