// Random operands of one layer on the device, their reference in double precision, and the judgement of a result
// against it. The kernels behind it are test_kernels.cu.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/gemm_descriptor.hpp"
#include "tests/support/gpu/gpu_api.hpp"

namespace cubind::test {

// The weights of a layer: packed as kernels read them, and plain for the reference (until drop_plain()).
class LayerWeights {
 public:
  LayerWeights(const GemmDescriptor& descriptor, std::uint32_t n, std::uint32_t k, std::uint64_t seed,
               bool with_plain = true);

  const void* packed() const { return packed_.data(); }
  const void* scales() const { return scales_.data(); }
  const void* zeros() const { return zeros_.data(); }  // null for symmetric weights
  const void* bias() const { return bias_.data(); }    // always there; used by layers that have one
  const Buffer& plain() const { return plain_; }       // f32 [n][k]
  std::size_t packed_bytes() const { return packed_.bytes() + scales_.bytes() + zeros_.bytes(); }
  const Buffer& packed_buffer() const { return packed_; }
  const Buffer& scales_buffer() const { return scales_; }
  const Buffer& zeros_buffer() const { return zeros_; }

 private:
  Buffer packed_, scales_, zeros_, bias_, plain_;
};

// x [rows][ldx] of random numbers, ldx = k + padding, NaN beyond k.
class Activations {
 public:
  Activations(DType type, std::uint32_t rows, std::uint32_t k, std::uint64_t seed, std::uint32_t padding = 64);
  const void* data() const { return buffer_.data(); }
  std::uint32_t ldx() const { return ldx_; }

 private:
  Buffer buffer_;
  std::uint32_t ldx_;
};

struct Judgement {
  double relative = 0;  // ||out - ref|| / ||ref||
  double largest = 0;   // max |out - ref| / rms(ref)
  std::uint64_t not_finite = 0, outside = 0;

  // Both bounds, nothing NaN, and nothing written outside [m][n]. Ten tolerances for the largest error: rounding the
  // exact result to bf16 is wrong by eight where an output is five times the rms, which large layers have.
  bool holds(double tolerance) const {
    return relative <= tolerance && largest <= 10 * tolerance && not_finite == 0 && outside == 0;
  }
  std::string text() const;
};
double tolerance_of(DType output);  // 2.5e-3 for bf16, 4e-4 for f16

// Reference of x [rows][k] times the weights; a launch with fewer tokens is judged against its first rows.
class Reference {
 public:
  Reference(const Activations& x, const LayerWeights& weights, DType type, std::uint32_t rows, std::uint32_t n,
            std::uint32_t k);
  // `out` was poisoned (every byte 0xff) and has rows of ldo elements; `bias` null if the launch had none.
  Judgement judge(const Buffer& out, std::uint32_t ldo, std::uint32_t m, const void* bias) const;

 private:
  Buffer y_;
  DType type_;
  std::uint32_t n_;
};

// Elements (16 bits) in which the two buffers differ.
std::uint64_t differing(const Buffer& a, const Buffer& b);

// What all programs that compile the test kernels do first; ends the program if there is no NVRTC.
void load_test_kernels();

}  // namespace cubind::test
