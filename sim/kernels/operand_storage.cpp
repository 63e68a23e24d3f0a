// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/operand_storage.h"

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
  constexpr int kBlockOfBytes = 32, kBlockOfFourBits = 16;
  if (storage.weight) {
    const bool possible = operand == DataType::kF16 || operand == DataType::kBf16;
    return possible ? "" : "a quantised weight is multiplied as f16 or bf16";
  }
  if (operand == DataType::kE2m1) {
    return storage.scale_block == kBlockOfFourBits ? ""
                                                   : "e2m1 needs a scale for each 16 elements "
                                                     "(nvfp4): --scale-block 16, or scale_block 16 "
                                                     "in a workload";
  }
  if (storage.scale_block == 0) {
    return "";
  }
  return numerics::is_fp8(operand) && storage.scale_block == kBlockOfBytes
             ? ""
             : "blocks have scales where a weight is quantised, of 32 elements of e4m3 or e5m2 "
               "(mxfp8), and of 16 of e2m1 (nvfp4)";
}

}  // namespace sptc::kernels
