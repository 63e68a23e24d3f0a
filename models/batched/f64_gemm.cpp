// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/batched/gemm.h"
#include "models/batched/parallel.h"
#include "models/mma/dot_step.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/batched/f64_gemm.cpp"
#include <hwy/foreach_target.h>
// Highway's dispatch wants its own headers after foreach_target.h.
#include "models/batched/unrolled-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <memory>

HWY_BEFORE_NAMESPACE();
namespace sptc::batched::HWY_NAMESPACE {

using Bits = base::Matrix<std::uint64_t>;

#if HWY_TARGET == HWY_SCALAR || !HWY_NATIVE_FMA

// Without a fused multiply-add: the plain chain.
void run_f64_rows(const Bits& a, const Bits& b_columns, Bits& d, std::size_t row_begin,
                  std::size_t row_end) {
  for (std::size_t i = row_begin; i < row_end; ++i) {
    for (std::size_t j = 0; j < d.cols(); ++j) {
      d(i, j) = mma::f64_dot(a.row(i), b_columns.row(j), d(i, j));
    }
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;
using DoubleTag = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<DoubleTag>;
constexpr std::size_t kLanes = hn::MaxLanes(DoubleTag());
constexpr std::size_t kVectors = 2;
constexpr std::size_t kColumns = kVectors * kLanes;
constexpr std::size_t kRows = 4;
constexpr std::size_t kBlockDepth = 256;

/// kRows rows of a block: the accumulators stay in registers from `begin` to the end of the block.
HWY_NOINLINE void run_chains(const std::uint64_t* const* a, const double* panel, std::size_t depth,
                             double* const* sums) {
  const DoubleTag dd;
  const hn::RebindToUnsigned<DoubleTag> du;
  DoubleVector sum[kRows][kVectors];
  const auto each_sum = [](auto body) HWY_ATTR {
    unrolled<kRows>([&](auto r)
                        HWY_ATTR { unrolled<kVectors>([&](auto v) HWY_ATTR { body(r, v); }); });
  };
  each_sum([&](auto r, auto v) HWY_ATTR { sum[r][v] = hn::LoadU(dd, sums[r] + v * kLanes); });
  for (std::size_t k = 0; k < depth; ++k) {
    DoubleVector b[kVectors];
    unrolled<kVectors>([&](auto v)
                           HWY_ATTR { b[v] = hn::Load(dd, panel + k * kColumns + v * kLanes); });
    unrolled<kRows>([&](auto r) HWY_ATTR {
      const DoubleVector row = hn::BitCast(dd, hn::Set(du, a[r][k]));
      unrolled<kVectors>([&](auto v) HWY_ATTR { sum[r][v] = hn::MulAdd(row, b[v], sum[r][v]); });
    });
  }
  each_sum([&](auto r, auto v) HWY_ATTR { hn::StoreU(sum[r][v], dd, sums[r] + v * kLanes); });
}

void run_f64_rows(const Bits& a, const Bits& b_columns, Bits& d, std::size_t row_begin,
                  std::size_t row_end) {
  struct Workspace {
    alignas(64) double panel[kBlockDepth * kColumns];
    alignas(64) double sums[kRows][kColumns];
  };
  const auto work = std::make_unique<Workspace>();
  for (std::size_t begin = 0; begin < a.cols(); begin += kBlockDepth) {
    const std::size_t depth = std::min(kBlockDepth, a.cols() - begin);
    for (std::size_t column = 0; column < d.cols(); column += kColumns) {
      const std::size_t columns = std::min(kColumns, d.cols() - column);
      for (std::size_t j = 0; j < columns; ++j) {
        const std::uint64_t* source = b_columns.row(column + j).data() + begin;
        for (std::size_t k = 0; k < depth; ++k) {
          std::memcpy(&work->panel[k * kColumns + j], source + k, sizeof(double));
        }
      }
      for (std::size_t row = row_begin; row < row_end; row += kRows) {
        const std::uint64_t* rows[kRows];
        double* sums[kRows];
        const std::size_t count = std::min(kRows, row_end - row);
        for (std::size_t r = 0; r < kRows; ++r) {
          rows[r] = a.row(row + std::min(r, count - 1)).data() + begin;
          sums[r] = work->sums[r];
          if (r < count) {
            std::memcpy(sums[r], d.row(row + r).data() + column, columns * sizeof(double));
          }
        }
        run_chains(rows, work->panel, depth, sums);
        for (std::size_t r = 0; r < count; ++r) {
          std::memcpy(d.row(row + r).data() + column, sums[r], columns * sizeof(double));
        }
      }
    }
  }
}

#endif  // HWY_TARGET

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sptc::batched {

HWY_EXPORT(run_f64_rows);

base::Matrix<std::uint64_t> gemm_f64(const base::Matrix<std::uint64_t>& a,
                                     const base::Matrix<std::uint64_t>& b_columns,
                                     const base::Matrix<std::uint64_t>* c, int threads) {
  if (a.cols() != b_columns.cols()) {
    throw base::InputError("GEMM operand B holds columns of " + std::to_string(b_columns.cols()) +
                           " elements, but A has k = " + std::to_string(a.cols()));
  }
  if (threads < 1) {
    throw base::InputError("GEMM options: threads " + std::to_string(threads) +
                           " must be at least 1");
  }
  if (c != nullptr && (c->rows() != a.rows() || c->cols() != b_columns.rows())) {
    throw base::InputError("GEMM operand C does not have the extents of D");
  }
  base::Matrix<std::uint64_t> d =
      c != nullptr ? *c : base::Matrix<std::uint64_t>(a.rows(), b_columns.rows());
  for_row_ranges(a.rows(), threads, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(run_f64_rows)(a, b_columns, d, begin, end);
  });
  constexpr std::uint64_t kInfinity = 0x7FF0000000000000U;
  constexpr std::uint64_t kMagnitude = 0x7FFFFFFFFFFFFFFFU;
  for (std::size_t i = 0; i < d.rows(); ++i) {
    for (std::size_t j = 0; j < d.cols(); ++j) {
      if ((d(i, j) & kMagnitude) > kInfinity) {  // which NaN it is, the host does not say
        d(i, j) = mma::f64_dot(a.row(i), b_columns.row(j), c != nullptr ? (*c)(i, j) : 0);
      }
    }
  }
  return d;
}

}  // namespace sptc::batched
#endif
