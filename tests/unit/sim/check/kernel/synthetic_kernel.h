// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/base/random.h"
#include "models/batched/gemm.h"
#include "models/mma/catalogue.h"
#include "models/mma/dot_step.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/prune.h"
#include "sim/check/kernel/kernel_crosscheck.h"

#include <algorithm>
#include <string_view>

namespace sptc::check::kernel {

inline base::Matrix<numerics::Word> random_words(std::size_t rows, std::size_t cols, numerics::DataType type,
                                                 std::string_view label) {
  base::Matrix<numerics::Word> words(rows, cols);
  const base::RandomStream stream = base::RandomStream(4).fork(label);
  for (std::size_t i = 0; i < words.size(); ++i) {
    // The stream has few fraction bits: a factor fills the mantissa of f32.
    const double scale = numerics::info(type).is_float() ? 1.2345678901 : 30.0;
    words.data()[i] = numerics::from_double(stream.normal(i) * scale, type);
  }
  return words;
}

inline StoredMatrix stored(const base::Matrix<numerics::Word>& matrix) {
  return {matrix.rows(), matrix.cols(), false, {matrix.data(), matrix.data() + matrix.size()}};
}

/// A kernel that does what it is said to do; tests change one thing. D comes from the plain
/// arithmetic, element by element.
struct SyntheticKernel {
  mma::Target target;
  KernelData data;
  KernelModel declared;
  base::Matrix<numerics::Word> a;  ///< dense: [m, k]
  sparsity::CompressedMatrix compressed;
  base::Matrix<numerics::Word> b_columns;  ///< [n, k]
  base::Matrix<numerics::Word> c;          ///< empty: zeros

  SyntheticKernel(std::string_view arch, std::string_view instruction, std::size_t m, std::size_t n, std::size_t k,
                  bool with_c = false)
      : target(mma::find_target(arch)) {
    declared.instruction = mma::parse_instruction(instruction);
    declared.rules = mma::instruction_rules(target, declared.instruction);
    const mma::MmaInstruction& mma = declared.instruction;
    data.m = m;
    data.n = n;
    data.k = k;
    data.d_type = mma.accumulator;
    data.c_type = mma.accumulator;
    a = random_words(m, k, mma.a_type, "a");
    b_columns = random_words(n, k, mma.b_type, "b");
    if (with_c) {
      c = random_words(m, n, mma.accumulator, "c");
      data.c = stored(c);
    }
    if (mma.sparse) {
      compressed = sparsity::compress(sparsity::prune_by_magnitude(a, mma.a_type), mma.a_type);
    }
    store_operands();
    data.d = stored(compute());
  }

  /// The operands as the kernel's memory holds them; metadata canonical.
  void store_operands() {
    data.b = stored(b_columns.transposed());
    if (!declared.instruction.sparse) {
      data.a = stored(a);
      return;
    }
    data.a = stored(compressed.values);
    const base::Matrix<std::uint32_t> metadata = sparsity::pack_metadata(compressed.nibbles, {.type = compressed.type});
    data.metadata = vectors::MetadataInput{
        vectors::make_bit_array({1, metadata.size()}, sparsity::metadata_element_bits(compressed.type) / 8),
        vectors::MetadataLayout::kCanonical, 0};
    std::copy_n(metadata.data(), metadata.size(), data.metadata->array.bits.begin());
  }

  numerics::Word element(std::size_t i, std::size_t j, const mma::MmaInstruction& instruction,
                         const mma::StepRules& rules) const {
    const numerics::Word addend = c.empty() ? 0 : c(i, j);
    return instruction.sparse ? mma::sparse_dot(compressed.values.row(i), compressed.nibbles.row(i), b_columns.row(j),
                                                addend, instruction, rules)
                              : mma::dense_dot(a.row(i), b_columns.row(j), addend, instruction, rules);
  }

  base::Matrix<numerics::Word> compute(const mma::MmaInstruction& instruction, const mma::StepRules& rules) const {
    base::Matrix<numerics::Word> d(data.m, data.n);
    for (std::size_t i = 0; i < data.m; ++i) {
      for (std::size_t j = 0; j < data.n; ++j) {
        d(i, j) = element(i, j, instruction, rules);
      }
    }
    return d;
  }
  base::Matrix<numerics::Word> compute() const { return compute(declared.instruction, declared.rules); }

  KernelDiagnosis diagnose() const { return crosscheck_kernel(data, declared, target, 1); }
};

/// The engine's own split-K: slices summed in increasing order.
inline base::Matrix<numerics::Word> split_k(const SyntheticKernel& kernel, int slices) {
  batched::GemmOperands operands;
  operands.a = &kernel.a;
  operands.compressed_a = kernel.declared.instruction.sparse ? &kernel.compressed : nullptr;
  operands.b_columns = &kernel.b_columns;
  operands.c = kernel.c.empty() ? nullptr : &kernel.c;
  return batched::gemm(kernel.declared.instruction, kernel.declared.rules, operands, {.threads = 1, .split_k = slices});
}

}  // namespace sptc::check::kernel
