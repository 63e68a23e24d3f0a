// SPDX-License-Identifier: Apache-2.0
#include "sim/report/text_parts.h"

#include "sim/report/energy_explanation.h"
#include "sim/report/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace sptc::report {
namespace {

void append_chain(std::string& out, const char* name, const std::optional<double>& simulated,
                  const std::optional<double>& float64, std::int64_t disagreements) {
  if (simulated && float64) {
    out += fmt::format(
        "  {:<8} simulated {:6.2f} %   float64 {:6.2f} %   classified differently: {}\n", name,
        100 * *simulated, 100 * *float64, disagreements);
  }
}

/// Whether the cycles of a tensor core were simulated, which says what it waits for.
bool has_stalls(const run::RunResult& result) {
  const auto has = [](const std::optional<run::VariantResult>& variant) {
    return variant && variant->explanation.stalls;
  };
  return std::any_of(
      result.operations.begin(), result.operations.end(),
      [&](const run::OperationResult& op) { return has(op.dense) || has(op.sparse); });
}

}  // namespace

std::string accuracy_text(const run::RunResult& result) {
  if (!result.accuracy) {
    return "";
  }
  const run::AccuracyResult& accuracy = *result.accuracy;
  std::string out;
  out += fmt::format("\naccuracy on {} samples, layers computed by the simulated tensor cores:\n",
                     accuracy.samples);
  append_chain(out, "dense", accuracy.dense_simulated, accuracy.dense_float64,
               accuracy.dense_disagreements);
  append_chain(out, "sparse", accuracy.sparse_simulated, accuracy.sparse_float64,
               accuracy.sparse_disagreements);
  return out;
}

std::string explanation_text(const run::RunResult& result) {
  if (!result.explained) {
    return "";
  }
  std::string out =
      has_stalls(result)
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
  if (const std::string energy = explain_energy(result.totals);
      result.operations.size() > 1 && !energy.empty()) {
    out += "the network, GEMMs only\n" + energy;
  }
  return out;
}

}  // namespace sptc::report
