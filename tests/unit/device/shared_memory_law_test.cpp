// Laws of the shared memory addresses: every chunk has its own place, and no access of a warp meets a bank twice.
#include <set>

#include <gtest/gtest.h>

#include "codegen/device/tile/smem_layout.cuh"
#include "codegen/device/tile/swizzle.cuh"

namespace cubind {
namespace {

TEST(Swizzle, IsABijectionOfEachRow) {
  for (unsigned row = 0; row < 16; ++row) {
    std::set<unsigned> places;
    for (unsigned chunk = 0; chunk < 64; ++chunk) {
      places.insert(swizzled_chunk(row, chunk));
      EXPECT_EQ(swizzled_chunk(row, chunk) / 8, chunk / 8);  // stays within its 128 bytes
    }
    EXPECT_EQ(places.size(), 64u);
  }
}

// ldmatrix reads eight rows at one chunk: 16 bytes each, eight groups of four banks.
TEST(Swizzle, EightRowsAtOneChunkMeetEveryBankOnce) {
  for (const unsigned row_bytes : {128u, 256u, 512u, 1024u}) {
    for (unsigned chunk = 0; chunk < row_bytes / 16; ++chunk) {
      std::set<unsigned> bank_groups;
      for (unsigned row = 0; row < 8; ++row) {
        bank_groups.insert((row * row_bytes + swizzled_chunk(row, chunk) * 16) / 16 % 8);
      }
      EXPECT_EQ(bank_groups.size(), 8u) << row_bytes << " bytes a row, chunk " << chunk;
    }
  }
}

// A warp stores one accumulator register: lane (g, t) at token 2 t + e % 2, row g + 8 (e / 2).
TEST(SumPad, AStoreOfAnAccumulatorMeetsEveryBankOnce) {
  for (const unsigned tile_n : {16u, 32u, 64u, 128u, 256u}) {
    for (unsigned e = 0; e < 4; ++e) {
      std::set<unsigned> banks;
      for (unsigned lane = 0; lane < 32; ++lane) {
        banks.insert(((lane % 4 * 2 + e % 2) * (tile_n + kSumPad) + lane / 4 + e / 2 * 8) % 32);
      }
      EXPECT_EQ(banks.size(), 32u) << tile_n << " rows";
    }
  }
}

}  // namespace
}  // namespace cubind
