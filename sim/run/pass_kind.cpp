// SPDX-License-Identifier: Apache-2.0
#include "sim/run/pass_kind.h"

#include "sim/workload/workload.h"

#include <algorithm>

namespace sptc::run {

PassKind pass_kind(const workload::Workload& workload) {
  PassKind kind;
  kind.inputs = workload.inputs;
  const auto seq = workload.dims.find("seq");
  const bool writes_text =
      workload.dims.contains("context") ||
      std::any_of(workload.vectors.begin(), workload.vectors.end(),
                  [](const workload::VectorOperation& op) { return op.kind == workload::VectorKind::kKvAppend; });
  if (writes_text && kind.inputs > 0 && seq != workload.dims.end()) {
    kind.stage = seq->second == 1 ? PassKind::Stage::kDecode : PassKind::Stage::kPrefill;
    kind.tokens = seq->second;
  }
  return kind;
}

}  // namespace sptc::run
