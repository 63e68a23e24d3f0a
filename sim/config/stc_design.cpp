// SPDX-License-Identifier: Apache-2.0
#include "sim/config/stc_design.h"

#include "sim/config/architecture.h"
#include "sim/config/energy_number.h"
#include "sim/config/named_file.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <type_traits>

namespace sptc::config {
namespace {

using nlohmann::json;

std::vector<std::filesystem::path> designs_directories() {
  return config_directories("energy/designs");
}

struct StcField {
  std::string_view key;
  double max;
  bool (*store)(energy::StcDesign&, double);  ///< false where a count has a fraction
};

template <typename Number>
bool store(Number& member, double value) {
  member = static_cast<Number>(value);
  return static_cast<double>(member) == value;
}

template <auto Member>
bool store_stc(energy::StcDesign& design, double value) {
  return store(design.*Member, value);
}

using Stc = energy::StcDesign;
constexpr double kMaxWords = 1 << 30;
constexpr double kMaxRow = 1e6;

// Of rows of multipliers that hold weights.
constexpr std::array kStcRowFields = {
    StcField{"spatial_m", 4096, store_stc<&Stc::spatial_m>},
    StcField{"spatial_k", 4096, store_stc<&Stc::spatial_k>},
    StcField{"n_tile", 65536, store_stc<&Stc::n_tile>},
    StcField{"weight_register_pj", kMaxRow, store_stc<&Stc::weight_register_pj>},
};

template <auto Member>
bool store_dual(energy::StcDesign& design, double value) {
  return store((*design.dual_side).*Member, value);
}

using Dual = energy::DualSide;

// The section "dual_side", instead of them.
constexpr std::array kDualFields = {
    StcField{"array_m", 1024, store_dual<&Dual::array_m>},
    StcField{"array_n", 1024, store_dual<&Dual::array_n>},
    StcField{"arrays_m", 1024, store_dual<&Dual::arrays_m>},
    StcField{"arrays_n", 1024, store_dual<&Dual::arrays_n>},
    StcField{"accumulators", 1 << 20, store_dual<&Dual::accumulators>},
    StcField{"operand_registers", 1 << 20, store_dual<&Dual::operand_registers>},
    StcField{"overhead_cycles", kMaxRow, store_dual<&Dual::overhead_cycles>},
    StcField{"operand_register_pj", kMaxRow, store_dual<&Dual::operand_register_pj>},
    StcField{"bitmap_register_pj", kMaxRow, store_dual<&Dual::bitmap_register_pj>},
};

constexpr std::array kStcFields = {
    StcField{"shared_memory_words", kMaxWords, store_stc<&Stc::shared_memory_words>},
    StcField{"shared_memory_words_per_cycle", kMaxRow,
             store_stc<&Stc::shared_memory_words_per_cycle>},
    StcField{"dram_words_per_cycle", kMaxRow, store_stc<&Stc::dram_words_per_cycle>},
    StcField{"multiply_accumulate_pj", kMaxRow, store_stc<&Stc::multiply_accumulate_pj>},
    StcField{"register_read_pj", kMaxRow, store_stc<&Stc::register_read_pj>},
    StcField{"register_write_pj", kMaxRow, store_stc<&Stc::register_write_pj>},
    StcField{"shared_memory_read_pj", kMaxRow, store_stc<&Stc::shared_memory_read_pj>},
    StcField{"shared_memory_write_pj", kMaxRow, store_stc<&Stc::shared_memory_write_pj>},
    StcField{"metadata_read_pj", kMaxRow, store_stc<&Stc::metadata_read_pj>},
    StcField{"metadata_write_pj", kMaxRow, store_stc<&Stc::metadata_write_pj>},
    StcField{"dram_pj", kMaxRow, store_stc<&Stc::dram_pj>},
    StcField{"dram_metadata_pj", kMaxRow, store_stc<&Stc::dram_metadata_pj>},
};

constexpr std::string_view kDualSection = "dual_side";
constexpr StcField kStcArea{"area_mm2", kMaxRow, store_stc<&Stc::area_mm2>};

template <typename Fields>
void read_stc(const io::JsonObject& section, const Fields& fields, energy::StcDesign& design,
              ErrorList& errors) {
  for (const StcField& field : fields) {
    errors.collect([&] {
      const io::JsonObject number = section.object(field.key);
      const double value = read_number(number, true, field.max, false).value;
      if (!field.store(design, value)) {
        number.place().fail(fmt::format("must be a whole number, not {}", value));
      }
    });
  }
}

/// Throws InputError where a design has no arrays, or no tile of D fits them.
void check_dual_side(const energy::DualSide& dual, const io::JsonPlace& place) {
  for (const std::int64_t extent : {dual.array_m, dual.array_n, dual.arrays_m, dual.arrays_n}) {
    if (extent < 1) {
      place.fail("array_m, array_n, arrays_m and arrays_n must be whole numbers from 1");
    }
  }
  bool fits = false;
  for (std::int64_t m = dual.array_m; m <= dual.accumulators / dual.array_n; m *= 2) {
    fits = fits || m + dual.accumulators / m <= dual.operand_registers;
  }
  if (!fits || dual.accumulators % (dual.array_m * dual.array_n) != 0) {
    place.fail(
        fmt::format("accumulators, {}, are no whole number of arrays of {} x {}, or no tile "
                    "of so many fits operand_registers, {}",
                    dual.accumulators, dual.array_m, dual.array_n, dual.operand_registers));
  }
}

energy::StcDesign to_stc_design(const json& document, const std::string& file) {
  const io::JsonObject root(document, {file, ""});
  std::vector<std::string> keys = {"name", "description", "node_nm"};
  const bool dual_side = document.is_object() && document.contains(kDualSection);
  for (const StcField& field : kStcFields) {
    keys.emplace_back(field.key);
  }
  keys.emplace_back(kStcArea.key);
  if (dual_side) {
    keys.emplace_back(kDualSection);
  } else {
    for (const StcField& field : kStcRowFields) {
      keys.emplace_back(field.key);
    }
  }
  ErrorList errors;
  check_keys(root, keys, errors);
  errors.collect([&] { root.text("name"); });
  errors.collect([&] { root.text_or("description", ""); });
  errors.collect([&] { root.integer("node_nm", 1, kMaxNode); });
  energy::StcDesign design;
  read_stc(root, kStcFields, design, errors);
  if (root.has(kStcArea.key)) {
    read_stc(root, std::array{kStcArea}, design, errors);
  }
  if (dual_side) {
    design.dual_side.emplace();
    errors.collect([&] {
      const io::JsonObject section = root.object(kDualSection);
      std::vector<std::string> known;
      known.reserve(kDualFields.size());
      for (const StcField& field : kDualFields) {
        known.emplace_back(field.key);
      }
      check_keys(section, known, errors);
      read_stc(section, kDualFields, design, errors);
    });
  } else {
    read_stc(root, kStcRowFields, design, errors);
  }
  errors.throw_if_any();
  if (dual_side) {
    check_dual_side(*design.dual_side, root.place() / std::string(kDualSection));
  }
  for (const std::int64_t extent : {design.spatial_m, design.spatial_k, design.n_tile}) {
    if (!dual_side && extent < 1) {
      root.place().fail("spatial_m, spatial_k and n_tile must be whole numbers from 1");
    }
  }
  if (design.shared_memory_words_per_cycle <= 0 || design.dram_words_per_cycle <= 0) {
    root.place().fail("bandwidths must be above 0");
  }
  return design;
}

}  // namespace

std::vector<std::string> stc_design_names() {
  return names_in(designs_directories());
}

energy::StcDesign parse_stc_design(std::string_view text, const std::string& file) {
  return to_stc_design(io::parse_json(text, file), file);
}

energy::StcDesign load_stc_design(const std::string& name_or_path) {
  const std::filesystem::path path = named_path(name_or_path, "design", designs_directories());
  return to_stc_design(read_named_file(name_or_path, path), path.string());
}

}  // namespace sptc::config
