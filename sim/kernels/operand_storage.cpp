// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/operand_storage.h"

#include "sim/kernels/operand_format.h"

namespace sptc::kernels {
namespace {

using numerics::DataType;

// Counted from the routines of Marlin (IST-DASLab/marlin, dequant(); vLLM, marlin/dequant.h,
// recalled): of four 4-bit integers two lop3, a subtraction, and a fused multiply-add of pairs, and
// a shift for every other four; of four bytes two permutations and two subtractions of pairs of
// f16, or of bf16 ten instructions through f32. A scale is a multiplication of pairs.
constexpr double kOfFourBits = 9.0 / 8;
constexpr double kOfByteToF16 = 1;
constexpr double kOfByteToBf16 = 2.5;
constexpr double kOfScale = 0.5;

}  // namespace

double OperandStorage::dequantise_operations(DataType operand) const {
  if (!weight) {
    return 0;
  }
  const double conversion = *weight == DataType::kS4    ? kOfFourBits
                            : operand == DataType::kF16 ? kOfByteToF16
                                                        : kOfByteToBf16;
  return conversion + (scale_block > 0 ? kOfScale : 0);
}

const char* impossible_storage(const OperandStorage& storage, DataType operand) {
  if (storage.weight) {
    const bool possible = operand == DataType::kF16 || operand == DataType::kBf16;
    return possible ? "" : "a quantised weight is multiplied as f16 or bf16";
  }
  if (is_block_format({operand, storage.scale_block}) || (storage.scale_block == 0 && operand != DataType::kE2m1)) {
    return "";
  }
  return operand == DataType::kE2m1 ? "e2m1 needs a scale for each 16 elements (nvfp4) or 32 (mxfp4): --dtype nvfp4 or "
                                      "mxfp4, or scale_block 16 or 32 in a workload"
                                    : "blocks have scales where a weight is quantised, of 32 elements of e4m3 or e5m2 "
                                      "(mxfp8), and of 16 (nvfp4) or 32 (mxfp4) of e2m1";
}

}  // namespace sptc::kernels
