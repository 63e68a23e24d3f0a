// SPDX-License-Identifier: Apache-2.0
#include "sim/io/json_reader.h"

#include "tests/support/expect_input_error.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

namespace sptc::io {
namespace {

void expect_refused(const std::string& text, std::initializer_list<std::string_view> parts) {
  support::expect_input_error([&] { parse_json(text, "f.json"); }, parts);
}

TEST(JsonReader, RefusesWhatIsNoJsonWithItsPlace) {
  expect_refused("{\n  \"a\": 1,\n  \"b\": }\n", {"f.json: line 3, column 8", "not valid JSON"});
  expect_refused(R"({"a": [0, {"m": 1, "m": 2}]})", {"f.json: /a/1/m", "twice"});
  expect_refused("[NaN]", {"not valid JSON"});
  expect_refused("[-Infinity]", {"not valid JSON"});
  expect_refused("[1e999]", {"not valid JSON"});
  expect_refused(std::string("[1]\n\0 }", 7), {"f.json: line 2, column 1", "not valid JSON: a NUL byte"});
  expect_refused("[\"\xFF\"]", {"not valid JSON"});
  expect_refused("", {"line 1, column 1"});
}

TEST(JsonReader, AllowsOneKeyInTwoObjects) {
  EXPECT_EQ(parse_json(R"([{"m": 1}, {"m": 2}, {"o": {"m": 3}}])", "f.json").size(), 3u);
}

TEST(JsonReader, NestsThirtyTwoLevelsDeep) {
  EXPECT_NO_THROW(parse_json(std::string(32, '[') + std::string(32, ']'), "f"));
  expect_refused(std::string(33, '[') + std::string(33, ']'), {"nested deeper than 32"});
  expect_refused(std::string(1'000'000, '['), {"nested deeper than 32"});
}

TEST(JsonReader, TakesTimeInProportionToALongArray) {
  const auto seconds = [](int elements) {
    std::string text = "[0";
    for (int i = 0; i < elements; ++i) {
      text += R"(,{"m":1})";
    }
    text += "]";
    std::chrono::duration<double> least(1e9);
    for (int i = 0; i < 3; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(parse_json(text, "f.json").size(), static_cast<std::size_t>(elements) + 1);
      least = std::min<std::chrono::duration<double>>(least, std::chrono::steady_clock::now() - begin);
    }
    return least.count();
  };
  // Ten times is proportional, a hundred times is quadratic.
  EXPECT_LT(seconds(300'000), 40 * seconds(30'000));
}

TEST(JsonReader, KeepsHostileTextOnOneShortLine) {
  const std::string message =
      support::input_error_of([] { parse_json("[\"" + std::string(5000, 'x') + "\n\"]", "f.json"); });
  EXPECT_LT(message.size(), 400u);
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(JsonReader, EscapesPointersAsRfc6901Says) {
  EXPECT_EQ((JsonPlace{"f", ""} / "a/b~c" / 2).pointer, "/a~1b~0c/2");
}

TEST(NumberAsJson, IsAnIntegerWhereOneIsExact) {
  EXPECT_EQ(number_as_json(108).dump(), "108");
  EXPECT_EQ(number_as_json(-0x1p53 + 1).dump(), "-9007199254740991");
  EXPECT_TRUE(number_as_json(0.5).is_number_float());
  for (const double none : {0x1p53, -0x1p63, 1e300, HUGE_VAL}) {
    EXPECT_TRUE(number_as_json(none).is_number_float()) << none;
    EXPECT_EQ(number_as_json(none).get<double>(), none);
  }
  EXPECT_TRUE(std::isnan(number_as_json(std::nan("")).get<double>()));
}

TEST(JsonObject, RefusesIntegersOutsideTheirRangeAndOtherTypes) {
  const auto document =
      parse_json(R"({"z": 0, "n": -1, "h": 18446744073709551615, "d": 1.5, "s": "4", "b": true})", "f.json");
  const JsonObject object(document, {"f.json", ""});
  for (const char* key : {"z", "n", "h", "d", "s", "b"}) {
    support::expect_input_error([&] { object.integer(key, 1, 100); },
                                {std::string("f.json: /") + key, "integer from 1 to 100", "not"});
  }
  support::expect_input_error([&] { object.integer("absent", 1, 100); }, {"'absent' is missing"});
}

TEST(JsonObject, NamesTheNearestKeyForAnUnknownOne) {
  const auto document = parse_json(R"({"coutn": 1})", "f.json");
  constexpr std::string_view kKeys[] = {"name", "count"};
  support::expect_input_error(
      [&] {
        JsonObject(document, {"f.json", ""}).allow_only(kKeys);
      },
      {"'coutn'", "nearest valid: 'count'", "allowed: name, count"});
}

}  // namespace
}  // namespace sptc::io
