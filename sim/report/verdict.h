// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <string>
#include <string_view>

namespace sptc::report {

/// Whether 2:4 pays, in sentences. Each is empty where there is nothing to say.
struct Verdict {
  std::string gain;      ///< "2:4 gains 1.39x (BERT-Large on a100-pcie-80gb, ..), 1.44x per watt."
  std::string path;      ///< by which kernels of the library, and what the others gain
  std::string extremes;  ///< which operations gain least and most, and what bounds them
  std::string measured;  ///< how far the gain was off on measured shapes like these
  std::string evidence;  ///< how near to the board anything was measured
};

Verdict verdict_of(const run::RunResult& result);

/// "measured on this board", "on its chip", "on its generation" or "on none".
std::string_view evidence_words(run::EvidenceDistance::Where where);

/// "f16 measured on its chip, GA100 (a100-pcie-80gb); mean error of gains: 9 %."
/// `has_gains`: whether the report has any; else it says "of gains, where there are any".
std::string evidence_sentence(const run::EvidenceDistance& evidence, bool has_gains = true);

/// What bounds a launch: "L2"; "" where that was not asked.
std::string_view bound_of(const run::VariantResult& variant);

/// "2:4": what all sparse operations have; "sparsity" where they differ, "" where there is none.
std::string pattern_of(const run::RunResult& result);

/// Head of the column of sparse figures: "2:4", or "sparse" where there is no pattern.
std::string sparse_column(const run::RunResult& result);

/// 1: a gain worth a word, -1: a loss, 0: neither.
int sign_of_gain(double speedup);

}  // namespace sptc::report
