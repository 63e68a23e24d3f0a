// SPDX-License-Identifier: Apache-2.0
#include "models/batched/gemm.h"

#include <sptcsim/values.h>

namespace sptcsim {

Arithmetic arithmetic_of(std::string_view gpu, std::string_view instruction) {
  const MmaInstruction parsed = sptc::mma::parse_instruction(instruction);
  return {parsed, sptc::mma::instruction_rules(find_target(gpu), parsed)};
}

Arithmetic gemm_arithmetic(std::string_view gpu, DataType type, bool sparse) {
  const Target& target = find_target(gpu);
  const MmaInstruction instruction = sptc::mma::gemm_instruction(target.architecture, type, sparse);
  return {instruction, sptc::mma::instruction_rules(target, instruction)};
}

Matrix<Word> gemm(const Arithmetic& arithmetic, const Matrix<Word>& a, const Matrix<Word>& b, const Matrix<Word>* c,
                  int threads) {
  const Matrix<Word> columns = b.transposed();
  return sptc::batched::gemm(arithmetic.instruction, arithmetic.rules, {&a, nullptr, &columns, c}, {threads, 1});
}

Matrix<Word> gemm(const Arithmetic& arithmetic, const CompressedMatrix& a, const Matrix<Word>& b, const Matrix<Word>* c,
                  int threads) {
  const Matrix<Word> columns = b.transposed();
  return sptc::batched::gemm(arithmetic.instruction, arithmetic.rules, {nullptr, &a, &columns, c}, {threads, 1});
}

}  // namespace sptcsim
