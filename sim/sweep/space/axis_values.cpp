// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/space/axis_values.h"

#include "models/base/random.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <string_view>

namespace sptc::sweep::space {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxValues = 100000;

double number(const io::JsonObject& object, std::string_view key) {
  const json& value = object.require(key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    (object.place() / key).fail("must be a number, not " + io::describe(value));
  }
  return value.get<double>();
}

void require_count(double count, const io::JsonPlace& place) {
  if (!(count <= static_cast<double>(kMaxValues))) {
    place.fail(fmt::format("an axis has at most {} values", kMaxValues));
  }
}

std::vector<json> range(const io::JsonObject& object) {
  constexpr std::array<std::string_view, 4> kKeys = {"from", "to", "step", "factor"};
  object.allow_only(kKeys);
  const double from = number(object, "from");
  const double to = number(object, "to");
  if (object.has("step") == object.has("factor")) {
    object.place().fail("needs either 'step' or 'factor'");
  }
  if (from > to) {
    object.place().fail(fmt::format("'from', {}, is above 'to', {}", from, to));
  }
  // Ends that rounding misses by a hair belong to the range.
  constexpr double kSlack = 1e-9;
  std::vector<json> values;
  if (object.has("step")) {
    const double step = number(object, "step");
    if (!(step > 0)) {
      (object.place() / "step").fail("must be above 0");
    }
    require_count((to - from) / step, object.place());
    const auto count = static_cast<std::size_t>((to - from) / step + kSlack);
    for (std::size_t i = 0; i <= count; ++i) {
      values.push_back(io::number_as_json(from + static_cast<double>(i) * step));
    }
    return values;
  }
  const double factor = number(object, "factor");
  if (!(factor > 1) || !(from > 0)) {
    object.place().fail("'factor' must be above 1, and 'from' above 0");
  }
  require_count(std::log(to / from) / std::log(factor), object.place());
  double value = from;
  while (value <= to * (1 + kSlack)) {
    values.push_back(io::number_as_json(value));
    value *= factor;
  }
  return values;
}

std::vector<json> random(const io::JsonObject& object) {
  constexpr std::array<std::string_view, 6> kKeys = {"from", "to",    "count",
                                                     "seed", "scale", "integer"};
  object.allow_only(kKeys);
  const double from = number(object, "from");
  const double to = number(object, "to");
  const std::string scale = object.text_or("scale", "linear");
  const bool logarithmic = scale == "log";
  const bool whole = object.boolean_or("integer", false);
  const std::int64_t count = object.integer("count", 1, static_cast<std::int64_t>(kMaxValues));
  if (!(from < to)) {
    object.place().fail(fmt::format("'from', {}, must be below 'to', {}", from, to));
  }
  if (!logarithmic && scale != "linear") {
    (object.place() / "scale").fail("must be \"linear\" or \"log\", not " + io::describe(scale));
  }
  if (logarithmic && !(from > 0)) {
    object.place().fail("a logarithmic scale needs 'from' above 0");
  }
  if (whole && to - from + 1 < 2 * static_cast<double>(count)) {
    object.place().fail(fmt::format(
        "cannot draw {} different whole numbers from so few: give a range of them", count));
  }
  const base::RandomStream stream(
      static_cast<std::uint64_t>(object.integer_or("seed", 0, 0, INT64_MAX)));
  std::vector<json> values;
  std::set<double> seen;
  for (std::uint64_t draw = 0; values.size() < static_cast<std::size_t>(count); ++draw) {
    if (draw > 1000 * static_cast<std::uint64_t>(count)) {
      object.place().fail(fmt::format("cannot draw {} different numbers", count));
    }
    const double unit = static_cast<double>(stream.bits(draw) >> 11) * 0x1p-53;
    double value = logarithmic ? from * std::pow(to / from, unit) : from + (to - from) * unit;
    value = whole ? std::round(value) : value;
    if (seen.insert(value).second) {
      values.push_back(io::number_as_json(value));
    }
  }
  return values;
}

}  // namespace

std::vector<json> read_axis_values(const io::JsonObject& axis, bool zipped) {
  const int ways = axis.has("values") + axis.has("range") + axis.has("random");
  if (ways != 1) {
    axis.place().fail("needs exactly one of 'values', 'range' and 'random'");
  }
  if (axis.has("range")) {
    return range(axis.object("range"));
  }
  if (axis.has("random")) {
    return random(axis.object("random"));
  }
  std::vector<json> values;
  std::set<json> seen;
  const json& array = axis.array("values");
  require_count(static_cast<double>(array.size()), axis.place() / "values");
  for (std::size_t i = 0; i < array.size(); ++i) {
    const io::JsonPlace place = axis.place() / "values" / i;
    if (!array[i].is_number() && !array[i].is_string() && !array[i].is_boolean()) {
      place.fail("must be a number, a word or true or false, not " + io::describe(array[i]));
    }
    if (!seen.insert(array[i]).second && !zipped) {
      place.fail(io::describe(array[i]) + " stands twice");
    }
    values.push_back(array[i].is_number_float() ? io::number_as_json(array[i].get<double>())
                                                : array[i]);
  }
  return values;
}

}  // namespace sptc::sweep::space
