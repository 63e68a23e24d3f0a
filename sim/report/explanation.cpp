// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explanation.h"

#include "sim/report/fitted_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string_view>
#include <utility>

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

/// "dense: tensor cores 89 % at work, waits for the L2 5 % of the cycles; twice the tensor rate
/// would gain 1.52x".
std::string clause(std::string_view name, const run::VariantResult& variant) {
  std::string text = fmt::format("{}: ", name);
  if (const auto& stalls = variant.explanation.stalls) {
    const std::size_t longest = longest_stall(*stalls);
    text += fmt::format("tensor cores {:.0f} % at work", 100 * (*stalls)[sm::StallReason::kMma]);
    text += fmt::format(", {} {:.0f} % of the cycles", sm::kStallNames[longest].words,
                        100 * stalls->of[longest]);
  }
  if (variant.energy && variant.energy->limited) {
    text += fmt::format("{}at {:.0f} MHz by the power limit",
                        variant.explanation.stalls ? ", " : "", variant.timing.clock_mhz);
  }
  if (const auto& what_if = variant.explanation.what_if) {
    const run::Resource bound = what_if->bound_by();
    text += fmt::format("{}{} would gain {:.2f}x", text.back() == ' ' ? "" : "; ",
                        run::name_of(bound).change, (*what_if)[bound]);
  }
  return text;
}

/// "dense  64 CTAs of 256x128; at most 1 on an SM (registers): 1 wave".
std::string grid_line(std::string_view name, const kernels::KernelResult& kernel) {
  return fmt::format(
      "  {:<12} {} CTAs of {}x{}{}; at most {} on an SM{}: {} wave{}\n", name, kernel.ctas,
      kernel.cta_tile.m, kernel.cta_tile.n,
      kernel.persistent ? fmt::format(", which take {} tiles", kernel.output_tiles) : "",
      kernel.ctas_per_sm,
      kernel.occupancy_limit.empty() ? "" : fmt::format(" ({})", kernel.occupancy_limit),
      kernel.waves, kernel.waves == 1 ? "" : "s");
}

/// In lines of at most 120 columns, two blanks in front of each.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 120;
  std::string out, line = " ";
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kWidth) {
      out += std::exchange(line, " ") + "\n";
    }
    line += " " + word;
  }
  return out + line + "\n";
}

/// Shares that sum to 1, in whole thousandths that sum to 1000: what is cut off goes to those that
/// lose most.
std::array<double, sm::kStallReasons> in_thousandths(
    const std::array<double, sm::kStallReasons>& shares) {
  std::array<double, sm::kStallReasons> whole{};
  std::array<std::size_t, sm::kStallReasons> order{};
  std::transform(shares.begin(), shares.end(), whole.begin(),
                 [](double share) { return std::floor(1000 * share); });
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
      fmt::format("{} ({} x {} x {}{})\n", fitted_layer(operation.name, 60), operation.shape.m,
                  operation.shape.n, operation.shape.k,
                  operation.batch > 1 ? fmt::format(", batch {}", operation.batch) : "");
  std::string grid;
  std::string stalls;
  std::string gains;
  for (const auto& [name, variant] :
       {std::pair<std::string_view, const std::optional<run::VariantResult>&>("dense",
                                                                              operation.dense),
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
  return out + wrapped(explanation_sentence(operation));
}

}  // namespace sptc::report
