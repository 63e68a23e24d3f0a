// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/recorded_measurements.h"

#include "models/base/error.h"
#include "models/sparsity/pattern.h"

#include <fmt/format.h>

namespace sptc::compare::times {

std::vector<Measurement> recorded_measurements(const workload::Workload& workload,
                                               const std::string& file,
                                               const MeasurementDefaults& defaults,
                                               std::vector<std::string>& notes) {
  std::vector<Measurement> rows;
  std::int64_t without_time = 0;
  std::int64_t of_other_kinds = 0;
  for (std::size_t i = 0; i < workload.operations.size(); ++i) {
    const workload::Operation& op = workload.operations[i];
    if (op.recorded.time_us <= 0) {
      without_time += op.count;
      continue;
    }
    if (op.batch != 1 || op.conv || op.storage.block_scaled()) {
      of_other_kinds += op.count;
      continue;
    }
    Measurement row;
    row.launch = defaults.launch;
    row.launch.shape = op.shape;
    row.launch.dtype = op.dtype;
    if (op.recorded.sparse) {
      row.launch.pattern = {sparsity::hardware_pattern(op.dtype)};
    }
    if (const auto type = numerics::parse_data_type(op.recorded.d_dtype)) {
      row.launch.d_dtype = *type;
    }
    row.time_us = op.recorded.time_us;
    row.source = op.name;
    row.line = static_cast<std::int64_t>(i + 1);
    rows.push_back(row);
  }
  if (rows.empty()) {
    throw base::InputError(file + ": no launch of one batch has a measured time");
  }
  if (without_time > 0) {
    notes.push_back(fmt::format("{} {} no measured time", without_time,
                                without_time == 1 ? "launch has" : "launches have"));
  }
  if (of_other_kinds > 0) {
    const bool one = of_other_kinds == 1;
    notes.push_back(fmt::format(
        "{} {} of several batches, of convolutions or of block-scaled operands {} not compared",
        of_other_kinds, one ? "launch" : "launches", one ? "is" : "are"));
  }
  return rows;
}

}  // namespace sptc::compare::times
