// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/observer.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::gpu {

/// Signals of a simulation in a window of cycles, as a Value Change Dump (IEEE 1364) with strings
/// as GTKWave knows them. A signal is undefined, x, until it is set. Changes may come in any order
/// of their cycles; of those in the same cycle the latest counts.
class VcdDump {
 public:
  using Signal = std::size_t;

  explicit VcdDump(const LogWindow& window) : window_(window) {}

  static constexpr int kText = 0;  ///< width of strings

  /// A number of `width` bits, or a string, in `scope` ("sub_partition0.fetch").
  Signal add(const std::string& scope, const std::string& name, int width = kText);

  /// Writes `value`; without one the signal is undefined.
  void set(std::int64_t cycle, Signal signal, std::optional<std::uint64_t> value);
  void set_text(std::int64_t cycle, Signal signal, std::string_view text);

  /// The file: `period_ps` is that of a cycle, and a signal `clock` rises at the begin of each.
  std::string text(std::int64_t period_ps) const;
  /// A save file for GTKWave that shows the signals of `vcd_file` in a group for each scope, from
  /// where the first of those called "valid" rises, at a width at which values can be read.
  std::string save_file(const std::string& vcd_file, std::int64_t period_ps) const;

 private:
  struct Declaration {
    std::string scope, name;
    int width;
    std::size_t number;
  };
  struct Change {
    std::int64_t cycle;
    Signal signal;
    std::optional<std::uint64_t> value;  ///< of a text: its place in texts_
  };

  std::string value_text(const Declaration& declaration, const std::optional<std::uint64_t>& value) const;
  void declare(std::string& out) const;
  std::int64_t first_valid() const;

  LogWindow window_;
  std::vector<Declaration> signals_;
  std::vector<Change> changes_;
  std::vector<std::string> texts_;
};

}  // namespace sptc::gpu
