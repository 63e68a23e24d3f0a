// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/verify.h"

#include "models/batched/parallel.h"
#include "sim/check/vectors/mma_batch.h"
#include "sim/check/vectors/vector_set.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <string>
#include <thread>

namespace sptc::check::vectors {
namespace {

using mma::Profile;
using mma::StepRules;

/// What the words of one output are compared with.
struct Arithmetic {
  StepRules rules;                    ///< of the profile that was asked for
  std::optional<StepRules> unmarked;  ///< those of MMA-Sim, where only they tell contested words
  bool uses_marks = false;            ///< else contested words are compared, too
};

Arithmetic arithmetic_of(const VectorSet& set, const VectorOutput& output, Profile profile) {
  const StepRules rules = mma::instruction_rules(output.target, output.instruction, output.grouping);
  const bool exact = rules.is_integer() || rules.is_f64();
  const bool hardware = profile == Profile::kHardware;
  Arithmetic result{mma::with_profile(rules, profile), std::nullopt, hardware && set.contested};
  if (hardware && !set.from_hardware && !exact && !set.contested) {
    result.unmarked = mma::with_profile(rules, Profile::kMmaSim);
  }
  return result;
}

/// Compares one word of `output`; `operands` are those of the set, with its C.
void compare(const VectorSet& set, const VectorOutput& output, const MmaOperands& operands,
             const Arithmetic& arithmetic, std::size_t index, std::size_t row, std::size_t column,
             VerifiedSet& verified) {
  if (arithmetic.uses_marks && set.is_contested(index, row, column)) {
    ++verified.contested;
    return;
  }
  const DotOperands dotted = dot_operands(operands, output.instruction, index, row, column);
  const std::uint64_t expected = output.expected.at(index, row, column);
  const std::uint64_t computed = dot(dotted, output.instruction, arithmetic.rules);
  const auto is_nan = [](std::uint64_t word) { return std::isnan(std::bit_cast<double>(word)); };
  if (computed != expected) {
    if (arithmetic.unmarked && dot(dotted, output.instruction, *arithmetic.unmarked) == expected) {
      ++verified.contested;
      return;
    }
    // MMA-Sim takes the bits of a NaN of f64 from its host.
    if (!set.from_hardware && arithmetic.rules.is_f64() && is_nan(expected) && is_nan(computed)) {
      ++verified.corrected;
      return;
    }
    ++verified.mismatches;
    if (!verified.first) {
      const int bytes = output.expected.element_bytes;
      verified.first = {output.name,
                        set.category(index),
                        index,
                        row,
                        column,
                        hex_bits(expected, bytes),
                        hex_bits(computed, bytes),
                        diagnose(dotted, output.instruction, arithmetic.rules, expected)};
    }
  }
  ++verified.elements;
}

void append(std::string& list, const std::string& item) {
  if (list.find(item) == std::string::npos) {
    list += (list.empty() ? "" : " + ") + item;
  }
}

VerifiedSet verify_set(const std::filesystem::path& file, const std::filesystem::path& directory, Profile profile) {
  const VectorSet set = read_vector_set(file, directory);
  VerifiedSet verified;
  verified.file = set.file;
  verified.family = set.family;
  verified.cases = set.cases();
  for (const VectorOutput& output : set.outputs) {
    const Arithmetic arithmetic = arithmetic_of(set, output, profile);
    MmaOperands operands = set.operands;
    operands.c = output.c;
    for (std::size_t index = 0; index < operands.cases(); ++index) {
      for (std::size_t row = 0; row < operands.rows(); ++row) {
        for (std::size_t column = 0; column < operands.columns(); ++column) {
          compare(set, output, operands, arithmetic, index, row, column, verified);
        }
      }
    }
    append(verified.instruction, output.instruction.ptx_name());
    append(verified.evidence, std::string(mma::name(arithmetic.rules.evidence)));
  }
  if (verified.elements == 0) {
    io::refuse("{}: nothing is compared: all {} words are contested (--profile mma-sim compares them)",
               io::printable(file.string()), verified.contested);
  }
  return verified;
}

// Reports -----------------------------------------------------------------------------------------

using Json = nlohmann::ordered_json;

VerifiedSet totals(const VerifyResult& result) {
  VerifiedSet sum;
  for (const VerifiedSet& set : result.sets) {
    sum.cases += set.cases;
    sum.elements += set.elements;
    sum.contested += set.contested;
    sum.corrected += set.corrected;
    sum.mismatches += set.mismatches;
  }
  return sum;
}

std::string_view profile_name(mma::Profile profile) {
  return profile == mma::Profile::kHardware ? "hardware" : "mma-sim";
}

Json json_of(const Mismatch& first) {
  return {{"output", first.output},     {"case", first.index},          {"category", first.category},
          {"row", first.row},           {"column", first.column},       {"expected", first.expected},
          {"computed", first.computed}, {"step", first.diagnosis.step}, {"trace", first.diagnosis.trace}};
}

}  // namespace

std::size_t VerifyResult::mismatches() const {
  return totals(*this).mismatches;
}

VerifyResult verify(const std::filesystem::path& directory, Profile profile, UnknownSets unknown) {
  const std::vector<std::filesystem::path> files = find_vector_sets(directory);
  VerifyResult result{profile, std::vector<VerifiedSet>(files.size())};
  std::vector<std::exception_ptr> errors(files.size());
  std::atomic<std::size_t> next = 0;
  const auto threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  batched::for_row_ranges(files.size(), threads, [&](std::size_t /*begin*/, std::size_t /*end*/) {
    for (std::size_t i = next++; i < files.size(); i = next++) {  // each thread takes the next file
      try {
        result.sets[i] = verify_set(files[i], directory, profile);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  });
  VerifyResult known{profile, {}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!errors[i]) {
      known.sets.push_back(std::move(result.sets[i]));
      continue;
    }
    try {
      std::rethrow_exception(errors[i]);
    } catch (const UnknownArithmetic& error) {
      if (unknown == UnknownSets::kRefuse) {
        throw;
      }
      known.unknown.emplace_back(error.what());
    }
  }
  return known;
}

std::string verify_text(const VerifyResult& result) {
  std::size_t width = 4;
  for (const VerifiedSet& set : result.sets) {
    width = std::max(width, set.file.size());
  }
  std::string text =
      fmt::format("{:<{}} {:>6} {:>9} {:>9} {:>10}\n", "file", width, "cases", "elements", "contested", "mismatches");
  for (const VerifiedSet& set : result.sets) {
    text += fmt::format("{:<{}} {:>6} {:>9} {:>9} {:>10}\n", set.file, width, set.cases, set.elements, set.contested,
                        set.mismatches);
    if (set.corrected > 0) {
      text += fmt::format(
          "  {} words left out differ in the bits of a NaN of f64 alone: this model has those of its host, and "
          "captures of an H100 and an H200 those that are computed (tests/hardware/DEVIATIONS.md)\n",
          set.corrected);
    }
    if (set.first) {
      const Mismatch& first = *set.first;
      text += fmt::format("  first: {}[{}, {}, {}]{}: expected {}, computed {}\n  {}\n", first.output, first.index,
                          first.row, first.column, first.category.empty() ? "" : " (" + first.category + ")",
                          first.expected, first.computed, set.instruction);
      text += fmt::format("  differs in: {}\n", first.diagnosis.step);
      for (const std::string& line : first.diagnosis.trace) {
        text += fmt::format("    {}\n", line);
      }
    }
  }
  const VerifiedSet sum = totals(result);
  text +=
      fmt::format("profile {}: {} files, {} cases, {} elements compared, {} contested left out, {}{} mismatches\n",
                  profile_name(result.profile), result.sets.size(), sum.cases, sum.elements, sum.contested,
                  sum.corrected > 0 ? fmt::format("{} corrected by captures, ", sum.corrected) : "", sum.mismatches);
  return text;
}

std::string verify_json(const VerifyResult& result) {
  Json files = Json::array();
  for (const VerifiedSet& set : result.sets) {
    files.push_back({{"file", set.file},
                     {"family", set.family},
                     {"instruction", set.instruction},
                     {"evidence", set.evidence},
                     {"cases", set.cases},
                     {"elements", set.elements},
                     {"contested", set.contested},
                     {"corrected", set.corrected},
                     {"mismatches", set.mismatches},
                     {"first", set.first ? json_of(*set.first) : Json(nullptr)}});
  }
  const VerifiedSet sum = totals(result);
  const Json root{{"profile", profile_name(result.profile)},
                  {"files", files},
                  {"totals",
                   {{"files", result.sets.size()},
                    {"cases", sum.cases},
                    {"elements", sum.elements},
                    {"contested", sum.contested},
                    {"corrected", sum.corrected},
                    {"mismatches", sum.mismatches}}}};
  return root.dump(2) + "\n";
}

}  // namespace sptc::check::vectors
