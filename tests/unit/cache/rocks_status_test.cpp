#include "cache/rocks_status.hpp"

#include <gtest/gtest.h>

namespace cubind {
namespace {

using rocksdb::Status;

TEST(RocksStatus, CodesSayWhatACallerCanDo) {
  EXPECT_EQ(to_error(Status::NotFound(), "store").code, ErrorCode::not_found);
  EXPECT_EQ(to_error(Status::Corruption("block checksum mismatch"), "store").code, ErrorCode::corruption);
  EXPECT_EQ(to_error(Status::PathNotFound("000012.blob"), "store").code, ErrorCode::corruption);
  EXPECT_EQ(to_error(Status::NoSpace(), "store").code, ErrorCode::resource_exhausted);
  EXPECT_EQ(to_error(Status::IOError("Permission denied"), "store").code, ErrorCode::permission_denied);
  EXPECT_EQ(to_error(Status::IOError("Input/output error"), "store").code, ErrorCode::unavailable);
  EXPECT_EQ(to_error(Status::ShutdownInProgress(), "store").code, ErrorCode::unavailable);
  EXPECT_EQ(to_error(Status::Busy(), "store").code, ErrorCode::unavailable);
  EXPECT_EQ(to_error(Status::NotSupported("x"), "store").code, ErrorCode::not_supported);
  EXPECT_EQ(to_error(Status::InvalidArgument("x"), "store").code, ErrorCode::invalid_argument);
}

TEST(RocksStatus, MessageIsOneLineAndKeepsThePathAsItIs) {
  const auto error =
      to_error(Status::IOError("While open a file\nfor appending: /Data/Store/LOCK", "Gone"), "store open");
  EXPECT_EQ(error.message, "store open: io error: while open a file for appending: /Data/Store/LOCK: Gone");
}

}  // namespace
}  // namespace cubind
