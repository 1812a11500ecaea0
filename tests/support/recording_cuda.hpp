// What a test asks of the recording libcuda (recording_cuda.cpp): a libcuda.so.1 that holds no GPU, keeps the driver's
// rules and remembers the calls. The client opens it as it opens the real one, by name; tests reach the functions below
// through the same library with RecordingCuda::find().
//
// Rules it keeps: cuInit first; one process only (a forked child gets CUDA_ERROR_NOT_INITIALIZED for everything);
// handles must be alive and functions belong to one context; a function is loaded lazily, at the first
// cuFuncGetAttribute or launch; dynamic shared memory above 48 KiB must have been asked for; while a capture is on,
// whatever loads or allocates is an error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/kernel_abi.hpp"

namespace cubind::test {

struct RecordedLaunch {
  void* function = nullptr;
  void* context = nullptr;  // of the function
  unsigned grid[3] = {}, block = 0, smem_bytes = 0;
  unsigned cluster = 1;  // along x
  void* stream = nullptr;
  bool captured = false;
  bool loaded_at_launch = false;  // it was not loaded before: what force-loading avoids
  std::string code;               // the library's bytes
  GemmParams params{};
  TensorMap x_map{}, weights_map{};  // if RecordingState::mapped
};

// What the recording cuTensorMapEncodeTiled writes to the map.
struct RecordedMap {
  const void* address;
  std::uint64_t width, height, depth, pitch, plane_pitch;  // depth 0: of rank 2
  std::uint32_t box_width, box_height, box_depth;
  int type, swizzle;
};
static_assert(sizeof(RecordedMap) <= sizeof(TensorMap));

// The whole state; a test resets it. One device of compute capability 9.0 with 132 SMs unless changed.
struct RecordingState {
  int driver_version = 13000;
  int devices = 1;
  int major = 9, minor = 0, sm_count = 132;
  std::string fail_function;  // this function returns fail_result instead
  int fail_result = 0;
  bool capturing = false;
  bool mapped = false;  // the entry's parameter is MappedGemmParams

  std::vector<std::string> calls;  // names, in order
  std::vector<RecordedLaunch> launches;
  std::vector<std::string> violations;  // rules that were broken
  int libraries_alive = 0, primary_retains = 0;

  int count(const std::string& name) const {
    int found = 0;
    for (const std::string& call : calls) found += call == name;
    return found;
  }
};

struct RecordingCuda {
  RecordingState* (*state)();
  void (*reset)();
  void* (*create_context)(int device);
  void (*destroy_context)(void* context);
  void (*set_current)(void* context);
  // Of libcuda.so.1 as the loader finds it; aborts if that is not the recording one.
  static RecordingCuda find();
};

}  // namespace cubind::test
