// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace sptc::workload {
struct Workload;
}  // namespace sptc::workload

namespace sptc::run {

/// What a pass of a network is to those who wait for it.
struct PassKind {
  enum class Stage {
    kOther,    ///< the network writes no text, as an encoder, or nobody says how many tokens it has
    kDecode,   ///< one token for each input
    kPrefill,  ///< all tokens of each input, and the first one of the answer
  };
  Stage stage = Stage::kOther;
  std::int64_t inputs = 0;      ///< users, prompts, images: Workload::inputs; 0: not known
  std::int64_t tokens = 1;      ///< of each input, in a prefill
  int gpus = 1;                 ///< over which it is split: figures of a pass are of one of them
  bool shares_experts = false;  ///< they share its experts (--ep), else its layers (--tp)

  /// What a pass works off: tokens, else inputs, else itself.
  double units() const { return static_cast<double>(std::max<std::int64_t>(inputs, 1)) * static_cast<double>(tokens); }
  std::string_view unit() const { return stage != Stage::kOther ? "token" : inputs > 0 ? "input" : "pass"; }
};

/// The pass of a workload whose dimensions are called "seq" and "context", or that keeps keys and
/// values.
PassKind pass_kind(const workload::Workload& workload);

}  // namespace sptc::run
