// What was measured on a device, and is preferred to the cost model there: for a format and a layer, the fastest config
// and splits at some numbers of tokens. `cubinctl tune` writes it; tables of the source tree are codegen/plan/measured.
//
// Text, one line a cell, separated by spaces; lines of '#' are provenance, "# name: value", of which arch and sm_count
// are needed:
//
//   cubind-tuning 1
//   # arch: sm_90a
//   # sm_count: 132
//   # gpu: NVIDIA H200
//   w4a16-bf16-g128 8192 8192 64 wgmma_m64n128k128s8w8x1x1 2 20.51
//   (format n k m config splits us)
//
// A config that the catalogue no longer has is passed over, so a table may be older than the kernels. Immutable once it
// is made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.hpp"
#include "protocol/arch.hpp"
#include "protocol/gemm_descriptor.hpp"

namespace cubind {

struct MeasuredPlan {
  std::uint32_t m = 0;
  std::string config;  // as config_name()
  std::uint32_t splits = 1;
  double us = 0;
};

class MeasuredTable {
 public:
  MeasuredTable(Arch arch, std::uint32_t sm_count) : arch_(arch), sm_count_(sm_count) {}

  // invalid_argument names the line and what is wrong with it.
  static Result<MeasuredTable> parse(std::string_view text);
  std::string text() const;

  Arch arch() const { return arch_; }
  std::uint32_t sm_count() const { return sm_count_; }
  std::size_t cells() const;

  void note(std::string name, std::string value) { notes_.emplace_back(std::move(name), std::move(value)); }
  const std::vector<std::pair<std::string, std::string>>& notes() const { return notes_; }
  // Keeps the faster one of a format, layer and m.
  void add(const std::string& format, std::uint32_t n, std::uint32_t k, MeasuredPlan plan);

  // Ascending by m; empty for a layer that was not measured. The format is measured with bf16: f16 takes as long.
  const std::vector<MeasuredPlan>& plans(const GemmDescriptor& descriptor, std::uint32_t n, std::uint32_t k) const;

 private:
  using Layer = std::tuple<std::string, std::uint32_t, std::uint32_t>;
  Arch arch_;
  std::uint32_t sm_count_;
  std::vector<std::pair<std::string, std::string>> notes_;
  std::map<Layer, std::vector<MeasuredPlan>> layers_;
};

// The name under which a table has a descriptor: the short name without what does not change the time, and bf16 for
// f16.
std::string measured_format(GemmDescriptor descriptor);

// The source tree's table of a device, or null.
const MeasuredTable* measured_table(Arch arch, std::uint32_t sm_count);

}  // namespace cubind
