// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/vectors/verify.h"

#include "models/base/error.h"
#include "sim/compare/vectors/mma_batch.h"
#include "sim/compare/vectors/vector_set.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <numeric>
#include <system_error>
#include <thread>

namespace sptc::compare::vectors {
namespace {

using mma::Profile;
using mma::StepRules;

/// What one output is computed with.
struct Arithmetic {
  StepRules rules;                    ///< of the profile that was asked for
  std::optional<StepRules> unmarked;  ///< those of MMA-Sim, where only they tell contested words
};

Arithmetic arithmetic_of(const VectorSet& set, const VectorOutput& output, Profile profile) {
  const StepRules rules =
      mma::instruction_rules(output.target, output.instruction, output.grouping);
  const bool exact = rules.is_integer() || rules.is_f64();
  Arithmetic result{mma::with_profile(rules, profile), std::nullopt};
  if (profile == Profile::kHardware && !set.from_hardware && !exact && !set.contested) {
    result.unmarked = mma::with_profile(rules, Profile::kMmaSim);
  }
  return result;
}

class OutputComparison {
 public:
  OutputComparison(const VectorSet& set, const VectorOutput& output, Profile profile,
                   VerifiedSet& verified)
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
    if (!same && arithmetic_.unmarked &&
        dot(operands, output_.instruction, *arithmetic_.unmarked) == expected) {
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

VerifiedSet verify_set(const std::filesystem::path& file, const std::filesystem::path& directory,
                       Profile profile) {
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
    throw base::InputError(fmt::format(
        "{}: nothing is compared: all {} words are contested (--profile mma-sim compares them)",
        io::printable(file.string()), verified.contested));
  }
  return verified;
}

}  // namespace

std::size_t VerifyResult::mismatches() const {
  return std::accumulate(
      sets.begin(), sets.end(), std::size_t{0},
      [](std::size_t sum, const VerifiedSet& set) { return sum + set.mismatches; });
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

}  // namespace sptc::compare::vectors
