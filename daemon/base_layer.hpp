// The read-only layer that the config names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/rocks_base.hpp"

namespace cubind {

struct BaseLayer {
  std::vector<std::unique_ptr<RocksBase>> layers;  // one, or none
  std::string trouble;                             // why there is none although `root` names one
};

// A layer that is not there costs compiles: it is said in the health, and the daemon serves without it.
BaseLayer open_base(const std::string& root);

}  // namespace cubind
