// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulation_options.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/numerics/data_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sptc::run {
namespace {

constexpr std::array<std::string_view, 6> kTypesOfD{"f32", "f16", "bf16", "e4m3", "s8", "s32"};

}  // namespace

void refuse_word(std::string_view what, std::string_view word, std::span<const std::string_view> words) {
  throw base::InputError(fmt::format("unknown {} {}", what, base::unknown_name(word, words)));
}

std::string made_by(Fidelity fidelity, std::optional<int> sms) {
  return fidelity == Fidelity::kAnalytic ? "closed form"
         : sms                           ? fmt::format("SystemC, all {} SMs", *sms)
                                         : "SystemC, all SMs";
}

numerics::DataType parse_d_dtype(std::string_view what, std::string_view word) {
  const auto type = numerics::parse_usual_type(word);
  if (!type || std::ranges::find(kTypesOfD, numerics::name(*type)) == kTypesOfD.end()) {
    refuse_word(what, word, kTypesOfD);
  }
  return *type;
}

void require_nothing_saved(const SimulationOptions& options, std::string_view what) {
  if (options.saves_values()) {
    throw base::InputError(fmt::format("{} saves a single simulation, not {}",
                                       options.save_d.empty() ? "--save-operands" : "--save-d", what));
  }
}

SimulationOptions times_alone(SimulationOptions options) {
  options.check = CheckMode::kNone;
  options.what_ifs = false;
  options.save_operands = options.save_d = "";
  return options;
}

void require_link_used(const SimulationOptions& options) {
  if (options.link_gb_per_s > 0 && options.gpus() == 1) {
    throw base::InputError("--link has no effect without --tp or --ep, which take several GPUs");
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
    throw base::InputError("--no-extrapolate has no effect with --fidelity analytic: no SM is simulated");
  }
  if (options.kernels == KernelsFrom::kSearch && options.kernel.cta_tile) {
    throw base::InputError("--kernels search has no effect with --tile, which names the kernel");
  }
  if (options.training && options.fidelity == Fidelity::kDatapath) {
    throw base::InputError(
        "--training gives times and energies, no values: use --fidelity timing "
        "or analytic");
  }
  if (options.training && options.gpus() > 1) {
    throw base::InputError(
        "--training takes one GPU, since no gradient is split over several: leave --tp and --ep "
        "out");
  }
  if (options.tensor_parallel > 1 && options.expert_parallel > 1) {
    throw base::InputError("--ep and --tp exclude each other: experts that are shared out are not split as well");
  }
  const int block = options.storage.scale_block;
  if (options.dtype_block > 0 && block > 0 && block != options.dtype_block) {
    throw base::InputError(fmt::format("--scale-block {} contradicts --dtype {}, whose blocks have {} elements", block,
                                       kernels::name(kernels::OperandFormat{*options.dtype, options.dtype_block}),
                                       options.dtype_block));
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
