// Lists of modules as quantization blocks spell them: which checkpoint modules an entry means.
//
//   re:REGEX             matches from the start of the module's name, as Python's re.match (POSIX extended syntax; no
//                        repetition counts, no back references: those make matching expensive)
//   model.layers.*.mlp   a glob; * is any run of characters. Means the module and everything below it
//   model.layers.3.      a prefix that ends in a dot
//   mlp.down_proj, lm_head, model.layers.3   one or more whole components, anywhere in the name: the module, a parent,
//                        or the same module of every layer. layers.1 does not mean layers.10
//
// Checkpoints of multimodal models prefix the same modules differently (language_model.model., model.language_model.,
// backbone.); names are compared with and without such a prefix. Immutable after make(); thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cubind {

class ModulePatterns {
 public:
  // invalid_argument names the entry and the rule.
  static Result<ModulePatterns> make(const std::vector<std::string>& entries);

  bool empty() const { return patterns_.empty(); }
  bool matches(std::string_view module) const;

 private:
  struct Pattern;
  std::vector<std::shared_ptr<const Pattern>> patterns_;
};

}  // namespace cubind
