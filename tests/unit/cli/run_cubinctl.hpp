// Runs the cubinctl that was built, as a user would: what it printed and how it ended.
#pragma once

#include <string>
#include <vector>

namespace cubind::test {

struct Ran {
  int exit_code = -1;
  std::string out, err;
};

// $CUBINCTL with these arguments, without a terminal, with CUBIND_SOCKET set to `socket` and the recording libcuda.
Ran cubinctl(const std::vector<std::string>& arguments, const std::string& socket = "/nonexistent/cubind.sock");

// $CUBIND_TEST_SOURCE/path
std::string source_path(const std::string& path);

}  // namespace cubind::test
