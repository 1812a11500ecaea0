// How far a request is, on standard error: on a terminal one line that is drawn again, otherwise a line whenever the
// number of finished kernels changes. Silent for --json without a terminal. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "protocol/messages.hpp"

namespace cubind::cli {

class Progress {
 public:
  using Write = std::function<void(std::string_view)>;

  // To standard error, as it is.
  static Progress to_stderr(bool json);

  // `terminal`: the line may be drawn again; `columns` is what fits in it.
  Progress(bool terminal, bool silent, std::size_t columns, Write write)
      : terminal_(terminal), silent_(silent), columns_(columns), write_(std::move(write)) {}
  Progress(Progress&&) = default;
  ~Progress() { finish(); }

  void show(std::string_view what, const ProgressReply& reply);
  void show(std::string_view what, std::size_t done);  // of an unknown number

  // Takes the drawn line away, so that what is printed next starts on a clean one.
  void finish();

 private:
  void line(const std::string& text, bool changed);

  bool terminal_, silent_;
  std::size_t columns_;
  Write write_;
  bool drawn_ = false;
  std::uint64_t last_ = ~0ull;
};

}  // namespace cubind::cli
