// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/plan.h"

#include "models/base/random.h"
#include "sim/config/architecture.h"
#include "sim/config/board_names.h"
#include "sim/config/derivation.h"
#include "sim/config/named_file.h"
#include "sim/io/text_file.h"
#include "sim/report/version.h"
#include "sim/run/option_table.h"
#include "sim/run/run_options.h"
#include "sim/run/simulation_options.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <system_error>

namespace sptc::sweep {
namespace {

constexpr std::uint64_t kMaxEnumerated = 100'000'000;
constexpr std::uint64_t kMaxProduct = std::uint64_t{1} << 62;
constexpr std::uint64_t kMaxDraws = 20'000'000;  // beyond the points asked for

/// A seeded permutation of [0, size): a Feistel network over the next even power of two, walked
/// until it lands inside. Element i costs the same for every i and nothing is stored.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed) : size_(size), random_(seed) {
    half_bits_ = std::max(1, (static_cast<int>(std::bit_width(size - 1)) + 1) / 2);
  }

  std::uint64_t operator()(std::uint64_t i) const {
    do {
      i = shuffle(i);
    } while (i >= size_);
    return i;
  }

 private:
  std::uint64_t shuffle(std::uint64_t i) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = i >> half_bits_;
    std::uint64_t right = i & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t mixed = left ^ (random_.bits(round << 32 ^ right) & mask);
      left = right;
      right = mixed;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t size_;
  int half_bits_ = 1;
  base::RandomStream random_;
};

bool has_option(const SweepSpec& spec, const std::string& option) {
  return spec.options.contains(option) || spec.option_axis(option) != nullptr;
}

/// Calls `visit` with every option of a sweep, each of its values, and where the spec says it.
void for_each_option(
    const SweepSpec& spec,
    const std::function<void(const io::JsonPlace& place, const std::string& option, const std::string& value)>& visit) {
  for (const auto& [option, value] : spec.options) {
    visit({io::printable(spec.file.string()), "/options"}, option, value);
  }
  for (const SweepAxis& axis : spec.axes) {
    if (axis.kind == SweepAxis::Kind::kOption) {
      for (const nlohmann::json& value : axis.values) {
        visit(axis.place, axis.target, run::option_text(value));
      }
    }
  }
}

/// Whether a point is no shipped GPU: then all points take their kernels as that one does.
bool has_own_design(const SweepSpec& spec) {
  return std::ranges::any_of(spec.axes,
                             [](const SweepAxis& axis) { return axis.kind == SweepAxis::Kind::kParameter; }) ||
         std::ranges::any_of(spec.architectures, [](const config::DocumentedArchitecture& given) {
           return !config::is_shipped(given.value);
         });
}

using Files = std::vector<std::filesystem::path>;

/// Folders of the configuration directory where options name files.
constexpr std::array<std::string_view, 4> kFolders{"energy", "energy/mig", "engines", "libraries"};

/// Adds the file at the path `name`, relative to `folder`, and those so called in kFolders.
void add(const std::string& name, const std::filesystem::path& folder, Files& files) {
  const auto add_one = [&](const std::filesystem::path& file) {
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error) && std::ranges::count(files, file) == 0) {
      files.push_back(file);
    }
  };
  add_one((folder / name).lexically_normal());
  if (config::is_path(name)) {
    return;
  }
  const std::string known = config::board_name(name) + ".json";
  for (const std::string_view kind : kFolders) {
    for (const std::filesystem::path& directory : config::config_directories(kind)) {
      add_one((directory / known).lexically_normal());
    }
  }
}

/// What the key "base" of a JSON file says; empty where it says nothing.
std::string base_of(const std::filesystem::path& file) {
  if (file.extension() != ".json") {
    return {};
  }
  std::ifstream stream(file, std::ios::binary);
  const auto document = nlohmann::json::parse(stream, nullptr, false);
  const auto found = document.find("base");
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Fingerprints of the files that `value` of `option` names, and of those that they have as base.
/// Empty where it names none. Throws InputError where one cannot be read.
std::string option_files_digest(std::string_view option, const std::string& value) {
  const auto options = run::simulation_options();
  if (std::ranges::none_of(options,
                           [&](const run::SimulationOption& row) { return row.name == option && row.names_file; })) {
    return {};
  }
  Files files;
  add(value, {}, files);
  std::string digest;
  for (std::size_t i = 0; i < files.size(); ++i) {  // the bases of a file are added behind it
    const std::filesystem::path file = files[i];
    digest += fingerprint_of_file(file);
    if (const std::string base = base_of(file); !base.empty()) {
      add(base, file.parent_path(), files);
    }
  }
  return digest;
}

/// The same of the files that `architecture` names itself, by option.
std::map<std::string, std::string> default_files_digests(const config::DocumentedArchitecture& architecture) {
  std::map<std::string, std::string> digests;
  const auto add_file = [&](const std::string& option, const std::string& name) {
    if (std::string digest = name.empty() ? "" : option_files_digest(option, name); !digest.empty()) {
      digests[option] = std::move(digest);
    }
  };
  run::EnergyFiles files;
  add_file("energy", run::energy_source({}, architecture.value, files).name);
  add_file("library", architecture.document.value(nlohmann::json::json_pointer("/kernels/library"), ""));
  return digests;
}

/// Whether options go together is seen at the points that have them.
void check_option(const io::JsonPlace& place, const std::string& option, const std::string& value) {
  try {
    run::SimulationOptions alone;
    run::set_option(alone, option, value);
    run::require_nothing_saved(alone, "a sweep");
    if (!alone.memory.empty() || !alone.memory_config.empty()) {
      io::refuse("--{} loads code, which no specification may name; 'sptcsim run' takes it", option);
    }
    const auto runs_more_than_gemms = [&] {
      const std::optional<run::network::EngineSpec> engine = run::asked_engine(alone);
      return engine && !engine->gemms_only;
    };
    if (option == "tp" || option == "ep" || option == "link" || runs_more_than_gemms()) {
      io::refuse("--{}: a sweep compares GEMMs alone; 'run' and 'compare' take an engine", option);
    }
  } catch (const base::InputError& error) {
    place.fail(error.what());
  }
}

}  // namespace

SweepPlan::SweepPlan(SweepSpec spec) : spec_(std::move(spec)), dimension_of_(spec_.axes.size()) {
  stride_.resize(spec_.dimensions.size());
  for (std::size_t d = spec_.dimensions.size(); d-- > 0;) {
    stride_[d] = product_;
    for (const std::size_t axis : spec_.dimensions[d].axes) {
      dimension_of_[axis] = d;
    }
    if (product_ > kMaxProduct / spec_.dimensions[d].size) {
      io::refuse("{}: the product of the axes has more than 2^62 points", spec_.file.string());
    }
    product_ *= spec_.dimensions[d].size;
  }
  if (!spec_.sample_points && product_ > kMaxEnumerated) {
    io::refuse(
        "{}: the product of the axes has {} points, more than the {} that are enumerated; draw some with \"sample\": "
        "{{\"points\": ...}}",
        spec_.file.string(), product_, kMaxEnumerated);
  }
  for (const auto& [condition, place] : spec_.conditions) {
    conditions_.emplace_back(condition, spec_.axis_names(), place);
  }
  for (const config::DocumentedArchitecture& architecture : spec_.architectures) {
    parameters_.push_back(config::parameter_values(architecture.document));
    default_files_.push_back(default_files_digests(architecture));
  }
  for (const auto& parameters : parameters_) {
    hashed_.push_back(hashed_text(parameters));
  }
  // The seed that a run has without one: the same point with and without naming it.
  if (!has_option(spec_, "seed")) {
    spec_.options["seed"] = "0";
  }
  if (has_own_design(spec_) && !has_option(spec_, "kernels") && !has_option(spec_, "library") &&
      !has_option(spec_, "tile")) {
    spec_.options["kernels"] = name(run::KernelsFrom::kSearch);
  }
  for_each_option(spec_, [&](const io::JsonPlace&, const auto& option, const auto& value) {
    if (std::string digest = option_files_digest(option, value); !digest.empty()) {
      option_files_[{option, value}] = std::move(digest);
    }
  });
}

std::size_t SweepPlan::index(std::size_t dimension, std::uint64_t position) const {
  return position / stride_[dimension] % spec_.dimensions[dimension].size;
}

const nlohmann::json& SweepPlan::value(std::size_t axis, std::uint64_t position) const {
  return spec_.axes[axis].values[index(dimension_of_[axis], position)];
}

bool SweepPlan::holds(std::uint64_t position) const {
  return std::ranges::all_of(conditions_, [&](const Condition& condition) {
    return condition.holds([&](std::size_t axis) -> const nlohmann::json& { return value(axis, position); });
  });
}

void SweepPlan::for_each(const std::function<bool(std::uint64_t position)>& visit) const {
  if (!spec_.sample_points) {
    for (std::uint64_t position = 0; position < product_; ++position) {
      if (holds(position) && !visit(position)) {
        return;
      }
    }
    return;
  }
  const Permutation drawn(product_, spec_.sample_seed);
  const std::uint64_t draws = std::min(product_, kMaxDraws + *spec_.sample_points);
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < draws && found < *spec_.sample_points; ++i) {
    const std::uint64_t position = drawn(i);
    if (holds(position)) {
      ++found;
      if (!visit(position)) {
        return;
      }
    }
  }
}

SweepPoint SweepPlan::point(std::uint64_t position) const {
  SweepPoint point;
  point.position = position;
  point.options = spec_.options;
  for (std::size_t i = 0; i < spec_.axes.size(); ++i) {
    const SweepAxis& axis = spec_.axes[i];
    const std::size_t chosen = index(dimension_of_[i], position);
    switch (axis.kind) {
      case SweepAxis::Kind::kWorkload:
      case SweepAxis::Kind::kDim:
        point.workload += chosen * axis.stride;
        break;
      case SweepAxis::Kind::kArch:
        point.architecture = chosen;
        break;
      case SweepAxis::Kind::kParameter:
        point.parameters.emplace_back(i, chosen);
        break;
      case SweepAxis::Kind::kOption:
        point.options[axis.target] = run::option_text(axis.values[chosen]);
        break;
    }
  }
  return point;
}

std::vector<SweepPlan::HashedText> SweepPlan::hashed_text(
    const std::vector<std::pair<std::string, std::string>>& parameters) const {
  std::vector<HashedText> pieces{{std::nullopt, {}}};
  std::string fitted;  // as long as all the rest, and never varied: its digest is enough
  for (const auto& [pointer, value] : parameters) {
    if (std::string_view(pointer).substr(1).starts_with(config::kFittedDesign)) {
      fitted += fmt::format("{}={}\n", pointer, value);
      continue;
    }
    pieces.back().text += pointer + "=";
    const auto varied = std::ranges::find_if(spec_.axes, [&, &at = pointer](const SweepAxis& axis) {
      return axis.kind == SweepAxis::Kind::kParameter && axis.target == at;
    });
    if (varied == spec_.axes.end()) {
      pieces.back().text += value;
    } else {
      pieces.push_back({static_cast<std::size_t>(varied - spec_.axes.begin()), {}});
    }
    pieces.back().text += '\n';
  }
  pieces.back().text += fingerprint(fitted);
  return pieces;
}

std::string SweepPlan::hash(const SweepPoint& point) const {
  std::string text = fmt::format("sptcsim-point/1\nversion={}\nworkload={}\n", report::program_version(),
                                 spec_.workloads[point.workload].digest);
  for (const auto& [key, value] : point.options) {
    fmt::format_to(std::back_inserter(text), "--{}={}\n", key, value);
    if (!option_files_.empty()) {
      const auto file = option_files_.find({key, value});
      text += file == option_files_.end() ? "" : "files=" + file->second + "\n";
    }
  }
  for (const auto& [option, digest] : default_files_[point.architecture]) {
    if (!point.options.contains(option)) {
      fmt::format_to(std::back_inserter(text), "file of {}={}\n", option, digest);
    }
  }
  for (const HashedText& piece : hashed_[point.architecture]) {
    if (piece.axis) {
      const nlohmann::json& varied = value(*piece.axis, point.position);  // as parameter_values() writes it
      text += varied.is_number() ? fmt::format("{}", varied.get<double>()) : varied.dump();
    }
    text += piece.text;
  }
  return fingerprint(text);
}

std::string SweepPlan::digest() const {
  nlohmann::json document = spec_.document;
  for (const char* key : {"name", "description", "limits", "workloads", "arch"}) {
    document.erase(key);  // no part of what is simulated, or known below by content
  }
  std::string text = fmt::format("sptcsim-sweep/1\n{}\n{}\n", report::program_version(), io::json_text(document));
  for (const auto& [option, digest] : option_files_) {
    text += fmt::format("files --{}={} {}\n", option.first, option.second, digest);
  }
  for (const SweepWorkload& workload : spec_.workloads) {
    text += fmt::format("workload {} {}\n", workload.name, workload.digest);
  }
  for (std::size_t i = 0; i < spec_.architectures.size(); ++i) {
    text += fmt::format("arch {}\n", spec_.architectures[i].value.gpu.name);
    for (const auto& [pointer, value] : parameters_[i]) {
      text += fmt::format("{}={}\n", pointer, value);
    }
    for (const auto& [option, digest] : default_files_[i]) {
      if (!spec_.options.contains(option)) {
        text += fmt::format("file of {}={}\n", option, digest);
      }
    }
  }
  return fingerprint(text);
}

SweepPlan checked_plan(SweepSpec spec) {
  for_each_option(spec, check_option);
  SweepPlan plan(std::move(spec));
  bool is_empty = true;
  plan.for_each([&](std::uint64_t) { return is_empty = false; });
  if (is_empty) {
    io::JsonPlace{io::printable(plan.spec().file.string()), "/where"}.fail(
        fmt::format("leaves none of the {} points", plan.product()));
  }
  return plan;
}

}  // namespace sptc::sweep
