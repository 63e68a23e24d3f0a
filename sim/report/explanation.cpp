// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explanation.h"

#include "sim/report/bottleneck_sentence.h"
#include "sim/report/fitted_name.h"
#include "sim/run/bottleneck.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace sptc::sim {
namespace {

/// What goes where `resource` is twice as fast, in percent, with a star where that is more than
/// busy cycles explain; "chance" where a launch changes as much without a reason.
std::string saved_cell(const Bottleneck& bottleneck, Resource resource) {
  const double chance = resource == Resource::kLaunch ? 0 : bottleneck.by_chance();
  return chance > 0 && std::abs(bottleneck.own_saving({resource})) <= chance
             ? "chance"
             : fmt::format("{:.1f}{}", 100 * bottleneck.saved_by_doubling({resource}),
                           bottleneck.saves_more_than_its_own(resource) ? "*" : "");
}

/// Two rows of the table: how long each resource works, and what goes if it is twice as fast.
std::string rows(std::string_view variant, const VariantResult& result) {
  const Bottleneck bottleneck(result);
  const TimeShares shares = bottleneck.shares();
  std::string out = fmt::format("  {:<7} {:>9.1f} us", variant, result.time_us);
  for (const double share : {shares.tensor, shares.tail, shares.operand_fetch, shares.shared_memory,
                             shares.sm_port, shares.l2, shares.dram, shares.wait, shares.launch}) {
    out += fmt::format(" {:>7.1f}", 100 * share);
  }
  const auto saved = [&](Resource resource) { return saved_cell(bottleneck, resource); };
  return out + "\n" +
         fmt::format("  {:<20} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
                     "  saved if 2x as fast", saved(Resource::kTensor), "", "",
                     saved(Resource::kSharedMemory), saved(Resource::kSmPort), saved(Resource::kL2),
                     saved(Resource::kDram), saved(Resource::kWaits), "", saved(Resource::kLaunch));
}

}  // namespace

std::string explain(const OperationResult& operation) {
  std::string out = fmt::format(
      "{} ({} x {} x {}{})\n  {:<7} {:>12} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} "
      "{:>7}\n",
      fitted_name(operation.name, 60), operation.shape.m, operation.shape.n, operation.shape.k,
      operation.batch > 1 ? fmt::format(", batch {}", operation.batch) : "", "share %", "time",
      "tensor", "tail", "fetch", "smem", "SM port", "L2", "DRAM", "wait", "calibr", "launch");
  if (operation.dense) {
    out += rows("dense", *operation.dense);
  }
  if (operation.sparse) {
    out += rows("sparse", *operation.sparse);
  }
  return out + "  " + bottleneck_sentence(operation) + "\n";
}

}  // namespace sptc::sim
