// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/row_table.h"

#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <utility>

namespace sptc::hardware {

using Json = nlohmann::ordered_json;

void RowTable::row(Json point, const std::function<void(Json&)>& measure) {
  if (lost_ || std::chrono::steady_clock::now() > deadline_) {
    ++late_;
    return;
  }
  point["status"] = name(ItemStatus::kOk);
  point["reason"] = nullptr;
  try {
    measure(point);
  } catch (const AbsentError& absent) {
    point["status"] = name(ItemStatus::kAbsent);
    point["reason"] = absent.what();
  } catch (const std::exception& error) {
    point["status"] = name(ItemStatus::kFailed);
    point["reason"] = error.what();
    first_reason_ = failed_ == 0 ? error.what() : first_reason_;
    ++failed_;
    lost_ = !usable_();
  }
  rows_.push_back(std::move(point));
}

bool RowTable::all_absent() const {
  return !rows_.empty() && std::all_of(rows_.begin(), rows_.end(), [](const Json& row) {
    return row["status"] == name(ItemStatus::kAbsent);
  });
}

ItemOutcome RowTable::outcome(const std::string& file) const {
  if (failed_ == 0 && late_ == 0) {
    return {ItemStatus::kOk, "", file};
  }
  std::string reason = std::to_string(failed_) + " of " + std::to_string(rows_.size() + late_) +
                       " rows failed, " + std::to_string(late_) + " were left out " +
                       (lost_ ? "because the device stopped working" : "for want of time");
  if (failed_ > 0) {
    reason += "; the first: " + first_reason_;
  }
  return {failed_ == rows_.size() && failed_ > 0 ? ItemStatus::kFailed : ItemStatus::kPartial,
          std::move(reason), file};
}

void append_rows(const CaptureWriter& writer, const std::string& file, Json head,
                 const Json& rows) {
  constexpr std::uint64_t kMaxBytes = 64 << 20;
  const std::filesystem::path path = writer.directory() / file;
  Json all = Json::array();
  if (std::filesystem::exists(path)) {
    all = io::parse_json(io::read_text_file(path, kMaxBytes), path.string()).at("rows");
  }
  all.insert(all.end(), rows.begin(), rows.end());
  head["rows"] = std::move(all);
  writer.write_json(file, std::move(head));
}

}  // namespace sptc::hardware
