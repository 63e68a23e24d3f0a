// SPDX-License-Identifier: Apache-2.0
#include "models/batched/mma_batch.h"

#include "models/base/error.h"
#include "models/batched/batch_run.h"
#include "models/batched/float_gemm.h"
#include "models/batched/integer_gemm.h"
#include "models/batched/parallel.h"
#include "models/mma/dot_step.h"

#include <algorithm>
#include <string>
#include <vector>

namespace sptc::batched {

numerics::Word BatchRun::plain(std::size_t index, std::size_t row, std::size_t column) const {
  thread_local std::vector<numerics::Word> selected;
  selected.resize(batch.depth);
  const std::size_t first = (index * batch.m + row) * batch.depth;
  for (std::size_t t = 0; t < batch.depth; ++t) {
    const std::size_t k = batch.indices.empty() ? t : batch.indices[first + t];
    selected[t] = batch.b[(index * batch.k + k) * batch.n + column];
  }
  return mma::dense_dot(batch.a.subspan(first, batch.depth), selected,
                        accumulator(index, row, column), instruction, rules);
}

void BatchRun::run_plain(std::size_t begin, std::size_t end) const {
  numerics::Word* element = d + begin * batch.m * batch.n;
  for (std::size_t index = begin; index < end; ++index) {
    for (std::size_t i = 0; i < batch.m; ++i) {
      for (std::size_t j = 0; j < batch.n; ++j) {
        *element++ = plain(index, i, j);
      }
    }
  }
}

namespace {

void require_size(std::size_t size, std::size_t expected, const char* name) {
  if (size != expected) {
    throw base::InputError(std::string("batch operand ") + name + " holds " + std::to_string(size) +
                           " elements, but its extents are " + std::to_string(expected));
  }
}

void require_extents(const mma::MmaInstruction& instruction, const mma::StepRules& rules,
                     const MmaBatch& batch, std::size_t elements_of_d, int threads) {
  if (rules.is_f64() || instruction.scales) {
    throw base::InputError("a batch does not take f64 or block-scaled instructions, such as " +
                           instruction.ptx_name());
  }
  if (threads < 1) {
    throw base::InputError("batch options: threads " + std::to_string(threads) +
                           " must be at least 1");
  }
  if (instruction.sparse == batch.indices.empty() && batch.cases != 0) {
    throw base::InputError("batch operand indices: " + instruction.ptx_name() +
                           (instruction.sparse ? " needs them" : " is dense and takes none"));
  }
  const std::size_t of_a = batch.cases * batch.m * batch.depth;
  const std::size_t of_d = batch.cases * batch.m * batch.n;
  require_size(batch.a.size(), of_a, "A");
  require_size(batch.b.size(), batch.cases * batch.k * batch.n, "B");
  require_size(batch.c.size(), batch.c.empty() ? 0 : of_d, "C");
  require_size(elements_of_d, of_d, "D");
  if (batch.indices.empty()) {
    if (batch.depth != batch.k) {
      throw base::InputError("batch operand A has rows of " + std::to_string(batch.depth) +
                             " elements, but B has k = " + std::to_string(batch.k));
    }
    return;
  }
  require_size(batch.indices.size(), of_a, "indices");
  const std::uint32_t largest = *std::max_element(batch.indices.begin(), batch.indices.end());
  if (largest >= batch.k) {
    throw base::InputError("batch operand indices: " + std::to_string(largest) +
                           " is outside B, which has k = " + std::to_string(batch.k));
  }
}

}  // namespace

void mma_batch(const mma::MmaInstruction& instruction, const mma::StepRules& rules,
               const MmaBatch& batch, std::span<numerics::Word> d, int threads) {
  require_extents(instruction, rules, batch, d.size(), threads);
  const BatchRun run{instruction, rules, batch, d.data()};
  for_row_ranges(batch.cases, threads, [&](std::size_t begin, std::size_t end) {
    if (has_integer_kernel(instruction, rules)) {
      run_integer_batch(run, begin, end);
    } else if (has_float_kernel(instruction, rules) && batch.depth != 0) {
      run_float_batch(run, begin, end);
    } else {
      run.run_plain(begin, end);
    }
  });
}

}  // namespace sptc::batched
