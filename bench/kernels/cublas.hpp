// cuBLAS as the yardstick: BF16 or FP16 weights, FP32 accumulation. Opened at run time if it is there: $CUBIND_CUBLAS
// (a file) or where the loader finds libcublas.so.13 or .12, or the usual folders of a toolkit.
#pragma once

#include <cstdint>
#include <memory>

#include "client/driver/cuda_abi.hpp"
#include "protocol/dtype.hpp"

namespace cubind::bench {

class Cublas {
 public:
  // Null if there is none. Needs a current context.
  static std::unique_ptr<Cublas> open();
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // out[m, n] = x[m, k] * w[n, k]^T, row-major; type f16 or bf16. False if cuBLAS refuses.
  bool multiply(cuda::Stream stream, DType type, const void* x, std::uint32_t ldx, const void* w, void* out,
                std::uint32_t m, std::uint32_t n, std::uint32_t k) const;

 private:
  Cublas() = default;
  struct Functions;
  std::unique_ptr<Functions> functions_;
  void* handle_ = nullptr;
};

}  // namespace cubind::bench
