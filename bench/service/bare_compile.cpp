#include "bench/service/bare_compile.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace cubind::bench {

namespace {

constexpr std::chrono::milliseconds kPatience{120'000};

// Records of a kind, a name, a size and that many bytes; helpers/bare_nvrtc.cpp reads them.
Status write_unit(const CompileUnit& unit, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  const auto record = [&](const char* kind, std::string_view name, std::string_view text) {
    out << kind << ' ' << name << ' ' << text.size() << '\n' << text << '\n';
  };
  record("source", "-", unit.source);
  for (const auto& option : unit.options) record("option", "-", option);
  for (const auto& [name, text] : unit.headers) record("header", name, text);
  out.close();
  if (!out) return Error{ErrorCode::internal, "\"" + path + "\" cannot be written"};
  return {};
}

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return to_bytes(text);
}

}  // namespace

Result<BareCompile> compile_bare(const Programs& programs, const Toolchain& toolchain, const CompileUnit& unit) {
  const auto unit_file = programs.scratch + "/unit", cubin_file = programs.scratch + "/cubin";
  CUBIND_CHECK(write_unit(unit, unit_file));
  ChildProcess::Options how;
  how.stdout_pipe = true;
  CUBIND_TRY(auto process,
             ChildProcess::start(
                 {programs.bare_nvrtc, toolchain.nvrtc_path, toolchain.builtins_path, unit_file, cubin_file}, how));
  CUBIND_TRY(const auto line, process.read_line(kPatience));
  process.wait(kPatience);
  BareCompile compiled;
  compiled.ms = std::strtod(line.c_str(), nullptr);
  compiled.cubin = read_file(cubin_file);
  if (compiled.ms <= 0) {
    return Error{ErrorCode::internal, "\"" + programs.bare_nvrtc + "\" could not compile \"" + unit.name + "\""};
  }
  return compiled;
}

}  // namespace cubind::bench
