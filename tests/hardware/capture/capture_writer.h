// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/device.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
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

/// Thrown by CaptureWriter::item where this process gets nothing from its device any more.
class DeviceLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Time that an item gets before it counts as stuck, where it says nothing else.
inline constexpr std::chrono::seconds kItemLimit{60};

/// One capture directory (tests/hardware/CAPTURE.md). Items run one after the other; whatever one
/// of them throws is recorded, and the next one runs. What happened stands in a journal in the
/// directory until finish(), so that another process can go on where this one ends (supervisor.h).
class CaptureWriter {
 public:
  enum class Start {
    kNew,     ///< creates the directory, which may exist but must hold no capture
    kResume,  ///< items that the journal holds are not run again
  };

  /// Throws InputError.
  explicit CaptureWriter(std::filesystem::path directory, Start start = Start::kNew);

  const std::filesystem::path& directory() const { return directory_; }
  /// The journal of a capture in `directory`: one JSON object per line, {"begin", "limit_s"} when
  /// an item starts and its outcome when it ends.
  static std::filesystem::path journal(const std::filesystem::path& directory);

  /// Asked after an item that failed whether the device still works; without it, it does.
  void set_usable(std::function<bool()> usable) { usable_ = std::move(usable); }

  /// Runs `work` and records its outcome under `name`, unless that is recorded already. Throws
  /// DeviceLost where the device does not work afterwards.
  void item(const std::string& name, std::chrono::seconds limit, const std::function<ItemOutcome()>& work);
  void item(const std::string& name, const std::function<ItemOutcome()>& work) { item(name, kItemLimit, work); }
  std::size_t items() const { return items_.size(); }
  std::size_t items_with(ItemStatus status) const;

  /// Writes `name` (relative), with "schema" added to `content`.
  void write_json(const std::string& name, nlohmann::ordered_json content) const;
  /// Writes capture.json and removes the journal. Last: a directory without it is not a capture.
  void finish(const CaptureHeader& header, const DeviceInfo& device) const;

 private:
  struct Item {
    std::string name;
    ItemOutcome outcome;
    double seconds = 0;
  };
  void read_journal();
  void note(const nlohmann::ordered_json& line) const;

  std::filesystem::path directory_;
  std::vector<Item> items_;
  std::function<bool()> usable_ = [] { return true; };
};

/// The line of a journal that records an outcome.
nlohmann::ordered_json journal_line(const std::string& name, const ItemOutcome& outcome, double seconds);

/// null where nothing is known.
template <typename T>
nlohmann::ordered_json json_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// null for an empty text.
nlohmann::ordered_json text_or_null(const std::string& text);

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
  void row(nlohmann::ordered_json point, const std::function<void(nlohmann::ordered_json&)>& measure);
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
