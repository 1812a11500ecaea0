#include "codegen/emit/spelling.hpp"

#include <iterator>

#include "protocol/gemm_descriptor.hpp"

namespace cubind {
namespace {

template <class Enum>
struct Spelling {
  Enum value;
  std::string_view cpp, brief;
};

constexpr Spelling<GemmKernel> kGemmKernels[] = {
    {GemmKernel::mma_sync, "mma_sync", ""},
    {GemmKernel::wgmma, "wgmma", "wgmma_"},
};
constexpr Spelling<ScaleClass> kScaleClasses[] = {
    {ScaleClass::g32, "g32", "g32"},
    {ScaleClass::g64_plus, "g64_plus", "g64"},
};
constexpr Spelling<MmaKind> kMmaKinds[] = {
    {MmaKind::mma_m16n8k8, "mma_m16n8k8", "m16n8k8"},
    {MmaKind::mma_m16n8k16, "mma_m16n8k16", "m16n8k16"},
    {MmaKind::wgmma_m64k16, "wgmma_m64k16", "m64k16"},
};

// A config holds listed values only; one that is not would not compile as C++ either ("cubind::MmaKind::unknown").
template <class Enum, std::size_t N>
const Spelling<Enum>& find(const Spelling<Enum> (&table)[N], Enum value) {
  static constexpr Spelling<Enum> kUnknown{Enum{}, "unknown", "unknown"};
  for (const auto& entry : table) {
    if (entry.value == value) return entry;
  }
  return kUnknown;
}

}  // namespace

std::string cpp_spelling(GemmKernel kernel) {
  return "cubind::GemmKernel::" + kernel_spelling(kernel);
}
std::string kernel_spelling(GemmKernel kernel) {
  return std::string(find(kGemmKernels, kernel).cpp);
}
std::string cpp_spelling(DType type) {
  return "cubind::DType::" + std::string(to_string(type));
}
std::string cpp_spelling(ScaleClass scales) {
  return "cubind::ScaleClass::" + std::string(find(kScaleClasses, scales).cpp);
}
std::string cpp_spelling(MmaKind mma) {
  return "cubind::MmaKind::" + std::string(find(kMmaKinds, mma).cpp);
}
std::string_view short_spelling(GemmKernel kernel) {
  return find(kGemmKernels, kernel).brief;
}
std::string_view short_spelling(ScaleClass scales) {
  return find(kScaleClasses, scales).brief;
}
std::string_view short_spelling(MmaKind mma) {
  return find(kMmaKinds, mma).brief;
}

}  // namespace cubind
