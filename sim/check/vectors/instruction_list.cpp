// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/instruction_list.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string_view>

namespace sptc::check::vectors {
namespace {

using Json = nlohmann::ordered_json;

/// Nothing for a routine of several instructions, and where the arithmetic is not known.
std::optional<mma::StepRules> rules_of(const mma::Target& target, const mma::CatalogueEntry& entry) {
  return entry.is_software ? std::nullopt : mma::find_step_rules(target.architecture, entry.instruction);
}

std::string described(const mma::StepRules& rules) {
  if (rules.is_integer()) {
    return "exact";
  }
  if (rules.is_f64()) {
    return "FMA chain";
  }
  const bool is_scaled = rules.scaled_window != mma::ScaledWindow::kNone;
  return fmt::format("L {:>2} F {:>2} {}{}{}{}", rules.products_per_step, rules.fraction_bits,
                     rules.rounding == mma::OutputRounding::kTowardZero ? "RZ" : "RNE",
                     rules.cleared_output_bits > 0 ? " e8m13" : "", rules.lowered_fp8 ? " lowered" : "",
                     is_scaled ? " " + std::string(mma::name(rules.scaled_window)) : "");
}

Json object_of(const mma::StepRules& rules) {
  return {{"products_per_step", rules.products_per_step},
          {"fraction_bits", rules.fraction_bits},
          {"rounding", rules.rounding == mma::OutputRounding::kTowardZero ? "toward-zero" : "nearest-even"},
          {"exponent_floor", rules.exponent_floor ? Json(*rules.exponent_floor) : Json()},
          {"output", numerics::name(rules.output)},
          {"cleared_output_bits", rules.cleared_output_bits},
          {"lowered_fp8", rules.lowered_fp8},
          {"zero_rule", rules.zero_rule == mma::ZeroRule::kIgnore ? "ignore" : "mma-sim"},
          {"scaled_window", mma::name(rules.scaled_window)},
          {"evidence", mma::name(rules.evidence)},
          {"source", rules.source}};
}

Json object_of(const mma::MmaInstruction& instruction) {
  const auto& scales = instruction.scales;
  return {{"name", instruction.ptx_name()},
          {"m", instruction.shape.m},
          {"n", instruction.shape.n},
          {"k", instruction.shape.k},
          {"a_type", numerics::name(instruction.a_type)},
          {"b_type", numerics::name(instruction.b_type)},
          {"c_type", numerics::name(instruction.c_type())},
          {"d_type", numerics::name(instruction.accumulator)},
          {"sparse", instruction.sparse},
          {"block_scaled", scales.has_value()},
          {"scale_type", scales ? Json(numerics::name(scales->type)) : Json()},
          {"scale_block", scales ? Json(scales->block) : Json()}};
}

}  // namespace

std::string instruction_list_text(std::span<const mma::Target> targets) {
  std::string text;
  for (const mma::Target& target : targets) {
    text += fmt::format("{} ({}: {})\n", target.name, target.architecture, target.gpus);
    for (const mma::CatalogueEntry& entry : mma::instructions(target)) {
      const auto rules = rules_of(target, entry);
      text += fmt::format("  {:<78} {:<36} {:<22} {}\n", entry.ptx_name(),
                          entry.is_software ? "software routine" : entry.sass, rules ? described(*rules) : "not known",
                          rules ? mma::name(rules->evidence) : "");
      const std::string_view warning = mma::speed_warning(target, entry.instruction);
      text += warning.empty() ? "" : fmt::format("    {}\n", warning);
    }
  }
  return text;
}

std::string instruction_list_json(std::span<const mma::Target> targets) {
  Json list = Json::array();
  for (const mma::Target& target : targets) {
    Json instructions = Json::array();
    for (const mma::CatalogueEntry& entry : mma::instructions(target)) {
      const auto rules = rules_of(target, entry);
      Json row = object_of(entry.instruction);
      row["max_n"] = entry.max_n;
      row["sass"] = entry.sass;
      row["software"] = entry.is_software;
      row["speed_warning"] = mma::speed_warning(target, entry.instruction);
      row["rules"] = rules ? object_of(*rules) : Json();
      instructions.push_back(std::move(row));
    }
    list.push_back({{"target", target.name},
                    {"architecture", target.architecture},
                    {"gpus", target.gpus},
                    {"instructions", std::move(instructions)}});
  }
  return Json{{"schema", "sptcsim-instructions/0.1"}, {"targets", std::move(list)}}.dump(2) + "\n";
}

std::string instruction_json(const mma::MmaInstruction& instruction) {
  return object_of(instruction).dump();
}

std::string rules_json(const mma::StepRules& rules) {
  return object_of(rules).dump();
}

}  // namespace sptc::check::vectors
