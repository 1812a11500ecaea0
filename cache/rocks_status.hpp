// rocksdb::Status as our Error. Included by rocks_*.cpp only.
#pragma once

#include <string_view>

#include <rocksdb/status.h>

#include "base/result.hpp"

namespace cubind {

// The code says what a caller can do: corruption (also a file that is gone: the entry must go), resource_exhausted (the
// disk is full), permission_denied, unavailable (any other trouble with the disk, busy, shutting down), not_found,
// not_supported, invalid_argument, internal. `what` begins the message: "store write".
Error to_error(const rocksdb::Status& status, std::string_view what);

}  // namespace cubind
