#include "codegen/emit/source_writer.hpp"

namespace cubind {

void SourceWriter::line(std::initializer_list<std::string_view> parts) {
  text_.append(static_cast<std::size_t>(2 * depth_), ' ');
  for (const auto part : parts) text_ += part;
  text_ += '\n';
}

}  // namespace cubind
