// From a request to the distinct kernels it needs and their keys: plan, choose the toolchain, compute the keys. All of
// it is pure and memoised, so that a hit costs a few table look-ups: emitting a source and hashing it is off the hit
// path. Belongs to the loop's thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/artifact_store.hpp"
#include "codegen/cache_key.hpp"
#include "codegen/device/config.cuh"
#include "codegen/nvrtc/toolchain.hpp"
#include "daemon/lru_map.hpp"
#include "protocol/messages.hpp"

namespace cubind {

// One kernel that can be asked for: what it is, and the key that follows from it.
struct PlannedKernel {
  KernelKey key;
  GemmDescriptor descriptor;  // canonical
  GemmConfig config;
  Arch arch;                             // a code_arch()
  const Toolchain* toolchain = nullptr;  // null: asked for by key alone, so it cannot be built
  std::vector<Ingredient> ingredients;
};
using KernelRef = std::shared_ptr<const PlannedKernel>;

// What one layer, or one kernel of the catalogue, needs.
struct PlannedLayer {
  std::vector<LaunchRow> rows;     // empty for a kernel that was asked for by its config
  std::vector<KernelRef> kernels;  // that the rows name, in order of first use
  std::vector<KernelRef> others;   // for whole_catalogue: those that other shapes could use
};

struct PlannedRequest {
  std::vector<std::shared_ptr<const PlannedLayer>> layers;  // one for each of the request's
  std::vector<KernelRef> kernels;                           // distinct keys, in order of first use
};

Toolchain known_toolchain(const ToolchainIdentity& identity);  // as a store remembers it: not installed

class RequestPlanner {
 public:
  // `installed` newest first; `known` are those that only the store's records name: they can be hit, not built.
  // `configured` is the id for ToolchainRule::any; empty is the newest.
  RequestPlanner(std::vector<Toolchain> installed, std::vector<Toolchain> known, std::string configured);

  // Refused as a whole (nothing is started): the message names the layer or kernel, the field, the value and the rule.
  Result<PlannedRequest> plan(const KernelsRequest& request);
  Result<KernelRef> plan_kernel(const KernelSpec& kernel, Arch arch, const ToolchainChoice& toolchain);

  // From a record's own words to the kernel, for verify. not_supported if this version cannot make it any more.
  Result<KernelRef> plan_record(const RecordSummary& record);

  const std::vector<Toolchain>& installed() const { return installed_; }

  // One more that only records name, from now on; nothing if it is known. At most kMaxLearned; others wait for the next
  // start, which reads them from the store.
  void learn(Toolchain toolchain);

  // What plan() was asked for since the start, each once, as protocol/trace.hpp writes it. At most
  // limits::kMaxTraceEntries are kept: the first.
  std::string trace() const;
  std::size_t trace_entries() const { return trace_.size(); }

 private:
  // Everything that a plan depends on, compared whole: a field that is added to the descriptor cannot be forgotten.
  struct Question {
    GemmDescriptor descriptor;
    Arch arch;
    const Toolchain* toolchain = nullptr;
    std::uint32_t sm_count = 0, n = 0, k = 0, max_m = 0;
    bool whole_catalogue = false;
    std::string config;  // for one kernel of the catalogue; then the five above are zero
    bool operator==(const Question&) const = default;
  };
  struct QuestionHash {
    std::size_t operator()(const Question& question) const;
  };

  struct Remembered {
    std::shared_ptr<const PlannedLayer> plan;
    bool traced = false;  // so that a hit does not write its line again
  };

  Result<Remembered*> layer(const Question& question);  // valid until the next call
  void trace(const Question& question, Remembered& remembered);
  Result<PlannedLayer> plan_layer(const Question& question);
  Result<KernelRef> kernel(const GemmDescriptor& descriptor, const GemmConfig& config, Arch code,
                           const Toolchain& toolchain);

  static constexpr std::size_t kMaxLearned = 64;

  const std::vector<Toolchain> installed_;
  std::vector<Toolchain> all_;  // installed ones first; never moves: pointers into it hold for our life
  std::string configured_;
  LruMap<Question, Remembered, QuestionHash> layers_;
  LruMap<Question, KernelRef, QuestionHash> kernels_;
  std::set<std::string> trace_;  // lines
};

}  // namespace cubind
