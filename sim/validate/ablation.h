// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/run_options.h"

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

/// How many numbers were fitted: constants of the GPU, and those of its library apart.
std::string fitted_numbers(const GpuSpec& gpu);

}  // namespace sptc::sim
