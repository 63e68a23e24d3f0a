// SPDX-License-Identifier: Apache-2.0
#include "sim/config/energy_fields.h"

#include "models/base/error.h"

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

EnergyField scalar(std::string section, std::string key, double max, double EnergyConfig::*member) {
  return {std::move(section),
          std::move(key),
          max,
          false,
          false,
          std::nullopt,
          [member](EnergyConfig& config, DataType, double value) { config.*member = value; }};
}

EnergyField static_field(std::string key, double max, double energy::StaticPower::*member) {
  return {"/static",
          std::move(key),
          max,
          false,
          false,
          std::nullopt,
          [member](EnergyConfig& config, DataType, double value) {
            config.power.static_power.*member = value;
          }};
}

EnergyField clock_field(std::string key, double max, double energy::PowerSpec::*member) {
  return {"/clock",
          std::move(key),
          max,
          false,
          false,
          std::nullopt,
          [member](EnergyConfig& config, DataType, double value) { config.power.*member = value; }};
}

EnergyField optional_field(EnergyField field) {
  field.optional = true;
  return field;
}

EnergyField area_field(std::string key, double energy::AreaTable::*member) {
  return {"/area",
          std::move(key),
          kMaxArea,
          false,
          false,
          Scaling::kArea,
          [member](EnergyConfig& config, DataType, double value) { config.area.*member = value; }};
}

EnergyField typed_area_field(std::string key,
                             std::map<DataType, double> energy::AreaTable::*member) {
  return {"/area",
          std::move(key),
          kMaxArea,
          false,
          true,
          Scaling::kArea,
          [member](EnergyConfig& config, DataType type, double value) {
            (config.area.*member)[type] = value;
          }};
}

void add_event(const energy::EventInfo& row, std::vector<EnergyField>& fields) {
  const std::size_t index = energy::index_of(row.event);
  EnergyField pj{"/events",
                 std::string(row.name) + "_" + std::string(row.unit),
                 kMaxPicojoules,
                 false,
                 row.by_type,
                 row.scaling,
                 {}};
  if (row.by_type) {
    pj.store = [index](EnergyConfig& config, DataType type, double value) {
      config.power.table.typed_pj[type][index] = value;
    };
  } else {
    pj.store = [index](EnergyConfig& config, DataType, double value) {
      config.power.table.event_pj[index] = value;
    };
  }
  fields.push_back(std::move(pj));
}

std::vector<EnergyField> make_fields() {
  std::vector<EnergyField> fields;
  fields.push_back({"", "supply_v", kMaxVolts, false, false, std::nullopt,
                    [](EnergyConfig& config, DataType, double value) {
                      config.power.table.supply_volts = value;
                    }});
  for (const energy::EventInfo& row : energy::kEvents) {
    add_event(row, fields);
  }
  for (const energy::EventInfo& row : energy::kEvents) {
    const std::size_t index = energy::index_of(row.event);
    fields.push_back({"/fixed_share", std::string(row.name), 1, true, false, std::nullopt,
                      [index](EnergyConfig& config, DataType, double value) {
                        config.power.table.fixed_share[index] = value;
                      }});
  }
  using Static = energy::StaticPower;
  fields.push_back(static_field("constant_w", kMaxWatts, &Static::constant_w));
  fields.push_back(static_field("leakage_per_sm_w", kMaxWatts, &Static::leakage_per_sm_w));
  fields.push_back(static_field("idle_sm_w", kMaxWatts, &Static::idle_sm_w));
  fields.push_back(static_field("leakage_supply_v", kMaxVolts, &Static::leakage_volts));
  fields.push_back(static_field("board_idle_w", kMaxWatts, &Static::board_idle_w));
  fields.push_back(optional_field(static_field("busy_sm_w", kMaxWatts, &Static::busy_sm_w)));
  fields.push_back(
      scalar("/clock", "floor_clock_mhz", kMaxMegahertz, &EnergyConfig::floor_clock_mhz));
  fields.push_back(scalar("/clock", "floor_supply_v", kMaxVolts, &EnergyConfig::floor_supply_v));
  fields.push_back(scalar("/clock", "boost_supply_v", kMaxVolts, &EnergyConfig::boost_supply_v));
  fields.push_back(clock_field("min_clock_mhz", kMaxMegahertz, &energy::PowerSpec::min_clock_mhz));
  fields.push_back(optional_field(
      clock_field("loaded_clock_mhz", kMaxMegahertz, &energy::PowerSpec::loaded_clock_mhz)));
  fields.push_back(clock_field("power_limit_w", kMaxWatts, &energy::PowerSpec::power_limit_w));
  fields.push_back(clock_field("burst_ratio", kMaxBurst, &energy::PowerSpec::burst_ratio));
  using Area = energy::AreaTable;
  fields.push_back(typed_area_field("multiplier_um2", &Area::multiplier_um2));
  fields.push_back(typed_area_field("adder_um2", &Area::adder_um2));
  fields.push_back(area_field("rounder_um2", &Area::rounder_um2));
  fields.push_back(area_field("mux_um2_per_input_bit", &Area::mux_um2_per_input_bit));
  fields.push_back(area_field("flip_flop_um2", &Area::flip_flop_um2));
  fields.push_back(area_field("sram_um2_per_byte", &Area::sram_um2_per_byte));
  return fields;
}

}  // namespace

const std::vector<EnergyField>& energy_fields() {
  static const std::vector<EnergyField> kFields = make_fields();
  return kFields;
}

std::string scaling_name(energy::Scaling scaling) {
  switch (scaling) {
    case Scaling::kLogic:
      return "logic";
    case Scaling::kSram:
      return "sram";
    case Scaling::kWire:
      return "wire";
    case Scaling::kArea:
      return "area";
    case Scaling::kNone:
      return "none";
  }
  throw base::InternalError("unhandled class of node scaling");
}

}  // namespace sptc::config
