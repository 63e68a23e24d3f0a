// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/capture_writer.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace sptc::hardware {

/// Rows of a JSON file whose single measurements may fail. A row that throws gets status "failed"
/// (AbsentError: "absent") and the reason; the next one runs, unless time is up or the device does
/// not answer any more: what is left out then is counted.
class RowTable {
 public:
  /// No row starts after `deadline`. `usable` says, after a row that failed, whether the device
  /// still works.
  RowTable(std::chrono::steady_clock::time_point deadline, std::function<bool()> usable)
      : deadline_(deadline), usable_(std::move(usable)) {}

  /// `measure` adds what it measured to the row, which holds the keys that name the point.
  void row(nlohmann::ordered_json point,
           const std::function<void(nlohmann::ordered_json&)>& measure);
  const nlohmann::ordered_json& rows() const { return rows_; }
  bool all_absent() const;
  /// ok, or partial with the number of rows that failed or were left out.
  ItemOutcome outcome(const std::string& file) const;

 private:
  std::chrono::steady_clock::time_point deadline_;
  std::function<bool()> usable_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
  std::size_t failed_ = 0;
  std::size_t late_ = 0;
  bool lost_ = false;  ///< the device
  std::string first_reason_;
};

/// Adds `rows` to those of `file` (relative), which an item before may have begun; `head` holds
/// the other keys of the file.
void append_rows(const CaptureWriter& writer, const std::string& file, nlohmann::ordered_json head,
                 const nlohmann::ordered_json& rows);

}  // namespace sptc::hardware
