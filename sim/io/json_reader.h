// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sptc::io {

/// Where in which file a JSON value stands: the file and an RFC 6901 pointer.
struct JsonPlace {
  std::string file;
  std::string pointer;

  JsonPlace operator/(std::string_view key) const;
  JsonPlace operator/(std::size_t index) const;

  /// Throws InputError "file: pointer: problem".
  [[noreturn]] void fail(std::string_view problem) const;
  template <typename First, typename... Args>
  [[noreturn]] void fail(fmt::format_string<First, Args...> problem, First&& first, Args&&... args) const {
    fail(fmt::format(problem, std::forward<First>(first), std::forward<Args>(args)...));
  }

  /// What `read` returns; its InputError names this place.
  template <typename Read>
  auto named(Read read) const {
    try {
      return read();
    } catch (const base::InputError& error) {
      fail(error.what());
    }
  }
};

/// Parses `text`, more strictly than JSON asks: a key twice in one object and nesting deeper than
/// 32 are refused too. A byte order mark is skipped. Throws InputError with line and column, or
/// with the pointer of the repeated key.
nlohmann::json parse_json(std::string_view text, const std::string& file);

/// Text of JSON whose strings may hold any bytes.
template <typename Json>
std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// A value as it appears in an error message: scalars as JSON, shortened; containers as "an
/// object", "an array".
std::string describe(const nlohmann::json& value);

/// An integer where `number` is whole and below 2^53, beyond which integers are not exact.
nlohmann::json number_as_json(double number);

/// One object of a strictly read file. Every accessor throws InputError that names the place, the
/// value found and what is allowed. The JSON value must outlive the reader.
class JsonObject {
 public:
  JsonObject(const nlohmann::json& value, JsonPlace place);

  const JsonPlace& place() const { return place_; }
  const nlohmann::json& value() const { return value_; }

  /// Refuses keys that are not in `keys`, with the nearest that is.
  void allow_only(std::span<const std::string_view> keys) const;
  void allow_only(std::initializer_list<std::string_view> keys) const {
    allow_only(std::span(keys.begin(), keys.size()));
  }

  bool has(std::string_view key) const { return value_.contains(key); }
  const nlohmann::json& require(std::string_view key) const;

  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max) const;
  std::int64_t integer_or(std::string_view key, std::int64_t absent, std::int64_t min, std::int64_t max) const;
  bool boolean_or(std::string_view key, bool absent) const;
  /// Text that is not empty.
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, std::string_view absent) const;
  /// What `parse` makes of the text; its InputError names the place.
  template <typename Parse>
  auto parsed(std::string_view key, Parse parse) const {
    const std::string word = text(key);
    return (place_ / key).named([&] { return parse(word); });
  }
  /// The place of the text among `words`, of which another is `unknown`; 0 where the key is absent.
  std::size_t choice(std::string_view key, std::span<const std::string_view> words,
                     std::string_view unknown = "must be one of") const;
  std::size_t choice(std::string_view key, std::initializer_list<std::string_view> words,
                     std::string_view unknown = "must be one of") const {
    return choice(key, std::span(words.begin(), words.size()), unknown);
  }
  /// Refuses any other text than `schema` at "schema".
  void require_schema(std::string_view schema) const;
  JsonObject object(std::string_view key) const;
  /// An array that is not empty.
  const nlohmann::json& array(std::string_view key) const;
  /// Shows `visit` each element of array(), and its place.
  template <typename Visit>
  void each(std::string_view key, Visit visit) const {
    const JsonPlace place = place_ / key;
    std::size_t i = 0;
    for (const nlohmann::json& element : array(key)) {
      visit(element, place / i++);
    }
  }

 private:
  const nlohmann::json& value_;
  JsonPlace place_;
};

/// `value` as an integer of [min, max]; throws InputError at `place`.
std::int64_t to_integer(const nlohmann::json& value, const JsonPlace& place, std::int64_t min, std::int64_t max);

}  // namespace sptc::io
