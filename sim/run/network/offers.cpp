// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/offers.h"

#include "models/base/text.h"
#include "models/numerics/data_type.h"
#include "sim/config/evidence.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/kernels/operand_storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sptc::run::network {
namespace {

constexpr int kMostPart = 999'999;
constexpr std::int64_t kMostCapability = 999;

bool is_operand_word(const std::string& word) {
  auto format = kernels::parse_operand_format(word);
  format = format ? format : kernels::parse_weight_format(word);
  return format && kernels::name(*format) == word && numerics::is_operand_type(format->type);
}

std::vector<std::string> read_types(const io::JsonObject& row) {
  std::vector<std::string> types;
  row.each("types", [&](const nlohmann::json& element, const io::JsonPlace& place) {
    const std::string word = element.is_string() ? element.get<std::string>() : io::describe(element);
    if (!is_operand_word(word)) {
      std::vector<std::string_view> known = numerics::operand_type_names();
      for (const auto formats : {kernels::block_format_names(), kernels::weight_format_names()}) {
        known.insert(known.end(), formats.begin(), formats.end());
      }
      place.fail("unknown type of operands " + base::unknown_name(io::printable(word), known));
    }
    types.push_back(word);
  });
  return types;
}

std::optional<Version> read_version(const io::JsonObject& row, std::string_view key, std::string& text) {
  if (!row.has(key)) {
    return std::nullopt;
  }
  text = row.text(key);
  const std::optional<Version> version = parse_version(text);
  if (!version) {
    (row.place() / key).fail("must be a version such as \"0.18.1\", not '{}'", io::printable(text));
  }
  return version;
}

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

/// Why `offer`, which has the operands that were asked for, does not cover `at`.
std::string why_not(const Offer& offer, const Installation& at) {
  const Version asked = parse_version(at.version).value_or(Version());
  if (offer.until && asked >= *offer.until) {
    return fmt::format("it had them before {}", offer.until_text);
  }
  if (offer.since && asked < *offer.since) {
    return fmt::format("it has them since {}", offer.since_text);
  }
  return fmt::format("it needs compute capability {}{}, and {} has {}",
                     offer.sm_from > 0 ? capability_text(offer.sm_from) + " and above" : "",
                     offer.sm_below > 0
                         ? fmt::format("{}below {}", offer.sm_from > 0 ? ", " : "", capability_text(offer.sm_below))
                         : "",
                     at.board, capability_text(at.compute_capability));
}

}  // namespace

std::optional<Version> parse_version(std::string_view text, int absent) {
  Version version;
  version.parts.fill(absent);
  const std::vector<std::string_view> parts = workload::parts_of(text, '.');
  if (parts.size() > version.parts.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    int& part = version.parts[i];
    if (!io::parse_whole(parts[i], part) || part < 0 || part > kMostPart) {
      return std::nullopt;
    }
  }
  return version;
}

void read_releases(const io::JsonObject& row, bool versioned, Offer& offer) {
  offer.since = read_version(row, "since", offer.since_text);
  offer.until = read_version(row, "until", offer.until_text);
  if (!versioned && (offer.since || offer.until)) {
    row.place().fail("\"since\" and \"until\" need an engine with \"versions\"");
  }
  if (offer.since && offer.until && *offer.since >= *offer.until) {
    (row.place() / "until").fail("must be above \"since\"");
  }
}

std::vector<Offer> read_offers(const io::JsonObject& root, std::string_view key, std::string_view how,
                               std::span<const std::string_view> words, bool versioned) {
  std::vector<Offer> offers;
  if (!root.has(key)) {
    return offers;
  }
  root.each(key, [&](const nlohmann::json& element, const io::JsonPlace& place) {
    const io::JsonObject row(element, place);
    std::vector<std::string_view> keys{"types", "since", "until", "sm_from", "sm_below", "evidence", "source"};
    if (!how.empty()) {
      keys.push_back(how);
    }
    row.allow_only(keys);
    Offer offer;
    offer.source = config::read_evidence(row).source;
    offer.types = read_types(row);
    read_releases(row, versioned, offer);
    offer.sm_from = static_cast<int>(row.integer_or("sm_from", 0, 1, kMostCapability));
    offer.sm_below = static_cast<int>(row.integer_or("sm_below", 0, 1, kMostCapability));
    if (!how.empty()) {
      row.require(how);
      offer.how = words[row.choice(how, words)];
    }
    offers.push_back(std::move(offer));
  });
  return offers;
}

std::string operand_word(const workload::Operation& op) {
  if (op.storage.weight) {
    return fmt::format("w{}a{}", numerics::storage_bits(*op.storage.weight), numerics::storage_bits(op.dtype));
  }
  const kernels::OperandFormat format{op.dtype, op.storage.operand_block()};
  return std::string(kernels::name(format));
}

bool covers(const Offer& offer, const Installation& at) {
  const std::optional<Version> asked = parse_version(at.version);
  const int sm = at.compute_capability;
  return (!asked || ((!offer.since || *asked >= *offer.since) && (!offer.until || *asked < *offer.until))) &&
         (sm == 0 || ((offer.sm_from == 0 || sm >= offer.sm_from) && (offer.sm_below == 0 || sm < offer.sm_below)));
}

const Offer* find_offer(const std::vector<Offer>& offers, const std::string& word, const Installation& at) {
  const auto found = std::find_if(offers.begin(), offers.end(), [&](const Offer& offer) {
    return std::find(offer.types.begin(), offer.types.end(), word) != offer.types.end() && covers(offer, at);
  });
  return found == offers.end() ? nullptr : &*found;
}

std::string refusal(const std::vector<Offer>& offers, std::string_view what, const std::string& word,
                    const Installation& at) {
  const Offer* const found = find_offer(offers, word, at);
  if (offers.empty() || (found != nullptr && found->how != kNoPath)) {
    return "";
  }
  const std::string no =
      fmt::format("{}{}{} has no {} of {}", at.software, at.version.empty() ? "" : " ", at.version, what, word);
  if (found != nullptr) {
    return fmt::format("{} ({})", no, found->source);
  }
  // The last of several that once had them tells most.
  for (auto offer = offers.rbegin(); offer != offers.rend(); ++offer) {
    if (std::find(offer->types.begin(), offer->types.end(), word) != offer->types.end() && offer->how != kNoPath) {
      return fmt::format("{}: {} ({})", no, why_not(*offer, at), offer->source);
    }
  }
  std::vector<std::string> others;
  for (const Offer& offer : offers) {
    if (covers(offer, at) && offer.how != kNoPath) {
      others.insert(others.end(), offer.types.begin(), offer.types.end());
    }
  }
  return others.empty() ? no : fmt::format("{}: it has those of {}", no, fmt::join(others, ", "));
}

}  // namespace sptc::run::network
