// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulation_options.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/numerics/data_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace sptc::run {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kFidelities{"datapath", "timing", "analytic"};
constexpr std::array<std::string_view, 3> kVariants{"dense", "sparse", "both"};
constexpr std::array<std::string_view, 4> kCheckModes{"none", "sample", "eigen", "exact"};
constexpr std::array<std::string_view, 2> kLimitOver{"launch", "group"};
constexpr std::array<std::string_view, 2> kKernelsFrom{"library", "search"};
constexpr std::array<std::string_view, 2> kDecompositions{"data-parallel", "stream-k"};
constexpr std::array<std::string_view, 6> kTypesOfD{"f32", "f16", "bf16", "e4m3", "s8", "s32"};

template <typename Enum, std::size_t kCount>
Enum parse(std::string_view option, std::string_view word,
           const std::array<std::string_view, kCount>& names) {
  const auto found = std::ranges::find(names, word);
  if (found != names.end()) {
    return static_cast<Enum>(found - names.begin());
  }
  throw base::InputError("unknown " + std::string(option) + " " + base::unknown_name(word, names));
}

}  // namespace

std::string_view name(Fidelity fidelity) {
  return kFidelities[static_cast<std::size_t>(fidelity)];
}
std::string_view name(Variants variants) {
  return kVariants[static_cast<std::size_t>(variants)];
}
std::string_view name(CheckMode mode) {
  return kCheckModes[static_cast<std::size_t>(mode)];
}
std::string_view name(KernelsFrom kernels) {
  return kKernelsFrom[static_cast<std::size_t>(kernels)];
}
std::string_view name(kernels::Decomposition decomposition) {
  return kDecompositions[static_cast<std::size_t>(decomposition)];
}

std::string made_by(Fidelity fidelity, std::optional<int> sms) {
  return fidelity == Fidelity::kAnalytic ? "closed form"
         : sms                           ? fmt::format("SystemC, all {} SMs", *sms)
                                         : "SystemC, all SMs";
}

Fidelity parse_fidelity(std::string_view word) {
  return parse<Fidelity>("--fidelity", word, kFidelities);
}
Variants parse_variants(std::string_view word) {
  return parse<Variants>("--variants", word, kVariants);
}
CheckMode parse_check_mode(std::string_view word) {
  return parse<CheckMode>("--check", word, kCheckModes);
}

LimitOver parse_limit_over(std::string_view word) {
  return parse<LimitOver>("--limit-over", word, kLimitOver);
}

KernelsFrom parse_kernels_from(std::string_view word) {
  return parse<KernelsFrom>("--kernels", word, kKernelsFrom);
}

kernels::Decomposition parse_decomposition(std::string_view word) {
  return parse<kernels::Decomposition>("--decomposition", word, kDecompositions);
}

numerics::DataType parse_d_dtype(std::string_view what, std::string_view word) {
  const auto type = numerics::parse_usual_type(word);
  if (!type || std::ranges::find(kTypesOfD, numerics::name(*type)) == kTypesOfD.end()) {
    throw base::InputError("unknown " + std::string(what) + " " +
                           base::unknown_name(word, kTypesOfD));
  }
  return *type;
}

void require_nothing_saved(const SimulationOptions& options, std::string_view what) {
  if (options.saves_values()) {
    throw base::InputError(fmt::format("{} is of a single simulation, not of {}",
                                       options.save_d.empty() ? "--save-operands" : "--save-d",
                                       what));
  }
}

void require_consistent(const SimulationOptions& options) {
  if (options.memory.empty() && !options.memory_config.empty()) {
    throw base::InputError("--memory-config has no effect without --memory");
  }
  if (!options.memory.empty() && options.fidelity == Fidelity::kAnalytic) {
    throw base::InputError(
        "--memory has no effect with --fidelity analytic: closed forms have the architecture's own "
        "DRAM");
  }
  if (options.fidelity == Fidelity::kAnalytic && !options.extrapolate) {
    throw base::InputError(
        "--no-extrapolate has no effect with --fidelity analytic: no SM is simulated");
  }
  if (options.kernels == KernelsFrom::kSearch && options.kernel.cta_tile) {
    throw base::InputError("--kernels search has no effect with --tile, which names the kernel");
  }
  if (options.pattern && options.variants == Variants::kDense) {
    throw base::InputError("--pattern has no effect with --variants dense");
  }
  if (!options.sparse_layers.empty() && options.variants == Variants::kDense) {
    throw base::InputError("--sparsity FILE has no effect with --variants dense");
  }
  if (options.warmup.has_value() != options.repeat.has_value()) {
    throw base::InputError("--warmup and --repeat are given together or not at all");
  }
  if (!options.clock.limited() && (options.power_limit_w || options.limit_over)) {
    throw base::InputError(fmt::format("{} has no effect without --clock limited",
                                       options.power_limit_w ? "--power-limit" : "--limit-over"));
  }
}

}  // namespace sptc::run
