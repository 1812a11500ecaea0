// A file that appears under its name only when it is whole. Made before the daemon is asked, so that a folder that
// cannot be written stops everything.
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace cubind::cli {

class OutputFile {
 public:
  // Errors name -o, the path and why.
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept { swap(other); }
  OutputFile& operator=(OutputFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~OutputFile();  // removes what was not published

  Status append(ByteView bytes);
  Status publish(ByteView bytes);  // with these at its end

 private:
  OutputFile() = default;
  void swap(OutputFile& other);

  std::string path_, temporary_;
  UniqueFd fd_;
};

}  // namespace cubind::cli
