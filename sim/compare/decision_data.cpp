// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/decision.h"
#include "sim/io/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::compare {
namespace {

using Json = nlohmann::ordered_json;
using Stage = run::PassKind::Stage;

struct CandidateFigure {
  const char* name;
  /// 0: not known, or nothing of the kind.
  double (*value)(const ComparedPoint&, const Candidate&);
};
constexpr std::array<CandidateFigure, 6> kCandidateFigures{{
    {"latency_us", [](const ComparedPoint&, const Candidate& c) { return c.us; }},
    {"per_second", per_second},
    {"per_second_per_user",
     [](const ComparedPoint& p, const Candidate& c) {
       return p.pass.stage == Stage::kDecode && c.us > 0 ? 1e6 / c.us : 0.0;
     }},
    {"time_to_first_token_us",
     [](const ComparedPoint& p, const Candidate& c) { return p.pass.stage == Stage::kPrefill ? c.us : 0.0; }},
    {"power_w", [](const ComparedPoint&, const Candidate& c) { return c.watts; }},
    {"joules_per_unit", joules_per_unit},
}};

struct MemoryFigure {
  const char* name;
  double (*bytes)(const run::MemoryUse&);
};
constexpr std::array<MemoryFigure, 6> kMemoryFigures{{
    {"weights", [](const run::MemoryUse& use) { return use.weights; }},
    {"metadata", [](const run::MemoryUse& use) { return use.metadata; }},
    {"cache", [](const run::MemoryUse& use) { return use.cache; }},
    {"activations", [](const run::MemoryUse& use) { return use.activations; }},
    {"communication", [](const run::MemoryUse& use) { return use.communication; }},
    {"capacity", [](const run::MemoryUse& use) { return use.capacity; }},
}};

constexpr std::array<std::string_view, 3> kStages{"pass", "decode", "prefill"};

/// GPUs over which layers are split, and those over which experts are shared out.
int tp_of(const ComparedPoint& point) {
  return point.pass.shares_experts ? 1 : point.pass.gpus;
}
int ep_of(const ComparedPoint& point) {
  return point.pass.shares_experts ? point.pass.gpus : 1;
}

std::string_view kind_of(const Candidate& candidate) {
  return candidate.sparse ? "2:4" : "dense";
}

Json candidate_json(const ComparedPoint& point, const Candidate& candidate) {
  Json json{{"weights", kind_of(candidate)}};
  if (!candidate.impossible.empty()) {
    json["impossible"] = candidate.impossible;
    return json;
  }
  for (const CandidateFigure& figure : kCandidateFigures) {
    if (const double value = figure.value(point, candidate); value > 0) {
      json[figure.name] = value;
    }
  }
  for (std::size_t i = 0; i < kPassParts.size(); ++i) {
    json["parts_us"][std::string(kPassParts[i].key)] = candidate.part_us[i];
  }
  if (candidate.sparse) {
    json["prunable_weights"] = candidate.prunable_weights;
    json["sparse_weights"] = candidate.sparse_weights;
  }
  if (candidate.memory) {
    for (const MemoryFigure& figure : kMemoryFigures) {
      json["memory_bytes"][figure.name] = figure.bytes(*candidate.memory);
    }
    json["fits"] = candidate.fits();
  }
  return json;
}

Json pick_json(const BoardComparison& comparison, const std::optional<Pick>& pick) {
  if (!pick) {
    return {};
  }
  const ComparedPoint& point = comparison.points[pick->point];
  return {{"point", pick->point}, {"candidate", pick->candidate},
          {"type", point.type},   {"tp", tp_of(point)},
          {"ep", ep_of(point)},   {"weights", kind_of(point.candidates[pick->candidate])}};
}

std::string csv_row(const ComparedPoint& point, const Candidate& candidate, bool is_best) {
  const auto cell = [](double value) { return value > 0 ? fmt::format("{}", value) : std::string(); };
  std::vector<std::string> cells{io::csv_field(point.dims),     io::csv_field(point.board),
                                 io::csv_field(point.type),     std::to_string(tp_of(point)),
                                 std::to_string(ep_of(point)),  std::string(kind_of(candidate)),
                                 std::string(point.pass.unit())};
  for (const CandidateFigure& figure : kCandidateFigures) {
    cells.push_back(cell(figure.value(point, candidate)));
  }
  for (const double us : candidate.part_us) {
    cells.push_back(cell(us));
  }
  for (const MemoryFigure& figure : kMemoryFigures) {
    cells.push_back(candidate.memory ? cell(figure.bytes(*candidate.memory)) : "");
  }
  const bool counted = candidate.sparse && candidate.impossible.empty();
  cells.push_back(counted ? std::to_string(candidate.sparse_weights) : "");
  cells.push_back(counted ? std::to_string(candidate.prunable_weights) : "");
  cells.push_back(!candidate.memory ? "" : candidate.fits() ? "yes" : "no");
  cells.push_back(is_best ? "yes" : "");
  cells.push_back(point.error_percent ? fmt::format("{}", *point.error_percent) : "");
  cells.push_back(io::csv_field(candidate.impossible));
  return fmt::format("{}\r\n", fmt::join(cells, ","));
}

}  // namespace

void add_candidates(const ComparedPoint& point, nlohmann::ordered_json& json) {
  json["type"] = point.type;
  json["tp"] = tp_of(point);
  json["ep"] = ep_of(point);
  json["pass"] = {{"stage", kStages[static_cast<std::size_t>(point.pass.stage)]},
                  {"unit", point.pass.unit()},
                  {"inputs", point.pass.inputs},
                  {"tokens", point.pass.tokens}};
  if (point.error_percent) {
    json["error_percent"] = *point.error_percent;
  }
  json["candidates"] = Json::array();
  for (const Candidate& candidate : point.candidates) {
    json["candidates"].push_back(candidate_json(point, candidate));
  }
}

void add_decisions(const BoardComparison& comparison, nlohmann::ordered_json& json) {
  json["types"] = comparison.types;
  json["decisions"] = Json::array();
  for (const Decision& decision : decisions_of(comparison)) {
    const ComparedPoint& first = comparison.points[decision.points.front()];
    const std::optional<bool> apart = decision.is_told_apart();
    json["decisions"].push_back({{"board", first.board},
                                 {"dims", first.dims},
                                 {"best", pick_json(comparison, decision.best)},
                                 {"second", pick_json(comparison, decision.second)},
                                 {"cheapest", pick_json(comparison, decision.cheapest)},
                                 {"gain", decision.second ? Json(decision.gain) : Json()},
                                 {"error_percent", decision.error_percent ? Json(*decision.error_percent) : Json()},
                                 {"told_apart", apart ? Json(*apart) : Json()}});
  }
}

std::string decision_csv(const BoardComparison& comparison) {
  std::vector<std::string> head{"dims", "board", "type", "tp", "ep", "weights", "unit"};
  for (const CandidateFigure& figure : kCandidateFigures) {
    head.emplace_back(figure.name);
  }
  for (const PassPart& part : kPassParts) {
    head.push_back(fmt::format("{}_us", part.key));
  }
  for (const MemoryFigure& figure : kMemoryFigures) {
    head.push_back(fmt::format("{}_bytes", figure.name));
  }
  for (const char* const name : {"sparse_weights", "prunable_weights", "fits", "best", "error_percent", "impossible"}) {
    head.emplace_back(name);
  }
  std::string out = fmt::format("{}\r\n", fmt::join(head, ","));
  for (const Decision& decision : decisions_of(comparison)) {
    for (const std::size_t place : decision.points) {
      const ComparedPoint& point = comparison.points[place];
      for (std::size_t c = 0; c < point.candidates.size(); ++c) {
        out += csv_row(point, point.candidates[c], decision.best == Pick{place, c});
      }
    }
  }
  return out;
}

}  // namespace sptc::compare
