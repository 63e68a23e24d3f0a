// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"

#include "models/base/error.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sptc::base {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// An edit distance from 0 to 1: edits as a share of the longer name, less for each of the first
/// four letters that are the same (Jaro and Winkler's weight).
double dissimilarity(std::string_view a, std::string_view b) {
  constexpr std::ptrdiff_t kPrefix = 4;
  constexpr double kWeight = 0.1;
  const auto same = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  const double longer = static_cast<double>(std::max({a.size(), b.size(), std::size_t{1}}));
  return static_cast<double>(edit_distance(a, b)) / longer *
         (1 - kWeight * static_cast<double>(std::min(same, kPrefix)));
}

/// At most `count` of `candidates`, nearest first.
std::vector<std::string_view> nearest_names(std::string_view word, std::span<const std::string_view> candidates,
                                            std::size_t count) {
  struct Ranked {
    bool begins_otherwise;
    double distance;
    std::string_view name;
  };
  // The beginning of a name is more likely that name than a shorter one of similar letters. A first
  // part of a name, up to '-', may be all that was meant: "a10o" of "a100-sxm4".
  const std::string lower_word = lower_case(word);
  std::vector<Ranked> ranked;
  for (const std::string_view name : candidates) {
    const std::string lower_name = lower_case(name);
    const bool begins = lower_name.starts_with(lower_word);
    ranked.push_back({!begins,
                      begins ? static_cast<double>(lower_name.size())
                             : std::min(dissimilarity(lower_word, lower_name),
                                        dissimilarity(lower_word, lower_name.substr(0, lower_name.find('-')))),
                      name});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& left, const Ranked& right) {
    return std::pair(left.begins_otherwise, left.distance) < std::pair(right.begins_otherwise, right.distance);
  });
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) {
    names.push_back(ranked[i].name);
  }
  return names;
}

/// "a, b, c", each between `quote`s.
std::string joined(std::span<const std::string_view> names, std::string_view quote) {
  std::string text;
  for (const std::string_view name : names) {
    text.append(text.empty() ? "" : ", ").append(quote).append(name).append(quote);
  }
  return text;
}

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// A character of UTF-8 and its bytes.
struct Character {
  std::size_t bytes = 0;
  unsigned code = 0;
};

/// What `text` begins with; no bytes where that is no UTF-8 (Unicode, table 3-7).
Character first_character(std::string_view text) {
  constexpr unsigned kLeast[] = {0x80, 0x800, 0x10000};  // of two, three and four bytes
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) {
    return {1, lead};
  }
  const auto bytes = static_cast<std::size_t>(std::countl_one(lead));
  if (bytes < 2 || bytes > 4 || bytes > text.size()) {
    return {};
  }
  unsigned code = lead & (0x7FU >> bytes);
  for (const char c : text.substr(1, bytes - 1)) {
    if (!continues_character(c)) {
      return {};
    }
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  }
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[bytes - 2] || code > 0x10FFFF || is_surrogate ? Character{} : Character{bytes, code};
}

/// Whether a terminal obeys the character, or it has no width or turns the direction of the text
/// around it.
bool is_hidden(unsigned code) {
  constexpr std::pair<unsigned, unsigned> kHidden[] = {
      {0, 0x1F}, {0x7F, 0x9F}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [&](const auto& range) { return code >= range.first && code <= range.second; });
}

std::string hexadecimal(unsigned value, unsigned digits) {
  std::string text;
  while (digits-- > 0) {
    text += "0123456789abcdef"[value >> (4 * digits) & 15U];
  }
  return text;
}

/// Appends the character that `text` begins with as a terminal shows it, and returns its bytes.
std::size_t append_escaped(std::string& result, std::string_view text) {
  const auto [bytes, code] = first_character(text);
  const std::string_view character = text.substr(0, std::max<std::size_t>(bytes, 1));
  if (bytes > 0 && !is_hidden(code)) {
    result += character;
  } else if (code > 0x1F) {
    result += "\\u" + hexadecimal(code, 4);
  } else {
    result += "\\x" + hexadecimal(static_cast<unsigned char>(text[0]), 2);
  }
  return character.size();
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    text.remove_prefix(append_escaped(result, text));
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t max_bytes) {
  constexpr std::string_view kGap = "...";
  if (text.size() <= max_bytes) {
    return std::string(text);
  }
  const std::size_t at_each_end = (max_bytes - kGap.size()) / 2;
  std::size_t head = at_each_end, tail = text.size() - at_each_end;
  while (head > 0 && continues_character(text[head])) {
    --head;
  }
  while (tail < text.size() && continues_character(text[tail])) {
    ++tail;
  }
  return std::string(text.substr(0, head)).append(kGap).append(text.substr(tail));
}

std::string bounded_message(std::string_view message) {
  constexpr std::size_t kMaxLineBytes = 384;  // 400 behind "sptcsim: error: "
  constexpr std::size_t kMaxLines = 100;
  std::string text;
  for (std::size_t lines = 0; lines < kMaxLines; ++lines) {
    const std::size_t end = message.find('\n');
    text += shortened(escaped(message.substr(0, end)), kMaxLineBytes);
    if (end == std::string_view::npos) {
      return text;
    }
    text += '\n';
    message.remove_prefix(end + 1);
  }
  const auto left = std::count(message.begin(), message.end(), '\n') + 1;
  return text + "and " + std::to_string(left) + " more";
}

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  const std::vector<std::string_view> nearest = nearest_names(word, candidates, 1);
  return nearest.empty() ? std::string_view{} : nearest.front();
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lower;
}

std::string plain_name(std::string_view name) {
  std::string plain = lower_case(name);
  std::erase_if(plain, [](char c) { return c == ' ' || c == '-' || c == '_'; });
  return plain;
}

std::string unknown_name(std::string_view word, std::span<const std::string_view> allowed, std::string_view meant) {
  // A hostile file may hold a name of megabytes: quote its beginning only.
  constexpr std::size_t kQuoted = 60;
  constexpr std::size_t kMaxListed = 240, kNearest = 3;
  const std::string_view quoted = word.substr(0, kQuoted);
  const std::string text = "'" + std::string(quoted) + (word.size() > kQuoted ? "...'" : "'");
  if (allowed.empty()) {
    return text + " (none is known)";
  }
  const std::string list = joined(allowed, "");
  const bool short_list = list.size() <= kMaxListed;
  const std::string nearest =
      meant.empty() ? "nearest valid: " + joined(nearest_names(quoted, allowed, short_list ? 1 : kNearest), "'")
                    : "that is " + std::string(meant);
  return text + " (" + nearest + "; " +
         (short_list ? "allowed: " + list : std::to_string(allowed.size()) + " are allowed") + ")";
}

std::size_t place_of_name(std::string_view what, std::string_view word, std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    throw InputError("unknown " + std::string(what) + " " + unknown_name(word, names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace sptc::base
