// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/store/cost_sets.h"

#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/config/cost_factors.h"
#include "sim/run/asked_work.h"
#include "sim/run/option_table.h"
#include "sim/run/run_options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace sptc::sweep::store {
namespace {

using nlohmann::json;
using numerics::DataType;

/// The options that say, beside workload and architecture, which constants a point has.
constexpr std::array<const char*, 3> kOptions{"energy", "dtype", "board-idle"};

/// What says which constants a point has: the values of "workload", "arch" and kOptions. An empty
/// value: nothing says it.
using Choice = std::map<std::string, std::string>;

/// The key of a Choice that `axis` varies; empty: none.
std::string key_of(const space::SweepAxis& axis) {
  const bool option = axis.kind == space::SweepAxis::Kind::kOption &&
                      std::find(kOptions.begin(), kOptions.end(), axis.target) != kOptions.end();
  return axis.kind == space::SweepAxis::Kind::kWorkload ? "workload"
         : axis.kind == space::SweepAxis::Kind::kArch   ? "arch"
         : option                                       ? axis.target
                                                        : "";
}

const space::SweepAxis* option_axis(const space::SweepSpec& spec, const std::string& option) {
  const auto found =
      std::find_if(spec.axes.begin(), spec.axes.end(), [&](const space::SweepAxis& axis) {
        return axis.kind == space::SweepAxis::Kind::kOption && axis.target == option;
      });
  return found == spec.axes.end() ? nullptr : &*found;
}

/// The values that `option` has in the sweep.
std::vector<std::string> values_of(const space::SweepSpec& spec, const std::string& option) {
  std::vector<std::string> values;
  if (const space::SweepAxis* const axis = option_axis(spec, option)) {
    for (const json& value : axis->values) {
      values.push_back(run::option_text(value));
    }
    return values;
  }
  const auto found = spec.options.find(option);
  return {found == spec.options.end() ? "" : found->second};
}

/// Types of operands by workload, with `dtype` as --dtype has it; empty: as given.
std::map<std::string, std::set<DataType>> types_of_workloads(const space::SweepSpec& spec,
                                                             const std::string& dtype) {
  run::SimulationOptions options;
  if (!dtype.empty()) {
    run::set_option(options, "dtype", dtype);
  }
  std::map<std::string, std::set<DataType>> types;
  for (const space::SweepWorkload& workload : spec.workloads) {
    for (const workload::Operation& op : workload.workload.operations) {
      types[workload.name].insert(run::asked_type(options, op));
    }
  }
  return types;
}

class SetBuilder {
 public:
  explicit SetBuilder(const space::SweepSpec& spec) : spec_(spec) {
    for (const space::SweepAxis& axis : spec.axes) {
      if (const std::string key = key_of(axis); !key.empty()) {
        result_.axes.push_back(axis.name);
        keys_.push_back(key);
      }
    }
  }

  CostSets build() {
    for (const space::SweepArchitecture& given : spec_.architectures) {
      const config::Architecture architecture = space::architecture_of(given);
      for (const std::string& energy : values_of(spec_, "energy")) {
        for (const std::string& idle : values_of(spec_, "board-idle")) {
          add_all({{"arch", given.name}, {"energy", energy}, {"board-idle", idle}}, architecture);
        }
      }
    }
    result_.factors = list_.factors();
    return std::move(result_);
  }

 private:
  /// `choice` with every type of operands and every workload.
  void add_all(Choice choice, const config::Architecture& architecture) {
    const std::optional<run::RunOptions> options = options_with(choice, architecture);
    if (!options) {
      return;
    }
    for (const std::string& dtype : values_of(spec_, "dtype")) {
      for (const auto& [workload, types] : types_of_workloads(spec_, dtype)) {
        choice["dtype"] = dtype;
        choice["workload"] = workload;
        add(choice, set_of(choice.at("energy"), architecture, *options, types));
      }
    }
  }

  /// Nothing where the architecture has no energies.
  std::optional<run::RunOptions> options_with(const Choice& choice,
                                              const config::Architecture& architecture) {
    try {
      run::SimulationOptions asked;
      for (const char* const option : {"energy", "board-idle"}) {
        if (const std::string& value = choice.at(option); !value.empty()) {
          run::set_option(asked, option, value);
        }
      }
      run::RunOptions options = run::resolved(asked, architecture, files_);
      return options.power ? std::optional(std::move(options)) : std::nullopt;
    } catch (const base::InputError&) {  // its points will fail and say why
      return std::nullopt;
    }
  }

  std::optional<CostSets::Set> set_of(const std::string& energy,
                                      const config::Architecture& architecture,
                                      const run::RunOptions& options,
                                      const std::set<DataType>& types) {
    const config::LoadedEnergy& loaded =
        files_.load(run::energy_source(energy, architecture, files_).name);
    std::vector<energy::PartFactors> of_types;
    for (const DataType type : types) {
      if (!options.power->factors->energy.contains(type)) {
        return std::nullopt;
      }
      of_types.push_back(list_.add_energies(loaded, type, *options.power));
    }
    CostSets::Set set{of_types.front(), list_.add_areas(loaded)};
    for (std::size_t part = 0; part < set.energy.size(); ++part) {
      std::vector<int> factors;
      for (const energy::PartFactors& of_type : of_types) {
        factors.push_back(of_type[part]);
      }
      set.energy[part] = list_.add_mixture(factors);
    }
    return set;
  }

  void add(const Choice& choice, const std::optional<CostSets::Set>& set) {
    if (!set) {
      return;
    }
    std::vector<std::string> values;
    for (const std::string& key : keys_) {
      values.push_back(choice.at(key));
    }
    const auto same = [&](const CostSets::Set& other) {
      return other.energy == set->energy && other.area == set->area;
    };
    const auto found = std::find_if(result_.sets.begin(), result_.sets.end(), same);
    result_.set_of[values] = static_cast<std::size_t>(found - result_.sets.begin());
    if (found == result_.sets.end()) {
      result_.sets.push_back(*set);
    }
  }

  const space::SweepSpec& spec_;
  std::vector<std::string> keys_;  ///< of a Choice: what each of result_.axes says
  run::EnergyFiles files_;
  config::CostFactorList list_;
  CostSets result_;
};

/// Of a file that comes from anywhere.
void require(bool holds) {
  if (!holds) {
    throw base::InputError("damaged");
  }
}

/// One number of a factor for each part.
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
    const energy::CostFactor read{factor.at(0).get<double>(), factor.at(1).get<double>(),
                                  factor.at(2).get<int>()};
    require(read.low >= 0 && read.low <= 1 && read.high >= 1 && read.under >= -1 &&
            read.under < static_cast<int>(sets.factors.size()));
    sets.factors.push_back(read);
  }
  for (const json& set : document.at("sets")) {
    sets.sets.push_back(
        {parse_factors<energy::kEnergyParts>(set.at("energy"), sets.factors.size()),
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

}  // namespace

CostSets cost_sets(const space::SweepSpec& spec) {
  return SetBuilder(spec).build();
}

json to_json(const CostSets& sets) {
  json document{{"factors", json::array()},
                {"sets", json::array()},
                {"axes", sets.axes},
                {"points", json::array()}};
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
  const std::string refusal = file +
                              ": damaged results of a sweep: its entry 'costs' does not say which "
                              "constants the points have";
  try {
    return parse(document);
  } catch (const json::exception&) {
    throw base::InputError(refusal);
  } catch (const base::InputError&) {
    throw base::InputError(refusal);
  }
}

}  // namespace sptc::sweep::store
