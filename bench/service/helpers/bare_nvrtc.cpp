// cubind-bench-bare-nvrtc NVRTC BUILTINS UNIT CUBIN: compiles a unit with nothing around NVRTC: load, compile something
// small once, compile the unit. Prints the milliseconds of the second compile and writes the cubin. The unit's format
// is bench/service/bare_compile.cpp's. It runs as nice as a worker does, so that whatever else the machine does meets
// both alike.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/resource.h>

namespace {

struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*cubin_size)(Program, std::size_t*);
  int (*cubin)(Program, char*);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*destroy)(Program*);
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) std::cerr << "no " << name << '\n';
  return function != nullptr;
}

bool load(const char* nvrtc, const char* builtins, Nvrtc& api) {
  if (::dlopen(builtins, RTLD_NOW | RTLD_GLOBAL) == nullptr) std::cerr << ::dlerror() << '\n';
  void* library = ::dlopen(nvrtc, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::cerr << ::dlerror() << '\n';
    return false;
  }
  return find(library, "nvrtcCreateProgram", api.create) && find(library, "nvrtcCompileProgram", api.compile) &&
         find(library, "nvrtcGetCUBINSize", api.cubin_size) && find(library, "nvrtcGetCUBIN", api.cubin) &&
         find(library, "nvrtcGetProgramLogSize", api.log_size) && find(library, "nvrtcGetProgramLog", api.log) &&
         find(library, "nvrtcDestroyProgram", api.destroy);
}

struct Unit {
  std::string source;
  std::vector<std::string> options, names, texts;
};

bool read_unit(const char* path, Unit& unit) {
  std::ifstream in(path, std::ios::binary);
  std::string kind, name;
  std::size_t size = 0;
  while (in >> kind >> name >> size) {
    in.get();
    std::string text(size, '\0');
    in.read(text.data(), static_cast<std::streamsize>(size));
    if (!in) return false;
    if (kind == "source")
      unit.source = std::move(text);
    else if (kind == "option")
      unit.options.push_back(std::move(text));
    else if (kind == "header")
      unit.names.push_back(name), unit.texts.push_back(std::move(text));
    else
      return false;
  }
  return !unit.source.empty();
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> list;
  for (const auto& text : texts) list.push_back(text.c_str());
  return list;
}

bool compile(const Nvrtc& api, const Unit& unit, const char* name, std::string& cubin) {
  Nvrtc::Program program = nullptr;
  const auto names = pointers(unit.names), texts = pointers(unit.texts), options = pointers(unit.options);
  if (api.create(&program, unit.source.c_str(), name, static_cast<int>(names.size()), texts.data(), names.data()) !=
      0) {
    return false;
  }
  const bool good = api.compile(program, static_cast<int>(options.size()), options.data()) == 0;
  std::size_t size = 0;
  api.log_size(program, &size);
  std::string log(size, '\0');
  api.log(program, log.data());
  if (good) {
    api.cubin_size(program, &size);
    cubin.resize(size);
    api.cubin(program, cubin.data());
  } else {
    std::cerr << log << '\n';
  }
  api.destroy(&program);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: cubind-bench-bare-nvrtc NVRTC BUILTINS UNIT CUBIN\n";
    return 2;
  }
  constexpr int kNiceOfAWorker = 10;
  ::setpriority(PRIO_PROCESS, 0, kNiceOfAWorker);
  Nvrtc api{};
  Unit unit;
  if (!load(argv[1], argv[2], api)) return 1;
  if (!read_unit(argv[3], unit)) {
    std::cerr << "unit \"" << argv[3] << "\" cannot be read\n";
    return 1;
  }
  std::string cubin;
  const Unit small{"extern \"C\" __global__ void warmup() {}", unit.options, {}, {}};
  if (!compile(api, small, "warmup.cu", cubin)) return 1;
  const auto start = std::chrono::steady_clock::now();
  if (!compile(api, unit, "kernel.cu", cubin)) return 1;
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::ofstream(argv[4], std::ios::binary) << cubin;
  std::printf("%.3f\n", ms);
  return 0;
}
