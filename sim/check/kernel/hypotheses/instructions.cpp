// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of another instruction or architecture, or with one rule changed.
#include "models/mma/catalogue.h"
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/identify.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace sptc::check::kernel::hypotheses {
namespace {

using mma::MmaInstruction;

/// What decides the bits of one accumulator. Depth counts only where steps are not simply L apart.
auto arithmetic_key(const MmaInstruction& instruction, const mma::StepRules& rules) {
  return std::tuple(instruction.sparse, instruction.satfinite, rules.products_per_step,
                    rules.fraction_bits, rules.rounding, rules.exponent_floor, rules.output,
                    rules.cleared_output_bits, rules.zero_rule,
                    rules.lowered_fp8 ? instruction.shape.k : 0);
}
using ArithmeticKey =
    decltype(arithmetic_key(std::declval<MmaInstruction>(), std::declval<mma::StepRules>()));

class Arithmetics {
 public:
  Arithmetics(const KernelModel& from, const mma::Target& own) : from_(from), own_(own) {
    seen_.insert(arithmetic_key(from.instruction, from.rules));
  }

  Proposals proposals;

  void add_instructions_of(const mma::Target& target) {
    for (const mma::CatalogueEntry& entry : mma::instructions(target)) {
      const MmaInstruction& candidate = entry.instruction;
      if (entry.is_software || candidate.a_type != from_.instruction.a_type ||
          candidate.b_type != from_.instruction.b_type || candidate.scales) {
        continue;
      }
      for (const auto grouping :
           {mma::SparseGrouping::kCompressed, mma::SparseGrouping::kLogical}) {
        const auto rules = mma::find_step_rules(target.architecture, candidate, grouping);
        const bool is_logical = grouping == mma::SparseGrouping::kLogical;
        if (rules && (candidate.sparse || !is_logical) &&
            seen_.insert(arithmetic_key(candidate, *rules)).second) {
          add(target, candidate, *rules, is_logical);
        }
      }
    }
  }

  void add_roundings() {
    for (const auto& [text, rules] : vectors::rule_variants(from_.rules)) {
      if (seen_.insert(arithmetic_key(from_.instruction, rules)).second) {
        KernelModel model = from_;
        model.rules = rules;
        proposals.add("rounding", text, model);
      }
    }
  }

 private:
  void add(const mma::Target& target, const MmaInstruction& candidate, const mma::StepRules& rules,
           bool is_logical) {
    KernelModel model = from_;
    model.instruction = candidate;
    model.rules = rules;
    const bool is_own = target.architecture == own_.architecture;
    const bool other_output = rules.output != from_.rules.output;
    const bool same_shape = candidate.sparse == from_.instruction.sparse;
    const std::string_view cause = !is_own                    ? "architecture"
                                   : other_output             ? "accumulator"
                                   : is_logical && same_shape ? "sparse-grouping"
                                                              : "instruction";
    std::string text =
        other_output && is_own
            ? fmt::format("accumulates in {} instead of {} ({})", numerics::name(rules.output),
                          numerics::name(from_.rules.output), candidate.ptx_name())
            : fmt::format("{} of {}", candidate.ptx_name(), target.architecture);
    if (is_logical) {
      text += fmt::format(", grouping {}", vectors::grouping_name(mma::SparseGrouping::kLogical));
    }
    proposals.add(cause, std::move(text), model);
  }

  const KernelModel& from_;
  const mma::Target& own_;
  std::set<ArithmeticKey> seen_;
};

}  // namespace

Proposals instructions(const Trial& at) {
  const mma::Target& own = at.kernel().target;
  Arithmetics arithmetics(at.model(), own);
  arithmetics.add_instructions_of(own);
  for (const mma::Target& other : mma::targets()) {
    if (other.architecture != own.architecture) {
      arithmetics.add_instructions_of(other);
    }
  }
  if (!at.model().rules.is_integer() && !at.model().rules.lowered_fp8) {
    arithmetics.add_roundings();
  }
  return std::move(arithmetics.proposals);
}

// Sums without a tensor core: of CUDA cores, or of a reference on the host.
Proposals host_sums(const Trial& at) {
  Proposals proposals;
  const KernelModel& from = at.model();
  if (from.rules.is_integer() || from.epilogue != Epilogue{} || !at.kernel().data.bias.empty()) {
    return proposals;
  }
  KernelModel model = from;
  model.arithmetic = KernelArithmetic::kFmaChain;
  proposals.add("no-tensor-core", "f32 fused multiply-adds in increasing k, no tensor core", model);
  model.arithmetic = KernelArithmetic::kExact;
  proposals.add("no-tensor-core", "one float64 sum rounded once, no tensor core", model);
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
