// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/step_rules.h"
#include "sim/check/vectors/diagnosis.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sptc::check::vectors {

/// The first element of a set that differs.
struct Mismatch {
  std::string output;     ///< array: "D", "D_f32" ...
  std::string category;   ///< of the case; empty where the set does not say
  std::size_t index = 0;  ///< case
  std::size_t row = 0;
  std::size_t column = 0;
  std::string expected;  ///< hexadecimal
  std::string computed;
  Diagnosis diagnosis;
};

struct VerifiedSet {
  std::string file;  ///< its json, relative to the directory
  std::string family;
  std::string instruction;  ///< PTX names of its results, " + " between them
  std::string evidence;     ///< of the rules, likewise
  std::size_t cases = 0;
  std::size_t elements = 0;   ///< words compared
  std::size_t contested = 0;  ///< words left out: the published models disagree on them
  std::size_t corrected = 0;  ///< words of a model left out: captures of GPUs say what is computed
  std::size_t mismatches = 0;
  std::optional<Mismatch> first;
};

struct VerifyResult {
  mma::Profile profile = mma::Profile::kHardware;
  std::vector<VerifiedSet> sets;  ///< by file
  /// Sets that were left out: file and reason.
  std::vector<std::string> unknown = {};

  std::size_t mismatches() const;
};

/// What becomes of a set whose arithmetic nobody knows.
enum class UnknownSets { kRefuse, kLeaveOut };

/// Computes every array set below `directory` and compares all words. Words of real GPUs and exact results count in
/// both profiles. Words of a model count fully in Profile::kMmaSim; in Profile::kHardware those that the set marks as
/// contested do not, and where a set carries no marks those that Profile::kMmaSim reproduces and kHardware does not. In
/// neither profile the bits of a NaN of f64 in a model's words, which captures corrected. Throws InputError for a set
/// that cannot be read or understood.
VerifyResult verify(const std::filesystem::path& directory, mma::Profile profile,
                    UnknownSets unknown = UnknownSets::kRefuse);

std::string verify_text(const VerifyResult& result);
std::string verify_json(const VerifyResult& result);

}  // namespace sptc::check::vectors
