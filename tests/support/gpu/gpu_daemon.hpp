// The daemon a GPU test or bench asks: the one at $CUBIND_SOCKET, or one of its own, started from the `cubind` beside
// the program (../bin, ../../bin or the same folder; $CUBIND_DAEMON names another) with an empty store in a temporary
// folder; its only toolchain is $CUBIND_NVRTC, if that is set. It ends with the program, however the program ends; the
// folder is removed at exit().
#pragma once

#include <string>

#include "base/result.hpp"

namespace cubind::test {

// Its socket; the same at every call. unavailable, with what to set, if there is none. The daemon may not listen yet:
// give the client a connect_deadline.
Result<std::string> gpu_daemon_socket();

// Path of the running program, and its folder.
std::string program_path();
std::string program_folder();

}  // namespace cubind::test
