#include "codegen/embedded_headers.hpp"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

namespace cubind {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string_view> names(const std::vector<const EmbeddedHeader*>& headers) {
  std::vector<std::string_view> list;
  for (const auto* header : headers) list.push_back(header->name);
  return list;
}

TEST(EmbeddedHeaders, AreTheFilesByteForByteAndOrderedByName) {
  const auto all = embedded_headers();
  ASSERT_GE(all.size(), 3u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const auto& header : all) {
    EXPECT_EQ(read_file(std::string(CUBIND_SOURCE_DIR "/").append(header.name)), header.text) << header.name;
  }
}

// Row L10 of docs/faults.md: a cubin must not depend on where or when it was made.
TEST(EmbeddedHeaders, NothingDependsOnWhereOrWhenItIsCompiled) {
  for (const auto& header : embedded_headers()) {
    for (const char* word : {"__DATE__", "__TIME__", "__TIMESTAMP__", "__FILE__", "__COUNTER__", "__BASE_FILE__"}) {
      EXPECT_EQ(header.text.find(word), std::string_view::npos) << header.name << " has " << word;
    }
  }
}

TEST(IncludeClosure, FollowsIncludesThroughHeaders) {
  const auto closure = include_closure("#include \"codegen/device/config.cuh\"\nint x;\n");
  ASSERT_TRUE(closure.ok());
  EXPECT_EQ(names(*closure), (std::vector<std::string_view>{"codegen/device/config.cuh", "protocol/dtype.hpp"}));
}

TEST(IncludeClosure, SeesEveryWayToSpellAnInclude) {
  for (const char* line : {"#include \"protocol/dtype.hpp\"", "  #  include\t\"protocol/dtype.hpp\"  // why",
                           "int a;\n#include \"protocol/dtype.hpp\"\r\n", "#include\"protocol/dtype.hpp\""}) {
    const auto closure = include_closure(line);
    ASSERT_TRUE(closure.ok()) << line;
    EXPECT_EQ(names(*closure), std::vector<std::string_view>{"protocol/dtype.hpp"}) << line;
  }
}

TEST(IncludeClosure, IsEmptyWithoutIncludes) {
  for (const char* text : {"", "\n\n", "int x;", "// #include \"protocol/dtype.hpp\"", "#include <cuda.h>",
                           "#define include \"x\"", "const char* s = \"#include\";"}) {
    const auto closure = include_closure(text);
    ASSERT_TRUE(closure.ok()) << text;
    EXPECT_TRUE(closure->empty()) << text;
  }
}

TEST(IncludeClosure, RefusesAHeaderThatIsNotEmbeddedNamingIt) {
  const auto closure = include_closure("#include \"protocol/messages.hpp\"\n");
  ASSERT_FALSE(closure.ok());
  EXPECT_EQ(closure.error().code, ErrorCode::internal);
  EXPECT_EQ(closure.error().message, "include \"protocol/messages.hpp\" in the source is not an embedded header");
}

}  // namespace
}  // namespace cubind
