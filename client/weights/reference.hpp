// What the packed weights mean, in double precision: the reference that kernels are tested against. Slow and plain on
// purpose. Pure and thread-safe.
#pragma once

#include <vector>

#include "client/weights/half.hpp"
#include "client/weights/pack.hpp"

namespace cubind {

// w[n, k] = s[n, group] * (q[n, k] - z[n, group]), exact: a 16-bit scale times an integer from -15 to 15 fits a double.
// Row-major [n, k], without the padding. invalid_argument if a buffer's size is not the layout's.
Result<std::vector<double>> dequantize(const PackedLayout& layout, const PackedView& packed);

// The same over the whole padded unit grid, row-major [np, kp]: shows that padding is zero.
Result<std::vector<double>> dequantize_padded(const PackedLayout& layout, const PackedView& packed);

// out[m, n] = sum over k of x[m, k] * w[n, k] (+ bias[n]); x [m, k], w [n, k] row-major, bias empty or [n].
std::vector<double> multiply(std::span<const double> x, std::span<const double> w, std::span<const double> bias,
                             std::size_t m, std::size_t n, std::size_t k);

}  // namespace cubind
