// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "models/base/matrix.h"
#include "sim/workload/workload.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sptc::run {

/// The columns of B of a convolution as implicit GEMM: [n*p*q, r*s*c/groups], row (n, p, q) and
/// within it (r, s, c) with c innermost, of group `group`; positions outside the image are 0.
/// `nhwc` is the input [n, h, w, c].
template <typename T>
base::Matrix<T> im2col(const std::vector<T>& nhwc, const workload::ConvGeometry& conv, std::int64_t group) {
  base::ensure(static_cast<std::int64_t>(nhwc.size()) == conv.n * conv.h * conv.w * conv.c,
               "im2col: the input has not the extents of the convolution");
  const std::int64_t channels = conv.c / conv.groups;
  base::Matrix<T> columns(static_cast<std::size_t>(conv.n * conv.p * conv.q),
                          static_cast<std::size_t>(conv.r * conv.s * channels));
  std::size_t row = 0;
  for (std::int64_t n = 0; n < conv.n; ++n) {
    for (std::int64_t p = 0; p < conv.p; ++p) {
      for (std::int64_t q = 0; q < conv.q; ++q, ++row) {
        T* column = columns.row(row).data();
        for (std::int64_t r = 0; r < conv.r; ++r) {
          const std::int64_t y = p * conv.stride[0] - conv.pad[0] + r * conv.dilation[0];
          for (std::int64_t s = 0; s < conv.s; ++s, column += channels) {
            const std::int64_t x = q * conv.stride[1] - conv.pad[1] + s * conv.dilation[1];
            if (y < 0 || y >= conv.h || x < 0 || x >= conv.w) {
              continue;
            }
            const std::int64_t pixel = (n * conv.h + y) * conv.w + x;
            for (std::int64_t c = 0; c < channels; ++c) {
              column[c] = nhwc[static_cast<std::size_t>(pixel * conv.c + group * channels + c)];
            }
          }
        }
      }
    }
  }
  return columns;
}

}  // namespace sptc::run
