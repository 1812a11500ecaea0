#include "codegen/cubin/cubin_reader.hpp"

#include <fstream>
#include <iterator>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubind {
namespace {

Bytes golden(const std::string& name) {
  std::ifstream file(std::string(CUBIND_GOLDEN_CUBINS) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return to_bytes(text);
}

struct Expected {
  const char* file;
  std::uint32_t sm, registers;
};

class CubinReader : public ::testing::TestWithParam<Expected> {};

// The numbers are what ptxas -v prints for tests/golden/cubin/kernel.cu.
TEST_P(CubinReader, ReadsWhatPtxasSays) {
  const auto facts = read_cubin(golden(GetParam().file));
  ASSERT_TRUE(facts.ok()) << to_string(facts.error());
  EXPECT_EQ(facts->sm, GetParam().sm);
  ASSERT_EQ(facts->entries.size(), 1u);
  const auto& entry = facts->entries[0];
  EXPECT_EQ(entry.name, "cubind_kernel");
  EXPECT_EQ(entry.registers, GetParam().registers);
  EXPECT_EQ(entry.static_smem_bytes, 100u);
  EXPECT_EQ(entry.local_bytes, 160u);
  EXPECT_EQ(entry.param_bytes, 56u);
  EXPECT_EQ(entry.max_threads, 128u);
}

INSTANTIATE_TEST_SUITE_P(Golden, CubinReader,
                         ::testing::Values(Expected{"sm_75.cubin", 75, 46}, Expected{"sm_90.cubin", 90, 31},
                                           Expected{"sm_120.cubin", 120, 39}, Expected{"sm_90_cuda12.cubin", 90, 31}));

TEST(CubinReaderHostile, EveryTruncationIsAnErrorOrWhole) {
  const auto whole = golden("sm_90.cubin");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(),
                    whole.begin() + static_cast<std::ptrdiff_t>(size));  // exact size: ASan sees overreads
    const auto facts = read_cubin(cut);
    if (facts.ok()) continue;  // never with the section headers at the end cut off, but that is not the point
    EXPECT_EQ(facts.error().code, ErrorCode::corruption);
  }
}

TEST(CubinReaderHostile, MutationsNeverReadOutside) {
  const auto whole = golden("sm_90.cubin");
  std::mt19937 random(7);
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes mutated = whole;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) {
      // Headers, symbols and attributes are where offsets are: half of the changes go into the section headers.
      const auto at = random() % 2 == 0 ? mutated.size() - 1 - random() % 1200 : random() % mutated.size();
      mutated[at] = static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
    }
    const auto facts = read_cubin(mutated);
    if (facts.ok()) continue;
    ++refused;
    EXPECT_EQ(facts.error().code, ErrorCode::corruption);
  }
  EXPECT_GT(refused, 1000u);
}

TEST(CubinReaderHostile, AnotherMachinesFileIsNoCubin) {
  auto bytes = golden("sm_90.cubin");
  bytes[18] = std::byte{62};
  const auto facts = read_cubin(bytes);
  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(to_string(facts.error()), "corruption: cubin: machine \"62\" is not CUDA");
}

}  // namespace
}  // namespace cubind
