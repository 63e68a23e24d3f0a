// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/identify.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <functional>
#include <numeric>
#include <set>

namespace sptc::check::vectors {
namespace {

using mma::MmaInstruction;
using mma::SparseGrouping;

constexpr std::array<std::string_view, 2> kGroupings{"H1", "H2"};

/// `operands` as `instruction` takes them; nothing where they cannot be its.
std::optional<MmaOperands> fitted(const MmaOperands& operands, const std::optional<MetadataInput>& metadata,
                                  const BitArray& d, const MmaInstruction& instruction) {
  if (d.element_bytes != element_bytes(instruction.accumulator) || instruction.sparse != metadata.has_value()) {
    return std::nullopt;
  }
  MmaOperands result = operands;
  if (result.c.shape.empty()) {
    result.c = make_bit_array(d.shape, element_bytes(instruction.c_type()));
  }
  try {
    if (metadata) {
      result.indices = element_indices(*metadata, instruction, operands.a.shape, "");
    }
    require_operands(result, instruction, "");
  } catch (const base::InputError&) {
    return std::nullopt;
  }
  return result;
}

/// Elements of D that come out.
std::size_t matching_elements(const MmaOperands& operands, const BitArray& d, const MmaInstruction& instruction,
                              const mma::StepRules& rules) {
  const BitArray computed = execute(operands, instruction, rules);
  return std::transform_reduce(d.bits.begin(), d.bits.end(), computed.bits.begin(), std::size_t{0}, std::plus<>(),
                               std::equal_to<>());
}

/// Every (architecture, instruction, grouping) of the catalogue with known arithmetic, once per architecture and shape
/// of the products: n does not matter.
std::vector<Candidate> all_candidates() {
  std::vector<Candidate> candidates;
  std::set<std::string> seen;
  for (const mma::Target& target : mma::targets()) {
    for (mma::CatalogueEntry& entry : mma::instructions(target)) {
      const MmaInstruction& instruction = entry.instruction;
      const std::string key = std::string(target.architecture) + entry.ptx_name();
      const bool exact = instruction.accumulator == numerics::DataType::kS32;
      if (entry.is_software || !seen.insert(key).second) {
        continue;
      }
      for (const SparseGrouping grouping : {SparseGrouping::kCompressed, SparseGrouping::kLogical}) {
        const auto rules = mma::find_step_rules(target.architecture, instruction, grouping);
        const bool wanted = grouping == SparseGrouping::kCompressed || (instruction.sparse && !exact);
        if (rules && wanted) {
          candidates.push_back({target, entry, grouping, *rules});
        }
      }
    }
  }
  return candidates;
}

std::string describe(const Candidate& candidate) {
  return fmt::format("{:<14} {}{} ({})", candidate.target.architecture, candidate.entry.ptx_name(),
                     candidate.entry.instruction.sparse ? fmt::format(", {}", grouping_name(candidate.grouping)) : "",
                     mma::name(candidate.rules.evidence));
}

nlohmann::ordered_json json_of(const Candidate& candidate) {
  return {{"arch", candidate.target.architecture},
          {"instruction", candidate.entry.ptx_name()},
          {"sass", candidate.entry.sass},
          {"grouping", candidate.entry.instruction.sparse ? nlohmann::ordered_json(grouping_name(candidate.grouping))
                                                          : nlohmann::ordered_json(nullptr)},
          {"evidence", mma::name(candidate.rules.evidence)},
          {"matching", candidate.matching}};
}

}  // namespace

Identification identify(const MmaOperands& operands, const std::optional<MetadataInput>& metadata, const BitArray& d,
                        mma::Profile profile) {
  if (operands.a.shape.size() != 3 || operands.b.shape.size() != 3 ||
      d.shape != std::vector{operands.cases(), operands.rows(), operands.columns()}) {
    throw base::InputError("A, B and D must be [case, M, K], [case, K, N] and [case, M, N]");
  }
  Identification result;
  result.elements = d.bits.size();
  for (Candidate& candidate : all_candidates()) {
    const auto own = fitted(operands, metadata, d, candidate.entry.instruction);
    if (!own) {
      continue;
    }
    ++result.candidates;
    candidate.rules = mma::with_profile(candidate.rules, profile);
    candidate.matching = matching_elements(*own, d, candidate.entry.instruction, candidate.rules);
    if (candidate.matching == result.elements) {
      result.matches.push_back(candidate);
    } else if (!result.nearest || candidate.matching > result.nearest->matching) {
      result.nearest = candidate;
    }
  }
  if (result.candidates == 0) {
    throw base::InputError("no matrix instruction takes operands of these shapes and sizes");
  }
  if (!result.matches.empty()) {
    result.nearest.reset();
  }
  return result;
}

std::string identify_text(const Identification& identification) {
  std::string text;
  for (const Candidate& match : identification.matches) {
    text += describe(match) + "\n";
  }
  if (identification.nearest) {
    const Candidate& nearest = *identification.nearest;
    text += fmt::format("no instruction reproduces D; nearest, {} of {} elements:\n{}\n", nearest.matching,
                        identification.elements, describe(nearest));
  }
  return text + fmt::format("{} of {} instructions reproduce {} elements\n", identification.matches.size(),
                            identification.candidates, identification.elements);
}

std::string identify_json(const Identification& identification) {
  nlohmann::ordered_json matches = nlohmann::ordered_json::array();
  for (const Candidate& match : identification.matches) {
    matches.push_back(json_of(match));
  }
  const nlohmann::ordered_json root{
      {"elements", identification.elements},
      {"candidates", identification.candidates},
      {"matches", matches},
      {"nearest", identification.nearest ? json_of(*identification.nearest) : nlohmann::ordered_json(nullptr)}};
  return root.dump(2) + "\n";
}

SparseGrouping parse_grouping(std::string_view name) {
  return static_cast<SparseGrouping>(io::place_among(kGroupings, name, "unknown sparse grouping"));
}

std::string_view grouping_name(SparseGrouping grouping) {
  return kGroupings[static_cast<std::size_t>(grouping)];
}

}  // namespace sptc::check::vectors
