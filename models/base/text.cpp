// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace sptc {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lower;
}

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

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  // The beginning of a name is more likely that name than a shorter one of similar letters.
  const std::string lower_word = lower_case(word);
  const auto distance = [&lower_word](std::string_view name) {
    const std::string lower_name = lower_case(name);
    return std::pair(!lower_name.starts_with(lower_word), edit_distance(lower_word, lower_name));
  };
  const auto nearest =
      std::min_element(candidates.begin(), candidates.end(),
                       [&](auto left, auto right) { return distance(left) < distance(right); });
  return nearest == candidates.end() ? std::string_view{} : *nearest;
}

std::string plain_name(std::string_view name) {
  std::string plain = lower_case(name);
  std::erase_if(plain, [](char c) { return c == ' ' || c == '-' || c == '_'; });
  return plain;
}

std::string unknown_name(std::string_view word, std::span<const std::string_view> allowed,
                         std::string_view meant) {
  // A hostile file may hold a name of megabytes: quote its beginning only.
  constexpr std::size_t kQuoted = 60;
  const std::string_view quoted = word.substr(0, kQuoted);
  std::string text = "'" + std::string(quoted) + (word.size() > kQuoted ? "...'" : "'");
  if (allowed.empty()) {
    return text + " (none is known)";
  }
  text += meant.empty() ? " (nearest valid: '" + std::string(nearest_name(quoted, allowed)) + "'"
                        : " (that is " + std::string(meant);
  text += "; allowed: ";
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(allowed[i]);
  }
  return text + ")";
}

}  // namespace sptc
