#include "codegen/plan/measured_table.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <span>

namespace cubind {

// Made from codegen/plan/measured at build time.
std::span<const std::string_view> measured_table_texts();

namespace {

constexpr std::string_view kFirstLine = "cubind-tuning 1";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = text.find(separator);
    if (end != 0) parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

template <class T>
bool read(std::string_view text, T& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() && value > 0;
}

Error bad_line(std::string_view line, const char* rule) {
  return {ErrorCode::invalid_argument, "tuning table line \"" + std::string(line.substr(0, 120)) + "\" " + rule};
}

}  // namespace

std::string measured_format(GemmDescriptor descriptor) {
  if (descriptor.activation == DType::f16) {
    descriptor.activation = descriptor.output = descriptor.weight_scale_type = DType::bf16;
  }
  descriptor.bias = false;
  descriptor.determinism = Determinism::run_to_run;
  return short_name(descriptor);
}

std::size_t MeasuredTable::cells() const {
  std::size_t count = 0;
  for (const auto& [layer, plans] : layers_) count += plans.size();
  return count;
}

void MeasuredTable::add(const std::string& format, std::uint32_t n, std::uint32_t k, MeasuredPlan plan) {
  auto& plans = layers_[{format, n, k}];
  const auto at = std::lower_bound(plans.begin(), plans.end(), plan.m,
                                   [](const MeasuredPlan& known, std::uint32_t m) { return known.m < m; });
  if (at == plans.end() || at->m != plan.m) {
    plans.insert(at, std::move(plan));
  } else if (plan.us < at->us) {
    *at = std::move(plan);
  }
}

const std::vector<MeasuredPlan>& MeasuredTable::plans(const GemmDescriptor& descriptor, std::uint32_t n,
                                                      std::uint32_t k) const {
  static const std::vector<MeasuredPlan> none;
  const auto found = layers_.find({measured_format(descriptor), n, k});
  return found == layers_.end() ? none : found->second;
}

Result<MeasuredTable> MeasuredTable::parse(std::string_view text) {
  const auto lines = split(text, '\n');
  if (lines.empty() || lines[0] != kFirstLine) {
    return bad_line(lines.empty() ? "" : lines[0], "is not \"cubind-tuning 1\"");
  }
  MeasuredTable table({}, 0);
  for (const auto line : std::span(lines).subspan(1)) {
    if (line[0] == '#') {
      const auto colon = line.find(": ");
      if (colon == std::string_view::npos || colon < 2) return bad_line(line, "is not \"# name: value\"");
      const auto name = line.substr(2, colon - 2), value = line.substr(colon + 2);
      if (name == "arch") {
        CUBIND_TRY(table.arch_, arch_from_string(value));
      } else if (name == "sm_count") {
        if (!read(value, table.sm_count_)) return bad_line(line, "has no number of multiprocessors");
      } else {
        table.note(std::string(name), std::string(value));
      }
      continue;
    }
    const auto words = split(line, ' ');
    std::uint32_t n = 0, k = 0;
    MeasuredPlan plan;
    if (words.size() != 7 || !read(words[1], n) || !read(words[2], k) || !read(words[3], plan.m) ||
        !read(words[5], plan.splits) || !read(words[6], plan.us)) {
      return bad_line(line, "is not \"format n k m config splits us\"");
    }
    plan.config = words[4];
    table.add(std::string(words[0]), n, k, std::move(plan));
  }
  if (table.arch_.number == 0 || table.sm_count_ == 0)
    return bad_line(lines[0], "is not followed by arch and sm_count");
  return table;
}

std::string MeasuredTable::text() const {
  std::string out(kFirstLine);
  out += "\n# arch: " + to_string(arch_) + "\n# sm_count: " + std::to_string(sm_count_) + "\n";
  for (const auto& [name, value] : notes_) out += "# " + name + ": " + value + "\n";
  for (const auto& [layer, plans] : layers_) {
    const auto& [format, n, k] = layer;
    for (const auto& plan : plans) {
      char us[32];
      std::snprintf(us, sizeof us, "%.2f", plan.us);
      out += format + " " + std::to_string(n) + " " + std::to_string(k) + " " + std::to_string(plan.m) + " " +
             plan.config + " " + std::to_string(plan.splits) + " " + us + "\n";
    }
  }
  return out;
}

const MeasuredTable* measured_table(Arch arch, std::uint32_t sm_count) {
  static const std::vector<MeasuredTable> tables = [] {
    std::vector<MeasuredTable> parsed;
    for (const auto text : measured_table_texts()) {
      if (auto table = MeasuredTable::parse(text))
        parsed.push_back(std::move(*table));  // a unit test wants all of them
    }
    return parsed;
  }();
  for (const auto& table : tables) {
    if (table.arch() == arch && table.sm_count() == sm_count) return &table;
  }
  return nullptr;
}

}  // namespace cubind
