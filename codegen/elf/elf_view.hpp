// A read-only, bounds-checked view of a 64-bit little-endian ELF file, for what we ask of two kinds of file: NVRTC
// libraries (Build-ID, names, version) and cubins. The bytes may be hostile: every offset is checked against the file
// before it is followed, and counts are capped. The view borrows the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace cubind {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t size = 0;  // as the header says; for NOBITS there are no bytes
  std::uint32_t link = 0, info = 0;
  ByteView bytes;  // empty for NOBITS
};

struct ElfSymbol {
  std::string_view name;
  std::uint8_t info = 0, other = 0;
  std::uint16_t section = 0;
};

class ElfView {
 public:
  // corruption, saying what is wrong, unless header, section headers and section bytes all lie inside the file.
  static Result<ElfView> parse(ByteView file);

  std::uint16_t machine() const { return machine_; }
  std::uint8_t abi_version() const { return abi_version_; }
  std::uint32_t flags() const { return flags_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* find(std::string_view name) const;  // the first of that name, or null

  // The symbols of .symtab; corruption if the table or a name leaves its section.
  Result<std::vector<ElfSymbol>> symbols() const;

  // Of a shared library: the GNU Build-ID in hex (empty if there is none) and the strings of .dynamic with that tag
  // (DT_NEEDED 1, DT_SONAME 14, DT_RPATH 15, DT_RUNPATH 29), in order.
  std::string build_id() const;
  std::vector<std::string_view> dynamic_strings(std::uint64_t tag) const;

 private:
  std::uint16_t machine_ = 0;
  std::uint8_t abi_version_ = 0;
  std::uint32_t flags_ = 0;
  std::vector<ElfSection> sections_;
};

// The text at `offset` up to its NUL; nothing if it does not end inside the table.
std::optional<std::string_view> text_at(ByteView table, std::uint64_t offset);

}  // namespace cubind
