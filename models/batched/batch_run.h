// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/batched/mma_batch.h"

#include <cstddef>

namespace sptc::batched {

/// A batch with its arithmetic and where D goes.
struct BatchRun {
  numerics::Word accumulator(std::size_t index, std::size_t row, std::size_t column) const {
    return batch.c.empty() ? 0 : batch.c[(index * batch.m + row) * batch.n + column];
  }
  /// Element (row, column) of a case in the plain arithmetic.
  numerics::Word plain(std::size_t index, std::size_t row, std::size_t column) const;
  /// Cases [begin, end) likewise.
  void run_plain(std::size_t begin, std::size_t end) const;

  const mma::MmaInstruction& instruction;
  const mma::StepRules& rules;
  const MmaBatch& batch;
  numerics::Word* d;
};

/// Cases [begin, end) on the best vector instructions of this machine, where has_float_kernel.
void run_float_batch(const BatchRun& run, std::size_t begin, std::size_t end);
/// The same where has_integer_kernel.
void run_integer_batch(const BatchRun& run, std::size_t begin, std::size_t end);

}  // namespace sptc::batched
