// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/decision.h"
#include "sim/io/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

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

struct ChoiceFigure {
  const char* name;
  /// 0: not known, or nothing of the kind.
  double (*value)(const Choice&);
};
constexpr std::array<ChoiceFigure, 6> kFiguresOfChoice{{
    {"latency_us", [](const Choice& one) { return one.candidate->us; }},
    {"per_second", [](const Choice& one) { return one.per_second(); }},
    {"per_second_per_user",
     [](const Choice& one) {
       return one.point->pass.stage == Stage::kDecode && one.candidate->us > 0 ? 1e6 / one.candidate->us : 0.0;
     }},
    {"time_to_first_token_us",
     [](const Choice& one) { return one.point->pass.stage == Stage::kPrefill ? one.candidate->us : 0.0; }},
    {"power_w", [](const Choice& one) { return one.candidate->watts; }},
    {"joules_per_unit", [](const Choice& one) { return one.joules_per_unit(); }},
}};

struct MemoryFigure {
  const char* name;
  double run::MemoryUse::*bytes;
};
constexpr std::array<MemoryFigure, 6> kMemoryFigures{{{"weights", &run::MemoryUse::weights},
                                                      {"metadata", &run::MemoryUse::metadata},
                                                      {"cache", &run::MemoryUse::cache},
                                                      {"activations", &run::MemoryUse::activations},
                                                      {"communication", &run::MemoryUse::communication},
                                                      {"capacity", &run::MemoryUse::capacity}}};

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

Json choice_json(const Choice& choice) {
  const Candidate& candidate = *choice.candidate;
  Json json{{"weights", kind_of(candidate)}};
  if (!candidate.impossible.empty()) {
    json["impossible"] = candidate.impossible;
    return json;
  }
  for (const ChoiceFigure& figure : kFiguresOfChoice) {
    if (const double value = figure.value(choice); value > 0) {
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
      json["memory_bytes"][figure.name] = (*candidate.memory).*figure.bytes;
    }
    json["fits"] = candidate.fits();
  }
  return json;
}

/// `choice`, and where it stands among the points of `comparison`.
Json place_json(const BoardComparison& comparison, const std::optional<Choice>& choice) {
  if (!choice) {
    return {};
  }
  const ComparedPoint& point = *choice->point;
  return {{"point", &point - comparison.points.data()},
          {"candidate", choice->candidate - point.candidates.data()},
          {"type", point.type},
          {"tp", tp_of(point)},
          {"ep", ep_of(point)},
          {"weights", kind_of(*choice->candidate)}};
}

std::string csv_row(const Choice& choice, bool is_best) {
  const ComparedPoint& point = *choice.point;
  const Candidate& candidate = *choice.candidate;
  const auto cell = [](double value) { return value > 0 ? fmt::format("{}", value) : std::string(); };
  std::vector<std::string> cells{io::csv_field(point.dims),     io::csv_field(point.board),
                                 io::csv_field(point.type),     std::to_string(tp_of(point)),
                                 std::to_string(ep_of(point)),  std::string(kind_of(candidate)),
                                 std::string(point.pass.unit())};
  for (const ChoiceFigure& figure : kFiguresOfChoice) {
    cells.push_back(cell(figure.value(choice)));
  }
  for (const double us : candidate.part_us) {
    cells.push_back(cell(us));
  }
  for (const MemoryFigure& figure : kMemoryFigures) {
    cells.push_back(candidate.memory ? cell((*candidate.memory).*figure.bytes) : "");
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
  for (const Choice& choice : choices_of(point)) {
    json["candidates"].push_back(choice_json(choice));
  }
}

void add_decisions(const BoardComparison& comparison, nlohmann::ordered_json& json) {
  json["types"] = comparison.types;
  json["decisions"] = Json::array();
  for (const Decision& decision : decisions_of(comparison)) {
    const ComparedPoint& first = *decision.points.front();
    const std::optional<bool> apart = decision.is_told_apart();
    json["decisions"].push_back({{"board", first.board},
                                 {"dims", first.dims},
                                 {"best", place_json(comparison, decision.best)},
                                 {"second", place_json(comparison, decision.second)},
                                 {"cheapest", place_json(comparison, decision.cheapest)},
                                 {"gain", decision.second ? Json(decision.gain) : Json()},
                                 {"error_percent", decision.error_percent ? Json(*decision.error_percent) : Json()},
                                 {"told_apart", apart ? Json(*apart) : Json()}});
  }
}

std::string decision_csv(const BoardComparison& comparison) {
  std::vector<std::string> head{"dims", "board", "type", "tp", "ep", "weights", "unit"};
  for (const ChoiceFigure& figure : kFiguresOfChoice) {
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
    for (const ComparedPoint* const point : decision.points) {
      for (const Choice& choice : choices_of(*point)) {
        out += csv_row(choice, decision.best == choice);
      }
    }
  }
  return out;
}

}  // namespace sptc::compare
