// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <optional>
#include <string_view>
#include <vector>

namespace sptc::mma {

struct MmaInstruction;

/// What a step of a sparse instruction counts. Measured on H100, H200 and B200: kCompressed.
enum class SparseGrouping {
  kCompressed,  ///< hypothesis H1: L elements of A as stored, the width of the dense step
  kLogical,     ///< hypothesis H2: L logical k, hence L/2 products
};

enum class OutputRounding {
  kTowardZero,   ///< RZ: drop the bits below the last place
  kNearestEven,  ///< RNE, directly from the exact sum
};

/// Which exponent a zero operand and a zero accumulator bring to the choice of the largest.
enum class ZeroRule {
  kIgnore,  ///< none: zeros take no part (Khattak and Mikaitis; raw B200 words of tcgen05-model)
  kMmaSim,  ///< -126 for each zero operand, whatever its format (MMA-Sim)
};

/// How a step of 4-bit floats with block scales (mxf4, mxf4nvf4) chooses its window. Its terms are
/// C and exact sums of 16 products, which stand at the exponents of their two scales alone. The
/// window is that of C where C reaches what is named here, else that of the largest scales.
enum class ScaledWindow {
  kNone,     ///< another instruction: each product is a term, the largest term has the window
  kMmaSim,   ///< the largest scales (MMA-Sim)
  kTcgen05,  ///< the largest product; dot_step.cpp has what else it does (sf-tensor, for B200)
};
/// "none", "mma-sim", "tcgen05".
std::string_view name(ScaledWindow window);

/// How well a row of the table is known.
enum class Evidence {
  kHardware,  ///< equal to words of real GPUs, published or captured by tests/hardware
  kModel,     ///< as published models of the generation compute it
  kInferred,  ///< from a neighbouring generation or instruction
  kAssumed,   ///< nobody measured it
};
std::string_view name(Evidence evidence);

/// The arithmetic of one *step*: L products and the accumulator, aligned to the largest exponent
/// with F fraction bits, truncated by magnitude, summed exactly and rounded once. An instruction of
/// depth K is K/L steps in increasing k.
///
/// Sources: the words of tests/hardware/captures; the published hardware words and models of
/// Khattak and Mikaitis (arXiv 2512.07004, MATLAB-tensor-core), MMA-Sim (arXiv 2511.10909), Fasi,
/// Higham, Mikaitis and Pranesh (2021).
struct StepRules {
  int products_per_step = 0;  ///< L; an integer instruction that saturates is one step
  int fraction_bits = 0;      ///< F; integers, f64: 0
  OutputRounding rounding = OutputRounding::kTowardZero;
  /// The largest exponent never counts as less than this.
  std::optional<int> exponent_floor = std::nullopt;
  numerics::DataType output = numerics::DataType::kF32;
  int cleared_output_bits = 0;  ///< low fraction bits of the output that every step leaves zero;
                                ///< f32 with 10 of them is "e8m13"
  /// An fp8 instruction of depth 2L that runs as two f16 steps and an IEEE addition: t1 =
  /// step(products with k mod 4 in {0,1}, 0), t2 = step(the others, t1), D = t2 + C (RNE).
  bool lowered_fp8 = false;
  ZeroRule zero_rule = ZeroRule::kIgnore;
  ScaledWindow scaled_window = ScaledWindow::kNone;
  Evidence evidence = Evidence::kModel;
  std::string_view source = {};  ///< of the row, in words

  bool is_integer() const { return output == numerics::DataType::kS32; }
  bool is_f64() const { return output == numerics::DataType::kF64; }
};

/// An accumulator of one's own. 0: as the numerics have it.
struct AccumulatorDesign {
  int fraction_bits = 0;  ///< F
  int step_bytes = 0;     ///< of operand A whose products one step adds: L products
  bool operator==(const AccumulatorDesign&) const = default;
};

/// A way to settle what the sources disagree about.
enum class Profile {
  kHardware,  ///< floors and zero rule of the models tuned against hardware (the default)
  kMmaSim,    ///< no floor, its zero rule and its scaled window: reproduces MMA-Sim word for word
};
/// "hardware", "mma-sim". Throws InputError with the nearest of them.
Profile parse_profile(std::string_view name);
StepRules with_profile(StepRules rules, Profile profile);

/// `rules` of `instruction` with that accumulator. Integers, f64 and lowered fp8 keep theirs. The
/// floor of the largest exponent moves with F: all rows of the table that have one keep F plus
/// floor the same for an output type.
StepRules with_accumulator(StepRules rules, const AccumulatorDesign& design, const MmaInstruction& instruction);

/// The rules of `instruction` on the row set `architecture`: volta, turing, ampere (A100, A2, A30,
/// A40, RTX 30), ada, hopper, blackwell (B200), rtx-blackwell. Throws InputError for an unknown row
/// set or an instruction that has no row.
StepRules step_rules(std::string_view architecture, const MmaInstruction& instruction,
                     SparseGrouping grouping = SparseGrouping::kCompressed);

/// The same, or nothing where no row fits.
std::optional<StepRules> find_step_rules(std::string_view architecture, const MmaInstruction& instruction,
                                         SparseGrouping grouping = SparseGrouping::kCompressed);

/// Throws InputError with the nearest name unless `architecture` is a row set.
void require_rule_set(std::string_view architecture);

/// Names that step_rules knows.
std::vector<std::string_view> step_rule_sets();

}  // namespace sptc::mma
