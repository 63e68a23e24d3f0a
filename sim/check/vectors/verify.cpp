// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/verify.h"

#include "models/base/error.h"
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
#include <system_error>
#include <thread>

namespace sptc::check::vectors {
namespace {

using mma::Profile;
using mma::StepRules;

/// What one output is computed with.
struct Arithmetic {
  StepRules rules;                    ///< of the profile that was asked for
  std::optional<StepRules> unmarked;  ///< those of MMA-Sim, where only they tell contested words
};

Arithmetic arithmetic_of(const VectorSet& set, const VectorOutput& output, Profile profile) {
  const StepRules rules = mma::instruction_rules(output.target, output.instruction, output.grouping);
  const bool exact = rules.is_integer() || rules.is_f64();
  Arithmetic result{mma::with_profile(rules, profile), std::nullopt};
  if (profile == Profile::kHardware && !set.from_hardware && !exact && !set.contested) {
    result.unmarked = mma::with_profile(rules, Profile::kMmaSim);
  }
  return result;
}

class OutputComparison {
 public:
  OutputComparison(const VectorSet& set, const VectorOutput& output, Profile profile, VerifiedSet& verified)
      : set_(set),
        output_(output),
        arithmetic_(arithmetic_of(set, output, profile)),
        uses_marks_(profile == Profile::kHardware && set.contested.has_value()),
        operands_(set.operands),
        verified_(verified) {
    operands_.c = output.c;
  }

  void run() {
    for (std::size_t index = 0; index < operands_.cases(); ++index) {
      for (std::size_t row = 0; row < operands_.rows(); ++row) {
        for (std::size_t column = 0; column < operands_.columns(); ++column) {
          compare(index, row, column);
        }
      }
    }
  }

  const StepRules& rules() const { return arithmetic_.rules; }

 private:
  void compare(std::size_t index, std::size_t row, std::size_t column) {
    if (uses_marks_ && set_.is_contested(index, row, column)) {
      ++verified_.contested;
      return;
    }
    const DotOperands operands = dot_operands(operands_, output_.instruction, index, row, column);
    const std::uint64_t expected = output_.expected.at(index, row, column);
    const std::uint64_t computed = dot(operands, output_.instruction, rules());
    const bool same = computed == expected;
    if (!same && arithmetic_.unmarked && dot(operands, output_.instruction, *arithmetic_.unmarked) == expected) {
      ++verified_.contested;
      return;
    }
    if (!same && is_corrected(expected, computed)) {
      ++verified_.corrected;
      return;
    }
    ++verified_.elements;
    if (same) {
      return;
    }
    ++verified_.mismatches;
    if (!verified_.first) {
      const int bytes = output_.expected.element_bytes;
      verified_.first = {output_.name,
                         set_.category(index),
                         index,
                         row,
                         column,
                         hex_bits(expected, bytes),
                         hex_bits(computed, bytes),
                         diagnose(operands, output_.instruction, rules(), expected)};
    }
  }

  /// Whether both are NaN of f64, whose bits MMA-Sim takes from its host.
  bool is_corrected(std::uint64_t expected, std::uint64_t computed) const {
    const auto is_nan = [](std::uint64_t word) { return std::isnan(std::bit_cast<double>(word)); };
    return !set_.from_hardware && rules().is_f64() && is_nan(expected) && is_nan(computed);
  }

  const VectorSet& set_;
  const VectorOutput& output_;
  Arithmetic arithmetic_;
  bool uses_marks_;
  MmaOperands operands_;
  VerifiedSet& verified_;
};

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
    OutputComparison comparison(set, output, profile, verified);
    comparison.run();
    append(verified.instruction, output.instruction.ptx_name());
    append(verified.evidence, std::string(mma::name(comparison.rules().evidence)));
  }
  if (verified.elements == 0) {
    throw base::InputError(
        fmt::format("{}: nothing is compared: all {} words are contested (--profile mma-sim compares them)",
                    io::printable(file.string()), verified.contested));
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
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      try {
        result.sets[i] = verify_set(files[i], directory, profile);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      try {
        threads.emplace_back(work);
      } catch (const std::system_error&) {
        break;  // no more can be started: those that are there do all
      }
    }
    work();
  }
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
          "  {} words left out differ in the bits of a NaN of f64 alone: this model has those of "
          "its host, and captures of an H100 and an H200 those that are computed "
          "(tests/hardware/DEVIATIONS.md)\n",
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
  text += fmt::format(
      "profile {}: {} files, {} cases, {} elements compared, {} contested left out, {}{} "
      "mismatches\n",
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
