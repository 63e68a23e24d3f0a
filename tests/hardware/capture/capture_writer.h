// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/device.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::hardware {

inline constexpr std::string_view kCaptureSchema = "sptcsim-capture/0.1";

/// What became of one item of the programme.
enum class ItemStatus { kOk, kPartial, kFailed, kAbsent };
std::string_view name(ItemStatus status);

struct ItemOutcome {
  ItemStatus status = ItemStatus::kOk;
  std::string reason;  ///< empty with kOk
  std::string file;    ///< relative to the capture; empty: none
};

/// Thrown where the GPU, a library or a tool lacks what an item needs: the item is absent, not
/// failed.
class AbsentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What stands at the head of capture.json.
struct CaptureHeader {
  std::string origin;  ///< "measured", "simulated"
  std::string source;  ///< command line
  std::string date;    ///< ISO 8601, UTC
  std::optional<std::string> commit;
  std::uint64_t seed = 0;
  bool quick = false;
};

/// One capture directory (tests/hardware/CAPTURE.md). Items run one after the other; whatever one
/// of them throws is recorded, and the next one runs.
class CaptureWriter {
 public:
  /// Creates `directory` (it may exist, but must be empty). Throws InputError.
  explicit CaptureWriter(std::filesystem::path directory);

  const std::filesystem::path& directory() const { return directory_; }

  /// Runs `work` and records its outcome under `name`.
  void item(const std::string& name, const std::function<ItemOutcome()>& work);
  std::size_t items() const { return items_.size(); }
  std::size_t items_with(ItemStatus status) const;

  /// Writes `name` (relative), with "schema" added to `content`.
  void write_json(const std::string& name, nlohmann::ordered_json content) const;
  /// Writes capture.json. Last: a directory without it is not a capture.
  void finish(const CaptureHeader& header, const DeviceInfo& device) const;

 private:
  struct Item {
    std::string name;
    ItemOutcome outcome;
    double seconds;
  };
  std::filesystem::path directory_;
  std::vector<Item> items_;
};

/// null where nothing is known.
template <typename T>
nlohmann::ordered_json json_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// null for an empty text.
nlohmann::ordered_json text_or_null(const std::string& text);

}  // namespace sptc::hardware
