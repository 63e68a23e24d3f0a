// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_spec.h"

#include "sim/config/architecture.h"
#include "sim/config/derivation.h"
#include "sim/config/named_file.h"
#include "sim/io/text_file.h"
#include "sim/run/option_table.h"
#include "sim/sweep/database.h"
#include "sim/workload/dim_lists.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <cctype>
#include <ranges>

namespace sptc::sweep {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxFileBytes = 16 << 20;
constexpr std::int64_t kMaxSamplePoints = 100'000'000;
constexpr std::string_view kSchema = "sptcsim-sweep/0.1";

// Columns that the results have anyway, and words of the language of conditions.
constexpr std::array<std::string_view, 16> kReservedNames = {
    "position", "hash", "status", "reason", "result", "notes", "speedup",  "rowid",
    "oid",      "and",  "or",     "not",    "true",   "false", "workload", "arch"};
constexpr std::array<std::string_view, 3> kReservedPrefixes = {"dense_", "sparse_", "total_"};

class SpecReader {
 public:
  SpecReader(const json& document, const std::filesystem::path& file)
      : root_(document, {io::printable(file.string()), ""}) {
    spec_.file = file;
    spec_.document = document;
  }

  SweepSpec read() {
    root_.allow_only({"schema", "name", "description", "arch", "workloads", "options", "axes", "where", "sample",
                      "store", "limits"});
    root_.require_schema(kSchema);
    spec_.name = root_.text("name");
    root_.text_or("description", "");
    add_dimension({{SweepAxis::Kind::kWorkload, "workload", "", {}, root_.place() / "workloads", 1}});
    read_architectures();
    read_options();
    read_axes();
    choose_fidelity();
    read_workloads();
    read_conditions();
    read_rest();
    return std::move(spec_);
  }

 private:
  /// Reads every workload for every combination of dimensions, and names the values of its axis.
  void read_workloads() {
    workload::DimLists lists;
    std::set<std::string> varied;
    std::size_t stride = 1;
    for (SweepAxis& axis : spec_.axes) {
      if (axis.kind == SweepAxis::Kind::kDim) {
        varied.insert(axis.target);
        lists.emplace_back(axis.target, std::vector<std::int64_t>{});
        for (const json& value : axis.values) {
          lists.back().second.push_back(io::to_integer(value, axis.place, 1, workload::kMaxExtent));
        }
      }
    }
    for (auto axis = spec_.axes.rbegin(); axis != spec_.axes.rend(); ++axis) {
      if (axis->kind == SweepAxis::Kind::kDim) {
        axis->stride = stride;
        stride *= axis->values.size();
      }
    }
    SweepAxis& axis = spec_.axes.front();
    axis.stride = stride;
    const std::vector<workload::NamedDims> all = workload::combinations(lists);
    for (const WorkloadSource& source : read_workload_sources(root_, spec_.file.parent_path(), varied)) {
      for (const workload::NamedDims& dims : all) {
        spec_.workloads.push_back(read_source(source, dims));
      }
      const std::string& name = spec_.workloads.back().name;
      if (std::ranges::count(axis.values, json(name)) > 0) {
        source.place.fail("a second workload is called '{}'", io::printable(name));
      }
      axis.values.emplace_back(name);
    }
    spec_.dimensions.front().size = axis.values.size();
  }

  void read_architectures() {
    SweepAxis axis{SweepAxis::Kind::kArch, "arch", "", {}, root_.place() / "arch"};
    const json single = root_.has("arch") ? root_.require("arch") : json("a100-sxm4-80gb");
    const bool several = single.is_array();
    const json& array = several ? root_.array("arch") : json::array({single});
    for (std::size_t i = 0; i < array.size(); ++i) {
      const io::JsonPlace place = several ? axis.place / i : axis.place;
      if (!array[i].is_string()) {
        place.fail("must be the name or path of an architecture, not {}", io::describe(array[i]));
      }
      const std::string word = array[i].get<std::string>();
      const std::string file =
          config::is_path(word) ? named_file(word, spec_.file.parent_path(), place).string() : word;
      config::DocumentedArchitecture architecture =
          place.named([&] { return config::load_documented_architecture(file); });
      const std::string name = architecture.value.gpu.name;
      if (std::ranges::count(axis.values, json(name)) > 0) {
        place.fail("a second architecture is called '{}'", io::printable(name));
      }
      // The fitted design is in the document alone.
      std::vector<std::string> bases = std::move(architecture.value.bases);
      architecture.value = config::to_architecture(architecture.document, name);
      architecture.value.bases = std::move(bases);
      axis.values.emplace_back(name);
      spec_.architectures.push_back(std::move(architecture));
    }
    add_dimension({std::move(axis)});
  }

  void read_options() {
    if (!root_.has("options")) {
      return;
    }
    const io::JsonObject options = root_.object("options");
    for (const auto& [key, value] : options.value().items()) {
      if (!value.is_number() && !value.is_string() && !value.is_boolean()) {
        (options.place() / key).fail("must be a number, a word or true or false, not {}", io::describe(value));
      }
      spec_.options[key] = run::option_text(value);
    }
  }

  /// Many points take the closed form unless the specification says otherwise.
  void choose_fidelity() {
    constexpr const char* kFidelity = "fidelity";
    if (spec_.option_axis(kFidelity) == nullptr && spec_.options.emplace(kFidelity, "analytic").second) {
      spec_.document["options"][kFidelity] = "analytic";
    }
  }

  void read_axes() {
    if (!root_.has("axes") || root_.require("axes") == json::array()) {
      return;  // one point for each workload
    }
    const json& array = root_.array("axes");
    for (std::size_t i = 0; i < array.size(); ++i) {
      const io::JsonPlace place = root_.place() / "axes" / i;
      const io::JsonObject object(array[i], place);
      if (!object.has("zip")) {
        add_dimension({read_axis(object, false)});
        continue;
      }
      object.allow_only({"zip"});
      std::vector<SweepAxis> zipped;
      const json& inner = object.array("zip");
      for (std::size_t j = 0; j < inner.size(); ++j) {
        zipped.push_back(read_axis(io::JsonObject(inner[j], place / "zip" / j), true));
        if (zipped[j].values.size() != zipped[0].values.size()) {
          zipped[j].place.fail("has {} values, but the first axis of the zip has {}", zipped[j].values.size(),
                               zipped[0].values.size());
        }
      }
      require_different(zipped, place / "zip");
      add_dimension(std::move(zipped));
    }
  }

  /// A value may stand twice in a zip, but no combination.
  static void require_different(const std::vector<SweepAxis>& zipped, const io::JsonPlace& place) {
    std::set<std::vector<json>> seen;
    for (std::size_t i = 0; i < zipped.front().values.size(); ++i) {
      const auto values = std::views::transform(zipped, [&](const SweepAxis& axis) { return axis.values[i]; });
      const std::vector<json> combination(values.begin(), values.end());
      if (!seen.insert(combination).second) {
        place.fail("combination {} stands twice: {}", i, io::json_text(json(combination)));
      }
    }
  }

  SweepAxis read_axis(const io::JsonObject& object, bool zipped) {
    object.allow_only({"parameter", "option", "dim", "name", "values", "range", "random"});
    constexpr std::array<std::pair<std::string_view, SweepAxis::Kind>, 3> kTargets{
        {{"parameter", SweepAxis::Kind::kParameter},
         {"option", SweepAxis::Kind::kOption},
         {"dim", SweepAxis::Kind::kDim}}};
    SweepAxis axis;
    axis.place = object.place();
    for (const auto& [key, kind] : kTargets) {
      if (object.has(key)) {
        if (!axis.target.empty()) {
          object.place().fail("needs one of 'parameter', 'option' and 'dim', not two");
        }
        axis.kind = kind;
        axis.target = object.text(key);
      }
    }
    if (axis.target.empty()) {
      object.place().fail("needs 'parameter', 'option' or 'dim'");
    }
    if (axis.kind == SweepAxis::Kind::kParameter) {
      // The same pointer in each architecture, or the axis would mean different things.
      for (const config::DocumentedArchitecture& architecture : spec_.architectures) {
        axis.target = config::parameter_pointer(architecture.document, axis.target, axis.place / "parameter");
      }
    }
    std::string usual_name = axis.target.substr(axis.target.rfind('/') + 1);
    std::ranges::replace(usual_name, '-', '_');
    axis.name = object.text_or("name", usual_name);
    check_name(axis);
    axis.values = read_axis_values(object, zipped);
    check_target(axis);
    return axis;
  }

  void check_name(const SweepAxis& axis) const {
    const auto fail = [&](const std::string& problem) {
      axis.place.fail("the name '{}' {}", io::printable(axis.name), problem);
    };
    const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
    const auto word = [&](char c) { return letter(c) || std::isdigit(static_cast<unsigned char>(c)); };
    if (axis.name.size() > 60 || !letter(axis.name.front()) || !std::ranges::all_of(axis.name, word)) {
      fail("must be a letter and letters, digits and underscores: give another with 'name'");
    }
    const std::string column = as_column(axis.name);
    const auto is_prefix = [&](std::string_view prefix) { return column.starts_with(prefix); };
    if (std::ranges::count(kReservedNames, column) > 0 || std::ranges::any_of(kReservedPrefixes, is_prefix)) {
      fail("has a meaning of its own in the results: give another with 'name'");
    }
    for (const SweepAxis& other : spec_.axes) {
      if (as_column(other.name) == column) {
        fail("is taken by another axis: give another with 'name'");
      }
    }
  }

  /// What an axis sets is set by nothing else, and it sets something.
  void check_target(const SweepAxis& axis) const {
    for (const SweepAxis& other : spec_.axes) {
      if (other.kind == axis.kind && other.target == axis.target) {
        axis.place.fail("'{}' is varied by another axis already", axis.target);
      }
    }
    if (axis.kind == SweepAxis::Kind::kOption) {
      if (spec_.options.contains(axis.target)) {
        axis.place.fail("'{}' is set under /options too", io::printable(axis.target));
      }
      return;
    }
    if (axis.kind == SweepAxis::Kind::kDim) {
      return;  // read_workloads() reads them with it
    }
    if (axis.values.size() == 1) {
      for (const config::DocumentedArchitecture& architecture : spec_.architectures) {
        if (config::parameter_value(architecture.document, axis.target) == axis.values.front()) {
          axis.place.fail("changes nothing: {} is {} in '{}' already", axis.target, io::describe(axis.values.front()),
                          architecture.value.gpu.name);
        }
      }
    }
    for (const config::DocumentedArchitecture& architecture : spec_.architectures) {
      config::VariedArchitecture varied(architecture.value);
      for (const json& value : axis.values) {
        const std::pair number(axis.target, value.is_number() ? value.get<double>() : 0);
        if (!value.is_number() || varied.with({&number, 1}, "a sweep") == nullptr) {
          check_parameter(axis, architecture.document, value);
        }
      }
    }
  }

  /// Refuses what no combination with other values can make valid.
  static void check_parameter(const SweepAxis& axis, json document, const json& value) {
    config::set_parameter(document, axis.target, value, "a sweep");
    try {
      config::to_architecture(document, axis.place.file);
    } catch (const base::InputError& error) {
      const std::string_view message = error.what();
      if (message.find(axis.target + "/value: ") != std::string_view::npos ||
          message.find(axis.target + ": ") != std::string_view::npos) {
        axis.place.fail("the value {} is refused: {}", io::describe(value), message.substr(0, message.find('\n')));
      }
    }
  }

  void add_dimension(std::vector<SweepAxis> axes) {
    SweepDimension dimension;
    dimension.size = axes.front().values.size();
    for (SweepAxis& axis : axes) {
      for (const std::size_t i : dimension.axes) {  // zipped axes do not know each other yet
        if (as_column(spec_.axes[i].name) == as_column(axis.name) || spec_.axes[i].target == axis.target) {
          axis.place.fail("'{}' stands twice in the zip", axis.name);
        }
      }
      dimension.axes.push_back(spec_.axes.size());
      spec_.axes.push_back(std::move(axis));
    }
    spec_.dimensions.push_back(std::move(dimension));
  }

  void read_conditions() {
    if (!root_.has("where")) {
      return;
    }
    const io::JsonPlace place = root_.place() / "where";
    const json& where = root_.require("where");
    const json array = where.is_array() ? where : json::array({where});
    for (std::size_t i = 0; i < array.size(); ++i) {
      const io::JsonPlace here = where.is_array() ? place / i : place;
      if (!array[i].is_string()) {
        here.fail("must be a condition, such as \"sms <= 108\", not " + io::describe(array[i]));
      }
      spec_.conditions.emplace_back(array[i].get<std::string>(), here);
    }
  }

  void read_rest() {
    if (root_.has("sample")) {
      const io::JsonObject sample = root_.object("sample");
      sample.allow_only({"points", "seed"});
      spec_.sample_points = static_cast<std::uint64_t>(sample.integer("points", 1, kMaxSamplePoints));
      spec_.sample_seed = static_cast<std::uint64_t>(sample.integer_or("seed", 0, 0, INT64_MAX));
    }
    spec_.store_operations = root_.choice("store", {"operations", "totals"}) == 0;
    if (root_.has("limits")) {
      const io::JsonObject limits = root_.object("limits");
      limits.allow_only({"timeout_s", "memory_mb"});
      if (limits.has("timeout_s")) {
        const json& value = limits.require("timeout_s");
        if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > 1e7) {
          (limits.place() / "timeout_s").fail("must be a number of seconds above 0, not {}", io::describe(value));
        }
        spec_.timeout_s = value.get<double>();
      }
      if (limits.has("memory_mb")) {
        spec_.memory_mb = static_cast<std::uint64_t>(limits.integer("memory_mb", 64, std::int64_t{1} << 30));
      }
    }
  }

  io::JsonObject root_;
  SweepSpec spec_;
};

}  // namespace

std::vector<std::string> SweepSpec::axis_names() const {
  const auto names = std::views::transform(axes, &SweepAxis::name);
  return {names.begin(), names.end()};
}

const SweepAxis* SweepSpec::option_axis(std::string_view option) const {
  const auto found = std::ranges::find_if(
      axes, [&](const SweepAxis& axis) { return axis.kind == SweepAxis::Kind::kOption && axis.target == option; });
  return found == axes.end() ? nullptr : &*found;
}

SweepSpec parse_sweep_spec(std::string_view text, const std::filesystem::path& file) {
  const json document = io::parse_json(text, io::printable(file.string()));
  return SpecReader(document, file).read();
}

SweepSpec read_sweep_spec(const std::filesystem::path& file) {
  return parse_sweep_spec(io::read_text_file(file, kMaxFileBytes), file);
}

std::string made_by(const json& document) {
  const auto options = document.find("options");
  if (options == document.end() || !options->contains("fidelity")) {
    return "made as the axis fidelity says";
  }
  return run::made_by(run::parse_word<run::Fidelity>((*options)["fidelity"].get<std::string>()), {});
}

}  // namespace sptc::sweep
