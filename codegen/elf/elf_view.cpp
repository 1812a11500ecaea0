#include "codegen/elf/elf_view.hpp"

namespace cubind {

namespace {
// Offsets and sizes of the ELF64 format (elf.h's structs are not used: the bytes need not be aligned).
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kSectionHeaderBytes = 64;
constexpr std::size_t kSymbolBytes = 24;
constexpr std::size_t kDynamicBytes = 16;
constexpr std::uint32_t kTypeNobits = 8;
constexpr std::uint32_t kNoteGnuBuildId = 3;

Error corrupt(std::string message) {
  return {ErrorCode::corruption, "elf: " + std::move(message)};
}

template <class T>
T at(ByteView bytes, std::size_t offset) {  // the caller has checked the range
  return load_le<T>(bytes.data() + offset);
}

bool inside(ByteView bytes, std::uint64_t offset, std::uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

std::uint64_t align4(std::uint64_t value) {
  return (value + 3) & ~std::uint64_t{3};
}
}  // namespace

std::optional<std::string_view> text_at(ByteView table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const auto rest = as_text(table.subspan(offset));
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

Result<ElfView> ElfView::parse(ByteView file) {
  if (file.size() < kHeaderBytes || as_text(file).substr(0, 6) != std::string_view("\x7f"
                                                                                   "ELF\x02\x01",
                                                                                   6)) {
    return corrupt("not a 64-bit little-endian file");
  }
  ElfView view;
  view.abi_version_ = at<std::uint8_t>(file, 8);
  view.machine_ = at<std::uint16_t>(file, 18);
  view.flags_ = at<std::uint32_t>(file, 48);
  const auto table = at<std::uint64_t>(file, 40);
  const auto entry_bytes = at<std::uint16_t>(file, 58);
  const auto count = at<std::uint16_t>(file, 60);
  const auto names_index = at<std::uint16_t>(file, 62);
  if (count == 0) return view;
  if (entry_bytes != kSectionHeaderBytes || !inside(file, table, std::uint64_t{count} * kSectionHeaderBytes)) {
    return corrupt("section headers lie outside the file");
  }

  std::vector<std::uint32_t> name_offsets;
  for (std::size_t i = 0; i < count; ++i) {
    const auto header = file.subspan(table + i * kSectionHeaderBytes, kSectionHeaderBytes);
    ElfSection section;
    name_offsets.push_back(at<std::uint32_t>(header, 0));
    section.type = at<std::uint32_t>(header, 4);
    const auto offset = at<std::uint64_t>(header, 24);
    section.size = at<std::uint64_t>(header, 32);
    section.link = at<std::uint32_t>(header, 40);
    section.info = at<std::uint32_t>(header, 44);
    if (section.type != kTypeNobits && section.size > 0) {
      if (!inside(file, offset, section.size)) {
        return corrupt("section " + std::to_string(i) + " lies outside the file");
      }
      section.bytes = file.subspan(offset, section.size);
    }
    view.sections_.push_back(section);
  }
  if (names_index >= count) return corrupt("no table of section names");
  const auto names = view.sections_[names_index].bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const auto name = text_at(names, name_offsets[i]);
    if (!name && name_offsets[i] != 0) return corrupt("the name of section " + std::to_string(i) + " is outside");
    view.sections_[i].name = name.value_or(std::string_view());
  }
  return view;
}

const ElfSection* ElfView::find(std::string_view name) const {
  for (const auto& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

Result<std::vector<ElfSymbol>> ElfView::symbols() const {
  std::vector<ElfSymbol> symbols;
  const auto* table = find(".symtab");
  if (table == nullptr) return symbols;
  if (table->link >= sections_.size() || table->bytes.size() % kSymbolBytes != 0) return corrupt("bad symbol table");
  const auto names = sections_[table->link].bytes;
  for (std::size_t offset = 0; offset < table->bytes.size(); offset += kSymbolBytes) {
    ElfSymbol symbol;
    const auto name_offset = at<std::uint32_t>(table->bytes, offset);
    const auto name = text_at(names, name_offset);
    if (!name && name_offset != 0) return corrupt("a symbol's name is outside its table");
    symbol.name = name.value_or(std::string_view());
    symbol.info = at<std::uint8_t>(table->bytes, offset + 4);
    symbol.other = at<std::uint8_t>(table->bytes, offset + 5);
    symbol.section = at<std::uint16_t>(table->bytes, offset + 6);
    symbols.push_back(symbol);
  }
  return symbols;
}

std::string ElfView::build_id() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto* note = find(".note.gnu.build-id");
  if (note == nullptr) return {};
  auto rest = note->bytes;
  while (rest.size() >= 12) {
    const auto name_bytes = at<std::uint32_t>(rest, 0);
    const auto value_bytes = at<std::uint32_t>(rest, 4);
    const auto type = at<std::uint32_t>(rest, 8);
    const auto value_at = 12 + align4(name_bytes);
    if (!inside(rest, value_at, value_bytes)) return {};
    if (type == kNoteGnuBuildId && as_text(rest.subspan(12, name_bytes)) == std::string_view("GNU\0", 4)) {
      std::string hex;
      for (const auto byte : rest.subspan(value_at, value_bytes)) {
        hex += kDigits[std::to_integer<unsigned>(byte) >> 4];
        hex += kDigits[std::to_integer<unsigned>(byte) & 15];
      }
      return hex;
    }
    const auto next = value_at + align4(value_bytes);
    if (next > rest.size()) return {};
    rest = rest.subspan(next);
  }
  return {};
}

std::vector<std::string_view> ElfView::dynamic_strings(std::uint64_t tag) const {
  std::vector<std::string_view> found;
  const auto* dynamic = find(".dynamic");
  if (dynamic == nullptr || dynamic->link >= sections_.size()) return found;
  const auto strings = sections_[dynamic->link].bytes;
  for (std::size_t offset = 0; offset + kDynamicBytes <= dynamic->bytes.size(); offset += kDynamicBytes) {
    if (at<std::uint64_t>(dynamic->bytes, offset) != tag) continue;
    if (const auto text = text_at(strings, at<std::uint64_t>(dynamic->bytes, offset + 8))) found.push_back(*text);
  }
  return found;
}

}  // namespace cubind
