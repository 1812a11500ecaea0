#include "codegen/nvrtc/toolchain.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/digest.hpp"
#include "base/unique_fd.hpp"
#include "codegen/elf/elf_view.hpp"

namespace cubind {

namespace fs = std::filesystem;

namespace {
constexpr std::uint64_t kNeeded = 1, kSoname = 14, kRpath = 15, kRunpath = 29;  // tags of .dynamic
constexpr std::string_view kVersionMark = "Cuda compilation tools, release ";
constexpr std::string_view kBuiltinsPrefix = "libnvrtc-builtins.so.";
constexpr int kMaxForwards = 4;

// A file mapped for reading: of the 109 MB of a libnvrtc only the pages that are looked at are read. Whoever installs
// libraries replaces them by rename, as the dynamic linker needs too, so the mapping does not shrink under us.
class MappedFile {
 public:
  static Result<MappedFile> open(const fs::path& path) {
    const Error missing{ErrorCode::not_found, "toolchain path \"" + path.string() + "\" cannot be read"};
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return missing;
    MappedFile file;
    file.size_ = static_cast<std::size_t>(status.st_size);
    if (file.size_ == 0) return file;
    file.data_ = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (file.data_ == MAP_FAILED) return missing;
    return file;
  }
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, MAP_FAILED)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (data_ != MAP_FAILED) ::munmap(data_, size_);
  }
  ByteView bytes() const {
    if (data_ == MAP_FAILED) return {};
    return {static_cast<const std::byte*>(data_), size_};
  }

 private:
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

// "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12.4.127"; not libnvrtc.alt.so.13, not libnvrtc-builtins.so.13.0.
bool is_nvrtc_name(std::string_view name) {
  constexpr std::string_view kPrefix = "libnvrtc.so";
  if (!name.starts_with(kPrefix)) return false;
  const auto rest = name.substr(kPrefix.size());
  return rest.empty() || (rest[0] == '.' && rest.find_first_not_of(".0123456789") == std::string_view::npos);
}

// Takes "13" off "13.0.88" and leaves "0.88"; nothing if there are no digits.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && digits < 6 && text[digits] >= '0' && text[digits] <= '9') {
    value = value * 10 + static_cast<std::uint32_t>(text[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  if (text.starts_with('.')) text.remove_prefix(1);
  return value;
}

struct Version {
  std::uint32_t major = 0, minor = 0, patch = 0;
};

// NVRTC carries the compiler's banner, "Cuda compilation tools, release 13.0, V13.0.88": the file's name has no patch
// number in wheels and no minor number in its soname, and nvrtcVersion() would need the library loaded.
std::optional<Version> version_in(const ElfView& elf) {
  const auto* constants = elf.find(".rodata");
  if (constants == nullptr) return std::nullopt;
  auto rest = as_text(constants->bytes);  // megabytes: memmem is several times faster than string_view::find
  while (const void* at = ::memmem(rest.data(), rest.size(), kVersionMark.data(), kVersionMark.size())) {
    rest.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(at) - rest.data()) + kVersionMark.size());
    auto text = rest.substr(0, 48);  // "13.0, V13.0.88"; other banners hold "%d.%d"
    const auto v = text.find(", V");
    if (v == std::string_view::npos || v > 16) continue;
    text.remove_prefix(v + 3);
    const auto major = take_number(text);
    const auto minor = take_number(text);
    const auto patch = take_number(text);
    if (major && minor && patch) return Version{*major, *minor, *patch};
  }
  return std::nullopt;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}
bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<fs::path> usual_folders() {
  std::vector<fs::path> folders;
  for (const auto& entry : entries_of("/usr/local")) {
    if (!entry.filename().string().starts_with("cuda")) continue;
    folders.push_back(entry / "lib64");
    for (const auto& target : entries_of(entry / "targets")) folders.push_back(target / "lib");
  }
  folders.emplace_back("/usr/lib/x86_64-linux-gnu");
  return folders;
}

// The `nvidia` packages' folders below a root: a site-packages, or an environment that has one.
std::vector<fs::path> wheel_folders(const fs::path& root) {
  std::vector<fs::path> sites{root};
  for (const auto& python : entries_of(root / "lib")) {
    if (!python.filename().string().starts_with("python")) continue;
    sites.push_back(python / "site-packages");
    sites.push_back(python / "dist-packages");
  }
  std::vector<fs::path> folders;
  for (const auto& site : sites) {
    for (const auto& package : entries_of(site / "nvidia")) folders.push_back(package / "lib");
  }
  return folders;
}

std::vector<fs::path> nvrtc_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : entries_of(folder)) {
    if (is_nvrtc_name(entry.filename().string()) && is_file(entry)) files.push_back(entry);
  }
  return files;
}

// Where the dynamic linker would find what a library needs: its own search path, $ORIGIN resolved, then the usual
// places.
std::optional<fs::path> find_needed(const ElfView& elf, const fs::path& library, std::string_view needed) {
  std::vector<fs::path> folders;
  for (const auto tag : {kRpath, kRunpath}) {
    for (const auto list : elf.dynamic_strings(tag)) {
      auto rest = list;
      while (!rest.empty()) {
        std::string folder(rest.substr(0, rest.find(':')));
        rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
        for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"}) {
          if (const auto at = folder.find(origin); at != std::string::npos) {
            folder.replace(at, origin.size(), library.parent_path().string());
          }
        }
        folders.emplace_back(folder);
      }
    }
  }
  for (auto& folder : usual_folders()) folders.push_back(std::move(folder));
  for (const auto& folder : folders) {
    if (is_file(folder / needed)) return fs::canonical(folder / needed);
  }
  return std::nullopt;
}

// "libnvrtc-builtins.so.13.0" beside the library: NVRTC asks for exactly that name. When the library did not tell its
// version, the only one there is.
Result<fs::path> find_builtins(const fs::path& library, const std::optional<Version>& version) {
  std::vector<fs::path> found;
  for (const auto& entry : entries_of(library.parent_path())) {
    const auto name = entry.filename().string();
    if (!name.starts_with(kBuiltinsPrefix) || !is_file(entry)) continue;
    if (!version) {
      found.push_back(entry);
      continue;
    }
    const auto wanted = std::to_string(version->major) + "." + std::to_string(version->minor);
    const auto suffix = std::string_view(name).substr(kBuiltinsPrefix.size());
    if (suffix == wanted || suffix.starts_with(wanted + ".")) found.push_back(entry);
  }
  if (found.empty()) {
    return Error{ErrorCode::not_found, "toolchain \"" + library.string() + "\" has no libnvrtc-builtins beside it"};
  }
  return fs::canonical(found.front());
}

Error not_nvrtc(const fs::path& path, std::string_view why) {
  return {ErrorCode::invalid_argument,
          "toolchain \"" + path.string() + "\" is not an nvrtc library: " + std::string(why)};
}

// A library stripped of its note is known by the whole file's digest, which takes a tenth of a second.
std::string build_id_of(const ElfView& elf, ByteView file) {
  auto id = elf.build_id();
  return id.empty() ? "sha256-" + sha256(file).hex() : id;
}

// What one library is. A library that itself needs a libnvrtc.so.N forwards to it (a counter in tests, a tracer): the
// identity is that of the one that compiles, the path stays that of the one that was asked for.
Result<Toolchain> identify(const fs::path& asked) {
  std::error_code error;
  const auto path = fs::canonical(asked, error);
  if (error) return Error{ErrorCode::not_found, "toolchain path \"" + asked.string() + "\" does not exist"};

  auto real = path;
  for (int forwards = 0;; ++forwards) {
    if (forwards == kMaxForwards) return not_nvrtc(asked, "it forwards to others without end");
    CUBIND_TRY(const auto file, MappedFile::open(real));
    const auto parsed = ElfView::parse(file.bytes());
    if (!parsed.ok()) return not_nvrtc(asked, parsed.error().message);
    const auto& elf = *parsed;
    const auto needed = elf.dynamic_strings(kNeeded);
    const auto forward = std::find_if(needed.begin(), needed.end(), is_nvrtc_name);
    if (forward != needed.end()) {
      const auto next = find_needed(elf, real, *forward);
      if (!next) return not_nvrtc(asked, "the \"" + std::string(*forward) + "\" that it needs is not found");
      real = *next;
      continue;
    }

    const auto sonames = elf.dynamic_strings(kSoname);
    if (sonames.empty() || !is_nvrtc_name(sonames.front())) return not_nvrtc(asked, "its soname says so");
    Toolchain toolchain;
    toolchain.build_id = build_id_of(elf, file.bytes());
    auto version = version_in(elf);
    CUBIND_TRY(const auto builtins, find_builtins(real, version));
    CUBIND_TRY(const auto builtins_file, MappedFile::open(builtins));
    const auto builtins_elf = ElfView::parse(builtins_file.bytes());
    if (!builtins_elf.ok()) return not_nvrtc(builtins, builtins_elf.error().message);
    toolchain.builtins_build_id = build_id_of(*builtins_elf, builtins_file.bytes());
    if (!version) {  // without the banner the builtins' soname tells major and minor
      for (auto name : builtins_elf->dynamic_strings(kSoname)) {
        if (!name.starts_with(kBuiltinsPrefix)) continue;
        name.remove_prefix(kBuiltinsPrefix.size());
        const auto major = take_number(name);
        const auto minor = take_number(name);
        if (major && minor) version = Version{*major, *minor, 0};
      }
    }
    if (!version) return not_nvrtc(asked, "it does not tell its version");
    toolchain.major = version->major;
    toolchain.minor = version->minor;
    toolchain.patch = version->patch;
    toolchain.nvrtc_path = path.string();
    toolchain.builtins_path = builtins.string();
    toolchain.installed = true;
    toolchain.id = toolchain_id(toolchain);
    return toolchain;
  }
}

void add(std::vector<Toolchain>& toolchains, Toolchain found) {
  const auto same = [&](const Toolchain& other) { return other.id == found.id; };
  if (std::none_of(toolchains.begin(), toolchains.end(), same)) toolchains.push_back(std::move(found));
}
}  // namespace

std::string toolchain_id(const Toolchain& toolchain) {
  FieldHasher pair;
  pair.field("nvrtc", toolchain.build_id);
  pair.field("builtins", toolchain.builtins_build_id);
  return "nvrtc-" + version_text(toolchain) + "-" + pair.finish().hex().substr(0, 8);
}

std::string version_text(const Toolchain& toolchain) {
  return std::to_string(toolchain.major) + "." + std::to_string(toolchain.minor) + "." +
         std::to_string(toolchain.patch);
}

bool is_unchanged(const Toolchain& toolchain) {
  const auto found = identify(toolchain.nvrtc_path);
  return found.ok() && found->id == toolchain.id && found->build_id == toolchain.build_id &&
         found->builtins_build_id == toolchain.builtins_build_id;
}

Result<std::vector<Toolchain>> find_toolchains(const std::vector<std::string>& paths,
                                               const std::vector<std::string>& wheel_roots) {
  std::vector<Toolchain> toolchains;
  // What was named must be there and be usable; what is merely lying around is skipped when it is not.
  for (const auto& path : paths) {
    if (!is_folder(path)) {
      CUBIND_TRY(auto found, identify(path));
      if (found.major < kMinNvrtcMajor) return not_nvrtc(path, "version " + version_text(found) + " is before 12.0");
      add(toolchains, std::move(found));
      continue;
    }
    const auto before = toolchains.size();
    auto why = not_nvrtc(path, "the folder holds no libnvrtc.so");
    bool usable = false;
    for (const auto& file : nvrtc_files(path)) {
      auto found = identify(file);
      if (!found.ok()) {
        why = found.error();
      } else if (found->major < kMinNvrtcMajor) {
        why = not_nvrtc(file, "version " + version_text(*found) + " is before 12.0");
      } else {
        usable = true;
        add(toolchains, std::move(*found));
      }
    }
    if (!usable && toolchains.size() == before) return why;
  }

  std::vector<fs::path> folders;
  if (paths.empty()) folders = usual_folders();
  for (const auto& root : wheel_roots) {
    for (auto& folder : wheel_folders(root)) folders.push_back(std::move(folder));
  }
  std::vector<fs::path> seen;
  for (const auto& folder : folders) {
    for (const auto& file : nvrtc_files(folder)) {
      std::error_code error;
      auto canonical = fs::canonical(file, error);
      if (error || std::find(seen.begin(), seen.end(), canonical) != seen.end()) continue;
      seen.push_back(std::move(canonical));
      auto found = identify(file);
      if (found.ok() && found->major >= kMinNvrtcMajor) add(toolchains, std::move(*found));
    }
  }
  std::sort(toolchains.begin(), toolchains.end(), is_newer);
  return toolchains;
}

}  // namespace cubind
