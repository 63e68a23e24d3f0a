// SPDX-License-Identifier: Apache-2.0
#include "sim/network/siblings.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sptc::network {
namespace {

bool share_input(const workload::Operation& one, const workload::Operation& other) {
  return one.weight && other.weight && !one.input.empty() && one.input == other.input &&
         !one.conv && !other.conv && one.shape.n == other.shape.n && one.shape.k == other.shape.k &&
         one.batch == other.batch && one.count == other.count && one.dtype == other.dtype;
}

/// Whether everything between GEMM `i` and the next one is of `rule`.
bool close(const FusionRule& rule, const std::vector<workload::VectorOperation>& vectors,
           std::size_t i) {
  return std::all_of(vectors.begin(), vectors.end(), [&](const workload::VectorOperation& op) {
    return op.after != i + 1 || rule.operations.contains(op.kind);
  });
}

}  // namespace

void merge_siblings(const EngineSpec& engine, std::vector<workload::Operation>& gemms,
                    std::vector<workload::VectorOperation>& vectors) {
  const auto rule =
      std::find_if(engine.rules.begin(), engine.rules.end(),
                   [](const FusionRule& row) { return row.kind == FusionRule::Kind::kSiblings; });
  if (rule == engine.rules.end()) {
    return;
  }
  std::vector<workload::Operation> merged;
  std::vector<std::size_t> place(gemms.size() + 1);  // merged ones before the first i
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    const bool joins =
        !merged.empty() && share_input(merged.back(), gemms[i]) && close(*rule, vectors, i - 1);
    if (joins) {
      merged.back().shape.m += gemms[i].shape.m;
      merged.back().prunable = merged.back().prunable && gemms[i].prunable;
    } else {
      merged.push_back(std::move(gemms[i]));
    }
    place[i + 1] = merged.size();
  }
  for (workload::VectorOperation& op : vectors) {
    op.after = place[op.after];
  }
  gemms = std::move(merged);
}

}  // namespace sptc::network
