// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/memory_use.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sptc::compare {

/// A part of a pass: the words of reports, the key of JSON, the column of text.
struct PassPart {
  std::string_view words, key, column;
};
/// What a pass is made of. Softmax belongs to attention; "rest" is what lies between.
inline constexpr std::array<PassPart, 6> kPassParts{{{"GEMMs", "gemm", "GEMM"},
                                                     {"attention", "attention", "attn"},
                                                     {"communication", "communication", "comm"},
                                                     {"quantisation", "quantisation", "quant"},
                                                     {"waiting for the host", "host", "host"},
                                                     {"rest", "rest", "rest"}}};

/// A pass with dense or with 2:4 weights, of a type over some GPUs. Figures are of one GPU.
struct Candidate {
  bool sparse = false;
  /// Weights of all layers that may be 2:4, and those that are: others of a mix are faster dense.
  std::int64_t prunable_weights = 0, sparse_weights = 0;
  std::string impossible;  ///< why nothing is known; else ""
  double us = 0;
  double uj = 0, watts = 0;                         ///< 0: not known
  std::array<double, kPassParts.size()> part_us{};  ///< their sum is `us`
  std::optional<run::MemoryUse> memory;             ///< nothing: not known

  bool is_possible() const { return impossible.empty() && us > 0; }
  bool fits() const { return !memory || memory->fits(); }
  /// "dense", "2:4", or of a mix "2:4 3/4", of more than 12 characters "2:4 in 75 %".
  std::string weights() const;
};

}  // namespace sptc::compare
