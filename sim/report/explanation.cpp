// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explanation.h"

#include "models/base/error.h"
#include "sim/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace sptc::report {
namespace {

template <typename Names>
std::string header(std::string_view first, const Names& names) {
  std::string out = fmt::format("  {:<12}", first);
  for (const auto& name : names) {
    out += fmt::format(" {:>7}", name.column);
  }
  return out + "\n";
}

template <typename Figures>
std::string row(std::string_view variant, const Figures& figures, int decimals, double times) {
  std::string out = fmt::format("  {:<12}", variant);
  for (const double figure : figures) {
    out += fmt::format(" {:>7.{}f}", times * figure, decimals);
  }
  return out + "\n";
}

/// The other one than multiplying that takes most cycles.
std::size_t longest_stall(const gpu::StallShares& shares) {
  const auto longest = std::max_element(shares.of.begin() + 1, shares.of.end());
  return static_cast<std::size_t>(std::distance(shares.of.begin(), longest));
}

/// "dense: tensor cores 89 % at work, waits for the L2 5 % of the cycles; twice the tensor rate would gain 1.52x".
std::string clause(std::string_view name, const run::VariantResult& variant) {
  std::string text = fmt::format("{}: ", name);
  if (const auto& stalls = variant.explanation.stalls) {
    const std::size_t longest = longest_stall(*stalls);
    text += fmt::format("tensor cores {:.0f} % at work", 100 * (*stalls)[sm::StallReason::kMma]);
    text += fmt::format(", {} {:.0f} % of the cycles", sm::kStallNames[longest].words, 100 * stalls->of[longest]);
  }
  if (variant.energy && variant.energy->limited) {
    text += fmt::format("{}at {:.0f} MHz by the power limit", variant.explanation.stalls ? ", " : "",
                        variant.timing.clock_mhz);
  }
  if (const auto& what_if = variant.explanation.what_if) {
    const run::Resource bound = what_if->bound_by();
    text += fmt::format("{}{} would gain {:.2f}x", text.back() == ' ' ? "" : "; ", run::name_of(bound).change,
                        (*what_if)[bound]);
  }
  return text;
}

/// "dense  64 CTAs of 256x128; at most 1 on an SM (registers): 1 wave".
std::string grid_line(std::string_view name, const kernels::KernelResult& kernel) {
  return fmt::format(
      "  {:<12} {} CTAs of {}x{}{}; at most {} on an SM{}: {} wave{}\n", name, kernel.ctas, kernel.cta_tile.m,
      kernel.cta_tile.n, kernel.persistent ? fmt::format(", which take {} tiles", kernel.output_tiles) : "",
      kernel.ctas_per_sm, kernel.occupancy_limit.empty() ? "" : fmt::format(" ({})", kernel.occupancy_limit),
      kernel.waves, kernel.waves == 1 ? "" : "s");
}

/// Shares that sum to 1, in whole thousandths that sum to 1000: what is cut off goes to those that lose most.
std::array<double, sm::kStallReasons> in_thousandths(const std::array<double, sm::kStallReasons>& shares) {
  std::array<double, sm::kStallReasons> whole{};
  std::array<std::size_t, sm::kStallReasons> order{};
  std::transform(shares.begin(), shares.end(), whole.begin(), [](double share) { return std::floor(1000 * share); });
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return 1000 * shares[a] - whole[a] > 1000 * shares[b] - whole[b];
  });
  const double left = 1000 - std::accumulate(whole.begin(), whole.end(), 0.0);
  for (std::size_t i = 0; i < order.size() && static_cast<double>(i) < left; ++i) {
    ++whole[order[i]];
  }
  return whole;
}

/// Share of the energy of the dense launch that a level has to save or add to be listed: what is less than the fourth
/// digit of the total explains nothing.
constexpr double kLeastListed = 1e-4;

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
    const auto level = std::find_if(levels().begin(), levels().end(), [&name = part](const Level& row) {
      return std::find(row.parts.begin(), row.parts.end(), name) != row.parts.end();
    });
    base::ensure(level != levels().end(), "report: a part of the energy belongs to no level");
    result[static_cast<std::size_t>(level - levels().begin())] += uj;
  }
  return result;
}

std::string energy_header() {
  std::string text = fmt::format("  {:<7} {:>12} {:>7}", "joule %", "energy", "W");
  for (const Level& level : levels()) {
    text += fmt::format(" {:>8}", level.name);
  }
  return text + "\n";
}

std::string energy_row(std::string_view variant, const run::EnergyResult& energy) {
  std::string text = fmt::format("  {:<7} {:>9.1f} uJ {:>7.1f}", variant, energy.total_uj, energy.power_w);
  for (const double uj : by_level(energy)) {
    text += fmt::format(" {:>8.1f}", energy.total_uj > 0 ? 100 * uj / energy.total_uj : 0);
  }
  return text + "\n";
}

/// As many as tell a ten-thousandth of a total from 0.
int decimals(double total_uj) {
  constexpr int kLeast = 1;
  constexpr int kMost = 6;
  constexpr int kDigits = 4;  // of the total, behind its first
  return total_uj > 0 ? std::clamp(kDigits - static_cast<int>(std::floor(std::log10(total_uj))), kLeast, kMost)
                      : kLeast;
}

/// "a 12.3, b 4.0 and c 1.1" of the levels that are not next to nothing of `whole`.
std::string list(std::vector<std::pair<double, std::string_view>> items, double whole) {
  const int places = decimals(whole);
  std::erase_if(items, [&](const auto& item) {
    return item.first < kLeastListed * whole || item.first < 0.5 * std::pow(10, -places);
  });
  std::sort(items.begin(), items.end(), std::greater<>());
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ");
    text += fmt::format("{} {:.{}f}", items[i].second, items[i].first, places);
  }
  return text;
}

std::string energy_rows(std::string_view weights, const run::EnergyResult* dense, const run::EnergyResult* sparse) {
  if (dense == nullptr && sparse == nullptr) {
    return "";
  }
  std::string text = energy_header();
  text += dense != nullptr ? energy_row("dense", *dense) : "";
  text += sparse != nullptr ? energy_row("sparse", *sparse) : "";
  return dense != nullptr && sparse != nullptr
             ? text + wrapped(energy_sentence(weights, *dense, *sparse), kListWidth, "  ")
             : text;
}

template <typename Variant>
const run::EnergyResult* energy_of(const std::optional<Variant>& variant) {
  return variant && variant->energy ? &*variant->energy : nullptr;
}

/// Whether the cycles of a tensor core were simulated, which says what it waits for.
bool has_stalls(const run::RunResult& result) {
  const auto has = [](const std::optional<run::VariantResult>& variant) {
    return variant && variant->explanation.stalls;
  };
  return std::any_of(result.operations.begin(), result.operations.end(),
                     [&](const run::OperationResult& op) { return has(op.dense) || has(op.sparse); });
}

}  // namespace

std::string explanation_sentence(const run::OperationResult& operation) {
  std::string text;
  if (const auto speedup = operation.speedup()) {
    text = fmt::format("{} gains {:.2f}x. ", operation.pattern, *speedup);
  }
  if (operation.dense) {
    text += clause("dense", *operation.dense) + (operation.sparse ? ". " : "");
  }
  return text + (operation.sparse ? clause(operation.pattern, *operation.sparse) : "") + ".";
}

std::string explain(const run::OperationResult& operation) {
  std::string out =
      fmt::format("{} ({} x {} x {}{})\n", fitted_layer(operation.name, 60), operation.shape.m, operation.shape.n,
                  operation.shape.k, operation.batch > 1 ? fmt::format(", batch {}", operation.batch) : "");
  std::string grid;
  std::string stalls;
  std::string gains;
  for (const auto& [name, variant] :
       {std::pair<std::string_view, const std::optional<run::VariantResult>&>("dense", operation.dense),
        {operation.pattern, operation.sparse}}) {
    grid += variant ? grid_line(name, variant->kernel) : "";
    if (variant && variant->explanation.stalls) {
      stalls += row(name, in_thousandths(variant->explanation.stalls->of), 1, 0.1);
    }
    if (variant && variant->explanation.what_if) {
      gains += row(name, variant->explanation.what_if->speedup, 2, 1);
    }
  }
  out += grid;
  out += stalls.empty() ? "" : header("% of cycles", sm::kStallNames) + stalls;
  out += gains.empty() ? "" : header("twice: gain", run::kResourceNames) + gains;
  return out + wrapped(explanation_sentence(operation), kListWidth, "  ");
}

std::string energy_sentence(std::string_view weights, const run::EnergyResult& dense, const run::EnergyResult& sparse) {
  const LevelEnergies before = by_level(dense);
  const LevelEnergies after = by_level(sparse);
  std::vector<std::pair<double, std::string_view>> saved;
  std::vector<std::pair<double, std::string_view>> added;
  for (std::size_t i = 0; i < before.size(); ++i) {
    auto& side = after[i] <= before[i] ? saved : added;
    side.emplace_back(std::abs(before[i] - after[i]), levels()[i].words);
  }
  const double difference = dense.total_uj - sparse.total_uj;
  std::string text = fmt::format("{} {} {:.1f} % of the energy", weights, difference >= 0 ? "saves" : "costs",
                                 dense.total_uj > 0 ? 100 * std::abs(difference) / dense.total_uj : 0);
  const std::string less = list(std::move(saved), dense.total_uj);
  const std::string more = list(std::move(added), dense.total_uj);
  text += less.empty() ? "" : "; less, in uJ: " + less;
  text += more.empty() ? "" : "; more: " + more;
  return text + ".";
}

std::array<EnergyShare, 4> energy_shares(const run::EnergyResult& energy) {
  const LevelEnergies level = by_level(energy);
  return {{{"tensor cores", level[0] + level[1] + level[2]},
           {"registers, shared memory", level[3] + level[4]},
           {"L2, the way there, DRAM", level[5] + level[6]},
           {"instructions, leakage, board", level[7] + level[8]}}};
}

std::string explain_energy(const run::OperationResult& operation) {
  return energy_rows(operation.pattern, energy_of(operation.dense), energy_of(operation.sparse));
}

std::string accuracy_text(const run::RunResult& result) {
  if (!result.accuracy) {
    return "";
  }
  const run::AccuracyResult& accuracy = *result.accuracy;
  std::string out =
      fmt::format("\naccuracy on {} samples, layers computed by the simulated tensor cores:\n", accuracy.samples);
  for (const auto& [name, chain] : {std::pair("dense", &accuracy.dense), {"sparse", &accuracy.sparse}}) {
    if (*chain) {
      out += fmt::format("  {:<8} simulated {:6.2f} %   float64 {:6.2f} %   classified differently: {}\n", name,
                         100 * (*chain)->simulated, 100 * (*chain)->float64, (*chain)->disagreements);
    }
  }
  return out;
}

std::string explanation_text(const run::RunResult& result) {
  if (!result.explained) {
    return "";
  }
  std::string out = has_stalls(result)
                        ? "\nwhy: what the tensor cores do or wait for, of the cycles of all of them (simulated; "
                          "lat: latency, ends: prologue and\nepilogue); "
                        : "\nwhy: what the tensor cores wait for is of --fidelity timing alone; ";
  out +=
      "gain: speed-up with twice of a resource, half of latency or launch (closed form, same "
      "kernel and clock)\n";
  for (const run::OperationResult& op : result.operations) {
    out += explain(op);
    out += explain_energy(op);
  }
  const std::string energy =
      energy_rows("the sparse network", energy_of(result.totals.dense), energy_of(result.totals.sparse));
  return out + (result.operations.size() > 1 && !energy.empty() ? "the network, GEMMs only\n" + energy : "");
}

}  // namespace sptc::report
