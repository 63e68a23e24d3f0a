// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run_options.h"

#include "models/base/error.h"
#include "models/mma/step_rules.h"
#include "sim/config/architecture.h"
#include "sim/config/cost_factors.h"
#include "sim/config/kernel_library.h"
#include "sim/config/named_file.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace sptc::run {
namespace {

void set_power(const config::LoadedEnergy& loaded, const config::Architecture& architecture, const EnergySource& source,
               EnergyFiles& files, SimulationOptions& options) {
  const gpu::GpuSpec* const of = files.gpu_of(loaded, architecture);
  energy::PowerSpec power = config::power_spec(loaded.config, architecture.gpu, of);
  if (options.power_limit_w) {
    power.power_limit_w = *options.power_limit_w;
  }
  if (options.board_idle_w) {
    power.static_power.board_idle_w = *options.board_idle_w;
    config::check_static_power(power);
  }
  power.factors = files.factors_of(loaded, power);
  options.power = std::move(power);
  options.area = loaded.config.area;
  const auto assumed = std::count_if(loaded.parameters.begin(), loaded.parameters.end(),
                                     [](const config::EnergyParameter& row) { return row.evidence == "assumed"; });
  options.power_note =
      fmt::format("energies of {}: {} of {} numbers are assumed ('sptcsim energy show' has their ranges)",
                  loaded.config.name, assumed, loaded.parameters.size());
  if (source.inherited) {
    options.power_note += fmt::format(
        "; energies per event and per SM and voltages are those of that GPU, which {} is derived "
        "from: --energy names others",
        architecture.gpu.name);
  }
  const bool of_this = source.inherited || loaded.config.name == architecture.gpu.name;
  if (of_this && !options.power_limit_w && loaded.limit_of != architecture.gpu.name) {
    options.power_note += fmt::format(
        "; the power limit of {} W is that of {}, nobody states one for {}: --power-limit does, or "
        "'/clock/power_limit_w' in an energy file of its own",
        options.power->power_limit_w, loaded.limit_of, architecture.gpu.name);
  }
  if (!source.inherited && loaded.config.name != architecture.gpu.name) {
    options.power_note += fmt::format(
        "; that is another board: the energies of its DRAM and its limit of {:.0f} W stand for "
        "those of {}",
        options.power->power_limit_w, architecture.gpu.name);
  }
  if (of != nullptr && architecture.gpu.boost_clock_mhz > of->boost_clock_mhz) {
    options.power_note +=
        fmt::format("; above {:.0f} MHz the voltage is taken to stay as it is there", of->boost_clock_mhz);
  }
  const double at_rest = chip_at_rest_w(*options.power);
  if (options.board_idle_w && options.power->static_power.board_idle_w < at_rest) {
    options.power_note += fmt::format(
        "; by these energies the chip alone takes {:.1f} W at rest, which stand for the {} W of "
        "--board-idle",
        at_rest, options.power->static_power.board_idle_w);
  }
}

/// Fills what is known of energies and power; leaves it empty where nothing is.
void set_power(const config::Architecture& architecture, EnergyFiles& files, SimulationOptions& options) {
  const EnergySource source = energy_source(options.energy, architecture, files);
  const bool asks = options.clock.kind == ClockChoice::Kind::kLimited || options.board_idle_w || options.power_limit_w;
  if (source.name.empty()) {
    if (asks) {
      io::refuse("{} needs an energy file, and '{}' has none: give one with --energy",
                 options.clock_limited ? "--clock limited" : "--board-idle", architecture.gpu.name);
    }
    options.clock_limited = false;
    options.power_note =
        fmt::format("'{}' has no energies and no power limit: it runs at its boost clock; --energy names some",
                    architecture.gpu.name);
    return;
  }
  try {
    const config::LoadedEnergy& loaded = files.load(source.name);
    set_power(loaded, architecture, source, files, options);
  } catch (const base::InputError& error) {
    if (!source.inherited || asks) {
      throw;
    }
    options.clock_limited = false;
    options.power_note = fmt::format(
        "no energies: those of {}, which {} is derived from, do not fit it ({}); --energy names "
        "others",
        source.name, architecture.gpu.name, error.what());
  }
}

constexpr const char* kGemmsOnly = "gemms";

/// An engine says itself how its launches follow each other.
void require_conditions_of(const network::EngineSpec& engine, const SimulationOptions& asked) {
  const kernels::LaunchConditions usual;
  const bool network = !engine.gemms_only;
  const auto refuse = [&](bool given, const char* option) {
    if (given) {
      io::refuse("{} has no effect with engine '{}', which says so itself", option, engine.name);
    }
  };
  refuse(network && asked.conditions.l2 != usual.l2, "--l2");
  refuse(network && asked.conditions.launch != usual.launch, "--launch");
  refuse(network && asked.conditions.algorithm != usual.algorithm, "--algorithm");
  refuse(network && asked.d_dtype.has_value(), "--d-dtype");
  refuse(network && (asked.warmup || asked.repeat), "--repeat");
  refuse(network && asked.limit_over.has_value(), "--limit-over");
  if (asked.gpus() > 1 && (engine.gemms_only || asked.link_gb_per_s <= 0)) {
    throw base::InputError(std::string(asked.expert_parallel > 1 ? "--ep" : "--tp") +
                           (engine.gemms_only ? " needs an engine that runs more than GEMMs (--engine)"
                                              : " needs --link: what the links of a GPU carry in GB/s"));
  }
  if (asked.sparsity_auto && asked.variants != Variants::kBoth) {
    throw base::InputError("--sparsity auto compares dense and 2:4: it needs --variants both");
  }
}

bool is_derived_architecture(const std::string& name) {
  if (!name.ends_with(".json")) {
    return false;
  }
  const nlohmann::json document = config::read_named_file(name, name);
  const auto has = [&](const char* key) { return document.contains(key); };
  return has("base") &&
         (has("sms") || has("sm") || has("boost_clock_mhz") || has("memory") || has("kernels") || has("numerics"));
}

}  // namespace

bool EnergyFiles::known(const std::string& name) {
  if (!names_) {
    names_ = config::energy_names();
  }
  return std::find(names_->begin(), names_->end(), name) != names_->end();
}

const config::LoadedEnergy& EnergyFiles::load(const std::string& name) {
  const auto found = loaded_.find(name);
  return found != loaded_.end() ? found->second : loaded_.emplace(name, config::load_energy(name)).first->second;
}

const gpu::GpuSpec* EnergyFiles::gpu_of(const config::LoadedEnergy& loaded, const config::Architecture& architecture) {
  const std::string& name = loaded.config.name;
  const std::vector<std::string>& bases = architecture.bases;
  const bool related = architecture.gpu.name == name || std::find(bases.begin(), bases.end(), name) != bases.end();
  if (!related || !known(name)) {
    return nullptr;
  }
  auto found = gpus_.find(name);
  if (found == gpus_.end()) {
    found = gpus_.emplace(name, config::load_architecture(name).gpu).first;
  }
  return &found->second;
}

std::shared_ptr<const energy::CostFactors> EnergyFiles::factors_of(const config::LoadedEnergy& loaded,
                                                                   const energy::PowerSpec& power) {
  const int sms = power.sms_at_rest > 0 ? power.sms_at_rest : power.sms;
  auto& factors = factors_[std::tuple(&loaded, sms, power.static_power.board_idle_w)];
  if (!factors) {
    factors = std::make_shared<const energy::CostFactors>(config::cost_factors(loaded, power));
  }
  return factors;
}

EnergySource energy_source(const std::string& asked, const config::Architecture& architecture, EnergyFiles& files) {
  if (!asked.empty()) {
    return {asked};
  }
  if (files.known(architecture.gpu.name)) {
    return {architecture.gpu.name};
  }
  for (const std::string& base : architecture.bases) {
    if (files.known(base)) {
      return {base, true};
    }
  }
  return {};
}

namespace {

/// The energies of `architecture`, or of what it is derived from. Throws InputError where it has
/// none.
config::LoadedEnergy energies_of(const config::Architecture& architecture) {
  EnergyFiles files;
  const std::string source = energy_source({}, architecture, files).name;
  return config::load_energy(source.empty() ? architecture.gpu.name : source);
}

}  // namespace

config::LoadedEnergy load_energies(const std::string& name_or_path) {
  return is_derived_architecture(name_or_path) ? energies_of(config::load_architecture(name_or_path))
                                               : config::load_energy(name_or_path);
}

bool searches_kernels(const SimulationOptions& asked, const config::Architecture& architecture) {
  if (asked.kernels || !asked.library.empty() || asked.kernel.cta_tile) {
    return asked.kernels == KernelsFrom::kSearch;
  }
  return !config::is_shipped(architecture);
}

SimulationOptions by_one_rule(SimulationOptions asked, const std::vector<config::Architecture>& boards) {
  if (std::any_of(boards.begin(), boards.end(),
                  [&](const config::Architecture& board) { return searches_kernels(asked, board); })) {
    asked.kernels = KernelsFrom::kSearch;
  }
  return asked;
}

config::Architecture with_asked(config::Architecture architecture, const SimulationOptions& asked) {
  if (!asked.numerics.empty()) {
    mma::require_rule_set(asked.numerics);
    architecture.gpu.numerics = asked.numerics;
  }
  if (!asked.library.empty()) {
    architecture.gpu.kernels = config::load_kernel_library(asked.library);
  }
  return architecture;
}

std::optional<network::EngineSpec> asked_engine(const SimulationOptions& asked, const gpu::GpuSpec* gpu) {
  const bool asks_for_network = asked.sparsity_auto || asked.gpus() > 1;
  if (asked.engine.empty() && !asks_for_network) {
    return std::nullopt;
  }
  network::EngineSpec engine = network::load_engine(asked.engine.empty() ? kGemmsOnly : asked.engine);
  if (engine.gemms_only && !asks_for_network) {
    return std::nullopt;
  }
  require_conditions_of(engine, asked);
  return gpu == nullptr ? engine : network::on_board(std::move(engine), *gpu);
}

void set_highest_clock(SimulationOptions& options) {
  if (options.clock_limited && options.power) {
    const bool falls = !options.repetition && options.power->loaded_clock_mhz > 0;
    options.clock_policy = falls ? gpu::ClockPolicy::fixed(options.power->highest_clock_mhz()) : gpu::ClockPolicy{};
  }
}

SimulationOptions resolved(const SimulationOptions& asked, const config::Architecture& architecture,
                           EnergyFiles& files) {
  SimulationOptions options = asked;
  options.clock_limited = asked.clock.limited();
  if (asked.clock.kind == ClockChoice::Kind::kFixed) {
    options.clock_policy = gpu::ClockPolicy::fixed(asked.clock.mhz);
  }
  if (asked.warmup && asked.repeat) {
    options.repetition = kernels::Repetition{*asked.warmup, *asked.repeat};
  }
  options.kernel.search = searches_kernels(asked, architecture);
  set_power(architecture, files, options);
  set_highest_clock(options);
  options.network_engine = asked_engine(asked, &architecture.gpu);
  return options;
}

AreaEstimate estimate_area(const config::Architecture& architecture) {
  const config::LoadedEnergy energy = energies_of(architecture);
  const gpu::GpuSpec& gpu = architecture.gpu;
  const energy::TensorCoreShape shape = config::tensor_core_shape(gpu.sm.tensor_core);
  AreaEstimate estimate;
  estimate.arch = gpu.name;
  estimate.node_nm = energy.config.node_nm;
  estimate.selector_kept = gpu.sm.tensor_core.selector_kept;
  estimate.selector_inputs = gpu.sm.tensor_core.selector_inputs;
  estimate.sms = gpu.sms;
  estimate.tensor_cores = std::int64_t{1} * gpu.sms * gpu.sm.sub_partitions;
  estimate.multipliers = std::int64_t{1} * shape.dot_units * shape.products_per_unit;
  estimate.usual = gpu_area(gpu, energy.config.area);
  estimate.low = gpu_area(gpu, energy.area_at(&config::EnergyParameter::low));
  estimate.high = gpu_area(gpu, energy.area_at(&config::EnergyParameter::high));
  return estimate;
}

}  // namespace sptc::run
