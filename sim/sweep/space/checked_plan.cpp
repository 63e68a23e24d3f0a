// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/space/checked_plan.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/run/option_table.h"
#include "sim/run/run_options.h"
#include "sim/sweep/space/parameter_effect.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace sptc::sweep::space {
namespace {

bool runs_more_than_gemms(const run::SimulationOptions& options) {
  const std::optional<network::EngineSpec> engine = run::asked_engine(options);
  return engine && !engine->gemms_only;
}

/// Whether options go together is seen at the points that have them.
void check_option(const io::JsonPlace& place, const std::string& option, const std::string& value) {
  try {
    run::SimulationOptions alone;
    run::set_option(alone, option, value);
    run::require_nothing_saved(alone, "a sweep");
    if (!alone.memory.empty() || !alone.memory_config.empty()) {
      throw base::InputError(fmt::format(
          "--{} loads code, which no specification may name; 'sptcsim run' takes it", option));
    }
    if (option == "tp" || option == "link" || runs_more_than_gemms(alone)) {
      throw base::InputError(fmt::format(
          "--{}: a sweep compares GEMMs alone; 'run' and 'compare' take an engine", option));
    }
  } catch (const base::InputError& error) {
    place.fail(error.what());
  }
}

void check_axis(const SweepSpec& spec, const SweepAxis& axis) {
  if (axis.kind == SweepAxis::Kind::kParameter) {
    if (const auto reason = why_ineffective(spec, axis)) {
      axis.place.fail(fmt::format("{} changes nothing: {}", axis.target, *reason));
    }
  }
  if (axis.kind == SweepAxis::Kind::kOption) {
    for (const nlohmann::json& value : axis.values) {
      check_option(axis.place, axis.target, run::option_text(value));
    }
  }
}

}  // namespace

SweepPlan checked_plan(SweepSpec spec, std::string version) {
  const std::string file = io::printable(spec.file.string());
  for (const auto& [option, value] : spec.options) {
    check_option({file, "/options"}, option, value);
  }
  for (const SweepAxis& axis : spec.axes) {
    check_axis(spec, axis);
  }
  SweepPlan plan(std::move(spec), std::move(version));
  if (plan.empty()) {
    io::JsonPlace{file, "/where"}.fail(fmt::format("leaves none of the {} points", plan.product()));
  }
  return plan;
}

}  // namespace sptc::sweep::space
