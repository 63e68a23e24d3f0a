// SPDX-License-Identifier: Apache-2.0
#include "sim/report/text_parts.h"

#include "sim/report/energy_explanation.h"
#include "sim/report/explanation.h"

#include <fmt/format.h>

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
      "\nwhy: what the tensor cores do or wait for, of the cycles of all of them (simulated; "
      "lat: "
      "latency, ends: prologue and\nepilogue); gain: speed-up with twice of a resource, half of "
      "latency or launch (closed form, same kernel and clock)\n";
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
