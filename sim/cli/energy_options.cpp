// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/energy_options.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/cli/arguments.h"
#include "sim/config/energy.h"
#include "sim/config/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

namespace sptc::sim {
namespace {

constexpr double kMaxWatts = 100000;

double parse_watts(const char* option, const std::string& text) {
  double watts = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, watts);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(watts > 0) || watts > kMaxWatts) {
    throw InputError(fmt::format("{} must be a number of watts above 0 and at most {}, not '{}'",
                                 option, kMaxWatts, printable(text)));
  }
  return watts;
}

/// Which energy file a run takes.
struct EnergySource {
  std::string name;        ///< empty: none
  bool inherited = false;  ///< that of the nearest GPU which the architecture is derived from
};

EnergySource energy_source(const EnergyOptions& given, const Architecture& architecture,
                           EnergyFiles& files) {
  if (!given.energy.empty()) {
    return {given.energy};
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

/// Fills options.power and options.area from `loaded`.
void set_power(const EnergyOptions& given, const LoadedEnergy& loaded,
               const Architecture& architecture, const EnergySource& source, const GpuSpec* of,
               RunOptions& options) {
  energy::PowerSpec power = power_spec(loaded.config, architecture.gpu, of);
  if (!given.power_limit.empty()) {
    power.power_limit_w = parse_watts("--power-limit", given.power_limit);
  }
  if (!given.board_idle.empty()) {
    power.static_power.board_idle_w = parse_watts("--board-idle", given.board_idle);
    check_static_power(power);
  }
  options.power = std::move(power);
  options.area = loaded.config.area;
  const auto assumed =
      std::count_if(loaded.parameters.begin(), loaded.parameters.end(),
                    [](const EnergyParameter& row) { return row.evidence == "assumed"; });
  options.power_note = fmt::format(
      "energies of {}: {} of {} numbers are assumed ('sptcsim energy show' has their ranges)",
      loaded.config.name, assumed, loaded.parameters.size());
  if (source.inherited) {
    options.power_note += fmt::format(
        "; energies per event and per SM, voltages and power limit are those of that GPU, which {} "
        "is derived from: --energy names others",
        architecture.gpu.name);
  }
  if (of != nullptr && architecture.gpu.boost_clock_mhz > of->boost_clock_mhz) {
    options.power_note += fmt::format(
        "; above {:.0f} MHz the supply is taken to be what it is there", of->boost_clock_mhz);
  }
  const double at_rest = chip_at_rest_w(*options.power);
  if (!given.board_idle.empty() && options.power->static_power.board_idle_w < at_rest) {
    options.power_note += fmt::format(
        "; by these energies the chip alone takes {:.1f} W at rest, which stand for the {} W of "
        "--board-idle",
        at_rest, options.power->static_power.board_idle_w);
  }
}

}  // namespace

void EnergyOptions::add_energies_and_limit(CLI::App& command) {
  command
      .add_option(
          "--energy", energy,
          "energies: a name of 'energy list', or a file (default: the architecture's or that of "
          "the one it is derived from, where there is one)")
      ->type_name("NAME|FILE");
  command
      .add_option("--power-limit", power_limit,
                  "of --clock limited, in watts, instead of the energy file's")
      ->type_name("W");
}

void EnergyOptions::add_to(CLI::App& command) {
  add_energies_and_limit(command);
  command
      .add_option("--board-idle", board_idle,
                  "what this board takes at rest, in watts, instead of the energy file's")
      ->type_name("W");
  command
      .add_option("--limit-over", limit_over,
                  "of --clock limited: the power limit holds over each launch, or on average over "
                  "the workload or, where it names groups of operations, over each group, what "
                  "lies between the GEMMs included (default: launch)")
      ->type_name("launch|group");
}

bool EnergyFiles::known(const std::string& name) {
  if (!names_) {
    names_ = energy_names();
  }
  return std::find(names_->begin(), names_->end(), name) != names_->end();
}

const LoadedEnergy& EnergyFiles::load(const std::string& name) {
  const auto found = loaded_.find(name);
  return found != loaded_.end() ? found->second
                                : loaded_.emplace(name, load_energy(name)).first->second;
}

const GpuSpec* EnergyFiles::gpu_of(const LoadedEnergy& loaded, const Architecture& architecture) {
  const std::string& name = loaded.config.name;
  const std::vector<std::string>& bases = architecture.bases;
  const bool related =
      architecture.gpu.name == name || std::find(bases.begin(), bases.end(), name) != bases.end();
  if (!related || !known(name)) {
    return nullptr;
  }
  auto found = gpus_.find(name);
  if (found == gpus_.end()) {
    found = gpus_.emplace(name, load_architecture(name).gpu).first;
  }
  return &found->second;
}

void set_clock(const std::string& clock, RunOptions& options) {
  options.clock_limited = clock.empty() || clock == "limited";
  options.clock_asked = !clock.empty();
  if (!options.clock_limited) {
    options.clock = parse_clock(clock);
  }
}

void set_power(const EnergyOptions& given, const Architecture& architecture, EnergyFiles& files,
               RunOptions& options) {
  if (!given.power_limit.empty() && !options.clock_limited) {
    throw InputError("--power-limit has no effect without --clock limited");
  }
  if (!given.limit_over.empty()) {
    if (!options.clock_limited) {
      throw InputError("--limit-over has no effect without --clock limited");
    }
    constexpr std::array<std::string_view, 2> kOver{"launch", "group"};
    if (std::find(kOver.begin(), kOver.end(), given.limit_over) == kOver.end()) {
      throw InputError("--limit-over: unknown word " +
                       unknown_name(printable(given.limit_over), kOver));
    }
    options.limit_over_group = given.limit_over == "group";
  }
  const EnergySource source = energy_source(given, architecture, files);
  const bool asks = (options.clock_limited && options.clock_asked) || !given.board_idle.empty() ||
                    !given.power_limit.empty();
  if (source.name.empty()) {
    if (asks) {
      throw InputError(fmt::format(
          "{} needs an energy file, and '{}' has none: give one with --energy",
          options.clock_limited ? "--clock limited" : "--board-idle", architecture.gpu.name));
    }
    options.clock_limited = false;
    options.power_note = fmt::format(
        "'{}' has no energies and no power limit: it runs at its boost clock; --energy names some",
        architecture.gpu.name);
    return;
  }
  try {
    const LoadedEnergy& loaded = files.load(source.name);
    set_power(given, loaded, architecture, source, files.gpu_of(loaded, architecture), options);
  } catch (const InputError& error) {
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

}  // namespace sptc::sim
