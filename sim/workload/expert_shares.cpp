// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/expert_shares.h"

#include "sim/io/json_reader.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace sptc::workload {
namespace {

using nlohmann::json;

std::vector<double> read_shares(const io::JsonObject& object) {
  constexpr std::size_t kMostExperts = 1024;
  constexpr double kExact = 1e-6;
  std::vector<double> shares;
  double sum = 0;
  object.each("expert_shares", [&](const json& element, const io::JsonPlace& place) {
    const double share = element.is_number() ? element.get<double>() : -1;
    if (!(share >= 0 && share <= 1)) {
      place.fail("must be a number from 0 to 1, not {}", io::describe(element));
    }
    shares.push_back(share);
    sum += share;
  });
  if (shares.size() < 2 || shares.size() > kMostExperts || !(std::abs(sum - 1) <= kExact)) {
    (object.place() / "expert_shares")
        .fail("must be 2 to {} numbers whose sum is 1, not {} with a sum of {}", kMostExperts, shares.size(), sum);
  }
  return shares;
}

}  // namespace

std::vector<std::int64_t> tokens_of_experts(std::int64_t tokens, const std::vector<double>& shares) {
  std::vector<std::int64_t> result;
  std::vector<std::pair<double, std::size_t>> missing;
  std::int64_t left = tokens;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double exact = static_cast<double>(tokens) * shares[i];
    result.push_back(std::min(left, static_cast<std::int64_t>(exact)));
    left -= result.back();
    missing.emplace_back(static_cast<double>(result.back()) - exact, i);
  }
  std::ranges::sort(missing);
  for (std::size_t i = 0; left > 0; i = (i + 1) % missing.size()) {
    ++result[missing[i].second];
    --left;
  }
  return result;
}

std::vector<Operation> by_experts(const io::JsonObject& object, const Operation& op) {
  if (!object.has("expert_shares")) {
    return {op};
  }
  if (!op.weight || op.conv || op.batch != 1) {
    (object.place() / "expert_shares").fail("needs a GEMM with a weight and without 'batch'");
  }
  std::map<std::int64_t, std::int64_t, std::greater<>> experts;  // by their tokens
  for (const std::int64_t tokens : tokens_of_experts(op.shape.n, read_shares(object))) {
    experts[tokens] += tokens > 0 ? 1 : 0;
  }
  std::vector<Operation> parts;
  for (const auto& [tokens, count] : experts) {
    if (tokens > 0) {
      Operation part = op;
      part.name += fmt::format(".n{}", tokens);
      part.part_of = op.name;
      part.shape.n = tokens;
      part.batch = count;
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

bool is_expert(const Operation& op) {
  return op.weight && (!op.part_of.empty() || has_part(op.name, "expert") || has_part(op.name, "experts"));
}

}  // namespace sptc::workload
