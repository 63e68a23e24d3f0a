// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/capture_writer.h"

#include "models/base/error.h"
#include "sim/config/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <system_error>

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
  throw InternalError("item status without a name");
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

CaptureWriter::CaptureWriter(std::filesystem::path directory) : directory_(std::move(directory)) {
  std::error_code error;
  std::filesystem::create_directories(directory_ / "bits", error);
  if (error) {
    throw InputError(fmt::format("{}: cannot be created: {}", sim::printable(directory_.string()),
                                 error.message()));
  }
  if (std::filesystem::exists(directory_ / "capture.json") ||
      !std::filesystem::is_empty(directory_ / "bits")) {
    throw InputError(fmt::format("{}: holds a capture already; name a new directory",
                                 sim::printable(directory_.string())));
  }
}

void CaptureWriter::item(const std::string& name, const std::function<ItemOutcome()>& work) {
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
  items_.push_back({name, std::move(outcome), std::round(seconds.count() * 1000.0) / 1000.0});
}

std::size_t CaptureWriter::items_with(ItemStatus status) const {
  return static_cast<std::size_t>(
      std::count_if(items_.begin(), items_.end(),
                    [&](const Item& item) { return item.outcome.status == status; }));
}

void CaptureWriter::write_json(const std::string& name, Json content) const {
  Json whole{{"schema", kCaptureSchema}};
  whole.update(content);
  sim::write_file(directory_ / name, whole.dump(1) + "\n");
}

void CaptureWriter::finish(const CaptureHeader& header, const DeviceInfo& device) const {
  Json items = Json::array();
  for (const Item& item : items_) {
    items.push_back({{"name", item.name},
                     {"status", hardware::name(item.outcome.status)},
                     {"reason", text_or_null(item.outcome.reason)},
                     {"seconds", item.seconds},
                     {"file", text_or_null(item.outcome.file)}});
  }
  write_json(
      "capture.json",
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
}

}  // namespace sptc::hardware
