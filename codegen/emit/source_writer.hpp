// Text of a C++ unit, line by line. Knows nothing of what it writes.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace cubind {

class SourceWriter {
 public:
  // Appends a line made of `parts`, at the current depth (two spaces each).
  void line(std::initializer_list<std::string_view> parts);
  void line(std::string_view text) { line({text}); }
  void blank() { text_ += '\n'; }
  void indent(int levels) { depth_ += levels; }

  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
  int depth_ = 0;
};

}  // namespace cubind
