// What the blocks of a wgmma launch work on: everything, once.
#include "codegen/device/tile/work_range.cuh"

#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace cubind {
namespace {

// How often each (tile, step) is done by a grid.
std::map<std::pair<unsigned, unsigned>, int> covered(unsigned blocks, unsigned tiles, unsigned splits,
                                                     unsigned per_split, unsigned steps) {
  std::map<std::pair<unsigned, unsigned>, int> times;
  for (unsigned block = 0; block < blocks; ++block) {
    WorkRange work(block, blocks, tiles, splits, per_split, steps);
    for (Segment segment; work.next(segment);) {
      EXPECT_LT(segment.step_begin, segment.step_end);
      for (unsigned step = segment.step_begin; step < segment.step_end; ++step) ++times[{segment.tile, step}];
    }
  }
  return times;
}

void expect_once(const std::map<std::pair<unsigned, unsigned>, int>& times, unsigned tiles, unsigned steps) {
  EXPECT_EQ(times.size(), std::size_t{tiles} * steps);
  for (const auto& [place, count] : times) {
    EXPECT_EQ(count, 1) << "tile " << place.first << " step " << place.second;
    EXPECT_LT(place.first, tiles);
    EXPECT_LT(place.second, steps);
  }
}

TEST(WorkRange, WholeTilesGoRoundTheBlocks) {
  for (const unsigned blocks : {1u, 2u, 7u, 132u}) {
    for (const unsigned tiles : {1u, 5u, 132u, 133u, 300u}) expect_once(covered(blocks, tiles, 1, 9, 9), tiles, 9);
  }
}

TEST(WorkRange, SplitsShareATilesStepsInOrder) {
  for (const unsigned splits : {2u, 3u, 8u}) {
    for (const unsigned steps : {8u, 9u, 23u, 64u}) {
      const unsigned per_split = ceil_div(steps, splits);
      if ((splits - 1) * per_split >= steps) continue;  // never planned: the last split has something to do
      expect_once(covered(5 * splits, 5, splits, per_split, steps), 5, steps);
    }
  }
  WorkRange last(5, 6, 2, 3, 4, 10);
  Segment segment;
  ASSERT_TRUE(last.next(segment));
  EXPECT_EQ(segment.tile, 1u);
  EXPECT_EQ(segment.step_begin, 8u);
  EXPECT_EQ(segment.step_end, 10u);
  EXPECT_FALSE(last.next(segment));
}

TEST(TileGrid, PlacesEveryTileOnceAndNeighboursShareActivations) {
  for (const TileGrid grid : {TileGrid{1, 5}, TileGrid{3, 4}, TileGrid{8, 7}, TileGrid{21, 6}, TileGrid{64, 1}}) {
    std::set<std::pair<unsigned, unsigned>> places;
    for (unsigned tile = 0; tile < grid.tiles(); ++tile) {
      const TilePlace place = grid.place(tile);
      EXPECT_LT(place.m, grid.tiles_m);
      EXPECT_LT(place.n, grid.tiles_n);
      EXPECT_TRUE(places.emplace(place.m, place.n).second) << tile;
    }
  }
  const TileGrid grid{64, 32};
  std::set<unsigned> along_m, along_n;
  for (unsigned tile = 0; tile < 128; ++tile) {
    along_m.insert(grid.place(tile).m);
    along_n.insert(grid.place(tile).n);
  }
  EXPECT_EQ(along_m.size(), kRasterTokens);
  EXPECT_EQ(along_n.size(), 128 / kRasterTokens);
}

}  // namespace
}  // namespace cubind
