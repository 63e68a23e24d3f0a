// SPDX-License-Identifier: Apache-2.0
#include "models/energy/event.h"
#include "sim/report/figure_lists.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sptc::report {
namespace {

using Part = std::pair<std::string_view, std::string_view>;  ///< name, meaning

constexpr std::array<Part, energy::kEventCount + 4> kParts{
    {{"multiply", "multiplying elements of A and B"},
     {"align_add", "aligning products and adding them"},
     {"round", "normalising and rounding sums"},
     {"operand_select", "picking elements of B by metadata"},
     {"operand_latch", "driving operands to the multipliers and holding them"},
     {"metadata_read", "reading metadata from the register file"},
     {"register_read", "reading the register file"},
     {"register_write", "writing the register file"},
     {"shared_memory_read", "reading shared memory, crossbar included"},
     {"shared_memory_write", "writing shared memory, crossbar included"},
     {"l2", "reading and writing the arrays of the L2"},
     {"interconnect", "moving bytes between the SMs and the L2"},
     {"hbm", "moving bytes between the L2 and DRAM"},
     {"instruction_issue", "fetching, decoding and issuing instructions"},
     {"cuda_core_fma", "multiply-adds of the CUDA cores"},
     {"leakage", "leakage of the chip"},
     {"idle_sms", "SMs without work"},
     {"constant", "what the chip takes whatever it does"},
     {"board", "the board around the chip"}}};

std::string_view meaning_of(std::string_view part) {
  return std::find_if(kParts.begin(), kParts.end(),
                      [&](const Part& row) { return row.first == part; })
      ->second;
}

/// The energy of a part; absent where it takes none.
std::optional<FigureValue> part_of(const run::EnergyResult& energy, std::string_view name) {
  for (const auto& [part, uj] : energy.parts_uj) {
    if (part == name && uj != 0) {
      return uj;
    }
  }
  return std::nullopt;
}

/// A bound; absent where nobody says how far the constants may be from the truth.
std::optional<FigureValue> bound(const run::EnergyResult& energy, double value) {
  return energy.factors ? std::optional<FigureValue>(value) : std::nullopt;
}

}  // namespace

template <typename Result>
void append_energy_figures(Figures<Result>& figures) {
  const auto add = [&](const char* group, std::string_view key, std::string_view unit,
                       std::string_view meaning, auto value) {
    figures.push_back({group, std::string(key), unit, meaning,
                       [value](const Result& result) -> std::optional<FigureValue> {
                         return result.energy ? std::optional<FigureValue>(value(*result.energy))
                                              : std::nullopt;
                       }});
  };
  for (const auto& [name, meaning] : kParts) {
    add("energy_uj", name, "uJ", meaning,
        [name = name](const run::EnergyResult& energy) { return part_of(energy, name); });
  }
  using Energy = run::EnergyResult;
  add("energy_uj", "total", "uJ", "all energy", [](const Energy& e) { return e.total_uj; });
  add("energy_uj", "low", "uJ", "all energy, constants at the low ends of their ranges",
      [](const Energy& e) { return bound(e, e.bounds_uj.low); });
  add("energy_uj", "high", "uJ", "all energy, constants at the high ends of their ranges",
      [](const Energy& e) { return bound(e, e.bounds_uj.high); });
  add("", "power_w", "W", "average power", [](const Energy& e) { return e.power_w; });
  add("", "peak_power_w", "W", "power while the tensor cores are fed",
      [](const Energy& e) { return e.peak_power_w; });
  add("", "power_limited", "", "the power limit lowered the clock",
      [](const Energy& e) { return e.limited; });
  add("", "pj_per_flop", "pJ", "energy per effective operation: skipped zeros count",
      [](const Energy& e) { return e.pj_per_flop; });
  add("", "gflops_per_w", "GFLOP/s per W", "effective rate per watt",
      [](const Energy& e) { return 1e3 / e.pj_per_flop; });
  add("", "gflops_per_w_low", "GFLOP/s per W", "the same, constants at the high ends",
      [](const Energy& e) {
        return bound(e, 1e3 / e.pj_per_flop * e.total_uj / e.bounds_uj.high);
      });
  add("", "gflops_per_w_high", "GFLOP/s per W", "the same, constants at the low ends",
      [](const Energy& e) { return bound(e, 1e3 / e.pj_per_flop * e.total_uj / e.bounds_uj.low); });
}

template void append_energy_figures(Figures<run::VariantResult>&);
template void append_energy_figures(Figures<run::VariantTotals>&);

void append_event_figures(Figures<run::VariantResult>& figures) {
  const auto add = [&](const std::string& group, std::string_view key, std::string_view unit,
                       std::string_view meaning, auto value) {
    figures.push_back({group, std::string(key), unit, meaning,
                       [value](const run::VariantResult& variant) -> std::optional<FigureValue> {
                         return variant.energy && variant.energy->counts ? value(*variant.energy)
                                                                         : std::nullopt;
                       }});
  };
  using Energy = run::EnergyResult;
  using Value = std::optional<FigureValue>;
  add("", "core_v", "V", "supply of the core at its clock",
      [](const Energy& energy) -> Value { return energy.core_volts; });
  for (const energy::EventInfo& row : energy::kEvents) {
    const std::string group = "energy_events." + std::string(row.name);
    add(group, "count", "", meaning_of(row.name), [event = row.event](const Energy& energy) {
      const double count = energy.counts->count(event);
      return count > 0 ? Value(count) : std::nullopt;
    });
    add(group, "switching", "", "share that switches; 1: as with N(0,1) operands",
        [event = row.event](const Energy& energy) {
          const double count = energy.counts->count(event);
          return count > 0 ? Value(energy.counts->switched(event) / count) : std::nullopt;
        });
  }
}

}  // namespace sptc::report
