// SPDX-License-Identifier: Apache-2.0
#include "sim/report/energy_explanation.h"

#include "models/base/error.h"
#include "sim/report/wrapped.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string_view>
#include <vector>

namespace sptc::report {
namespace {

/// Of the energy of the dense launch, what a level has to save or add to be listed: what is less
/// than the fourth digit of the total explains nothing.
constexpr double kListed = 1e-4;

/// A level of the machine and the parts of EnergyResult that belong to it.
struct Level {
  std::string_view name;   ///< as a column
  std::string_view words;  ///< in a sentence
  std::vector<std::string_view> parts;
};

/// Every part belongs to one level.
const std::array<Level, 9>& levels() {
  static const std::array<Level, 9> kAll = {{
      {"multiply", "multiplying and adding", {"multiply", "align_add", "round", "operand_latch"}},
      {"select", "selecting operands", {"operand_select"}},
      {"metadata", "reading metadata", {"metadata_read"}},
      {"register", "registers", {"register_read", "register_write"}},
      {"smem", "shared memory", {"shared_memory_read", "shared_memory_write"}},
      {"L2", "the L2 and the way there", {"l2", "interconnect"}},
      {"DRAM", "DRAM", {"hbm"}},
      {"issue", "instructions", {"instruction_issue", "cuda_core_fma"}},
      {"rest", "what flows at rest", {"leakage", "idle_sms", "constant", "board"}},
  }};
  return kAll;
}

using LevelEnergies = std::array<double, 9>;  ///< uJ

LevelEnergies by_level(const run::EnergyResult& energy) {
  LevelEnergies result{};
  for (const auto& [part, uj] : energy.parts_uj) {
    const auto level =
        std::find_if(levels().begin(), levels().end(), [&name = part](const Level& row) {
          return std::find(row.parts.begin(), row.parts.end(), name) != row.parts.end();
        });
    base::ensure(level != levels().end(), "report: a part of the energy belongs to no level");
    result[static_cast<std::size_t>(level - levels().begin())] += uj;
  }
  return result;
}

std::string header() {
  std::string text = fmt::format("  {:<7} {:>12} {:>7}", "joule %", "energy", "W");
  for (const Level& level : levels()) {
    text += fmt::format(" {:>8}", level.name);
  }
  return text + "\n";
}

std::string row(std::string_view variant, const run::EnergyResult& energy) {
  std::string text =
      fmt::format("  {:<7} {:>9.1f} uJ {:>7.1f}", variant, energy.total_uj, energy.power_w);
  for (const double uj : by_level(energy)) {
    text += fmt::format(" {:>8.1f}", energy.total_uj > 0 ? 100 * uj / energy.total_uj : 0);
  }
  return text + "\n";
}

int decimals(double total_uj) {
  constexpr int kLeast = 1;
  constexpr int kMost = 6;
  constexpr int kDigits = 4;  // of the total, behind its first
  return total_uj > 0 ? std::clamp(kDigits - static_cast<int>(std::floor(std::log10(total_uj))),
                                   kLeast, kMost)
                      : kLeast;
}

/// "a 12.3, b 4.0 and c 1.1" of the levels that are not next to nothing of `whole`.
std::string list(std::vector<std::pair<double, std::string_view>> items, double whole) {
  std::erase_if(items, [&](const auto& item) {
    return item.first < kListed * whole || !uj_shows(item.first, whole);
  });
  std::sort(items.begin(), items.end(), std::greater<>());
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ");
    text += fmt::format("{} {}", items[i].second, uj_text(items[i].first, whole));
  }
  return text;
}

std::string rows(std::string_view weights, const run::EnergyResult* dense,
                 const run::EnergyResult* sparse) {
  if (dense == nullptr && sparse == nullptr) {
    return "";
  }
  std::string text = header();
  text += dense != nullptr ? row("dense", *dense) : "";
  text += sparse != nullptr ? row("sparse", *sparse) : "";
  if (dense != nullptr && sparse != nullptr) {
    std::istringstream lines(wrapped(energy_sentence(weights, *dense, *sparse), 118));
    for (std::string line; std::getline(lines, line);) {
      text += "  " + line + "\n";
    }
  }
  return text;
}

template <typename Variant>
const run::EnergyResult* energy_of(const std::optional<Variant>& variant) {
  return variant && variant->energy ? &*variant->energy : nullptr;
}

}  // namespace

std::string energy_sentence(std::string_view weights, const run::EnergyResult& dense,
                            const run::EnergyResult& sparse) {
  const LevelEnergies before = by_level(dense);
  const LevelEnergies after = by_level(sparse);
  std::vector<std::pair<double, std::string_view>> saved;
  std::vector<std::pair<double, std::string_view>> added;
  for (std::size_t i = 0; i < before.size(); ++i) {
    auto& side = after[i] <= before[i] ? saved : added;
    side.emplace_back(std::abs(before[i] - after[i]), levels()[i].words);
  }
  const double difference = dense.total_uj - sparse.total_uj;
  std::string text =
      fmt::format("{} {} {:.1f} % of the energy", weights, difference >= 0 ? "saves" : "costs",
                  dense.total_uj > 0 ? 100 * std::abs(difference) / dense.total_uj : 0);
  const std::string less = list(std::move(saved), dense.total_uj);
  const std::string more = list(std::move(added), dense.total_uj);
  text += less.empty() ? "" : "; less, in uJ: " + less;
  text += more.empty() ? "" : "; more: " + more;
  return text + ".";
}

std::string uj_text(double uj, double total_uj) {
  return fmt::format("{:.{}f}", uj, decimals(total_uj));
}

bool uj_shows(double uj, double total_uj) {
  return uj >= 0.5 * std::pow(10, -decimals(total_uj));
}

std::array<EnergyShare, 4> energy_shares(const run::EnergyResult& energy) {
  const LevelEnergies level = by_level(energy);
  return {{{"tensor cores", level[0] + level[1] + level[2]},
           {"registers, shared memory", level[3] + level[4]},
           {"L2, the way there, DRAM", level[5] + level[6]},
           {"instructions, leakage, board", level[7] + level[8]}}};
}

std::string explain_energy(const run::OperationResult& operation) {
  return rows(operation.pattern, energy_of(operation.dense), energy_of(operation.sparse));
}

std::string explain_energy(const run::Totals& totals) {
  return rows("the sparse network", energy_of(totals.dense), energy_of(totals.sparse));
}

}  // namespace sptc::report
