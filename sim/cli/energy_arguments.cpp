// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/energy_arguments.h"

#include "models/base/error.h"
#include "sim/config/text_file.h"

#include <fmt/format.h>

#include <charconv>

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

}  // namespace

void EnergyArguments::add_energies_and_limit(CLI::App& command) {
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

void EnergyArguments::add_to(CLI::App& command) {
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

void EnergyArguments::set(SimulationOptions& options) const {
  options.energy = energy;
  if (!power_limit.empty()) {
    options.power_limit_w = parse_watts("--power-limit", power_limit);
  }
  if (!board_idle.empty()) {
    options.board_idle_w = parse_watts("--board-idle", board_idle);
  }
  if (!limit_over.empty()) {
    options.limit_over = parse_limit_over(printable(limit_over));
  }
}

}  // namespace sptc::sim
