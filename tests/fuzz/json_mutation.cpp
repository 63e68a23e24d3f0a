// SPDX-License-Identifier: Apache-2.0
#include "models/base/random.h"
#include "tests/fuzz/mutate.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace sptc::fuzz {
namespace {

using nlohmann::json;

bool nests_too_deep(std::string_view text) {
  constexpr int kMost = 64;
  int depth = 0;
  for (const char c : text) {
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > kMost) {
      return true;
    }
  }
  return false;
}

/// A document, and where in it the next change may be.
class Mutation {
 public:
  Mutation(json document, std::uint64_t seed) : document_(std::move(document)), stream_(seed) {}

  std::string text() {
    for (std::uint64_t left = 1 + draw(4); left > 0; --left) {
      places_.clear();
      keys_.clear();
      collect(document_, nullptr, 0);
      change(places_[draw(places_.size())]);
    }
    return document_.dump(-1, ' ', false, json::error_handler_t::replace);
  }

 private:
  struct Place {
    json* value;
    json* parent;  ///< null: of the document itself
    std::size_t index;
  };

  std::uint64_t draw(std::uint64_t below) { return stream_.below(next_++, below); }

  void collect(json& value, json* parent, std::size_t index) {
    places_.push_back({&value, parent, index});
    if (value.is_object()) {
      for (const auto& member : value.items()) {
        keys_.push_back(member.key());
      }
    }
    if (value.is_structured()) {
      std::size_t child = 0;
      for (json& element : value) {
        collect(element, &value, child++);
      }
    }
  }

  json scalar() {
    static const std::vector<json> kScalars = {nullptr,
                                               true,
                                               false,
                                               0,
                                               1,
                                               -1,
                                               2,
                                               3,
                                               8,
                                               16,
                                               64,
                                               65536,
                                               2147483647,
                                               4294967296,
                                               9223372036854775807,
                                               18446744073709551615U,
                                               1e-9,
                                               0.5,
                                               1e18,
                                               1e308,
                                               -0.0,
                                               "",
                                               "0",
                                               "NaN",
                                               "1e999",
                                               "../x",
                                               std::string(300, 'a'),
                                               "\x01\n\xFF",
                                               json::array(),
                                               json::object()};
    return kScalars[draw(kScalars.size())];
  }

  std::string key() { return keys_.empty() || draw(8) == 0 ? "x" : keys_[draw(keys_.size())]; }

  void change(const Place& place) {
    json& value = *place.value;
    json other = *places_[draw(places_.size())].value;  // a copy: it may hold `value`
    switch (draw(8)) {
      case 0:
        value = scalar();
        break;
      case 1:
        value = std::move(other);
        break;
      case 2:
        remove(place);
        break;
      case 3:
        add(value, std::move(other));
        break;
      case 4:
        value = draw(2) == 0 ? json(std::vector<json>{value}) : json{{key(), value}};
        break;
      case 5:
        rename(place);
        break;
      default:
        vary(value);
        break;
    }
  }

  static void remove(const Place& place) {
    if (place.parent != nullptr) {
      place.parent->erase(std::next(place.parent->begin(), static_cast<std::ptrdiff_t>(place.index)));
    }
  }

  void add(json& value, json other) {
    if (value.is_array()) {
      const auto at = static_cast<std::ptrdiff_t>(draw(value.size() + 1));
      value.insert(value.begin() + at, std::move(other));
    } else if (value.is_object()) {
      value[key()] = std::move(other);
    } else {
      vary(value);
    }
  }

  void rename(const Place& place) {
    if (place.parent != nullptr && place.parent->is_object()) {
      json moved = *place.value;
      remove(place);
      (*place.parent)[key()] = std::move(moved);
    } else {
      *place.value = scalar();
    }
  }

  void vary(json& value) {
    if (value.is_number_float()) {
      const double number = value;
      value = std::vector<double>{-number, number * 2, number / 3, number + 1, 1 / number}[draw(5)];
    } else if (value.is_number()) {
      const auto number = value.get<std::uint64_t>();
      value =
          std::vector<std::uint64_t>{number + 1, number - 1, number * 2, number / 2, number << 31, ~number}[draw(6)];
    } else if (value.is_string()) {
      vary_text(value.get_ref<std::string&>());
    } else if (value.is_array() && !value.empty()) {
      std::swap(value.at(draw(value.size())), value.at(draw(value.size())));
    } else {
      value = scalar();
    }
  }

  void vary_text(std::string& text) {
    const std::size_t at = draw(text.size() + 1);
    const std::size_t length = 1 + draw(4);
    switch (draw(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(draw(text.size() + 1), length));
        break;
      case 2:
        text.insert(at, 1, " (*+-/,.:x09a\\"[draw(14)]);
        break;
      default:
        text.resize(at);
        break;
    }
  }

  json document_;
  base::RandomStream stream_;
  std::uint64_t next_ = 0;
  std::vector<Place> places_;
  std::vector<std::string> keys_;
};

}  // namespace

std::optional<std::string> mutate_json(std::string_view text, std::uint64_t seed) {
  if (nests_too_deep(text)) {
    return std::nullopt;
  }
  json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) {
    return std::nullopt;
  }
  return Mutation(std::move(document), seed).text();
}

}  // namespace sptc::fuzz
