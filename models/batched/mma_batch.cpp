// SPDX-License-Identifier: Apache-2.0
#include "models/batched/mma_batch.h"

#include "models/base/error.h"
#include "models/base/matrix.h"
#include "models/base/matrix_view.h"
#include "models/batched/gemm.h"
#include "models/batched/parallel.h"
#include "models/mma/dot_step.h"
#include "models/sparsity/compress.h"

#include <algorithm>
#include <string>
#include <vector>

namespace sptc::batched {
namespace {

using numerics::Word;

void require_size(std::size_t size, std::size_t expected, const char* name) {
  if (size != expected) {
    throw base::InputError(std::string("batch operand ") + name + " holds " + std::to_string(size) +
                           " elements, but its extents are " + std::to_string(expected));
  }
}

void require_extents(const mma::MmaInstruction& instruction, const mma::StepRules& rules,
                     const MmaBatch& batch, std::size_t elements_of_d, int threads) {
  if (rules.is_f64() || instruction.block_scaled) {
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

/// The cases of a batch one after the other, with what they need in turn.
class Cases {
 public:
  Cases(const mma::MmaInstruction& instruction, const mma::StepRules& rules, const MmaBatch& batch,
        Word* d)
      : instruction_(instruction), rules_(rules), batch_(batch), d_(d), b_(batch.n, batch.k) {
    if (instruction.sparse) {
      const sparsity::Pattern pattern = sparsity::hardware_pattern(instruction.a_type);
      const std::size_t groups = batch.k / static_cast<std::size_t>(pattern.group);
      is_grouped_ = batch.k == groups * static_cast<std::size_t>(pattern.group) &&
                    batch.depth == groups * static_cast<std::size_t>(pattern.kept);
      a_ = {.type = instruction.a_type,
            .pattern = pattern,
            .logical_k = batch.k,
            .values = base::Matrix<Word>(batch.m, batch.depth),
            .nibbles = base::Matrix<std::uint8_t>(batch.m, is_grouped_ ? groups : 0)};
    }
  }

  void run(std::size_t index) {
    const Word* a = batch_.a.data() + index * batch_.m * batch_.depth;
    const Word* b = batch_.b.data() + index * batch_.k * batch_.n;
    for (std::size_t k = 0; k < batch_.k; ++k) {
      for (std::size_t j = 0; j < batch_.n; ++j) {
        b_(j, k) = b[k * batch_.n + j];
      }
    }
    Word* d = d_ + index * batch_.m * batch_.n;
    const Word* c = batch_.c.empty() ? nullptr : batch_.c.data() + (d - d_);
    if (instruction_.sparse && !find_nibbles(index)) {
      run_plain(index, a, c, d);
      return;
    }
    GemmOperands operands;
    operands.b_columns = b_;
    if (c != nullptr) {
      operands.c = numerics::OperandView(c, batch_.m, batch_.n, batch_.n);
    }
    if (instruction_.sparse) {
      std::copy_n(a, a_.values.size(), a_.values.data());
      operands.compressed_a = &a_;
    } else {
      operands.a = numerics::OperandView(a, batch_.m, batch_.depth, batch_.depth);
    }
    gemm(instruction_, rules_, operands, {}, base::MatrixView<Word>(d, batch_.m, batch_.n));
  }

 private:
  /// The metadata that select what the indices name; false where no nibble does.
  bool find_nibbles(std::size_t index) {
    const auto kept = static_cast<std::size_t>(a_.pattern.kept);
    const auto length = static_cast<std::size_t>(a_.pattern.run);
    const std::uint32_t* k = batch_.indices.data() + index * a_.values.size();
    for (std::size_t i = 0; is_grouped_ && i < a_.nibbles.size(); ++i, k += kept) {
      const auto first = static_cast<std::uint32_t>(i % a_.nibbles.cols()) *
                         static_cast<std::uint32_t>(a_.pattern.group);
      const auto choice = [&](std::size_t slot) {
        return (k[slot] - first) / static_cast<std::uint32_t>(length) & 3U;
      };
      const std::uint32_t nibble = a_.pattern.candidates() == 2
                                       ? (choice(0) == 0 ? 0b0100U : 0b1110U)
                                       : choice(0) | choice(length) << 2;
      a_.nibbles.data()[i] = static_cast<std::uint8_t>(nibble);
      for (std::size_t slot = 0; slot < kept; ++slot) {
        const int position =
            sparsity::selected_position(a_.nibbles.data()[i], static_cast<int>(slot), a_.pattern);
        if (k[slot] != first + static_cast<std::uint32_t>(position)) {
          return false;
        }
      }
    }
    return is_grouped_;
  }

  void run_plain(std::size_t index, const Word* a, const Word* c, Word* d) {
    std::vector<Word> selected(batch_.depth);
    for (std::size_t i = 0; i < batch_.m; ++i) {
      const std::size_t row = i * batch_.depth;
      const auto indices = batch_.indices.subspan(index * a_.values.size() + row, batch_.depth);
      for (std::size_t j = 0; j < batch_.n; ++j) {
        std::transform(indices.begin(), indices.end(), selected.begin(),
                       [&](std::uint32_t k) { return b_(j, k); });
        const std::size_t element = i * batch_.n + j;
        d[element] = mma::dense_dot(std::span(a + row, batch_.depth), selected,
                                    c != nullptr ? c[element] : Word{0}, instruction_, rules_);
      }
    }
  }

  const mma::MmaInstruction& instruction_;
  const mma::StepRules& rules_;
  const MmaBatch& batch_;
  Word* d_;
  base::Matrix<Word> b_;          ///< columns of B
  sparsity::CompressedMatrix a_;  ///< sparse instructions
  bool is_grouped_ = false;       ///< K is whole groups of A's pattern
};

}  // namespace

void mma_batch(const mma::MmaInstruction& instruction, const mma::StepRules& rules,
               const MmaBatch& batch, std::span<Word> d, int threads) {
  require_extents(instruction, rules, batch, d.size(), threads);
  for_row_ranges(batch.cases, threads, [&](std::size_t begin, std::size_t end) {
    Cases cases(instruction, rules, batch, d.data());
    for (std::size_t index = begin; index < end; ++index) {
      cases.run(index);
    }
  });
}

}  // namespace sptc::batched
