// SPDX-License-Identifier: Apache-2.0
#include "models/batched/batch_run.h"
#include "models/numerics/data_type_info.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/batched/integer_batch.cpp"
#include <hwy/foreach_target.h>
// Highway's dispatch wants its own headers after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace sptc::batched::HWY_NAMESPACE {

using numerics::Word;

/// Operands of up to eight bits as integers, modulo 2^32.
void decode_integers(const Word* words, std::size_t count, numerics::DataType type,
                     std::uint32_t* values) {
  const int shift = 32 - numerics::storage_bits(type);
  if (numerics::info(type).is_signed) {
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(words[i] << shift) >> shift);
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = words[i] << shift >> shift;
    }
  }
}

/// Integers: exact modulo 2^32, in any order.
void run_integer_cases(const BatchRun& run, std::size_t begin, std::size_t end) {
  constexpr std::size_t kColumns =
      8;  // a constant, so that the compiler keeps the sums in a vector
  const MmaBatch& batch = run.batch;
  const std::size_t columns = (batch.n + kColumns - 1) / kColumns * kColumns;
  std::vector<std::uint32_t> a(batch.m * batch.depth);
  std::vector<std::uint32_t> b(batch.k * columns);
  for (std::size_t index = begin; index < end; ++index) {
    decode_integers(batch.a.data() + index * a.size(), a.size(), run.instruction.a_type, a.data());
    if (columns == batch.n) {
      decode_integers(batch.b.data() + index * b.size(), b.size(), run.instruction.b_type,
                      b.data());
    } else {
      for (std::size_t k = 0; k < batch.k; ++k) {
        decode_integers(batch.b.data() + (index * batch.k + k) * batch.n, batch.n,
                        run.instruction.b_type, b.data() + k * columns);
      }
    }
    for (std::size_t i = 0; i < batch.m; ++i) {
      const std::size_t first = (index * batch.m + i) * batch.depth;
      for (std::size_t column = 0; column < columns; column += kColumns) {
        std::uint32_t sums[kColumns] = {};
        for (std::size_t t = 0; t < batch.depth; ++t) {
          const std::size_t k = batch.indices.empty() ? t : batch.indices[first + t];
          const std::uint32_t factor = a[i * batch.depth + t];
          const std::uint32_t* row = &b[k * columns + column];
          for (std::size_t j = 0; j < kColumns; ++j) {
            sums[j] += factor * row[j];
          }
        }
        for (std::size_t j = 0; j < std::min(kColumns, batch.n - column); ++j) {
          run.d[(index * batch.m + i) * batch.n + column + j] =
              sums[j] + run.accumulator(index, i, column + j);
        }
      }
    }
  }
}

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sptc::batched {

HWY_EXPORT(run_integer_cases);

void run_integer_batch(const BatchRun& run, std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(run_integer_cases)(run, begin, end);
}

}  // namespace sptc::batched
#endif
