// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/catalogue.h"
#include "models/mma/step_rules.h"
#include "sim/config/architecture_fields.h"
#include "sim/config/board_names.h"
#include "sim/config/derivation.h"
#include "sim/config/documented_architecture.h"
#include "sim/config/evidence.h"
#include "sim/config/kernel_library.h"
#include "sim/config/named_file.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

namespace sptc::config {
namespace {

using nlohmann::json;

/// One number as the file has it. Nothing: absent or malformed, and reported.
struct WireNumber {
  const ArchitectureField* field;
  std::optional<Parameter> parameter;
};

/// The file as read, before we know that it is complete and consistent.
struct WireArchitecture {
  std::optional<std::string> name;
  std::optional<std::string> numerics;
  kernels::KernelLibrarySpec library;
  std::vector<WireNumber> numbers;
};

std::vector<std::string_view> keys_of(std::string_view section) {
  std::vector<std::string_view> keys;
  if (section.empty()) {
    keys = {"description", "kernels", "memory", "name", "numerics", "sm"};
  } else if (section == "/sm") {
    keys = {"tensor_core"};
  } else if (section == "/kernels") {
    keys = {"library"};
  }
  for (const ArchitectureField& field : architecture_fields()) {
    if (field.section == section) {
      keys.push_back(field.key);
    }
  }
  return keys;
}

bool allowed(double number, const ArchitectureField& field) {
  const bool whole = number == std::floor(number);
  return number >= field.min() && number <= field.max && (whole || !field.integer);
}

double read_value(const json& value, const io::JsonPlace& place, const ArchitectureField& field) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!allowed(number, field)) {
    place.fail(fmt::format("must be a {} from {} to {}, not {}",
                           field.integer ? "whole number" : "number", field.min(), field.max,
                           io::describe(value)));
  }
  return number;
}

/// Each unknown key is an error of its own.
void check_keys(const io::JsonObject& object, std::string_view section, ErrorList& errors) {
  const std::vector<std::string_view> keys = keys_of(section);
  for (const auto& [key, unused] : object.value().items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      errors.collect([&, &name = key] {
        object.place().fail("unknown key " + base::unknown_name(io::printable(name), keys));
      });
    }
  }
}

void read_section(const io::JsonObject& object, std::string_view section, WireArchitecture& wire,
                  ErrorList& errors) {
  check_keys(object, section, errors);
  for (const ArchitectureField& field : architecture_fields()) {
    if (field.section == section) {
      WireNumber number{&field, std::nullopt};
      errors.collect([&] { number.parameter = read_number(object, field); });
      wire.numbers.push_back(std::move(number));
    }
  }
}

WireArchitecture read_wire(const io::JsonObject& root, ErrorList& errors) {
  WireArchitecture wire;
  errors.collect([&] { wire.name = root.text("name"); });
  errors.collect([&] { root.text_or("description", ""); });
  errors.collect([&] {
    const std::string numerics = root.text("numerics");
    const std::vector<std::string_view> known = mma::step_rule_sets();
    if (std::find(known.begin(), known.end(), numerics) == known.end()) {
      (root.place() / "numerics")
          .fail("unknown numerics " + base::unknown_name(io::printable(numerics), known));
    }
    wire.numerics = numerics;
  });
  read_section(root, "", wire, errors);
  errors.collect([&] {
    const io::JsonObject sm = root.object("sm");
    read_section(sm, "/sm", wire, errors);
    read_section(sm.object("tensor_core"), "/sm/tensor_core", wire, errors);
  });
  errors.collect([&] { read_section(root.object("memory"), "/memory", wire, errors); });
  errors.collect([&] {
    const io::JsonObject kernels = root.object("kernels");
    read_section(kernels, "/kernels", wire, errors);
    wire.library = load_kernel_library(kernels.text("library"), kernels.place() / "library");
  });
  return wire;
}

/// Throws InputError where multipliers that skip zeros are no part of the rest of the tensor core.
void check_zero_skipping(const gpu::GpuSpec& gpu, const io::JsonPlace& place) {
  const tensor_core::TensorCoreSpec& core = gpu.sm.tensor_core;
  if ((core.zero_skip_rows == 0) != (core.zero_skip_columns == 0) ||
      (core.zero_skip_rows == 0 && core.zero_skip_cycles > 0)) {
    place.fail(
        "zero_skip_rows and zero_skip_columns are both 0, with zero_skip_cycles, or neither");
  }
  if (!core.zero_skipping().skips()) {
    return;
  }
  if (core.zero_skip_rows > core.mma_m || core.zero_skip_columns > core.mma_n) {
    place.fail(
        fmt::format("zero_skip_rows {} and zero_skip_columns {} are more than an instruction "
                    "has, {} and {}",
                    core.zero_skip_rows, core.zero_skip_columns, core.mma_m, core.mma_n));
  }
  if (core.selector_inputs > 1) {
    (place / "selector_inputs")
        .fail(
            fmt::format("{} beside zero_skip_rows: rows of A that pick elements of B of their own "
                        "share no outer product; 1 is no selector",
                        core.selector_inputs));
  }
  if (gpu.sm.async_mma_interval_cycles() > 0) {
    place.fail(
        "zero_skip_rows has no effect beside wgmma or tcgen05.mma: set their "
        "interval_cycles to 0 to explore it");
  }
}

/// Shapes that kernels can be built of, and designs that have an effect.
void check_design(const gpu::GpuSpec& gpu, const io::JsonPlace& place, ErrorList& errors) {
  const tensor_core::TensorCoreSpec& core = gpu.sm.tensor_core;
  const auto power_of_two = [&](const char* key, int value, int least) {
    errors.collect([&] {
      if (!std::has_single_bit(static_cast<unsigned>(value)) || value < least) {
        (place / key).fail(fmt::format("{} is no power of two from {} on", value, least));
      }
    });
  };
  power_of_two("mma_m", core.mma_m, 8);
  power_of_two("mma_n", core.mma_n, 8);
  power_of_two("mma_k_bytes", core.mma_k_bytes, 16);
  if (core.accumulator_step_bytes > 0) {
    power_of_two("accumulator_step_bytes", core.accumulator_step_bytes, 4);
  }
  errors.collect([&] {
    // One input is no selector, and there is nothing to keep.
    if (core.selector_inputs > 1 && core.selector_kept > core.selector_inputs) {
      (place / "selector_kept")
          .fail(fmt::format("{} is more than selector_inputs, {}", core.selector_kept,
                            core.selector_inputs));
    }
  });
  errors.collect([&] { check_zero_skipping(gpu, place); });
  errors.collect([&] {
    if (core.mma_design() != mma::MmaDesign() && gpu.sm.async_mma_interval_cycles() > 0) {
      const bool wgmma = gpu.sm.wgmma_interval_cycles > 0;
      place.fail(fmt::format(
          "mma_m, mma_n and mma_k_bytes have no effect beside {}, whose shape is its own: set "
          "{}_interval_cycles to 0 to explore them",
          wgmma ? "wgmma" : "tcgen05.mma", wgmma ? "wgmma" : "tcgen05"));
    }
  });
}

void check_kernels(const gpu::GpuSpec& gpu, const io::JsonPlace& place, ErrorList& errors) {
  errors.collect([&] {
    if (gpu.launch.cluster_ctas > 1 && gpu.sm.async_mma_interval_cycles() == 0) {
      (place / "cluster_ctas")
          .fail("has no effect without wgmma or tcgen05: kernels of mma.sync have no clusters");
    }
  });
}

void check_memory(const memory::MemorySpec& memory, const io::JsonPlace& place, ErrorList& errors) {
  errors.collect([&] {
    if (memory.l2_far_latency_cycles < memory.l2_near_latency_cycles) {
      (place / "l2_far_latency_cycles")
          .fail(fmt::format("{} is less than l2_near_latency_cycles, {}",
                            memory.l2_far_latency_cycles, memory.l2_near_latency_cycles));
    }
  });
  errors.collect([&] {
    if (memory.dram_refresh_ns >= memory.dram_refresh_interval_ns) {
      (place / "dram_refresh_ns")
          .fail(fmt::format("{} is not less than dram_refresh_interval_ns, {}",
                            memory.dram_refresh_ns, memory.dram_refresh_interval_ns));
    }
  });
  errors.collect([&] {
    constexpr double kLeast = 0.1;  // at the highest clock that may be asked for, 0.001 bytes/cycle
    const double gb_per_s = memory.dram_bytes_per_cycle(1) / 1e3;
    if (memory.dram_refresh_ns < memory.dram_refresh_interval_ns && gb_per_s < kLeast) {
      (place / "dram_gb_per_s")
          .fail(fmt::format("{:.2g} GB/s are left at {} % and with refresh, less than {}", gb_per_s,
                            memory.dram_efficiency_percent, kLeast));
    }
  });
  errors.collect([&] {
    constexpr double kLeast = 0.001;
    if (memory.l2_bytes_per_cycle < kLeast * memory.l2_partitions) {
      (place / "l2_bytes_per_cycle")
          .fail(fmt::format("{} is less than {} for each of {} partitions",
                            memory.l2_bytes_per_cycle, kLeast, memory.l2_partitions));
    }
  });
}

void check_sm(const sm::SmSpec& sm, const io::JsonPlace& place, ErrorList& errors) {
  errors.collect([&] {
    if (sm.max_shared_memory_per_cta > sm.shared_memory) {
      (place / "max_shared_memory_per_cta_bytes")
          .fail(fmt::format("{} is more than shared_memory_bytes, {}",
                            sm.max_shared_memory_per_cta.count(), sm.shared_memory.count()));
    }
  });
  errors.collect([&] {
    if (sm.max_warps % sm.sub_partitions != 0) {
      (place / "max_warps")
          .fail(fmt::format("{} is no multiple of sub_partitions, {}", sm.max_warps,
                            sm.sub_partitions));
    }
  });
  const tensor_core::TensorCoreSpec& core = sm.tensor_core;
  errors.collect([&] {
    if (core.dot_units % core.f32_dot_units != 0) {
      (place / "tensor_core" / "f32_dot_units")
          .fail(
              fmt::format("{} does not divide dot_units, {}", core.f32_dot_units, core.dot_units));
    }
  });
  const auto needs_two_cycles = [&](const io::JsonPlace& where, int cycles) {
    errors.collect([&] {
      if (cycles < 2) {
        where.fail(fmt::format("{} is less than 2: the request alone takes a cycle", cycles));
      }
    });
  };
  needs_two_cycles(place / "shared_memory_latency_cycles", sm.shared_memory_latency_cycles);
  needs_two_cycles(place / "barrier_latency_cycles", sm.barrier_latency_cycles);
  errors.collect([&] {
    if (sm.l1_latency_cycles < 3) {
      (place / "l1_latency_cycles")
          .fail(fmt::format("{} is less than 3: request, look-up and answer take a cycle each",
                            sm.l1_latency_cycles));
    }
  });
  errors.collect([&] {
    if (sm.l1_and_shared_memory > base::Bytes() && sm.l1_and_shared_memory < sm.shared_memory) {
      (place / "l1_and_shared_memory_bytes")
          .fail(fmt::format("{} is less than shared_memory_bytes, {}",
                            sm.l1_and_shared_memory.count(), sm.shared_memory.count()));
    }
  });
  errors.collect([&] {
    if (sm.wgmma_interval_cycles > 0 && sm.tcgen05_interval_cycles > 0) {
      (place / "tcgen05_interval_cycles").fail("an SM has wgmma or tcgen05.mma, not both");
    }
  });
  needs_two_cycles(place / "tensor_core" / "operand_fetch_latency_cycles",
                   sm.tensor_core.operand_fetch_latency_cycles);
}

void check_async_copies(const sm::SmSpec& sm, const io::JsonPlace& place, ErrorList& errors) {
  errors.collect([&] {
    constexpr std::array kOfPtx{4, 8, 16};
    const int bytes = sm.async_copy_bytes;
    if (bytes != 0 && std::find(kOfPtx.begin(), kOfPtx.end(), bytes) == kOfPtx.end()) {
      (place / "async_copy_bytes")
          .fail(fmt::format("cp.async copies 4, 8 or 16 bytes, not {}; 0: there is none", bytes));
    }
  });
}

bool has_family(const mma::Target& target, mma::MmaFamily family) {
  const auto entries = mma::instructions(target);
  return std::any_of(entries.begin(), entries.end(), [&](const mma::CatalogueEntry& entry) {
    return entry.instruction.family == family;
  });
}

/// Instructions of warpgroups are not taken from one generation to another one.
void check_instruction_set(const gpu::GpuSpec& gpu, const io::JsonPlace& place, ErrorList& errors) {
  const mma::Target& target = mma::find_target(gpu.instruction_set);
  for (const auto& [key, family] :
       {std::pair("wgmma_interval_cycles", mma::MmaFamily::kWgmma),
        std::pair("tcgen05_interval_cycles", mma::MmaFamily::kTcgen05)}) {
    errors.collect([&, key = key, family = family] {
      if (gpu.sm.has(family) && !has_family(target, family)) {
        (place / key).fail(fmt::format("must be 0: {} has no {}", target.name, mma::name(family)));
      }
    });
  }
}

/// What no single number can get wrong.
void check_consistency(const gpu::GpuSpec& gpu, const io::JsonPlace& root, ErrorList& errors) {
  check_sm(gpu.sm, root / "sm", errors);
  check_async_copies(gpu.sm, root / "sm", errors);
  check_instruction_set(gpu, root / "sm", errors);
  check_design(gpu, root / "sm" / "tensor_core", errors);
  check_memory(gpu.memory, root / "memory", errors);
  check_kernels(gpu, root / "kernels", errors);
}

Architecture to_model(const WireArchitecture& wire, const io::JsonPlace& root, ErrorList& errors) {
  errors.throw_if_any();
  Architecture result;
  result.gpu.name = *wire.name;
  result.gpu.numerics = *wire.numerics;
  result.gpu.instruction_set = *wire.numerics;
  result.gpu.kernels = wire.library;
  for (const WireNumber& number : wire.numbers) {
    number.field->store(result.gpu, number.parameter->value);
    result.parameters.push_back(*number.parameter);
  }
  check_consistency(result.gpu, root, errors);
  errors.throw_if_any();
  return result;
}

DocumentedArchitecture completed(json document, const std::string& file) {
  std::vector<std::string> bases;
  DocumentedArchitecture result;
  result.document = complete_architecture(std::move(document), file, &bases);
  result.value = to_architecture(result.document, file);
  result.value.bases = std::move(bases);
  return result;
}

ArchitectureText completed_text(json document, const std::string& file) {
  ArchitectureText result{"", file, {}};
  const json complete = complete_architecture(std::move(document), file, &result.bases);
  result.document = complete.dump(-1, ' ', false, json::error_handler_t::replace);
  return result;
}

}  // namespace

Parameter read_number(const io::JsonObject& section, const ArchitectureField& field) {
  constexpr std::array<std::string_view, 3> kKeys = {"value", "evidence", "source"};
  const io::JsonObject number = number_with_evidence(section, field.key);
  number.allow_only(kKeys);
  Parameter result;
  result.pointer = number.place().pointer;
  result.unit = unit_of(field.key);
  result.value = read_value(number.require("value"), number.place() / "value", field);
  const Evidence evidence = read_evidence(number);
  result.evidence = evidence.kind;
  result.source = evidence.source;
  return result;
}

Architecture parse_architecture(std::string_view text, const std::string& file) {
  return completed(io::parse_json(text, file), file).value;
}

ArchitectureText complete_architecture_text(std::string_view text, const std::string& file) {
  return completed_text(io::parse_json(text, file), file);
}

Architecture to_architecture(const ArchitectureText& text) {
  Architecture result = to_architecture(io::parse_json(text.document, text.file), text.file);
  result.bases = text.bases;
  return result;
}

Architecture to_architecture(const json& document, const std::string& file) {
  if (document.is_object() && document.contains(kFittedDesign)) {
    json design = document;
    const json fitted = std::move(design[std::string(kFittedDesign)]);
    design.erase(std::string(kFittedDesign));
    Architecture result = to_architecture(design, file);
    result.gpu.fitted_design =
        std::make_shared<const gpu::GpuSpec>(to_architecture(fitted, file).gpu);
    return result;
  }
  const io::JsonObject root(document, {file, ""});
  ErrorList errors;
  const WireArchitecture wire = read_wire(root, errors);
  return to_model(wire, root.place(), errors);
}

void VariedArchitecture::restore() {
  for (const std::size_t index : changed_) {
    varied_.parameters[index] = base_.parameters[index];
  }
  if (!changed_.empty()) {
    varied_.gpu = base_.gpu;
  }
  changed_.clear();
}

const Architecture* VariedArchitecture::with(
    std::span<const std::pair<std::string, double>> numbers, std::string_view source) {
  restore();
  for (const auto& number : numbers) {
    const std::string& pointer = number.first;
    const double value = number.second;
    const auto field = std::find_if(
        architecture_fields().begin(), architecture_fields().end(), [&](const auto& candidate) {
          return pointer.size() == candidate.section.size() + 1 + candidate.key.size() &&
                 pointer.starts_with(candidate.section) && pointer.ends_with(candidate.key);
        });
    const auto parameter =
        std::find_if(varied_.parameters.begin(), varied_.parameters.end(),
                     [&](const Parameter& known) { return known.pointer == pointer; });
    if (field == architecture_fields().end() || parameter == varied_.parameters.end() ||
        !allowed(value, *field)) {
      return nullptr;
    }
    if (parameter->value != value) {
      changed_.push_back(static_cast<std::size_t>(parameter - varied_.parameters.begin()));
      field->store(varied_.gpu, value);
      parameter->value = value;
      parameter->evidence = "assumed";
      parameter->source = source;
    }
  }
  ErrorList errors;
  check_consistency(varied_.gpu, {"", ""}, errors);
  return errors.empty() ? &varied_ : nullptr;
}

Architecture load_architecture(const std::string& name_or_path) {
  const std::filesystem::path path = architecture_path(name_or_path);
  return completed(read_named_file(name_or_path, path), path.string()).value;
}

DocumentedArchitecture load_documented_architecture(const std::string& name_or_path) {
  const std::filesystem::path path = architecture_path(name_or_path);
  DocumentedArchitecture result = completed(read_named_file(name_or_path, path), path.string());
  result.document = with_fitted_design(std::move(result.document));
  return result;
}

ArchitectureText load_architecture_text(const std::string& name_or_path) {
  const std::filesystem::path path = architecture_path(name_or_path);
  return completed_text(read_named_file(name_or_path, path), path.string());
}

std::filesystem::path architecture_path(const std::string& name_or_path) {
  const std::filesystem::path directory = config_directory();
  return named_path(board_name(name_or_path), "architecture", {directory, directory / "mig"});
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names = names_in(config_directory());
  const std::vector<std::string> slices = names_in(config_directory() / "mig");
  names.insert(names.end(), slices.begin(), slices.end());
  std::sort(names.begin(), names.end());
  return names;
}

std::filesystem::path config_directory() {
  const char* const directory = std::getenv("SPTCSIM_CONFIG_DIR");
  if (directory == nullptr || *directory == '\0') {
    return shipped_config_directory();
  }
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    throw base::InputError(
        fmt::format("SPTCSIM_CONFIG_DIR: there is no directory '{}'", io::printable(directory)));
  }
  return directory;
}

namespace {

/// Of set_shipped_config_directory(); empty: none was set.
std::filesystem::path& set_directory() {
  static std::filesystem::path directory;
  return directory;
}

}  // namespace

void set_shipped_config_directory(std::filesystem::path directory) {
  set_directory() = std::move(directory);
}

std::filesystem::path shipped_config_directory() {
  if (!set_directory().empty()) {
    return set_directory();
  }
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  auto installed = program.parent_path().parent_path() / "share" / "sptcsim" / "configs";
  return std::filesystem::is_directory(installed, error) ? installed : SPTC_CONFIG_DIR;
}

std::vector<std::filesystem::path> config_directories(std::string_view folder) {
  const std::filesystem::path own = config_directory() / folder;
  const std::filesystem::path shipped = shipped_config_directory() / folder;
  return own == shipped ? std::vector{own} : std::vector{own, shipped};
}

}  // namespace sptc::config
