// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/run/run_options.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sptc::sim {

/// The closed form without one of its effects. Constants are not fitted anew, so that a large error
/// means: the others were fitted beside this effect and need it.
struct Ablation {
  std::string_view without;
  void (*take_away)(GpuSpec& gpu, RunOptions& options);
};

std::span<const Ablation> ablations();

/// How many numbers stand behind the closed form of a GPU beside those of kNumbersOfForm. Fitted is
/// what the file of the architecture calls derived.
struct FittedNumbers {
  std::size_t of_gpu = 0;    ///< constants of its kernels,
  std::size_t set = 0;       ///< those that were set or taken from another GPU,
  std::size_t tiles = 0;     ///< tiles of its library, each with a main loop,
  std::size_t of_rules = 0;  ///< and numbers of the rules of its choice

  bool operator==(const FittedNumbers&) const = default;
};
FittedNumbers fitted_numbers(const Architecture& architecture);

/// The same in a sentence.
std::string fitted_numbers_note(const Architecture& architecture);

}  // namespace sptc::sim
