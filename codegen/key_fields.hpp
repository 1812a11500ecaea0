// The ingredients of a kernel key as plain text, and how they are hashed. docs/cache-key.md says why each is in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "codegen/device/config.cuh"

namespace cubind {

struct KeyFields {
  std::string family;                // operation family: "gemm"
  std::string descriptor;            // canonical, one line
  std::string config;                // config_text()
  std::string arch;                  // with suffix
  std::string nvrtc_version;         // "13.0.88"
  std::string nvrtc_build_id;        // of the library that compiles, whatever file forwards to it
  std::string builtins_build_id;     // its implicit header
  std::string source;                // SHA-256 of the emitted unit
  std::string headers;               // headers_digest() of its closure
  std::vector<std::string> options;  // in order, without the seed
  std::string program;               // the name the unit is compiled under
  std::uint32_t launch_abi = 0;
  std::uint32_t weight_layout = 0;
};

// Order of the fields, their names and kKeySchema are the key's definition: a change raises kKeySchema.
FieldHasher hash_fields(const KeyFields& fields);

// Names and texts, in the order given (by name). Only the closure of a unit goes in, so that a change to a header that
// it does not see leaves its key alone.
Digest headers_digest(const std::vector<std::pair<std::string_view, std::string_view>>& headers);

// Every member of the config as name=value, on one line.
std::string config_text(const GemmConfig& config);

}  // namespace cubind
