#include "client/cli/output_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cubind::cli {

namespace {

Error failed(const std::string& path, int error) {
  const auto code = error == EACCES || error == EPERM ? ErrorCode::permission_denied
                    : error == ENOENT                 ? ErrorCode::not_found
                                                      : ErrorCode::invalid_argument;
  return {code, "-o \"" + path + "\" cannot be written: " + std::strerror(error)};
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile out;
  out.path_ = path;
  out.temporary_ = path + ".XXXXXX";
  out.fd_ = UniqueFd(mkostemp(out.temporary_.data(), O_CLOEXEC));
  if (out.fd_.get() >= 0) return out;
  out.temporary_.clear();
  return failed(path, errno);
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status OutputFile::append(ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status OutputFile::publish(ByteView bytes) {
  CUBIND_CHECK(append(bytes));
  const mode_t mask = umask(0);
  umask(mask);
  if (fchmod(fd_.get(), 0666 & ~mask) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) {
    return failed(path_, errno);
  }
  temporary_.clear();
  return {};
}

void OutputFile::swap(OutputFile& other) {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(fd_, other.fd_);
}

}  // namespace cubind::cli
