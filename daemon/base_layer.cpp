#include "daemon/base_layer.hpp"

#include "base/log.hpp"

namespace cubind {

BaseLayer open_base(const std::string& root) {
  BaseLayer base;
  if (root.empty()) return base;
  auto opened = RocksBase::open(root);
  if (opened.ok()) {
    log(LogLevel::info, "base", {{"root", root}, {"records", (*opened)->records()}});
    base.layers.push_back(*std::move(opened));
  } else {
    base.trouble = opened.error().message;
    log(LogLevel::warn, "base", {{"error", base.trouble}, {"then", "serving without it"}});
  }
  return base;
}

}  // namespace cubind
