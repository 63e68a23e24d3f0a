// SPDX-License-Identifier: Apache-2.0
#include "sim/config/energy_fields.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace sptc::config {
namespace {

using energy::Scaling;
using numerics::DataType;

constexpr double kMaxPicojoules = 1e5;
constexpr double kMaxWatts = 1e5;
constexpr double kMaxVolts = 10;
constexpr double kMaxBurst = 10;
constexpr double kMaxMegahertz = 1e5;
constexpr double kMaxArea = 1e9;

template <typename Part, typename Value>
Value& at(EnergyConfig& config, Value Part::*member) {
  const auto parts = std::tie(config, config.power, config.power.static_power, config.area);
  return std::get<Part&>(parts).*member;
}

template <typename Member>
EnergyField field(const char* section, const char* key, double max, Member member) {
  constexpr bool kByType = std::is_same_v<Member, std::map<DataType, double> energy::AreaTable::*>;
  const bool is_area = std::string_view(section) == "/area";
  return {section,
          key,
          max,
          false,
          kByType,
          is_area ? std::optional(Scaling::kArea) : std::nullopt,
          [member](EnergyConfig& config, DataType type, double value) {
            if constexpr (kByType) {
              at(config, member)[type] = value;
            } else {
              at(config, member) = value;
            }
          }};
}

EnergyField optional_field(EnergyField made) {
  made.optional = true;
  return made;
}

EnergyField event_field(const energy::EventInfo& row) {
  const std::size_t index = energy::index_of(row.event);
  return {"/events",
          std::string(row.name) + "_" + std::string(row.unit),
          kMaxPicojoules,
          false,
          row.by_type,
          row.scaling,
          [index, by_type = row.by_type](EnergyConfig& config, DataType type, double value) {
            energy::EnergyTable& table = config.power.table;
            (by_type ? table.typed_pj[type] : table.event_pj)[index] = value;
          }};
}

EnergyField share_field(const energy::EventInfo& row) {
  return {"/fixed_share",
          std::string(row.name),
          1,
          true,
          false,
          std::nullopt,
          [index = energy::index_of(row.event)](EnergyConfig& config, DataType, double value) {
            config.power.table.fixed_share[index] = value;
          }};
}

std::vector<EnergyField> make_fields() {
  std::vector<EnergyField> fields;
  fields.push_back({"", "supply_v", kMaxVolts, false, false, std::nullopt,
                    [](EnergyConfig& config, DataType, double value) { config.power.table.supply_volts = value; }});
  std::ranges::transform(energy::kEvents, std::back_inserter(fields), event_field);
  std::ranges::transform(energy::kEvents, std::back_inserter(fields), share_field);
  using Static = energy::StaticPower;
  using Power = energy::PowerSpec;
  using Area = energy::AreaTable;
  fields.insert(fields.end(),
                {field("/static", "constant_w", kMaxWatts, &Static::constant_w),
                 field("/static", "leakage_per_sm_w", kMaxWatts, &Static::leakage_per_sm_w),
                 field("/static", "idle_sm_w", kMaxWatts, &Static::idle_sm_w),
                 field("/static", "leakage_supply_v", kMaxVolts, &Static::leakage_volts),
                 field("/static", "board_idle_w", kMaxWatts, &Static::board_idle_w),
                 optional_field(field("/static", "busy_sm_w", kMaxWatts, &Static::busy_sm_w)),
                 field("/clock", "floor_clock_mhz", kMaxMegahertz, &EnergyConfig::floor_clock_mhz),
                 field("/clock", "floor_supply_v", kMaxVolts, &EnergyConfig::floor_supply_v),
                 field("/clock", "boost_supply_v", kMaxVolts, &EnergyConfig::boost_supply_v),
                 field("/clock", "min_clock_mhz", kMaxMegahertz, &Power::min_clock_mhz),
                 optional_field(field("/clock", "loaded_clock_mhz", kMaxMegahertz, &Power::loaded_clock_mhz)),
                 field("/clock", "power_limit_w", kMaxWatts, &Power::power_limit_w),
                 field("/clock", "burst_ratio", kMaxBurst, &Power::burst_ratio),
                 field("/area", "multiplier_um2", kMaxArea, &Area::multiplier_um2),
                 field("/area", "adder_um2", kMaxArea, &Area::adder_um2),
                 field("/area", "rounder_um2", kMaxArea, &Area::rounder_um2),
                 field("/area", "mux_um2_per_input_bit", kMaxArea, &Area::mux_um2_per_input_bit),
                 field("/area", "flip_flop_um2", kMaxArea, &Area::flip_flop_um2),
                 field("/area", "sram_um2_per_byte", kMaxArea, &Area::sram_um2_per_byte)});
  return fields;
}

}  // namespace

const std::vector<EnergyField>& energy_fields() {
  static const std::vector<EnergyField> kFields = make_fields();
  return kFields;
}

}  // namespace sptc::config
