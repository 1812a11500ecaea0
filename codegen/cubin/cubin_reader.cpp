#include "codegen/cubin/cubin_reader.hpp"

#include <algorithm>
#include <map>

#include "codegen/elf/elf_view.hpp"

namespace cubind {

namespace {
// Facts of the format, checked against what ptxas -v prints for each architecture.
constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint8_t kSymbolFunction = 2;     // low nibble of st_info
constexpr std::uint8_t kOtherCudaEntry = 0x10;  // in st_other: a __global__ function
// From sm_90 on a block's first KiB of shared memory is the system's; it is counted in .nv.shared.<entry> there, and
// neither ptxas nor the driver report it as the kernel's.
constexpr std::uint64_t kReservedSharedBytes = 1024;
constexpr std::size_t kMaxEntries = 256;  // each is looked up among the sections: bounds the work on hostile bytes

// .nv.info is a list of {u8 format, u8 attribute, u16 value or size, then `size` bytes, padded to 4, if format 4}.
constexpr std::uint8_t kFormatSized = 4;
constexpr std::uint8_t kMaxThreads = 0x05;     // u32 x, y, z
constexpr std::uint8_t kFrameSize = 0x11;      // u32 symbol, u32 bytes
constexpr std::uint8_t kParamInfo = 0x17;      // u32 index, u16 ordinal, u16 offset, u32 others; of each parameter
constexpr std::uint8_t kParamBytes = 0x19;     // the value itself, with what lies before an aligned first parameter
constexpr std::uint8_t kRegisterCount = 0x2f;  // u32 symbol, u32 count

struct Attribute {
  std::uint8_t format = 0, id = 0;
  std::uint16_t value = 0;
  ByteView bytes;

  std::uint32_t word(std::size_t i) const { return load_le<std::uint32_t>(bytes.data() + 4 * i); }
};

Error corrupt(std::string message) {
  return {ErrorCode::corruption, "cubin: " + std::move(message)};
}

Result<std::vector<Attribute>> attributes(const ElfSection& section) {
  std::vector<Attribute> found;
  auto rest = section.bytes;
  while (rest.size() >= 4) {
    Attribute attribute;
    attribute.format = load_le<std::uint8_t>(rest.data());
    attribute.id = load_le<std::uint8_t>(rest.data() + 1);
    attribute.value = load_le<std::uint16_t>(rest.data() + 2);
    rest = rest.subspan(4);
    if (attribute.format == kFormatSized) {
      const std::size_t padded = (std::size_t{attribute.value} + 3) & ~std::size_t{3};
      if (padded > rest.size()) return corrupt("an attribute leaves \"" + std::string(section.name) + "\"");
      attribute.bytes = rest.first(attribute.value);
      rest = rest.subspan(padded);
    }
    found.push_back(attribute);
  }
  return found;
}

// Up to CUDA 12 the low byte of the flags; files of ABI version 8 (CUDA 13) keep it one byte higher.
std::uint32_t sm_of(const ElfView& elf) {
  return elf.abi_version() >= 8 ? elf.flags() >> 8 & 0xff : elf.flags() & 0xff;
}

using BySymbol = std::map<std::uint32_t, std::uint32_t>;

Status read_own_attributes(const ElfView& elf, CubinEntry& entry) {
  const auto* section = elf.find(".nv.info." + entry.name);
  if (section == nullptr) return corrupt("no attributes of entry \"" + entry.name + "\"");
  CUBIND_TRY(const auto own, attributes(*section));
  std::uint32_t first_offset = 0xffff;
  for (const auto& attribute : own) {
    if (attribute.id == kParamInfo && attribute.bytes.size() >= 8) {
      first_offset = std::min(first_offset, attribute.word(1) >> 16);
    }
    if (attribute.id == kParamBytes && attribute.format != kFormatSized) entry.param_bytes = attribute.value;
    if (attribute.id == kMaxThreads && attribute.bytes.size() >= 12) {
      const std::uint64_t product = std::uint64_t{attribute.word(0)} * attribute.word(1) * attribute.word(2);
      if (attribute.word(0) > 1024 || attribute.word(1) > 1024 || product > 1024) {
        return corrupt("more than 1024 threads in entry \"" + entry.name + "\"");
      }
      entry.max_threads = static_cast<std::uint32_t>(product);
    }
  }
  if (first_offset < entry.param_bytes) entry.param_bytes -= first_offset;
  return {};
}
}  // namespace

Result<CubinFacts> read_cubin(ByteView cubin) {
  CUBIND_TRY(const auto elf, ElfView::parse(cubin));
  if (elf.machine() != kMachineCuda) return corrupt("machine \"" + std::to_string(elf.machine()) + "\" is not CUDA");
  CubinFacts facts;
  facts.sm = sm_of(elf);

  BySymbol registers, frames;
  if (const auto* section = elf.find(".nv.info")) {
    CUBIND_TRY(const auto shared, attributes(*section));
    for (const auto& attribute : shared) {
      if (attribute.bytes.size() < 8) continue;
      if (attribute.id == kRegisterCount) registers[attribute.word(0)] = attribute.word(1);
      if (attribute.id == kFrameSize) frames[attribute.word(0)] = attribute.word(1);
    }
  }

  CUBIND_TRY(const auto symbols, elf.symbols());
  for (std::uint32_t index = 0; index < symbols.size(); ++index) {
    const auto& symbol = symbols[index];
    if ((symbol.info & 15) != kSymbolFunction || (symbol.other & kOtherCudaEntry) == 0) continue;
    if (symbol.section == 0 || symbol.section >= elf.sections().size()) return corrupt("an entry has no code");
    if (facts.entries.size() == kMaxEntries) return corrupt("too many entries");
    CubinEntry entry;
    entry.name = std::string(symbol.name);
    if (const auto found = registers.find(index); found != registers.end()) entry.registers = found->second;
    if (const auto found = frames.find(index); found != frames.end()) entry.local_bytes = found->second;
    if (const auto* shared = elf.find(".nv.shared." + entry.name)) {
      const auto reserved = facts.sm >= 90 ? kReservedSharedBytes : 0;
      entry.static_smem_bytes = static_cast<std::uint32_t>(shared->size > reserved ? shared->size - reserved : 0);
    }
    CUBIND_CHECK(read_own_attributes(elf, entry));
    facts.entries.push_back(std::move(entry));
  }
  return facts;
}

}  // namespace cubind
