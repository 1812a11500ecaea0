// One measured number with the bound it has to keep: a line of JSON on standard output.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace cubind::bench {

struct Figure {
  enum class Bound { at_most, at_least, equal };

  std::string name;                  // "stampede.tail_ratio"
  std::variant<double, bool> value;  // a boolean has to be true
  Bound bound = Bound::equal;
  double limit = 1;
  std::string detail;    // how it was measured, and what else was seen
  bool is_sound = true;  // false: the detail says why the value cannot be trusted, and the figure does not hold

  bool holds() const;
};

// {"figure": ..., "value": ..., "bound": "<= 12", "holds": true, "detail": ...}
std::string to_json(const Figure& figure);

// Of repeats of one measurement.
struct Samples {
  std::vector<double> values;

  void add(double value) { values.push_back(value); }
  double percentile(double share) const;  // 0 = the least, 1 = the most; precondition: not empty
  double median() const { return percentile(0.5); }
  double min() const { return percentile(0); }
  double sum() const;
  std::string text(int digits) const;  // "median 1.03, min 1.01, of 1.01 1.03 1.07"
};

std::string fixed(double value, int digits);

}  // namespace cubind::bench
