// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sptc::fuzz {

/// A JSON document with one to four changes that leave it one: values replaced, removed, doubled,
/// varied, put in another's place or under another's key. A function of `text` and `seed`. Nothing
/// where `text` is no JSON or nests deeper than 64.
std::optional<std::string> mutate_json(std::string_view text, std::uint64_t seed);

}  // namespace sptc::fuzz
