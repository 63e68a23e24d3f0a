// SPDX-License-Identifier: Apache-2.0
#include "sim/config/energy.h"

#include "models/base/text.h"
#include "models/energy/cost_factor.h"
#include "models/sparsity/pattern.h"
#include "sim/config/architecture.h"
#include "sim/config/board_names.h"
#include "sim/config/derivation.h"
#include "sim/config/energy_fields.h"
#include "sim/config/evidence.h"
#include "sim/config/named_file.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace sptc::config {
namespace {

using nlohmann::json;
using numerics::DataType;

constexpr int kMaxNode = 1000;  // process node [nm]
constexpr std::size_t kMaxRailName = 17;
constexpr double kShareRounding = 1e-9;

using PartShares = std::array<double, energy::kEnergyParts>;

double read_bounded(const json& value, const io::JsonPlace& place, bool zero, double max) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!(zero ? number >= 0 : number > 0) || number > max) {
    place.fail("must be a number {} and at most {}, not {}", zero ? "from 0" : "above 0", max, io::describe(value));
  }
  return number;
}

/// {"value", "evidence", "source"}, with "node_nm" where `on_chip`, and "range": [low, high]; what
/// is assumed needs a range. From 0 where `zero`, else above it. Throws InputError.
EnergyParameter read_number(const io::JsonObject& number, bool zero, double max, bool on_chip) {
  number.allow_only({"value", "range", "node_nm", "evidence", "source"});
  EnergyParameter result;
  result.pointer = number.place().pointer;
  result.value = read_bounded(number.require("value"), number.place() / "value", zero, max);
  result.low = result.high = result.value;
  const Evidence evidence = read_evidence(number);
  result.evidence = evidence.kind;
  result.source = evidence.source;
  if (on_chip) {
    result.node_nm = static_cast<int>(number.integer("node_nm", 1, kMaxNode));
  } else if (number.has("node_nm")) {
    (number.place() / "node_nm").fail("this number does not scale with the process node");
  }
  if (!number.has("range")) {
    if (result.evidence == "assumed") {
      number.place().fail("an assumed number needs a 'range' [low, high]");
    }
    return result;
  }
  const json& range = number.array("range");
  const io::JsonPlace place = number.place() / "range";
  if (range.size() != 2) {
    place.fail("must be [low, high]");
  }
  result.low = read_bounded(range[0], place / std::size_t{0}, zero, max);
  result.high = read_bounded(range[1], place / std::size_t{1}, zero, max);
  if (result.low > result.value || result.high < result.value) {
    place.fail("[{}, {}] does not hold the value {}", result.low, result.high, result.value);
  }
  return result;
}

class EnergyReader {
 public:
  EnergyReader(const io::JsonObject& root, LoadedEnergy& result) : root_(root), result_(result) {}

  void read() {
    errors_.collect([&] { result_.config.name = root_.text("name"); });
    errors_.collect([&] { root_.text_or("description", ""); });
    errors_.collect([&] { result_.config.node_nm = static_cast<int>(root_.integer("node_nm", 1, kMaxNode)); });
    errors_.throw_if_any();
    check_sections();
    if (root_.has("node_scaling")) {
      errors_.collect([&] { read_node_scaling(); });
    }
    for (const EnergyField& field : energy_fields()) {
      errors_.collect([&] { read_field(field); });
    }
    errors_.collect([&] { read_rails(); });
    errors_.throw_if_any();
    for (const EnergyParameter& parameter : result_.parameters) {
      if (parameter.store) {
        parameter.store(result_.config, parameter.value * parameter.scale);
      }
    }
    check_consistency();
    errors_.throw_if_any();
  }

 private:
  void check_sections() {
    std::map<std::string, std::vector<std::string_view>> keys;
    keys[""] = {"name",        "description", "node_nm", "node_scaling", "events",
                "fixed_share", "static",      "clock",   "area",         "rails"};
    for (const EnergyField& field : energy_fields()) {
      keys[field.section].push_back(field.key);
    }
    for (const auto& [section, allowed] : keys) {
      errors_.collect([&, &where = section, &known = allowed] {
        check_keys(where.empty() ? root_ : root_.object(where.substr(1)), known, errors_);
      });
    }
  }

  void read_node_scaling() {
    has_factors_ = false;
    const io::JsonObject nodes = root_.object("node_scaling");
    has_factors_ = true;
    for (const auto& [from, unused] : nodes.value().items()) {
      errors_.collect([&, &node = from] { read_factors(nodes, node); });
    }
  }

  void read_factors(const io::JsonObject& nodes, const std::string& from) {
    if (from.empty() || from.size() > 3 || from.find_first_not_of("0123456789") != std::string::npos) {
      (nodes.place() / from).fail("must be a process node in nm, 1 to 999");
    }
    const io::JsonObject classes = nodes.object(from);
    check_keys(classes, std::span(kScalingNames).first(4), errors_);
    for (const auto& [name, unused] : classes.value().items()) {
      errors_.collect([&, &key = name] {
        double& factor = factors_[{std::stoi(from), key}];
        factor = 1;  // also where it is refused: what needs it is not to blame
        result_.parameters.push_back(read_number(classes.object(key), false, kMaxScale, false));
        factor = result_.parameters.back().value;
      });
    }
  }

  /// The factor of "logic", "sram", "wire" or "area". Throws InputError at `place` where the file
  /// has no such factor; later calls for the same one get 1: what is missing is said once.
  double factor(int from_nm, const std::string& name, const io::JsonPlace& place) {
    const int node_nm = result_.config.node_nm;
    if (from_nm == node_nm) {
      return 1;
    }
    const auto [found, missing] = factors_.try_emplace({from_nm, name}, 1);
    if (missing && has_factors_) {
      place.fail("no factor 'node_scaling/{}/{}' leads from {} nm to {} nm", from_nm, name, from_nm, node_nm);
    }
    return found->second;
  }

  void read_field(const EnergyField& field) {
    const io::JsonObject section = field.section.empty() ? root_ : root_.object(field.section.substr(1));
    if (field.optional && !section.has(field.key)) {
      return;
    }
    if (!field.by_type) {
      store(field, number_with_evidence(section, field.key), DataType::kF16);
      return;
    }
    const io::JsonObject types = section.object(field.key);
    for (const auto& [name, unused] : types.value().items()) {
      errors_.collect([&, &key = name] {
        const auto type = numerics::parse_data_type(key);
        if (!type || !numerics::is_operand_type(*type)) {
          const std::vector<std::string_view> known = numerics::operand_type_names();
          types.place().fail("unknown operand type " + base::unknown_name(io::printable(key), known));
        }
        types_[field.section].insert(key);
        store(field, types.object(key), *type);
      });
    }
  }

  void store(const EnergyField& field, const io::JsonObject& number, DataType type) {
    EnergyParameter parameter = read_number(number, field.zero, field.max, field.scaling.has_value());
    if (field.scaling && *field.scaling != energy::Scaling::kNone) {
      parameter.scale = factor(parameter.node_nm, scaling_name(*field.scaling), number.place() / "node_nm");
    }
    parameter.store = [type, fill = field.store](EnergyConfig& config, double value) { fill(config, type, value); };
    result_.parameters.push_back(std::move(parameter));
  }

  /// The supplies that are read by themselves. The one that names no parts feeds the rest.
  void read_rails() {
    if (!root_.has("rails")) {
      return;
    }
    const io::JsonObject rails = root_.object("rails");
    std::vector<energy::Rail>& known = result_.config.power.rails;
    PartShares left;
    left.fill(1);
    for (const auto& [name, unused] : rails.value().items()) {
      errors_.collect([&, &key = name] { known.push_back(read_rail(rails.object(key), key, left)); });
    }
    if (!errors_.empty()) {
      return;
    }
    const auto names_none = [](const energy::Rail& rail) { return rail.shares == PartShares{}; };
    if (std::count_if(known.begin(), known.end(), names_none) != 1) {
      rails.place().fail("one rail must name no parts: it feeds what the others leave");
    }
    PartShares& rest = std::find_if(known.begin(), known.end(), names_none)->shares;
    std::transform(left.begin(), left.end(), rest.begin(), [](double share) { return std::max(0.0, share); });
  }

  /// Takes what the rail feeds of each part from what is `left` of it.
  energy::Rail read_rail(const io::JsonObject& rail, const std::string& name, PartShares& left) {
    rail.allow_only({"all_of", "share_of", "evidence", "source"});
    constexpr std::string_view kNameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    if (name.empty() || name.size() > kMaxRailName || name.find_first_not_of(kNameCharacters) != std::string::npos) {
      rail.place().fail("a rail is named by 1 to {} letters, digits and '_'", kMaxRailName);
    }
    Evidence evidence = read_evidence(rail);
    energy::Rail result{name, std::move(evidence.kind), std::move(evidence.source), {}};
    const auto take = [&](const std::string& part, double share, const io::JsonPlace& place) {
      const std::size_t index =
          place.named([&] { return io::place_among(energy::kEnergyPartNames, part, "unknown part of an energy"); });
      left[index] -= share;
      if (left[index] < -kShareRounding) {
        place.fail("the rails take more of '{}' than there is", part);
      }
      result.shares[index] += share;
    };
    if (rail.has("all_of")) {
      rail.each("all_of", [&](const json& part, const io::JsonPlace& place) {
        if (!part.is_string()) {
          place.fail("must be a part of an energy, not " + io::describe(part));
        }
        take(part.get<std::string>(), 1, place);
      });
    }
    if (rail.has("share_of")) {
      const io::JsonObject shares = rail.object("share_of");
      for (const auto& [part, unused] : shares.value().items()) {
        result_.parameters.push_back(read_number(number_with_evidence(shares, part), false, 1, false));
        take(part, result_.parameters.back().value, shares.place() / part);
      }
    }
    return result;
  }

  /// What no single number can get wrong.
  void check_consistency() {
    const EnergyConfig& config = result_.config;
    const energy::StaticPower& flow = config.power.static_power;
    // An event that has an energy for one operand type has one for each.
    for (const EnergyField& field : energy_fields()) {
      if (!field.by_type) {
        continue;
      }
      errors_.collect([&] {
        const io::JsonObject types = root_.object(field.section.substr(1)).object(field.key);
        for (const std::string& type : types_[field.section]) {
          if (!types.has(type)) {
            types.place().fail("the key '{}' is missing: another number of the section has that type", type);
          }
        }
      });
    }
    // Energies go with the square of a voltage over that at which they hold.
    constexpr double kLeastVolts = 0.1;
    const io::JsonPlace& file = root_.place();
    for (const auto& [place, volts] : {std::pair(file / "supply_v", config.power.table.supply_volts),
                                       std::pair(file / "static" / "leakage_supply_v", flow.leakage_volts),
                                       std::pair(file / "clock" / "floor_supply_v", config.floor_supply_v)}) {
      if (volts > 0 && volts < kLeastVolts) {
        errors_.refuse(place, "{} V is no supply: at least {}", volts, kLeastVolts);
      }
    }
    if (config.boost_supply_v < config.floor_supply_v) {
      errors_.refuse(file / "clock" / "boost_supply_v", "{} is below floor_supply_v, {}", config.boost_supply_v,
                     config.floor_supply_v);
    }
    if (flow.board_idle_w < flow.constant_w) {
      errors_.refuse(file / "static" / "board_idle_w", "{} is below constant_w, {}", flow.board_idle_w,
                     flow.constant_w);
    }
  }

  const io::JsonObject& root_;
  LoadedEnergy& result_;
  ErrorList errors_;
  bool has_factors_ = true;  ///< node_scaling is an object, or is not there
  /// Factors from other nodes to that of the file: "45" -> "logic" -> factor.
  std::map<std::pair<int, std::string>, double> factors_;
  std::map<std::string, std::set<std::string>> types_;  ///< operand types that a section names
};

/// Where energy files of a name stand.
std::filesystem::path energy_path(const std::string& name_or_path) {
  return board_path(name_or_path, "energy file", config_directories("energy", "energy/mig"));
}

bool is_of_shipped_board(const std::filesystem::path& file) {
  const std::filesystem::path directory = file.parent_path();
  const std::filesystem::path shipped = shipped_config_directory() / "energy";
  return directory == shipped || directory == shipped / "mig";
}

/// The name of the file that states the power limit of `document`, which read_named_file() or a
/// user gave: its own or that of the first base that states one.
std::string limit_of(json document, std::string file) {
  const json::json_pointer limit("/clock/power_limit_w");
  constexpr int kMostBases = 16;  // complete_document() refuses more
  for (int i = 0;
       i < kMostBases && document.contains("base") && !document.contains(limit) && !is_of_shipped_board(file); ++i) {
    const std::string base = base_path(document["base"].get<std::string>(), file);
    file = energy_path(base).string();
    document = read_named_file(base, file);
  }
  return io::JsonObject(document, {file, ""}).text("name");
}

LoadedEnergy to_energy(json document, const std::string& file) {
  const json complete = complete_document(document, file, energy_path);
  const io::JsonObject root(complete, {file, ""});
  LoadedEnergy result;
  EnergyReader(root, result).read();
  result.limit_of = limit_of(std::move(document), file);
  return result;
}

}  // namespace

energy::AreaTable LoadedEnergy::area_at(double EnergyParameter::*end) const {
  std::map<int, double> nodes;  // what the end of the factor from this node is to the factor
  for (const EnergyParameter& parameter : parameters) {
    const std::string_view pointer = parameter.pointer;
    if (pointer.starts_with("/node_scaling/") && pointer.ends_with("/area")) {
      nodes[std::stoi(parameter.pointer.substr(sizeof("/node_scaling/") - 1))] = parameter.*end / parameter.value;
    }
  }
  EnergyConfig changed = config;
  for (const EnergyParameter& parameter : parameters) {
    if (parameter.pointer.starts_with("/area/")) {
      const auto node = nodes.find(parameter.node_nm);
      parameter.store(changed, parameter.*end * parameter.scale * (node == nodes.end() ? 1 : node->second));
    }
  }
  return changed.area;
}

LoadedEnergy parse_energy(std::string_view text, const std::string& file) {
  return to_energy(io::parse_json(text, file), file);
}

LoadedEnergy load_energy(const std::string& name_or_path) {
  const std::filesystem::path path = energy_path(name_or_path);
  return to_energy(read_named_file(name_or_path, path), path.string());
}

std::vector<std::string> energy_names() {
  std::vector<std::string> names = names_in(config_directories("energy"));
  const std::vector<std::string> slices = names_in(config_directories("energy/mig"));
  names.insert(names.end(), slices.begin(), slices.end());
  return names;
}

energy::PowerSpec power_spec(const EnergyConfig& config, const gpu::GpuSpec& gpu, const gpu::GpuSpec* of) {
  energy::PowerSpec spec = config.power;
  const double boost_clock_mhz = gpu.boost_clock_mhz;
  spec.sms = gpu.sms;
  spec.sms_at_rest = of != nullptr ? of->sms : 0;
  spec.boost_clock_mhz = boost_clock_mhz;
  spec.dot_width_bytes = gpu.sm.tensor_core.dot_width_bytes;
  if (boost_clock_mhz <= config.floor_clock_mhz) {
    io::refuse("{}: the boost clock, {} MHz, is not above floor_clock_mhz, {}", config.name, boost_clock_mhz,
               config.floor_clock_mhz);
  }
  // A derived design is the same silicon, whatever clock it is declared to boost to; beyond the end
  // of the curve the supply stays what it is there.
  const double known_mhz = of != nullptr ? of->boost_clock_mhz : boost_clock_mhz;
  spec.curve =
      energy::VoltageCurve({{config.floor_clock_mhz, config.floor_supply_v}, {known_mhz, config.boost_supply_v}});
  spec.loaded_clock_mhz *= boost_clock_mhz / known_mhz;
  check_static_power(spec);
  return spec;
}

void check_static_power(const energy::PowerSpec& spec) {
  const energy::StaticPower& flow = spec.static_power;
  if (flow.board_idle_w < flow.constant_w) {
    io::refuse("a board cannot take {} W at rest: {} W flow outside its SMs", flow.board_idle_w, flow.constant_w);
  }
}

energy::TensorCoreShape tensor_core_shape(const tensor_core::TensorCoreSpec& core) {
  energy::TensorCoreShape shape;
  shape.dot_units = core.dot_units;
  shape.operand_bits = numerics::storage_bits(shape.type);
  shape.products_per_unit = core.dot_width_bytes * 8 / shape.operand_bits;
  shape.selector_inputs = core.selector_inputs;
  shape.kept = std::min(core.selector_kept, core.selector_inputs);
  // An index for each kept element of A in the instructions that the core holds.
  const sparsity::Pattern pattern{shape.kept, core.selector_inputs, 1};
  const int kept_per_instruction = core.mma_m * core.mma_k_bytes * 8 / shape.operand_bits;
  shape.metadata_bits = kept_per_instruction * pattern.metadata_bits() / pattern.kept * core.instruction_window;
  return shape;
}

}  // namespace sptc::config
