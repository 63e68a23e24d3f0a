// SPDX-License-Identifier: Apache-2.0
#include "sim/network/siblings.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sptc::sim {
namespace {

bool share_input(const Operation& one, const Operation& other) {
  return one.weight && other.weight && !one.input.empty() && one.input == other.input &&
         !one.conv && !other.conv && one.shape.n == other.shape.n && one.shape.k == other.shape.k &&
         one.batch == other.batch && one.count == other.count && one.dtype == other.dtype;
}

/// Whether everything between GEMM `i` and the next one is of `rule`.
bool close(const FusionRule& rule, const std::vector<VectorOperation>& vectors, std::size_t i) {
  return std::all_of(vectors.begin(), vectors.end(), [&](const VectorOperation& op) {
    return op.after != i + 1 || rule.operations.contains(op.kind);
  });
}

}  // namespace

void merge_siblings(const EngineSpec& engine, std::vector<Operation>& gemms,
                    std::vector<VectorOperation>& vectors) {
  const auto rule =
      std::find_if(engine.rules.begin(), engine.rules.end(),
                   [](const FusionRule& row) { return row.kind == FusionRule::Kind::kSiblings; });
  if (rule == engine.rules.end()) {
    return;
  }
  std::vector<Operation> merged;
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
  for (VectorOperation& op : vectors) {
    op.after = place[op.after];
  }
  gemms = std::move(merged);
}

}  // namespace sptc::sim
