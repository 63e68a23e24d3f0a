// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/capture_writer.h"
#include "tests/hardware/capture/gpu.h"

namespace sptc::hardware {

/// Whether the programme's time is up: what has not started then is left out and counted.
bool is_late(const TimingProgramme& programme);

/// Rows of a JSON file whose single measurements may fail. A row that throws gets status "failed"
/// (AbsentError: "absent") and the reason; the next one runs.
class RowTable {
 public:
  explicit RowTable(const TimingProgramme& programme) : programme_(programme) {}

  /// `measure` adds what it measured to the row, which holds the keys that name the point.
  void row(nlohmann::ordered_json point,
           const std::function<void(nlohmann::ordered_json&)>& measure);
  const nlohmann::ordered_json& rows() const { return rows_; }
  /// ok, or partial with the number of rows that failed or were left out.
  ItemOutcome outcome(const std::string& file) const;

 private:
  const TimingProgramme& programme_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
  std::size_t failed_ = 0;
  std::size_t late_ = 0;
  std::string first_reason_;
};

ItemOutcome capture_microbench(const CaptureWriter& writer, const TimingProgramme& programme,
                               const Device& device);
ItemOutcome capture_memory(const CaptureWriter& writer, const TimingProgramme& programme,
                           const Device& device);
/// gemm.json and power.json, an item for each library.
void capture_gemm(CaptureWriter& writer, const TimingProgramme& programme, const Device& device);

}  // namespace sptc::hardware
