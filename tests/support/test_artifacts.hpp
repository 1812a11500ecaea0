// Artifacts for the store's tests: their bytes follow from a number, so that any reader can tell what is right.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "protocol/artifact.hpp"

namespace cubind {

inline KernelKey test_key(std::uint64_t number) {
  return sha256(as_bytes("key " + std::to_string(number)));
}

// Half random, half text, so that compression has something to do and is not everything.
inline Bytes test_cubin(std::uint64_t number, std::size_t size) {
  std::mt19937_64 random(number);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = (i / 64) % 2 == 0 ? static_cast<std::byte>(random()) : std::byte{'c'};
  }
  return bytes;
}

inline std::vector<Ingredient> test_ingredients(std::uint64_t number) {
  return {{"schema", "1"}, {"config", "m16n64k128s4w1x1x4"}, {"number", std::to_string(number)}};
}

inline Artifact test_artifact(const KernelKey& key, Bytes cubin) {
  Artifact artifact;
  artifact.key = key;
  artifact.info.name = "w4a16-bf16-g64-m16n64k128s4w1x1x4";
  artifact.info.entry = "cubind_gemm";
  artifact.info.arch = Arch{90, '\0'};
  artifact.info.launch_abi = 1;
  artifact.info.weight_layout = 1;
  artifact.info.tile_m = 16;
  artifact.info.tile_n = 64;
  artifact.info.tile_k = 128;
  artifact.info.threads = 128;
  artifact.info.smem_bytes = 40960;
  artifact.info.registers = 96;
  artifact.info.toolchain = "nvrtc-13.0.88-1a2b3c4d";
  artifact.info.compile_ms = 812.25;
  artifact.info.compile_peak_bytes = 190u << 20;
  artifact.info.log = "ptxas info: used 96 registers";
  artifact.cubin_digest = sha256(cubin);
  artifact.cubin = std::make_shared<const Bytes>(std::move(cubin));
  return artifact;
}

inline Artifact test_artifact(std::uint64_t number, std::size_t size = 20'000) {
  return test_artifact(test_key(number), test_cubin(number, size));
}

}  // namespace cubind
