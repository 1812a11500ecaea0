// weight_layout 1: weights in the order in which an MMA's A fragment wants them, so that a lane's share of a unit is
// one 16-byte load and needs no shuffle. Pure index arithmetic, shared by kernel, repack tests and emulator.
//
// A unit is 16 weight rows x 64 k: [lane 32][step 4] words of 32 bits for 4-bit weights. Lane = 4 g + t. Word `step`
// holds the A registers j = 0..3 of the MMA over k 16 * step .. + 15; bits 4 j + 16 h hold element h of register j:
//
//   j   row     k (relative to 16 * step)
//   0   g       2t + h
//   1   g + 8   2t + h
//   2   g       8 + 2t + h
//   3   g + 8   8 + 2t + h
//
// Units lie [np / 16][kp / 64]: all of a 16-row panel's k in one run.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind {

inline constexpr unsigned kUnitRows = kMmaRows;
inline constexpr unsigned kUnitK = 64;
inline constexpr unsigned kUnitSteps = kUnitK / kMmaK;

constexpr CUBIND_HD unsigned unit_bytes(unsigned weight_bits) {
  return kUnitRows * kUnitK * weight_bits / 8;
}

// Scales of one (panel, group): [g 8][row g, row g + 8] of 16 bits. Zero points: the same order, 8 bits.
inline constexpr unsigned kGroupScaleBytes = kUnitRows * 2;
inline constexpr unsigned kGroupZeroBytes = kUnitRows;

}  // namespace cubind
