// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulation_options.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/numerics/data_type.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sptc::run {
namespace {

constexpr std::array<std::string_view, 6> kTypesOfD{"f32", "f16", "bf16", "e4m3", "s8", "s32"};

}  // namespace

std::string made_by(Fidelity fidelity, std::optional<int> sms) {
  return fidelity == Fidelity::kAnalytic ? "closed form"
         : sms                           ? fmt::format("SystemC, all {} SMs", *sms)
                                         : "SystemC, all SMs";
}

numerics::DataType parse_d_dtype(std::string_view what, std::string_view word) {
  const auto type = numerics::parse_usual_type(word);
  if (!type || std::ranges::find(kTypesOfD, numerics::name(*type)) == kTypesOfD.end()) {
    io::refuse("unknown {} {}", what, base::unknown_name(word, kTypesOfD));
  }
  return *type;
}

void require_nothing_saved(const SimulationOptions& options, std::string_view what) {
  if (options.saves_values()) {
    io::refuse("{} saves a single simulation, not {}", options.save_d.empty() ? "--save-operands" : "--save-d", what);
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
  const auto refuse_if = [](bool wrong, const char* why) {
    if (wrong) {
      throw base::InputError(why);
    }
  };
  const bool analytic = options.fidelity == Fidelity::kAnalytic;
  const bool dense = options.variants == Variants::kDense;
  refuse_if(options.memory.empty() && !options.memory_config.empty(), "--memory-config has no effect without --memory");
  refuse_if(!options.memory.empty() && analytic,
            "--memory has no effect with --fidelity analytic: closed forms have the architecture's own DRAM");
  refuse_if(analytic && !options.extrapolate,
            "--no-extrapolate has no effect with --fidelity analytic: no SM is simulated");
  refuse_if(options.kernels == KernelsFrom::kSearch && options.kernel.cta_tile,
            "--kernels search has no effect with --tile, which names the kernel");
  refuse_if(options.training && options.fidelity == Fidelity::kDatapath,
            "--training gives times and energies, no values: use --fidelity timing or analytic");
  refuse_if(options.training && options.gpus() > 1,
            "--training takes one GPU, since no gradient is split over several: leave --tp and --ep out");
  refuse_if(options.tensor_parallel > 1 && options.expert_parallel > 1,
            "--ep and --tp exclude each other: experts that are shared out are not split as well");
  const int block = options.storage.scale_block;
  if (options.dtype_block > 0 && block > 0 && block != options.dtype_block) {
    io::refuse("--scale-block {} contradicts --dtype {}, whose blocks have {} elements", block,
               kernels::name(kernels::OperandFormat{*options.dtype, options.dtype_block}), options.dtype_block);
  }
  refuse_if(options.pattern && dense, "--pattern has no effect with --variants dense");
  refuse_if(!options.sparse_layers.empty() && dense, "--sparsity FILE has no effect with --variants dense");
  refuse_if(options.warmup.has_value() != options.repeat.has_value(),
            "--warmup and --repeat are given together or not at all");
  const bool limited = options.clock.limited();
  refuse_if(!limited && options.power_limit_w, "--power-limit has no effect without --clock limited");
  refuse_if(!limited && options.limit_over, "--limit-over has no effect without --clock limited");
}

}  // namespace sptc::run
