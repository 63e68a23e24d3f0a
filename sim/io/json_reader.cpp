// SPDX-License-Identifier: Apache-2.0
#include "sim/io/json_reader.h"

#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace sptc::io {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 32;

/// Looks through a text before it is made a document, which refuses neither a key that stands twice
/// nor depth. A pass of its own: the parser's callback has it look at all of an array after each
/// element.
class StrictnessCheck : public nlohmann::json_sax<json> {
 public:
  explicit StrictnessCheck(const std::string& file) : place_{file, ""} {}

  bool null() override { return count_element(); }
  bool boolean(bool /*value*/) override { return count_element(); }
  bool number_integer(number_integer_t /*value*/) override { return count_element(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return count_element(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return count_element(); }
  bool string(string_t& /*value*/) override { return count_element(); }
  bool binary(binary_t& /*value*/) override { return count_element(); }
  bool start_object(std::size_t /*elements*/) override { return enter(false); }
  bool start_array(std::size_t /*elements*/) override { return enter(true); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(string_t& key) override {
    Level& level = levels_.back();
    level.key = key;
    if (!level.keys.insert(key).second) {
      where().fail("the key stands twice in one object");
    }
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*last_token*/,
                   const json::exception& /*error*/) override {
    return false;  // the parser of the document says it
  }

 private:
  struct Level {
    bool is_array;
    std::size_t index;
    std::string key;
    std::set<std::string> keys;
  };

  bool enter(bool is_array) {
    if (levels_.size() >= kMaxDepth) {
      where().fail("nested deeper than {} levels", kMaxDepth);
    }
    levels_.push_back({is_array, 0, {}, {}});
    return true;
  }

  bool leave() {
    levels_.pop_back();
    return count_element();
  }

  bool count_element() {
    if (!levels_.empty() && levels_.back().is_array) {
      ++levels_.back().index;
    }
    return true;
  }

  JsonPlace where() const {
    JsonPlace place = place_;
    for (const Level& level : levels_) {
      place = level.is_array ? place / level.index : place / level.key;
    }
    return place;
  }

  JsonPlace place_;
  std::vector<Level> levels_;
};

/// "line 3, column 5" of the byte where the parser stopped (counted from 1).
std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n');
  const std::size_t column = line_start == std::string_view::npos ? before.size() + 1 : before.size() - line_start;
  return fmt::format("line {}, column {}", line, column);
}

/// The parser's reason without its error code and position.
std::string reason(std::string_view what) {
  for (const std::string_view mark : {"syntax error ", "] "}) {
    const std::size_t at = what.find(mark);
    if (at != std::string_view::npos) {
      return printable(what.substr(at + mark.size()));
    }
  }
  return printable(what);
}

}  // namespace

JsonPlace JsonPlace::operator/(std::string_view key) const {
  std::string escaped;
  for (const char c : key) {
    escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return {file, pointer + "/" + printable(escaped)};
}

JsonPlace JsonPlace::operator/(std::size_t index) const {
  return {file, pointer + "/" + std::to_string(index)};
}

void JsonPlace::fail(std::string_view problem) const {
  refuse("{}: {}: {}", printable(file), pointer.empty() ? "top level" : pointer, problem);
}

json parse_json(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    refuse("{}: {}: not valid JSON: a NUL byte", printable(file), line_and_column(text, nul + 1));
  }
  try {
    StrictnessCheck check(file);
    json::sax_parse(text.begin(), text.end(), &check);
    return json::parse(text.begin(), text.end());
  } catch (const json::parse_error& error) {
    refuse("{}: {}: not valid JSON {}", printable(file), line_and_column(text, error.byte), reason(error.what()));
  } catch (const json::exception& error) {  // a number beyond double
    refuse("{}: not valid JSON: {}", printable(file), reason(error.what()));
  }
}

std::string describe(const json& value) {
  if (value.is_object()) {
    return "an object";
  }
  if (value.is_array()) {
    return "an array";
  }
  return printable(value.dump());
}

JsonObject::JsonObject(const json& value, JsonPlace place) : value_(value), place_(std::move(place)) {
  if (!value_.is_object()) {
    place_.fail("must be an object, not {}", describe(value_));
  }
}

void JsonObject::allow_only(std::span<const std::string_view> keys) const {
  for (const auto& [key, unused] : value_.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      place_.fail("unknown key " + base::unknown_name(printable(key), keys));
    }
  }
}

const json& JsonObject::require(std::string_view key) const {
  const auto found = value_.find(key);
  if (found == value_.end()) {
    place_.fail("the key '{}' is missing", key);
  }
  return *found;
}

std::int64_t JsonObject::integer(std::string_view key, std::int64_t min, std::int64_t max) const {
  return to_integer(require(key), place_ / key, min, max);
}

std::int64_t JsonObject::integer_or(std::string_view key, std::int64_t absent, std::int64_t min,
                                    std::int64_t max) const {
  return has(key) ? integer(key, min, max) : absent;
}

bool JsonObject::boolean_or(std::string_view key, bool absent) const {
  if (!has(key)) {
    return absent;
  }
  const json& found = require(key);
  if (!found.is_boolean()) {
    (place_ / key).fail("must be true or false, not {}", describe(found));
  }
  return found.get<bool>();
}

std::string JsonObject::text(std::string_view key) const {
  const json& found = require(key);
  if (!found.is_string() || found.get_ref<const std::string&>().empty()) {
    (place_ / key).fail("must be a string that is not empty, not {}", describe(found));
  }
  return found.get<std::string>();
}

std::string JsonObject::text_or(std::string_view key, std::string_view absent) const {
  return has(key) ? text(key) : std::string(absent);
}

std::size_t JsonObject::choice(std::string_view key, std::span<const std::string_view> words,
                               std::string_view unknown) const {
  return has(key) ? parsed(key, [&](const std::string& word) { return place_among(words, word, unknown); }) : 0;
}

void JsonObject::require_schema(std::string_view schema) const {
  if (const std::string found = text("schema"); found != schema) {
    (place_ / "schema").fail("must be \"{}\", not '{}'", schema, printable(found));
  }
}

JsonObject JsonObject::object(std::string_view key) const {
  return JsonObject(require(key), place_ / key);
}

const json& JsonObject::array(std::string_view key) const {
  const json& found = require(key);
  if (!found.is_array()) {
    (place_ / key).fail("must be an array, not {}", describe(found));
  }
  if (found.empty()) {
    (place_ / key).fail("must not be empty");
  }
  return found;
}

json number_as_json(double number) {
  const bool whole = std::fabs(number) < 0x1p53 && number == std::trunc(number);
  return whole ? json(static_cast<std::int64_t>(number)) : json(number);
}

std::int64_t to_integer(const json& value, const JsonPlace& place, std::int64_t min, std::int64_t max) {
  // Unsigned numbers above the signed range would wrap in get<int64_t>.
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX));
  if (!fits || value.get<std::int64_t>() < min || value.get<std::int64_t>() > max) {
    place.fail("must be an integer from {} to {}, not {}", min, max, describe(value));
  }
  return value.get<std::int64_t>();
}

}  // namespace sptc::io
