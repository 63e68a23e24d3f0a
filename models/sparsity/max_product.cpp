// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/max_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/sparsity/max_product.cpp"
#include <hwy/foreach_target.h>
// Highway's dispatch wants its own headers after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#ifndef SPTC_SPARSITY_MAX_PRODUCT_PANEL
#define SPTC_SPARSITY_MAX_PRODUCT_PANEL
namespace sptc::sparsity {
inline constexpr std::size_t kPanel = 32;        // columns
inline constexpr std::size_t kBounds = 4;        // at a time
inline constexpr std::size_t kRowsAtOnce = 512;  // a panel of them stays in the second cache
}  // namespace sptc::sparsity
#endif

HWY_BEFORE_NAMESPACE();
namespace sptc::sparsity::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Adds to `sums` [kBounds][kPanel] what `rows` rows of a panel give.
void add_panel(const float* panel, const float* const* bounds, std::size_t rows, float* sums) {
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < kPanel; j += 2 * lanes) {
    hn::Vec<decltype(d)> left[kBounds], right[kBounds];
    for (std::size_t b = 0; b < kBounds; ++b) {
      left[b] = hn::Load(d, sums + b * kPanel + j);
      right[b] = hn::Load(d, sums + b * kPanel + j + lanes);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const auto x0 = hn::LoadU(d, panel + r * kPanel + j);
      const auto x1 = hn::LoadU(d, panel + r * kPanel + j + lanes);
      for (std::size_t b = 0; b < kBounds; ++b) {
        const auto bound = hn::Set(d, bounds[b][r]);
        left[b] = hn::Add(left[b], hn::Max(bound, x0));
        right[b] = hn::Add(right[b], hn::Max(bound, x1));
      }
    }
    for (std::size_t b = 0; b < kBounds; ++b) {
      hn::Store(left[b], d, sums + b * kPanel + j);
      hn::Store(right[b], d, sums + b * kPanel + j + lanes);
    }
  }
}

}  // namespace sptc::sparsity::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sptc::sparsity {

HWY_EXPORT(add_panel);

MaxProduct::MaxProduct(const base::Matrix<float>& columns)
    : rows_(columns.rows()),
      columns_(columns.cols()),
      panels_((columns_ + kPanel - 1) / kPanel * kPanel * rows_) {
  for (std::size_t r = 0; r < rows_; ++r) {
    for (std::size_t j = 0; j < columns_; ++j) {
      panels_[(j / kPanel * rows_ + r) * kPanel + j % kPanel] = columns(r, j);
    }
  }
}

void MaxProduct::run(std::span<const float* const> bounds, std::span<float* const> sums) const {
  for (float* const row : sums) {
    std::fill_n(row, columns_, 0.0F);
  }
  alignas(64) float block[kBounds * kPanel];
  for (std::size_t first = 0; first < columns_; first += kPanel) {
    const std::size_t width = std::min(kPanel, columns_ - first);
    for (std::size_t row = 0; row < rows_; row += kRowsAtOnce) {
      const std::size_t rows = std::min(kRowsAtOnce, rows_ - row);
      const float* const panel = panels_.data() + (first / kPanel * rows_ + row) * kPanel;
      for (std::size_t i = 0; i < bounds.size(); i += kBounds) {
        // The last bounds stand in for those that a short block lacks.
        const float* four[kBounds];
        for (std::size_t b = 0; b < kBounds; ++b) {
          four[b] = bounds[std::min(i + b, bounds.size() - 1)] + row;
        }
        std::fill(std::begin(block), std::end(block), 0.0F);
        HWY_DYNAMIC_DISPATCH(add_panel)(panel, four, rows, block);
        for (std::size_t b = 0; b < std::min(kBounds, bounds.size() - i); ++b) {
          for (std::size_t j = 0; j < width; ++j) {
            sums[i + b][first + j] += block[b * kPanel + j];
          }
        }
      }
    }
  }
}

}  // namespace sptc::sparsity
#endif
