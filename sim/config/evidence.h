// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "sim/io/json_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::config {

inline constexpr std::array<std::string_view, 4> kEvidenceKinds{"measured", "cited", "derived", "assumed"};

/// Why a number is believed.
struct Evidence {
  std::string kind;  ///< measured, cited, derived or assumed
  std::string source;
};

/// "evidence" and "source" of `number`. Throws InputError.
Evidence read_evidence(const io::JsonObject& number);

/// The object of a number and its evidence at `key`. Throws InputError, which says what to write
/// for a bare number.
io::JsonObject number_with_evidence(const io::JsonObject& section, std::string_view key);

/// Runs checks and keeps what they throw, so that a file is told all its errors at once, and each
/// once: several checks may fail for one reason.
class ErrorList {
 public:
  template <typename Check>
  void collect(Check check) {
    try {
      check();
    } catch (const base::InputError& error) {
      if (std::ranges::count(messages_, std::string_view(error.what())) == 0) {
        messages_.emplace_back(error.what());
      }
    }
  }

  template <typename... Args>
  void refuse(const io::JsonPlace& place, fmt::format_string<Args...> problem, Args&&... args) {
    collect([&] { place.fail(fmt::format(problem, std::forward<Args>(args)...)); });
  }

  bool empty() const { return messages_.empty(); }

  void throw_if_any() const {
    if (!messages_.empty()) {
      throw base::InputError(fmt::format("{}", fmt::join(messages_, "\n")));
    }
  }

 private:
  std::vector<std::string> messages_;
};

void check_keys(const io::JsonObject& object, std::span<const std::string_view> allowed, ErrorList& errors);

}  // namespace sptc::config
