// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/cost_sets.h"

#include "sim/check/times/evidence.h"
#include "sim/config/architecture.h"
#include "sim/config/cost_factors.h"
#include "sim/report/verdict.h"
#include "sim/run/asked_work.h"
#include "sim/run/option_table.h"
#include "sim/run/run_options.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

namespace sptc::sweep {
namespace {

using nlohmann::json;
using numerics::DataType;

/// The options that say, beside workload and architecture, which constants a point has.
constexpr std::array<const char*, 3> kOptions{"energy", "dtype", "board-idle"};

/// Values of "workload", "arch" and kOptions say which constants a point has. Empty: nothing says it.
using Choice = std::map<std::string, std::string>;

/// The key of a Choice that `axis` varies; empty: none.
std::string key_of(const SweepAxis& axis) {
  const bool option = axis.kind == SweepAxis::Kind::kOption && std::ranges::count(kOptions, axis.target) > 0;
  return axis.kind == SweepAxis::Kind::kWorkload ? "workload"
         : axis.kind == SweepAxis::Kind::kArch   ? "arch"
         : option                                ? axis.target
                                                 : "";
}

std::vector<std::string> values_of(const SweepSpec& spec, const std::string& option) {
  std::vector<std::string> values;
  if (const SweepAxis* const axis = spec.option_axis(option)) {
    for (const json& value : axis->values) {
      values.push_back(run::option_text(value));
    }
    return values;
  }
  const auto found = spec.options.find(option);
  return {found == spec.options.end() ? "" : found->second};
}

run::SimulationOptions options_of(const std::string& dtype) {
  run::SimulationOptions options;
  if (!dtype.empty()) {
    run::set_option(options, "dtype", dtype);
  }
  return options;
}

/// Types of operands by workload, with `dtype` as --dtype has it; empty: as given.
std::map<std::string, std::set<DataType>> types_of_workloads(const SweepSpec& spec, const std::string& dtype) {
  const run::SimulationOptions options = options_of(dtype);
  std::map<std::string, std::set<DataType>> types;
  for (const SweepWorkload& workload : spec.workloads) {
    for (const workload::Operation& op : workload.workload.operations) {
      types[workload.name].insert(run::asked_type(options, op));
    }
  }
  return types;
}

/// The options of points with `energy` and `idle`, as --energy and --board-idle have them. Nothing
/// where they have no energies, or are refused: then each of the points will fail and say why.
std::optional<run::SimulationOptions> options_with(const std::string& energy, const std::string& idle,
                                                   const config::Architecture& architecture, run::EnergyFiles& files) {
  try {
    run::SimulationOptions asked;
    for (const auto& [option, value] : {std::pair("energy", &energy), {"board-idle", &idle}}) {
      if (!value->empty()) {
        run::set_option(asked, option, *value);
      }
    }
    run::SimulationOptions options = run::resolved(asked, architecture, files);
    return options.power ? std::optional(std::move(options)) : std::nullopt;
  } catch (const base::InputError&) {
    return std::nullopt;
  }
}

/// The set of points whose operands have `types`; nothing where one of them has no energies.
std::optional<CostSets::Set> set_of(const config::LoadedEnergy& loaded, const run::SimulationOptions& options,
                                    const std::set<DataType>& types, config::CostFactorList& list) {
  std::vector<energy::PartFactors> of_types;
  for (const DataType type : types) {
    if (!options.power->factors->energy.contains(type)) {
      return std::nullopt;
    }
    of_types.push_back(list.add_energies(loaded, type, *options.power));
  }
  CostSets::Set set{of_types.front(), list.add_areas(loaded)};
  for (std::size_t part = 0; part < set.energy.size(); ++part) {
    const auto factors = std::views::transform(of_types, [&](const energy::PartFactors& one) { return one[part]; });
    set.energy[part] = list.add_mixture(std::vector(factors.begin(), factors.end()));
  }
  return set;
}

void require(bool holds) {
  if (!holds) {
    throw base::InputError("damaged");
  }
}

template <std::size_t kSize>
std::array<int, kSize> parse_factors(const json& numbers, std::size_t factors) {
  const auto list = numbers.get<std::vector<std::size_t>>();
  std::array<int, kSize> result{};
  require(list.size() == kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    require(list[i] < factors);
    result[i] = static_cast<int>(list[i]);
  }
  return result;
}

CostSets parse(const json& document) {
  CostSets sets;
  for (const json& factor : document.at("factors")) {
    const energy::CostFactor read{factor.at(0).get<double>(), factor.at(1).get<double>(), factor.at(2).get<int>()};
    require(read.low >= 0 && read.low <= 1 && read.high >= 1 && read.under >= -1 &&
            read.under < static_cast<int>(sets.factors.size()));
    sets.factors.push_back(read);
  }
  for (const json& set : document.at("sets")) {
    sets.sets.push_back({parse_factors<energy::kEnergyParts>(set.at("energy"), sets.factors.size()),
                         parse_factors<energy::kAreaConstants.size()>(set.at("area"), sets.factors.size())});
  }
  sets.axes = document.at("axes").get<std::vector<std::string>>();
  for (const json& point : document.at("points")) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < sets.axes.size(); ++i) {
      values.push_back(point.at(i).get<std::string>());
    }
    const auto set = point.at(sets.axes.size()).get<std::size_t>();
    require(set < sets.sets.size());
    sets.set_of[values] = set;
  }
  return sets;
}

/// Types of the operations that may be pruned, or of all where none may.
std::set<DataType> types_of(const SweepSpec& spec) {
  std::set<DataType> all, prunable;
  for (const std::string& word : values_of(spec, "dtype")) {
    run::SimulationOptions options;
    try {
      options = options_of(word);
    } catch (const base::InputError&) {
      continue;  // its points fail and say so
    }
    for (const SweepWorkload& one : spec.workloads) {
      for (const workload::Operation& op : one.workload.operations) {
        const DataType type = run::asked_type(options, op);
        all.insert(type);
        if (op.prunable) {
          prunable.insert(type);
        }
      }
    }
  }
  return prunable.empty() ? all : prunable;
}

}  // namespace

CostSets cost_sets(const SweepSpec& spec) {
  CostSets result;
  std::vector<std::string> keys;  // of a Choice: what each of result.axes says
  for (const SweepAxis& axis : spec.axes) {
    if (const std::string key = key_of(axis); !key.empty()) {
      result.axes.push_back(axis.name);
      keys.push_back(key);
    }
  }
  run::EnergyFiles files;
  config::CostFactorList list;
  const auto add = [&](const Choice& choice, const CostSets::Set& set) {
    const auto of_keys = std::views::transform(keys, [&](const std::string& key) { return choice.at(key); });
    const std::vector<std::string> values(of_keys.begin(), of_keys.end());
    const auto found = std::ranges::find(result.sets, set);
    result.set_of[values] = static_cast<std::size_t>(found - result.sets.begin());
    if (found == result.sets.end()) {
      result.sets.push_back(set);
    }
  };
  const auto add_all = [&](const config::Architecture& architecture, Choice choice) {
    const std::string& energy = choice.at("energy");
    const auto options = options_with(energy, choice.at("board-idle"), architecture, files);
    if (!options) {
      return;
    }
    const config::LoadedEnergy& loaded = files.load(run::energy_source(energy, architecture, files).name);
    for (const std::string& dtype : values_of(spec, "dtype")) {
      for (const auto& [workload, types] : types_of_workloads(spec, dtype)) {
        if (const auto set = set_of(loaded, *options, types, list)) {
          choice["dtype"] = dtype;
          choice["workload"] = workload;
          add(choice, *set);
        }
      }
    }
  };
  for (const config::DocumentedArchitecture& given : spec.architectures) {
    for (const std::string& energy : values_of(spec, "energy")) {
      for (const std::string& idle : values_of(spec, "board-idle")) {
        add_all(given.value, {{"arch", given.value.gpu.name}, {"energy", energy}, {"board-idle", idle}});
      }
    }
  }
  result.factors = list.factors();
  return result;
}

json to_json(const CostSets& sets) {
  json document{{"factors", json::array()}, {"sets", json::array()}, {"axes", sets.axes}, {"points", json::array()}};
  for (const energy::CostFactor& factor : sets.factors) {
    document["factors"].push_back({factor.low, factor.high, factor.under});
  }
  for (const CostSets::Set& set : sets.sets) {
    document["sets"].push_back({{"energy", set.energy}, {"area", set.area}});
  }
  for (const auto& [values, set] : sets.set_of) {
    json point = values;
    point.push_back(set);
    document["points"].push_back(std::move(point));
  }
  return document;
}

CostSets parse_cost_sets(const json& document, const std::string& file) {
  const std::string refusal =
      file + ": damaged results of a sweep: its entry 'costs' does not say which constants the points have";
  try {
    return parse(document);
  } catch (const json::exception&) {
    throw base::InputError(refusal);
  } catch (const base::InputError&) {
    throw base::InputError(refusal);
  }
}

std::vector<std::string> evidence_lines(const SweepSpec& spec) {
  std::vector<std::string> lines;
  const std::set<DataType> types = types_of(spec);
  if (types.empty()) {
    return lines;
  }
  for (const config::DocumentedArchitecture& given : spec.architectures) {
    lines.push_back(fmt::format("{}: {}", given.value.gpu.name,
                                report::evidence_sentence(check::times::evidence_distance(types, given.value))));
  }
  std::vector<std::string> varied;
  for (const SweepAxis& axis : spec.axes) {
    if (axis.kind == SweepAxis::Kind::kParameter) {
      varied.push_back(axis.name);
    }
  }
  if (!varied.empty()) {
    run::EvidenceDistance own;
    own.own_design = true;
    lines.push_back(
        fmt::format("a point with another {}: {}", fmt::join(varied, " or "), report::evidence_sentence(own)));
  }
  return lines;
}

}  // namespace sptc::sweep
