// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/config/common_numbers.h"
#include "sim/io/text_file.h"
#include "tests/support/expect_input_error.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace sptc::config {

using nlohmann::json;

inline const std::string kA100 = SPTC_SOURCE_DIR "/configs/a100-sxm4-80gb.json";

/// The A100 file, with all numbers that it might leave out, after `change`.
inline std::string changed(const std::function<void(json&)>& change) {
  json document = with_common_numbers(json::parse(io::read_text_file(kA100, 1 << 20)), read_common_numbers(), kA100);
  change(document);
  return document.dump(2);
}

inline void expect_refused(const std::function<void(json&)>& change, std::initializer_list<std::string_view> parts) {
  const std::string text = changed(change);
  support::expect_input_error([&] { parse_architecture(text, "x.json"); }, parts);
}

}  // namespace sptc::config
