// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explanation.h"

#include "sim/report/bottleneck_sentence.h"
#include "sim/report/fitted_name.h"
#include "sim/run/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace sptc::sim {
namespace {

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

/// What goes where `resource` is twice as fast, in percent, with a star where that is more than
/// busy cycles explain; "chance" where a launch changes as much without a reason.
std::string saved_cell(const Bottleneck& bottleneck, Resource resource) {
  const double chance = resource == Resource::kLaunch ? 0 : bottleneck.by_chance();
  return chance > 0 && std::abs(bottleneck.own_saving({resource})) <= chance
             ? "chance"
             : fmt::format("{:.1f}{}", 100 * bottleneck.saved_by_doubling({resource}),
                           bottleneck.saves_more_than_its_own(resource) ? "*" : "");
}

/// Two rows of the table: how long each resource works, and what goes if it is twice as fast. Tail:
/// multiply cycles of the busiest SM that the mean SM does not have. Wait: cycles in which not even
/// the busiest resource works. The share of the busiest resource, wait and launch are the whole
/// time. Calibration: what it is of that, part of the work and of the wait.
std::string rows(std::string_view variant, const VariantResult& result) {
  const CycleBudget& b = result.budget;
  const Bottleneck bottleneck(result);
  const auto share = [&](double cycles) { return 100 * bottleneck.share_of_cycles(cycles); };
  const double idle = b.cycles - busy_cycles(b, busiest_rates(b).front());
  const auto saved = [&](Resource resource) { return saved_cell(bottleneck, resource); };
  return fmt::format(
             "  {:<7} {:>9.1f} us {:>7.1f} {:>7.1f} {:>7.1f} {:>7.1f} {:>7.1f} {:>7.1f} {:>7.1f} "
             "{:>7.1f} {:>7.1f} {:>7.1f}\n",
             variant, result.time_us, share(b.tensor), share(b.tensor - b.tensor_mean),
             share(b.operand_fetch), share(b.shared_memory), share(b.sm_port), share(b.l2),
             share(b.dram), share(std::max(0.0, idle)),
             percent(result.calibration_us, result.time_us),
             percent(result.launch_us, result.time_us)) +
         fmt::format("  {:<20} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
                     "  saved if 2x as fast", saved(Resource::kTensor), "", "",
                     saved(Resource::kSharedMemory), saved(Resource::kSmPort), saved(Resource::kL2),
                     saved(Resource::kDram), saved(Resource::kWaits), "", saved(Resource::kLaunch));
}

}  // namespace

std::string explain(const OperationResult& operation) {
  std::string out = fmt::format(
      "{} ({} x {} x {})\n  {:<7} {:>12} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} "
      "{:>7}\n",
      fitted_name(operation.name, 60), operation.shape.m, operation.shape.n, operation.shape.k,
      "share %", "time", "tensor", "tail", "fetch", "smem", "SM port", "L2", "DRAM", "wait",
      "calibr", "launch");
  if (operation.dense) {
    out += rows("dense", *operation.dense);
  }
  if (operation.sparse) {
    out += rows("sparse", *operation.sparse);
  }
  return out + "  " + bottleneck_sentence(operation) + "\n";
}

}  // namespace sptc::sim
