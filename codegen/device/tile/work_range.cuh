// What a block of GemmKernel::wgmma works on. Tiles are numbered 0 .. tiles - 1, each is `steps` stages long along k.
//
//   splits 1     a persistent grid: block b has the tiles b, b + blocks, ..., whole
//   splits > 1   block b has a part of one tile: of tile b / splits the steps of split b % splits
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind {

struct Segment {
  unsigned tile = 0;
  unsigned step_begin = 0, step_end = 0;
};

class WorkRange {
 public:
  constexpr CUBIND_HD WorkRange(unsigned block, unsigned blocks, unsigned tiles, unsigned splits,
                                unsigned steps_per_split, unsigned steps)
      : next_{block / splits, block % splits * steps_per_split, steps}, tiles_(tiles), stride_(blocks) {
    if (splits == 1) return;
    stride_ = tiles;  // one segment
    if (next_.step_end - next_.step_begin > steps_per_split) next_.step_end = next_.step_begin + steps_per_split;
  }

  constexpr CUBIND_HD bool next(Segment& segment) {
    if (next_.tile >= tiles_) return false;
    segment = next_;
    next_.tile += stride_;
    return true;
  }

 private:
  Segment next_;
  unsigned tiles_, stride_;
};

// Order of the tiles: groups of kRasterTokens tiles along m, within them down m first. Blocks that run at the same time
// then share activations and weights in L2.
inline constexpr unsigned kRasterTokens = 8;

struct TilePlace {
  unsigned m, n;
};

struct TileGrid {
  unsigned tiles_m, tiles_n;

  constexpr CUBIND_HD unsigned tiles() const { return tiles_m * tiles_n; }
  constexpr CUBIND_HD TilePlace place(unsigned tile) const {
    const unsigned group_tiles = kRasterTokens * tiles_n, group = tile / group_tiles, in_group = tile % group_tiles;
    const unsigned left = tiles_m - group * kRasterTokens, rows = left < kRasterTokens ? left : kRasterTokens;
    return {group * kRasterTokens + in_group % rows, in_group / rows};
  }
};

}  // namespace cubind
