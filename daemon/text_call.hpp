// A request that is answered with one text in chunks, as fast as its reader takes them.
#pragma once

#include <string>

#include "daemon/call.hpp"

namespace cubind {

class TextCall final : public Call {
 public:
  TextCall(ReplySink& sink, std::uint64_t id, std::string text) : sink_(sink), id_(id), text_(std::move(text)) {}

  void advance(SteadyTime now) override;
  void tick(SteadyTime) override {}
  std::optional<SteadyTime> next_wakeup() const override { return std::nullopt; }
  void cancel(SteadyTime now) override;
  bool finished() const override { return finished_; }

 private:
  ReplySink& sink_;
  std::uint64_t id_;
  std::string text_;
  std::size_t sent_ = 0;
  bool finished_ = false;
};

}  // namespace cubind
