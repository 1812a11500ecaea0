// One NVRTC program from source to cubin. Owns the handle; the log is kept whatever happens. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "codegen/nvrtc/compile_error.hpp"
#include "codegen/nvrtc/nvrtc_api.hpp"

namespace cubind {

class NvrtcProgram {
 public:
  // `api` outlives the program. Headers are (name as included, text): nothing is ever read from disk.
  static Result<NvrtcProgram> create(const NvrtcApi& api, const std::string& name, const std::string& source,
                                     const std::vector<std::pair<std::string, std::string>>& headers);
  NvrtcProgram(NvrtcProgram&& other) noexcept;
  NvrtcProgram& operator=(NvrtcProgram&&) = delete;
  ~NvrtcProgram();

  // Fails as classify_nvrtc() says. May take seconds; may be killed with the process at any time.
  Status compile(const std::vector<std::string>& options);
  std::string log() const;      // of the last compile; may be empty
  Result<Bytes> cubin() const;  // after a compile that succeeded

 private:
  NvrtcProgram(const NvrtcApi& api, NvrtcApi::Program program) : api_(&api), program_(program) {}

  const NvrtcApi* api_;
  NvrtcApi::Program program_;
};

}  // namespace cubind
