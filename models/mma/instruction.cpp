// SPDX-License-Identifier: Apache-2.0
#include "models/mma/instruction.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "models/numerics/data_type_info.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace sptc::mma {
namespace {

using numerics::DataType;

/// What PTX calls the group of types without scales that share a data path.
std::string_view kind(const MmaInstruction& instruction) {
  const int bits = numerics::storage_bits(instruction.a_type);
  if (!numerics::info(instruction.a_type).is_float()) {
    return "i8";
  }
  return bits == 32 ? "tf32" : bits == 16 ? "f16" : "f8f6f4";
}

/// Whether the name says how many scales there are and of which type: mxf8f6f4 of tcgen05 has no
/// choice of them.
bool spells_scales(const MmaInstruction& instruction) {
  return instruction.scales &&
         (instruction.family != MmaFamily::kTcgen05 || instruction.scales->kind != ScaledKind::kMxf8f6f4);
}

/// ".kind::mxf4nvf4.block_scale.scale_vec::4X"
std::string scaled_kind(const MmaInstruction& instruction) {
  const BlockScales& scales = *instruction.scales;
  const std::string text = ".kind::" + std::string(name(scales.kind)) + ".block_scale";
  const int vector = instruction.compressed_k() / scales.block;
  return spells_scales(instruction) ? text + ".scale_vec::" + std::to_string(vector) + "X" : text;
}

/// What stands between the name and the shape.
std::string prefix(const MmaInstruction& instruction) {
  const bool is_mma = instruction.family == MmaFamily::kMma;
  // Metadata of block-scaled mma.sp are always in order (PTX ISA 8.7).
  const std::string sp = !instruction.sparse ? "" : instruction.needs_order() ? ".sp::ordered_metadata" : ".sp";
  if (instruction.family == MmaFamily::kWgmma) {
    return "wgmma.mma_async" + sp + ".sync.aligned";
  }
  const std::string text = is_mma ? "mma" + sp + ".sync.aligned" : "tcgen05.mma" + sp;
  if (instruction.scales) {
    return text + scaled_kind(instruction);
  }
  const auto is_fp6_or_fp4 = [](DataType type) {
    return numerics::info(type).is_float() && numerics::storage_bits(type) < 8;
  };
  const bool has_kind = !is_mma || is_fp6_or_fp4(instruction.a_type) || is_fp6_or_fp4(instruction.b_type);
  return has_kind ? text + ".kind::" + std::string(kind(instruction)) : text;
}

}  // namespace

std::string_view name(MmaFamily family) {
  constexpr std::array<std::string_view, 3> kNames{"mma.sync", "wgmma", "tcgen05.mma"};
  return kNames[static_cast<std::size_t>(family)];
}

std::string MmaInstruction::ptx_name() const {
  const auto type = [](DataType t) { return "." + std::string(numerics::name(t)); };
  const bool is_warp_wide = !is_asynchronous();
  std::string text = prefix(*this) + "." + shape.name() + (is_warp_wide ? ".row.col" : "") +
                     (satfinite ? ".satfinite" : "") + type(accumulator) + type(a_type) + type(b_type);
  if (is_warp_wide) {
    text += type(c_type());
  }
  if (spells_scales(*this)) {
    text += "." + std::string(numerics::name(scales->type));
  }
  if (bit_operation) {
    text += *bit_operation == BitOperation::kAnd ? ".and.popc" : ".xor.popc";
  }
  if (pattern) {
    text += " at " + pattern->name();
  }
  return text;
}

int MmaInstruction::metadata_bits_per_row() const {
  const sparsity::Pattern groups = sparse_pattern();
  return sparse ? shape.k / groups.group * groups.metadata_bits() : 0;
}

MmaInstruction gemm_instruction(DataType operand, bool sparse) {
  if (!numerics::is_operand_type(operand)) {
    throw base::InputError("no matrix instruction takes operands of type '" + std::string(numerics::name(operand)) +
                           "'");
  }
  const int compressed_k = 32 * 8 / numerics::storage_bits(operand);
  return {
      {16, 8, sparse ? 2 * compressed_k : compressed_k}, operand, operand, numerics::accumulator_type(operand), sparse};
}

MmaInstruction gemm_instruction(std::string_view architecture, DataType operand, bool sparse) {
  MmaInstruction instruction = gemm_instruction(operand, sparse);
  if (sparse) {
    return instruction;
  }
  if (architecture == "volta" && operand == DataType::kF16) {
    instruction.shape = {8, 8, 4};
  } else if (architecture == "turing" && operand == DataType::kF16) {
    instruction.shape = {16, 8, 8};
  } else if (architecture == "turing" && operand == DataType::kS8) {
    instruction.shape = {8, 8, 16};
  } else if (architecture == "turing" && operand == DataType::kS4) {
    instruction.shape = {8, 8, 32};
  }
  return instruction;
}

MmaInstruction gemm_instruction(DataType operand, bool sparse, const MmaDesign& design,
                                const sparsity::Pattern& pattern) {
  constexpr int kStepBytes = 16;
  MmaInstruction instruction = gemm_instruction(operand, sparse);
  const int bits = numerics::storage_bits(operand);
  const bool hardware = pattern == sparsity::hardware_pattern(operand);
  int compressed_k = design.a_bytes_per_row * 8 / bits;
  if (sparse && !hardware) {
    const int whole_steps = std::lcm(pattern.kept, std::max(1, kStepBytes * 8 / bits));
    compressed_k = static_cast<int>(base::round_up(compressed_k, whole_steps));
    instruction.pattern = pattern;
  }
  instruction.shape = {design.m, design.n, sparse ? compressed_k / pattern.kept * pattern.group : compressed_k};
  return instruction;
}

BlockScales gemm_scales(DataType operand, int block) {
  if (operand != DataType::kE2m1) {
    return kMxf8f6f4Scales;
  }
  return block == kNvf4Scales.block ? kNvf4Scales : kMxf4Scales;
}

OperandRegisters operand_registers(const MmaInstruction& instruction) {
  constexpr int kRegisterBits = 32 * 32;  // of all lanes
  const auto registers = [](int elements, DataType type) {
    return static_cast<int>(base::ceil_div(std::int64_t{elements} * numerics::storage_bits(type), kRegisterBits));
  };
  const MmaShape& shape = instruction.shape;
  OperandRegisters result;
  result.a = registers(shape.m * instruction.compressed_k(), instruction.a_type);
  result.b = registers(instruction.b_elements(), instruction.b_type);
  result.accumulator = registers(shape.m * shape.n, instruction.accumulator);
  if (instruction.sparse) {
    const int bits = shape.m * instruction.metadata_bits_per_row();
    result.metadata = static_cast<int>(base::ceil_div(bits, kRegisterBits));
    result.metadata_selectors = std::max(1, kRegisterBits / bits);
  }
  return result;
}

}  // namespace sptc::mma
