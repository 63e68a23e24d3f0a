// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of another instruction or architecture, or with one rule changed.
#include "models/mma/catalogue.h"
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/identify.h"

#include <tuple>

namespace sptc::check::kernel::hypotheses {
namespace {

using mma::MmaInstruction;

/// What decides the bits of one accumulator. Depth counts only where steps are not simply L apart.
auto arithmetic_key(const MmaInstruction& instruction, const mma::StepRules& rules) {
  return std::tuple(instruction.sparse, instruction.satfinite, rules.products_per_step, rules.fraction_bits,
                    rules.rounding, rules.exponent_floor, rules.output, rules.cleared_output_bits, rules.zero_rule,
                    rules.lowered_fp8 ? instruction.shape.k : 0);
}
/// Where in the list of proposals an arithmetic is; nothing: it is that of the kernel.
using Seen = std::map<decltype(arithmetic_key(std::declval<MmaInstruction>(), std::declval<mma::StepRules>())),
                      std::optional<std::size_t>>;

void add(const char* cause, std::string text, const KernelModel& from, const MmaInstruction& instruction,
         const mma::StepRules& rules, Proposals& proposals) {
  KernelModel model = from;
  model.instruction = instruction;
  model.rules = rules;
  proposals.list.push_back({cause, std::move(text), {}, std::move(model)});
}

void add_instructions_of(const mma::Target& target, const Trial& at, Seen& seen, Proposals& proposals) {
  const KernelModel& from = at.model();
  const bool is_own = target.architecture == at.kernel().target.architecture;
  for (const mma::CatalogueEntry& entry : mma::instructions(target)) {
    const MmaInstruction& candidate = entry.instruction;
    for (const auto grouping : {mma::SparseGrouping::kCompressed, mma::SparseGrouping::kLogical}) {
      const bool is_logical = grouping == mma::SparseGrouping::kLogical;
      if (entry.is_software || candidate.a_type != from.instruction.a_type || candidate.scales ||
          candidate.b_type != from.instruction.b_type || (is_logical && !candidate.sparse)) {
        continue;
      }
      const auto rules = mma::find_step_rules(target.architecture, candidate, grouping);
      if (!rules) {
        continue;
      }
      const auto [known, is_new] = seen.emplace(arithmetic_key(candidate, *rules), proposals.list.size());
      if (!is_new) {
        auto* const same = known->second ? &proposals.list[*known->second] : nullptr;
        if (same != nullptr && same->cause == "architecture" &&
            same->text.find(target.architecture) == std::string::npos) {
          same->text += fmt::format(", {}", target.architecture);
        }
        continue;
      }
      const bool other_output = rules->output != from.rules.output;
      const char* const cause = !is_own                                                     ? "architecture"
                                : other_output                                              ? "accumulator"
                                : is_logical && candidate.sparse == from.instruction.sparse ? "sparse-grouping"
                                                                                            : "instruction";
      std::string text = other_output && is_own
                             ? fmt::format("accumulates in {} instead of {} ({})", numerics::name(rules->output),
                                           numerics::name(from.rules.output), candidate.ptx_name())
                             : fmt::format("{} of {}", candidate.ptx_name(), target.architecture);
      text += is_logical ? fmt::format(", grouping {}", vectors::grouping_name(grouping)) : "";
      add(cause, std::move(text), from, candidate, *rules, proposals);
    }
  }
}

}  // namespace

Proposals instructions(const Trial& at) {
  const KernelModel& from = at.model();
  const mma::Target& own = at.kernel().target;
  Seen seen{{arithmetic_key(from.instruction, from.rules), std::nullopt}};
  Proposals proposals;
  add_instructions_of(own, at, seen, proposals);
  std::vector<mma::Target> others(mma::targets().begin(), mma::targets().end());
  std::ranges::stable_sort(others, {}, [&](const mma::Target& other) {
    return std::abs(other.compute_capability() - own.compute_capability());
  });
  for (const mma::Target& other : others) {
    if (other.architecture != own.architecture) {
      add_instructions_of(other, at, seen, proposals);
    }
  }
  if (!from.rules.is_integer() && !from.rules.lowered_fp8) {
    for (const auto& [text, rules] : vectors::rule_variants(from.rules)) {
      if (seen.emplace(arithmetic_key(from.instruction, rules), std::nullopt).second) {
        add("rounding", text, from, from.instruction, rules, proposals);
      }
    }
  }
  return proposals;
}

// Sums without a tensor core: of CUDA cores, or of a reference on the host.
Proposals host_sums(const Trial& at) {
  const KernelModel& from = at.model();
  Proposals proposals;
  if (!from.rules.is_integer() && from.epilogue == Epilogue{} && at.data().bias.empty()) {
    proposals.add_model("no-tensor-core", "f32 fused multiply-adds in increasing k, no tensor core", from,
                        [](KernelModel& model) { model.arithmetic = KernelArithmetic::kFmaChain; });
    proposals.add_model("no-tensor-core", "one float64 sum rounded once, no tensor core", from,
                        [](KernelModel& model) { model.arithmetic = KernelArithmetic::kExact; });
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
