// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_evidence.h"

#include "models/base/error.h"
#include "models/numerics/data_type.h"
#include "sim/check/times/evidence_distance.h"
#include "sim/config/architecture.h"
#include "sim/config/documented_architecture.h"
#include "sim/report/verdict.h"
#include "sim/run/asked_work.h"
#include "sim/run/option_table.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <set>

namespace sptc::sweep {
namespace {

using numerics::DataType;

constexpr const char* kType = "dtype";

/// What the points say of types; one without a word where none does.
std::vector<std::string> type_words(const SweepSpec& spec) {
  std::vector<std::string> words;
  if (const SweepAxis* const varied = spec.option_axis(kType)) {
    for (const nlohmann::json& value : varied->values) {
      words.push_back(run::option_text(value));
    }
    return words;
  }
  const auto given = spec.options.find(kType);
  return {given == spec.options.end() ? "" : given->second};
}

/// Of the operations that may be pruned, or of all where none may.
std::set<DataType> types_of(const SweepSpec& spec) {
  std::set<DataType> all, prunable;
  for (const std::string& word : type_words(spec)) {
    run::SimulationOptions options;
    try {
      if (!word.empty()) {
        run::set_option(options, kType, word);
      }
    } catch (const base::InputError&) {
      continue;  // its points fail and say so
    }
    for (const SweepWorkload& one : spec.workloads) {
      for (const workload::Operation& op : one.workload.operations) {
        const DataType type = run::asked_type(options, op);
        all.insert(type);
        if (op.prunable) {
          prunable.insert(type);
        }
      }
    }
  }
  return prunable.empty() ? all : prunable;
}

}  // namespace

std::vector<std::string> evidence_lines(const SweepSpec& spec) {
  std::vector<std::string> lines;
  const std::set<DataType> types = types_of(spec);
  if (types.empty()) {
    return lines;
  }
  for (const config::DocumentedArchitecture& given : spec.architectures) {
    lines.push_back(fmt::format(
        "{}: {}", given.value.gpu.name,
        report::evidence_sentence(check::times::evidence_distance(types, given.value))));
  }
  std::vector<std::string> varied;
  for (const SweepAxis& axis : spec.axes) {
    if (axis.kind == SweepAxis::Kind::kParameter) {
      varied.push_back(axis.name);
    }
  }
  if (!varied.empty()) {
    run::EvidenceDistance own;
    own.own_design = true;
    lines.push_back(fmt::format("a point with another {}: {}", fmt::join(varied, " or "),
                                report::evidence_sentence(own)));
  }
  return lines;
}

}  // namespace sptc::sweep
