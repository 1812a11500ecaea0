#include "cache/rocks_status.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace cubind {

namespace {

ErrorCode code_of(const rocksdb::Status& status, const std::string& text) {
  if (status.IsNotFound()) return ErrorCode::not_found;
  // Checked before IOError, of which these are kinds.
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::SubCode::kSpaceLimit) {
    return ErrorCode::resource_exhausted;
  }
  if (status.IsCorruption() || status.IsPathNotFound()) return ErrorCode::corruption;
  if (status.IsIOError() && text.find("ermission denied") != std::string::npos) return ErrorCode::permission_denied;
  if (status.IsIOError() || status.IsBusy() || status.IsTimedOut() || status.IsTryAgain() || status.IsIncomplete() ||
      status.IsShutdownInProgress() || status.IsAborted()) {
    return ErrorCode::unavailable;
  }
  if (status.IsNotSupported()) return ErrorCode::not_supported;
  if (status.IsInvalidArgument()) return ErrorCode::invalid_argument;
  return ErrorCode::internal;
}

}  // namespace

Error to_error(const rocksdb::Status& status, std::string_view what) {
  const auto text = status.ToString();
  auto message = std::string(what) + ": " + text;
  // One line, and lower case up to the path that RocksDB puts after its first words.
  std::replace_if(
      message.begin(), message.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  const auto words_end = std::min(message.find('/'), message.size());
  std::transform(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(words_end), message.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return {code_of(status, text), std::move(message)};
}

}  // namespace cubind
