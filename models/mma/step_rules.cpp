// SPDX-License-Identifier: Apache-2.0
#include "models/mma/step_rules.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/instruction.h"
#include "models/numerics/data_type_info.h"

#include <algorithm>
#include <array>
#include <string>

namespace sptc::mma {
namespace {

using numerics::DataType;

/// Operand types that share a row.
enum class Operands {
  kF16,
  kBf16,
  kTf32,
  kFp8,       ///< e4m3 and e5m2, in any mix
  kF8f6f4,    ///< fp8, and the 6- and 4-bit floats in 8-bit containers
  kMxf8f6f4,  ///< the same with block scales
  kMxf4,      ///< e2m1 with the scales of mxf4 and mxf4nvf4
  kF64,
  kInteger,
  kB1,
};

struct Row {
  std::string_view architecture;  ///< empty: all
  MmaFamily family;
  Operands operands;
  StepRules rules;
};

using enum Operands;
using enum Evidence;

constexpr auto kMma = MmaFamily::kMma;
constexpr auto kWgmma = MmaFamily::kWgmma;
constexpr auto kTcgen05 = MmaFamily::kTcgen05;
constexpr std::optional<int> kNoFloor = std::nullopt;

consteval StepRules to_f32(int products, int fraction_bits, std::optional<int> floor, Evidence evidence,
                           std::string_view source) {
  return {.products_per_step = products,
          .fraction_bits = fraction_bits,
          .rounding = OutputRounding::kTowardZero,
          .exponent_floor = floor,
          .output = DataType::kF32,
          .evidence = evidence,
          .source = source};
}

consteval StepRules to_f16(int products, int fraction_bits, std::optional<int> floor, Evidence evidence,
                           std::string_view source) {
  StepRules rules = to_f32(products, fraction_bits, floor, evidence, source);
  rules.rounding = OutputRounding::kNearestEven;
  rules.output = DataType::kF16;
  return rules;
}

/// f32 with 13 fraction bits.
consteval StepRules to_e8m13(int products, int fraction_bits, Evidence evidence, std::string_view source) {
  StepRules rules = to_f32(products, fraction_bits, kNoFloor, evidence, source);
  rules.cleared_output_bits = 10;
  return rules;
}

consteval StepRules lowered(StepRules rules) {
  rules.lowered_fp8 = true;
  return rules;
}

consteval StepRules scaled(StepRules rules, ScaledWindow window) {
  rules.scaled_window = window;
  return rules;
}

consteval StepRules exact(DataType output, int products, std::string_view source) {
  return {.products_per_step = products,
          .rounding = OutputRounding::kNearestEven,
          .exponent_floor = kNoFloor,
          .output = output,
          .evidence = kModel,
          .source = source};
}

constexpr std::string_view kV100 = "words of V100; MMA-Sim, Khattak and Mikaitis";
constexpr std::string_view kMmaSimOnly = "MMA-Sim; one extra bit: Fasi et al. 2021 (T4)";
constexpr std::string_view kA100 = "words of A100 and A2; MMA-Sim, Khattak and Mikaitis";
constexpr std::string_view kAda = "words of RTX 1000 Ada and L40S; MMA-Sim, Khattak and Mikaitis";
constexpr std::string_view kB200 = "words of B200; MMA-Sim, Khattak and Mikaitis";
constexpr std::string_view kCaptured = "words of H100 and H200, captured by tests/hardware";
constexpr std::string_view kLoweredB = "words of B200";
constexpr std::string_view kRtx = "Khattak and Mikaitis map it to B200";
constexpr std::string_view kRtxFp8 = "MMA-Sim";
constexpr std::string_view kTmem = "MMA-Sim, Khattak and Mikaitis, tcgen05 model of sf-tensor";
constexpr std::string_view kTmemFp4 = "tcgen05 model of sf-tensor; MMA-Sim has another window";

// Adding a generation is adding rows. Columns: L, F, floor of the largest exponent, evidence.
// Integer steps are as wide as the multiplier array; no result shows it.
constexpr std::array kRows{
    Row{"volta", kMma, kF16, to_f32(4, 23, kNoFloor, kHardware, kV100)},
    Row{"volta", kMma, kF16, to_f16(4, 23, -19, kHardware, kV100)},

    Row{"turing", kMma, kF16, to_f32(8, 24, -132, kModel, kMmaSimOnly)},
    Row{"turing", kMma, kF16, to_f16(8, 24, -20, kModel, kMmaSimOnly)},

    Row{"ampere", kMma, kF16, to_f32(8, 24, -132, kHardware, kA100)},
    Row{"ampere", kMma, kF16, to_f16(8, 24, -20, kHardware, kA100)},
    Row{"ampere", kMma, kBf16, to_f32(8, 24, -132, kHardware, kA100)},
    Row{"ampere", kMma, kTf32, to_f32(4, 24, -132, kHardware, kA100)},

    Row{"ada", kMma, kF16, to_f32(8, 24, -132, kHardware, kAda)},
    Row{"ada", kMma, kF16, to_f16(8, 24, -20, kHardware, kAda)},
    Row{"ada", kMma, kBf16, to_f32(8, 24, -132, kHardware, kAda)},
    Row{"ada", kMma, kTf32, to_f32(4, 24, -132, kHardware, kAda)},
    Row{"ada", kMma, kFp8, to_e8m13(16, 13, kHardware, kAda)},
    Row{"ada", kMma, kFp8, to_f16(16, 13, kNoFloor, kHardware, kAda)},

    Row{"hopper", kMma, kF16, to_f32(16, 25, -133, kHardware, kCaptured)},
    Row{"hopper", kMma, kF16, to_f16(16, 25, -21, kHardware, kCaptured)},
    Row{"hopper", kMma, kBf16, to_f32(16, 25, -133, kHardware, kCaptured)},
    Row{"hopper", kMma, kTf32, to_f32(8, 25, -133, kHardware, kCaptured)},
    Row{"hopper", kMma, kFp8, lowered(to_f32(16, 25, -133, kHardware, kCaptured))},
    Row{"hopper", kMma, kFp8, lowered(to_f16(16, 25, -21, kHardware, kCaptured))},
    Row{"hopper", kMma, kFp8, lowered(to_f32(8, 25, -133, kHardware, kCaptured))},
    Row{"hopper", kMma, kFp8, lowered(to_f16(8, 25, -21, kHardware, kCaptured))},
    Row{"hopper", kWgmma, kF16, to_f32(16, 25, -133, kHardware, kCaptured)},
    Row{"hopper", kWgmma, kF16, to_f16(16, 25, -21, kHardware, kCaptured)},
    Row{"hopper", kWgmma, kBf16, to_f32(16, 25, -133, kHardware, kCaptured)},
    Row{"hopper", kWgmma, kTf32, to_f32(8, 25, -133, kHardware, kCaptured)},
    Row{"hopper", kWgmma, kFp8, to_e8m13(32, 13, kHardware, kCaptured)},
    Row{"hopper", kWgmma, kFp8, to_f16(32, 13, kNoFloor, kHardware, kCaptured)},

    Row{"blackwell", kMma, kF16, to_f32(16, 25, -133, kHardware, kB200)},
    Row{"blackwell", kMma, kF16, to_f16(16, 25, -21, kHardware, kB200)},
    Row{"blackwell", kMma, kBf16, to_f32(16, 25, -133, kHardware, kB200)},
    Row{"blackwell", kMma, kTf32, to_f32(8, 25, -133, kHardware, kB200)},
    Row{"blackwell", kMma, kFp8, lowered(to_f32(16, 25, -133, kHardware, kLoweredB))},
    Row{"blackwell", kMma, kFp8, lowered(to_f16(16, 25, -21, kHardware, kLoweredB))},
    Row{"blackwell", kTcgen05, kF16, to_f32(16, 25, kNoFloor, kModel, kTmem)},
    Row{"blackwell", kTcgen05, kF16, to_f16(16, 25, kNoFloor, kModel, kTmem)},
    Row{"blackwell", kTcgen05, kBf16, to_f32(16, 25, kNoFloor, kModel, kTmem)},
    Row{"blackwell", kTcgen05, kTf32, to_f32(8, 25, kNoFloor, kModel, kTmem)},
    Row{"blackwell", kTcgen05, kF8f6f4, to_f32(32, 25, kNoFloor, kModel, kTmem)},
    Row{"blackwell", kTcgen05, kF8f6f4, to_f16(32, 25, kNoFloor, kModel, kTmem)},
    Row{"blackwell", kTcgen05, kMxf8f6f4, to_f32(32, 25, kNoFloor, kModel, kTmem)},
    Row{"blackwell", kTcgen05, kMxf4, scaled(to_f32(64, 35, kNoFloor, kModel, kTmemFp4), ScaledWindow::kTcgen05)},

    Row{"rtx-blackwell", kMma, kF16, to_f32(16, 25, -133, kInferred, kRtx)},
    Row{"rtx-blackwell", kMma, kF16, to_f16(16, 25, -21, kInferred, kRtx)},
    Row{"rtx-blackwell", kMma, kBf16, to_f32(16, 25, -133, kInferred, kRtx)},
    Row{"rtx-blackwell", kMma, kTf32, to_f32(8, 25, -133, kInferred, kRtx)},
    Row{"rtx-blackwell", kMma, kF8f6f4, to_f32(32, 25, kNoFloor, kModel, kRtxFp8)},
    Row{"rtx-blackwell", kMma, kF8f6f4, to_f16(32, 25, kNoFloor, kModel, kRtxFp8)},
    Row{"rtx-blackwell", kMma, kMxf8f6f4, to_f32(32, 25, kNoFloor, kModel, kRtxFp8)},
    Row{"rtx-blackwell", kMma, kMxf4, scaled(to_f32(64, 35, kNoFloor, kModel, kRtxFp8), ScaledWindow::kMmaSim)},

    Row{"", kMma, kF64, exact(DataType::kF64, 1, "a chain of IEEE FMAs: PTX ISA, MMA-Sim")},
    Row{"", kMma, kInteger, exact(DataType::kS32, 16, "exact: PTX ISA")},
    Row{"", kMma, kB1, exact(DataType::kS32, 16, "exact: PTX ISA")},
    Row{"", kWgmma, kInteger, exact(DataType::kS32, 16, "exact: PTX ISA")},
    Row{"", kWgmma, kB1, exact(DataType::kS32, 16, "exact: PTX ISA")},
    Row{"", kTcgen05, kInteger, exact(DataType::kS32, 16, "exact: PTX ISA")},
};

bool covers(Operands operands, DataType type) {
  const int bits = numerics::storage_bits(type);
  const bool is_float = numerics::info(type).is_float();
  switch (operands) {
    case kF16:
      return type == DataType::kF16;
    case kBf16:
      return type == DataType::kBf16;
    case kTf32:
      return type == DataType::kTf32;
    case kFp8:
      return numerics::is_fp8(type);
    case kF8f6f4:
    case kMxf8f6f4:
      return is_float && bits <= 8;
    case kMxf4:
      return type == DataType::kE2m1;
    case kF64:
      return type == DataType::kF64;
    case kInteger:
      return !is_float && (bits == 8 || bits == 4);
    case kB1:
      return type == DataType::kB1;
  }
  return false;
}

bool covers(Operands operands, const std::optional<BlockScales>& scales) {
  if (operands == kMxf8f6f4) {
    return scales == kMxf8f6f4Scales;
  }
  return operands == kMxf4 ? scales && scales->kind != ScaledKind::kMxf8f6f4 : !scales;
}

bool fits(const Row& row, std::string_view architecture, const MmaInstruction& instruction) {
  // An fp8 instruction that is not two whole f16 steps has no known lowering.
  const bool known_depth = !row.rules.lowered_fp8 || instruction.compressed_k() == 2 * row.rules.products_per_step;
  return (row.architecture.empty() || row.architecture == architecture) && row.family == instruction.family &&
         covers(row.operands, instruction.a_type) && covers(row.operands, instruction.b_type) &&
         covers(row.operands, instruction.scales) && row.rules.output == instruction.accumulator && known_depth;
}

/// The hardware kit has captured every instruction of sm_90 (wgmma with n = 8) but m8n8k4 of f16.
bool is_captured(std::string_view architecture, const MmaInstruction& instruction) {
  const bool of_volta = instruction.shape.m == 8 && instruction.a_type == DataType::kF16;
  return architecture == "hopper" && !of_volta && !instruction.pattern;
}

/// Sums of integers are exact: how sparse products are grouped cannot be seen.
bool is_exact(const StepRules& rules) {
  return rules.is_integer() || rules.is_f64();
}

void apply_sparse(StepRules& rules, MmaFamily family, SparseGrouping grouping) {
  if (is_exact(rules)) {
    return;
  }
  const bool measured = family == kTcgen05 && grouping == SparseGrouping::kCompressed;
  rules.evidence = measured ? kModel : grouping == SparseGrouping::kCompressed ? kInferred : kAssumed;
  rules.source = measured ? "tcgen05 model of sf-tensor: selected products share one window"
                          : "the dense row; sparse products are grouped as on Hopper and B200";
  if (grouping == SparseGrouping::kLogical) {
    rules.products_per_step /= 2;
  }
}

}  // namespace

std::string_view name(Evidence evidence) {
  constexpr std::array<std::string_view, 4> kNames{"hw", "model", "inferred", "assumed"};
  return kNames[static_cast<std::size_t>(evidence)];
}

std::string_view name(ScaledWindow window) {
  constexpr std::array<std::string_view, 3> kNames{"none", "mma-sim", "tcgen05"};
  return kNames[static_cast<std::size_t>(window)];
}

Profile parse_profile(std::string_view name) {
  constexpr std::array<std::string_view, 2> kNames{"hardware", "mma-sim"};
  return static_cast<Profile>(base::place_of_name("profile", name, kNames));
}

StepRules with_profile(StepRules rules, Profile profile) {
  if (profile == Profile::kMmaSim) {
    rules.exponent_floor = kNoFloor;
    rules.zero_rule = ZeroRule::kMmaSim;
    if (rules.scaled_window != ScaledWindow::kNone) {
      rules.scaled_window = ScaledWindow::kMmaSim;
    }
  }
  return rules;
}

StepRules with_accumulator(StepRules rules, const AccumulatorDesign& design, const MmaInstruction& instruction) {
  if (is_exact(rules) || rules.lowered_fp8) {
    return rules;
  }
  if (design.fraction_bits > 0 && design.fraction_bits != rules.fraction_bits) {
    if (rules.exponent_floor) {
      rules.exponent_floor = *rules.exponent_floor + rules.fraction_bits - design.fraction_bits;
    }
    rules.fraction_bits = design.fraction_bits;
    rules.evidence = kAssumed;
    rules.source = "an accumulator of one's own";
  }
  if (design.step_bytes > 0) {
    const int products = std::max(
        1, std::min(design.step_bytes * 8 / numerics::storage_bits(instruction.a_type), instruction.compressed_k()));
    if (products != rules.products_per_step) {
      rules.products_per_step = products;
      rules.evidence = kAssumed;
      rules.source = "an accumulator of one's own";
    }
  }
  return rules;
}

std::vector<std::string_view> step_rule_sets() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) {
    if (!row.architecture.empty() && std::find(names.begin(), names.end(), row.architecture) == names.end()) {
      names.push_back(row.architecture);
    }
  }
  return names;
}

void require_rule_set(std::string_view architecture) {
  static const std::vector<std::string_view> kSets = step_rule_sets();
  base::place_of_name("numerics", architecture, kSets);
}

std::optional<StepRules> find_step_rules(std::string_view architecture, const MmaInstruction& instruction,
                                         SparseGrouping grouping) {
  require_rule_set(architecture);
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&](const Row& candidate) { return fits(candidate, architecture, instruction); });
  if (row == kRows.end()) {
    return std::nullopt;
  }
  StepRules rules = row->rules;
  if (instruction.sparse) {
    apply_sparse(rules, instruction.family, grouping);
  }
  if (instruction.compressed_k() < rules.products_per_step && rules.evidence == kHardware) {
    rules.evidence = kModel;  // the words are of the full depth
  }
  rules.products_per_step = instruction.satfinite ? instruction.compressed_k()
                                                  : std::min(rules.products_per_step, instruction.compressed_k());
  if (instruction.satfinite && instruction.family != kTcgen05) {
    rules.evidence = kInferred;
    rules.source = "one clamp of the exact sum, as on Hopper and by tcgen05 on B200";
  }
  const bool grouped_as_stored = !instruction.sparse || is_exact(rules) || grouping == SparseGrouping::kCompressed;
  if (is_captured(architecture, instruction) && grouped_as_stored) {
    rules.evidence = kHardware;
    rules.source = kCaptured;
  }
  return rules;
}

StepRules step_rules(std::string_view architecture, const MmaInstruction& instruction, SparseGrouping grouping) {
  if (const auto rules = find_step_rules(architecture, instruction, grouping)) {
    return *rules;
  }
  throw base::InputError("no arithmetic is known for " + instruction.ptx_name() + " on '" + std::string(architecture) +
                         "'");
}

}  // namespace sptc::mma
