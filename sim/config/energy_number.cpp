// SPDX-License-Identifier: Apache-2.0
#include "sim/config/energy_number.h"

#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace sptc::config {

using nlohmann::json;

namespace {

double read_bounded(const json& value, const io::JsonPlace& place, bool zero, double max) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!(zero ? number >= 0 : number > 0) || number > max) {
    place.fail(fmt::format("must be a number {} and at most {}, not {}",
                           zero ? "from 0" : "above 0", max, io::describe(value)));
  }
  return number;
}

}  // namespace

WireNumber read_number(const io::JsonObject& number, bool zero, double max, bool on_chip) {
  constexpr std::array<std::string_view, 5> kKeys = {"value", "range", "node_nm", "evidence",
                                                     "source"};
  number.allow_only(kKeys);
  WireNumber result;
  result.value = read_bounded(number.require("value"), number.place() / "value", zero, max);
  result.low = result.high = result.value;
  result.evidence = read_evidence(number);
  if (on_chip) {
    result.node_nm = static_cast<int>(number.integer("node_nm", 1, kMaxNode));
  } else if (number.has("node_nm")) {
    (number.place() / "node_nm").fail("this number does not scale with the process node");
  }
  if (!number.has("range")) {
    if (result.evidence.kind == "assumed") {
      number.place().fail("an assumed number needs a 'range' [low, high]");
    }
    return result;
  }
  const json& range = number.array("range");
  const io::JsonPlace place = number.place() / "range";
  if (range.size() != 2) {
    place.fail("must be [low, high]");
  }
  result.low = read_bounded(range[0], place / std::size_t{0}, zero, max);
  result.high = read_bounded(range[1], place / std::size_t{1}, zero, max);
  if (result.low > result.value || result.high < result.value) {
    place.fail(
        fmt::format("[{}, {}] does not hold the value {}", result.low, result.high, result.value));
  }
  return result;
}

void check_keys(const io::JsonObject& object, const std::vector<std::string>& allowed,
                ErrorList& errors) {
  const std::vector<std::string_view> keys(allowed.begin(), allowed.end());
  for (const auto& [key, unused] : object.value().items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      errors.collect([&, &name = key] {
        object.place().fail("unknown key " + base::unknown_name(io::printable(name), keys));
      });
    }
  }
}

}  // namespace sptc::config
