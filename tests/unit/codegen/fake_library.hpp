// Writes small, valid ELF shared libraries with what a toolchain is known by: soname, needed, search path, Build-ID and
// constants.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace cubind {

struct FakeLibrary {
  std::string soname;
  std::string build_id;  // hex
  std::vector<std::string> needed;
  std::string runpath;
  std::string constants;  // .rodata

  void write(const std::filesystem::path& path) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << image();
  }

  std::string image() const {
    std::string strings(1, '\0'), dynamic;
    const auto entry = [&](std::uint64_t tag, const std::string& text) {
      put(dynamic, tag, 8);
      put(dynamic, strings.size(), 8);
      strings += text + '\0';
    };
    for (const auto& name : needed) entry(1, name);
    if (!soname.empty()) entry(14, soname);
    if (!runpath.empty()) entry(29, runpath);
    put(dynamic, 0, 16);

    std::string note;
    put(note, 4, 4);
    put(note, build_id.size() / 2, 4);
    put(note, 3, 4);
    note += std::string("GNU\0", 4);
    for (std::size_t i = 0; i + 1 < build_id.size(); i += 2) {
      note += static_cast<char>(std::stoi(build_id.substr(i, 2), nullptr, 16));
    }

    struct Section {
      std::string name, bytes;
      std::uint32_t type, link;
    };
    std::vector<Section> sections{{"", "", 0, 0},
                                  {".note.gnu.build-id", note, 7, 0},
                                  {".dynstr", strings, 3, 0},
                                  {".dynamic", dynamic, 6, 2},
                                  {".rodata", constants, 1, 0},
                                  {".shstrtab", "", 3, 0}};
    std::string names;
    std::vector<std::size_t> name_at;
    for (const auto& section : sections) {
      name_at.push_back(names.size());
      names += section.name + '\0';
    }
    sections.back().bytes = names;

    std::string file(
        "\x7f"
        "ELF\x02\x01\x01",
        7),
        headers;
    file.resize(64);
    for (std::size_t i = 0; i < sections.size(); ++i) {
      put(headers, name_at[i], 4);
      put(headers, sections[i].type, 4);
      put(headers, 0, 16);
      put(headers, file.size(), 8);
      put(headers, sections[i].bytes.size(), 8);
      put(headers, sections[i].link, 4);
      put(headers, 0, 20);
      file += sections[i].bytes;
    }
    const auto set = [&](std::size_t at, std::uint64_t value, int bytes) {
      std::string text;
      put(text, value, bytes);
      file.replace(at, text.size(), text);
    };
    set(16, 3, 2);   // shared object
    set(18, 62, 2);  // x86-64
    set(40, file.size(), 8);
    set(58, 64, 2);
    set(60, sections.size(), 2);
    set(62, sections.size() - 1, 2);
    return file + headers;
  }

 private:
  static void put(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
  }
};

}  // namespace cubind
