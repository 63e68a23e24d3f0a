// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/capture_writer.h"

#include "models/base/error.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <system_error>
#include <utility>

namespace sptc::hardware {

using Json = nlohmann::ordered_json;

std::string_view name(ItemStatus status) {
  switch (status) {
    case ItemStatus::kOk:
      return "ok";
    case ItemStatus::kPartial:
      return "partial";
    case ItemStatus::kFailed:
      return "failed";
    case ItemStatus::kAbsent:
      return "absent";
  }
  throw base::InternalError("item status without a name");
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

namespace {

ItemStatus parse_status(const std::string& word) {
  for (const ItemStatus status : {ItemStatus::kOk, ItemStatus::kPartial, ItemStatus::kFailed, ItemStatus::kAbsent}) {
    if (name(status) == word) {
      return status;
    }
  }
  throw base::InternalError("the journal of a capture holds a status that nobody writes");
}

}  // namespace

Json journal_line(const std::string& name, const ItemOutcome& outcome, double seconds) {
  return {{"name", name},
          {"status", hardware::name(outcome.status)},
          {"reason", text_or_null(outcome.reason)},
          {"seconds", std::round(seconds * 1000.0) / 1000.0},
          {"file", text_or_null(outcome.file)}};
}

std::filesystem::path CaptureWriter::journal(const std::filesystem::path& directory) {
  return directory / "items.jsonl";
}

CaptureWriter::CaptureWriter(std::filesystem::path directory, Start start) : directory_(std::move(directory)) {
  if (start == Start::kResume) {
    read_journal();
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(directory_ / "bits", error);
  if (error) {
    throw base::InputError(
        fmt::format("{}: cannot be created: {}", io::printable(directory_.string()), error.message()));
  }
  if (std::filesystem::exists(directory_ / "capture.json") || std::filesystem::exists(journal(directory_)) ||
      !std::filesystem::is_empty(directory_ / "bits")) {
    throw base::InputError(
        fmt::format("{}: holds a capture already; name a new directory", io::printable(directory_.string())));
  }
}

void CaptureWriter::read_journal() {
  std::ifstream file(journal(directory_));
  std::string line;
  while (std::getline(file, line)) {
    const Json json = Json::parse(line);
    if (!json.contains("name")) {
      continue;
    }
    const auto text = [&](const char* key) {
      return json[key].is_null() ? std::string() : json[key].get<std::string>();
    };
    items_.push_back(
        {text("name"), {parse_status(text("status")), text("reason"), text("file")}, json["seconds"].get<double>()});
  }
}

void CaptureWriter::note(const Json& line) const {
  std::ofstream file(journal(directory_), std::ios::app);
  file << line.dump(-1, ' ', true, Json::error_handler_t::replace) << std::endl;
  if (!file) {
    throw base::InputError(fmt::format("{}: cannot be written", io::printable(journal(directory_).string())));
  }
}

void CaptureWriter::item(const std::string& name, std::chrono::seconds limit,
                         const std::function<ItemOutcome()>& work) {
  const auto is_same = [&](const Item& known) { return known.name == name; };
  if (std::any_of(items_.begin(), items_.end(), is_same)) {
    return;
  }
  note({{"begin", name}, {"limit_s", limit.count()}});
  const auto start = std::chrono::steady_clock::now();
  ItemOutcome outcome;
  try {
    outcome = work();
  } catch (const AbsentError& absent) {
    outcome = {ItemStatus::kAbsent, absent.what(), ""};
  } catch (const std::exception& error) {
    outcome = {ItemStatus::kFailed, error.what(), ""};
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  note(journal_line(name, outcome, seconds.count()));
  items_.push_back({name, outcome, seconds.count()});
  if ((outcome.status == ItemStatus::kFailed || outcome.status == ItemStatus::kPartial) && !usable_()) {
    throw DeviceLost(name + ": the device does not work any more");
  }
}

std::size_t CaptureWriter::items_with(ItemStatus status) const {
  return static_cast<std::size_t>(
      std::count_if(items_.begin(), items_.end(), [&](const Item& item) { return item.outcome.status == status; }));
}

void CaptureWriter::write_json(const std::string& name, Json content) const {
  Json whole{{"schema", kCaptureSchema}};
  whole.update(content);
  io::write_file(directory_ / name, whole.dump(1) + "\n");
}

void CaptureWriter::finish(const CaptureHeader& header, const DeviceInfo& device) const {
  Json items = Json::array();
  for (const Item& item : items_) {
    items.push_back(journal_line(item.name, item.outcome, item.seconds));
  }
  write_json("capture.json",
             {{"origin", header.origin},
              {"source", header.source},
              {"gpu",
               {{"name", device.name},
                {"target", device.target},
                {"compute_capability", device.compute_capability},
                {"sm_count", json_or_null(device.sm_count)},
                {"boost_clock_mhz", json_or_null(device.boost_clock_mhz)},
                {"memory_clock_mhz", json_or_null(device.memory_clock_mhz)},
                {"l2_bytes", json_or_null(device.l2_bytes)},
                {"memory_bytes", json_or_null(device.memory_bytes)},
                {"power_limit_w", json_or_null(device.power_limit_w)}}},
              {"software", {{"driver", json_or_null(device.driver)}, {"cuda", json_or_null(device.cuda)}}},
              {"date", header.date},
              {"commit", json_or_null(header.commit)},
              {"seed", header.seed},
              {"quick", header.quick},
              {"items", std::move(items)}});
  std::filesystem::remove(journal(directory_));
}

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
  return !rows_.empty() && std::all_of(rows_.begin(), rows_.end(),
                                       [](const Json& row) { return row["status"] == name(ItemStatus::kAbsent); });
}

ItemOutcome RowTable::outcome(const std::string& file) const {
  if (failed_ == 0 && late_ == 0) {
    return {ItemStatus::kOk, "", file};
  }
  std::string reason = std::to_string(failed_) + " of " + std::to_string(rows_.size() + late_) + " rows failed, " +
                       std::to_string(late_) + " were left out " +
                       (lost_ ? "because the device stopped working" : "for want of time");
  if (failed_ > 0) {
    reason += "; the first: " + first_reason_;
  }
  return {failed_ == rows_.size() && failed_ > 0 ? ItemStatus::kFailed : ItemStatus::kPartial, std::move(reason), file};
}

void append_rows(const CaptureWriter& writer, const std::string& file, Json head, const Json& rows) {
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
