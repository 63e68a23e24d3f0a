// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace sptc::mma {

/// A compilation target of PTX.
struct Target {
  std::string_view name;          ///< "sm_80"
  std::string_view architecture;  ///< row set of step_rules: "ampere"
  std::string_view gpus;          ///< "A100, A30", as their vendor calls them
  std::size_t sass_column = 0;    ///< of the table of instructions

  /// Ten times that of its GPUs: 90 of "sm_90a".
  int compute_capability() const;
};

std::span<const Target> targets();

/// The target called `name`, without regard to case: "sm_80", "sm_90a", "ampere", "A100", "RTX
/// Blackwell". Throws InputError with the nearest name.
const Target& find_target(std::string_view name);

const Target* lookup_target(std::string_view name);

/// The words that find_target() knows, as their vendor spells them.
std::vector<std::string_view> target_names();

/// The target of a GPU whose arithmetic is that of `architecture`: the one that lists the longest
/// beginning of its name ("RTX 30" for an rtx3090), else the first.
const Target& target_of_gpu(std::string_view gpu, std::string_view architecture);

}  // namespace sptc::mma
