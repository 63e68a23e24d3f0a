// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/random.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sptc::fuzz {

/// Variants of a seed text: bytes flipped, replaced, removed, doubled, swapped for tokens that
/// parsers trip over. A function of (seed, index) only, so that a failing input is found again by
/// its index.
class Mutator {
 public:
  Mutator(std::string text, std::uint64_t seed) : text_(std::move(text)), stream_(seed) {}

  std::string mutation(std::uint64_t index) const {
    std::string result = text_;
    const std::uint64_t edits = 1 + stream_.below(index * 64, 4);
    for (std::uint64_t edit = 0; edit < edits; ++edit) {
      apply(result, index * 64 + 1 + edit * 4);
    }
    return result;
  }

 private:
  void apply(std::string& text, std::uint64_t draw) const {
    static constexpr std::string_view kTokens[] = {"NaN",
                                                   "-1",
                                                   "0",
                                                   "1e999",
                                                   "18446744073709551616",
                                                   "9223372036854775807",
                                                   "null",
                                                   "{}",
                                                   "[]",
                                                   "\"",
                                                   ",",
                                                   "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
                                                   "\\u0000",
                                                   "\xFF",
                                                   ":",
                                                   "\n",
                                                   "true",
                                                   "1.5",
                                                   "2147483648",
                                                   "\"m\":1,"};
    if (text.empty()) {
      text = "{";
    }
    const std::size_t at = stream_.below(draw, text.size());
    const std::size_t length = std::min<std::size_t>(1 + stream_.below(draw + 1, 16), text.size() - at);
    const std::uint64_t choice = stream_.bits(draw + 3);
    switch (stream_.below(draw + 2, 7)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << (choice & 7)));
        break;
      case 1:
        text[at] = static_cast<char>(choice & 0xFF);
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(at, length));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        text.insert(at, kTokens[choice % std::size(kTokens)]);
        break;
      default:
        text.replace(at, length, kTokens[choice % std::size(kTokens)]);
        break;
    }
  }

  std::string text_;
  base::RandomStream stream_;
};

/// A JSON document with one to four changes that leave it one: values replaced, removed, doubled,
/// varied, put in another's place or under another's key. A function of `text` and `seed`. Nothing
/// where `text` is no JSON or nests deeper than 64.
std::optional<std::string> mutate_json(std::string_view text, std::uint64_t seed);

}  // namespace sptc::fuzz
