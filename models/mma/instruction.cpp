// SPDX-License-Identifier: Apache-2.0
#include "models/mma/instruction.h"

#include "models/base/error.h"

namespace sptc::mma {
namespace {

using numerics::DataType;

// Every m16n8 shape reads 16 or 32 bytes of A per row (PTX ISA, "Matrix Fragments").
constexpr int kBytesOfAPerRow[] = {16, 32};

MmaInstruction instruction_with(DataType operand, DataType accumulator, bool sparse, int a_bytes) {
  const int compressed_k = a_bytes * 8 / numerics::storage_bits(operand);
  return {{16, 8, sparse ? 2 * compressed_k : compressed_k}, operand, operand, accumulator, sparse};
}

}  // namespace

std::string MmaInstruction::ptx_name() const {
  const auto type = [](DataType t) { return "." + std::string(numerics::name(t)); };
  return std::string(sparse ? "mma.sp" : "mma") + ".sync.aligned.m" + std::to_string(shape.m) +
         "n" + std::to_string(shape.n) + "k" + std::to_string(shape.k) + ".row.col" +
         type(accumulator) + type(a_type) + type(b_type) + type(accumulator);
}

MmaInstruction gemm_instruction(DataType operand, bool sparse) {
  if (!numerics::is_operand_type(operand)) {
    throw InputError("no matrix instruction takes operands of type '" +
                     std::string(numerics::name(operand)) + "'");
  }
  return instruction_with(operand, numerics::accumulator_type(operand), sparse, 32);
}

std::vector<MmaInstruction> ampere_instructions() {
  std::vector<MmaInstruction> all;
  for (const bool sparse : {false, true}) {
    for (const int a_bytes : kBytesOfAPerRow) {
      for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kTf32, DataType::kS8}) {
        all.push_back(instruction_with(type, numerics::accumulator_type(type), sparse, a_bytes));
      }
      all.push_back(instruction_with(DataType::kF16, DataType::kF16, sparse, a_bytes));
    }
  }
  return all;
}

}  // namespace sptc::mma
