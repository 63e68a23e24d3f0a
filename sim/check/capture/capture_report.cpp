// SPDX-License-Identifier: Apache-2.0
#include "sim/check/capture/capture_crosscheck.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

namespace sptc::check::capture {
namespace {

using Json = nlohmann::ordered_json;

std::string optional_text(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

// Text --------------------------------------------------------------------------------------------

std::string header_text(const CaptureCrosscheck& result) {
  const Capture& capture = result.capture;
  std::string text = fmt::format("{} ({}), {}{}{}\n", capture.gpu, capture.target, capture.origin,
                                 capture.date.empty() ? "" : " ", capture.date);
  text += fmt::format("source: {}\n", capture.source);
  std::size_t ok = 0;
  for (const CaptureItem& item : capture.items) {
    ok += item.outcome.status == "ok" ? 1 : 0;
  }
  text += fmt::format("items: {} of {} ok\n", ok, capture.items.size());
  for (const CaptureItem& item : capture.items) {
    if (item.outcome.status != "ok") {
      text += fmt::format("  {} {}{}{}\n", item.name, item.outcome.status, item.outcome.reason.empty() ? "" : ": ",
                          item.outcome.reason);
    }
  }
  return text;
}

void append_explanations(std::string& text, const std::vector<kernel::Explanation>& explanations) {
  for (std::size_t i = 0; i < explanations.size(); ++i) {
    text += fmt::format("    {} [{}]: {}\n", i == 0 ? "likeliest cause" : "fits as well", explanations[i].cause,
                        explanations[i].text);
  }
}

std::string bits_text(const CaptureCrosscheck& result) {
  if (result.bits.empty()) {
    return "bits: none in this capture\n";
  }
  std::size_t width = 11;
  for (const BitsRow& row : result.bits) {
    width = std::max(width, row.instruction.size());
  }
  std::string text = fmt::format("\n{:<{}} {:>8} {:>5} {:>7} {:>9} {:>10}\n", "instruction", width, "evidence", "sets",
                                 "cases", "words", "mismatches");
  for (const BitsRow& row : result.bits) {
    text += fmt::format("{:<{}} {:>8} {:>5} {:>7} {:>9} {:>10}{}\n", row.instruction, width, row.evidence, row.sets,
                        row.cases, row.elements, row.mismatches, row.undefined ? "  (undefined by PTX: findings)" : "");
    if (!row.first) {
      continue;
    }
    const vectors::Mismatch& first = *row.first;
    text += fmt::format("  first: {}: {}[{}, {}, {}]{}: hardware {}, computed {}\n", row.file, first.output,
                        first.index, first.row, first.column, first.category.empty() ? "" : " (" + first.category + ")",
                        first.expected, first.computed);
    append_explanations(text, row.explanations);
    if (row.explanations.empty()) {
      text += fmt::format("    of this word alone: {}\n", first.diagnosis.step);
    }
  }
  for (const std::string& set : result.unknown_sets) {
    text += "not compared: " + set + "\n";
  }
  for (const std::string& problem : result.metadata_problems) {
    text += "metadata: " + problem + "\n";
  }
  return text;
}

std::string probes_text(const CaptureCrosscheck& result) {
  std::string text;
  for (const ProbeRow& probe : result.capture.probes) {
    if (probe.applies && probe.outcome.measured()) {
      text +=
          fmt::format("probe {:<28} {:<52} {:>10} supports {}\n", probe.name, probe.instruction, probe.d,
                      probe.supports.empty() ? "no hypothesis" : fmt::format("{}", fmt::join(probe.supports, ", ")));
    }
  }
  return text.empty() ? "" : "\n" + text;
}

std::string kernels_text(const CaptureCrosscheck& result) {
  std::string text;
  for (const CheckedKernel& checked : result.kernels) {
    const kernel::KernelDiagnosis& diagnosis = checked.diagnosis;
    text += fmt::format("kernel {} ({}): {} of {} words differ\n", checked.file,
                        checked.kernel.declared.instruction.ptx_name(), diagnosis.comparison.mismatches,
                        diagnosis.comparison.elements);
    append_explanations(text, diagnosis.fitting);
    if (!diagnosis.bit_exact() && diagnosis.fitting.empty()) {
      text += "    no cause found\n";
    }
  }
  return text.empty() ? "" : "\n" + text;
}

/// What the simulated power takes from the capture.
std::string conditions_text(const Capture& capture) {
  if (capture.power.empty()) {
    return "";
  }
  const auto watts = [](const std::optional<double>& value) {
    return value ? fmt::format("{:g} W as captured", *value) : std::string("as in the energy file");
  };
  return fmt::format(
      "power is simulated at the measured clock and over the measured time; power limit {}, board at rest {}; 'clock "
      "at the limit' is the highest clock that the limit allows to the measured cycles\n",
      watts(capture.power_limit_w), watts(capture.idle_w));
}

std::string times_text(const CaptureCrosscheck& result) {
  if (result.times.rows.empty()) {
    return "times: none in this capture\n";
  }
  std::string text = fmt::format(
      "\ntimes, simulated on {}; deviation is simulated / measured - 1\n{:<18} {:<62} {:<26} {:<20} {:>10} {:>10} "
      "{:>8}\n",
      result.architecture.empty() ? "nothing" : result.architecture, "group", "what", "point", "unit", "simulated",
      "measured", "dev");
  std::vector<std::pair<std::string, std::size_t>> reasons;
  for (const TimedRow& row : result.times.rows) {
    const auto deviation = row.deviation();
    text += fmt::format("{:<18} {:<62} {:<26} {:<20} {:>10} {:>10.2f} {:>8}\n", row.group, row.subject, row.point,
                        row.unit, optional_text(row.simulated, 2), row.measured,
                        deviation ? fmt::format("{:+.1f} %", 100 * *deviation) : "-");
    if (row.reason.empty()) {
      continue;
    }
    const auto known = std::ranges::find(reasons, row.reason, [](const auto& r) { return r.first; });
    if (known == reasons.end()) {
      reasons.emplace_back(row.reason, 1);
    } else {
      ++known->second;
    }
  }
  for (const auto& [reason, count] : reasons) {
    text += fmt::format("not simulated, {} figures: {}\n", count, reason);
  }
  for (const std::string& rows : result.times.unmeasured) {
    text += "not measured, " + rows + "\n";
  }
  return text + conditions_text(result.capture);
}

/// What stands among many rows above, once more.
std::string findings_text(const CaptureCrosscheck& result) {
  std::string text;
  for (const BitsRow& row : result.bits) {
    if (row.mismatches > 0 && !row.undefined) {
      const auto& causes = row.explanations;
      text += fmt::format("words differ [{}]: {}: {} of {}: {}\n",
                          causes.empty() ? "no cause found" : causes.front().cause, row.instruction, row.mismatches,
                          row.elements, causes.empty() ? row.first->diagnosis.step : causes.front().text);
    }
  }
  for (const std::string& problem : result.metadata_problems) {
    text += fmt::format("metadata contradicts idx: {}\n", problem);
  }
  return text;
}

/// Median deviation of each group, and its largest with the row that has it.
std::string summary_text(const CaptureCrosscheck& result) {
  std::string text;
  std::vector<const TimedRow*> rows;
  for (const TimedRow& row : result.times.rows) {
    if (row.simulated) {
      rows.push_back(&row);
    }
  }
  const auto error = [](const TimedRow* row) { return std::fabs(*row->deviation()); };
  while (!rows.empty()) {
    const std::string group = rows.front()->group;
    const auto end =
        std::ranges::stable_partition(rows, [&](const TimedRow* row) { return row->group == group; }).begin();
    std::ranges::stable_sort(rows.begin(), end, {}, error);
    const TimedRow& worst = **std::prev(end);
    text += fmt::format("{}: {} rows, median error {:.1f} %, largest {:.1f} % ({}; {})\n", group, end - rows.begin(),
                        100 * error(rows.begin()[(end - rows.begin()) / 2]), 100 * error(&worst), worst.subject,
                        worst.point);
    rows.erase(rows.begin(), end);
  }
  std::size_t words = 0;
  std::size_t wrong = 0;
  for (const BitsRow& row : result.bits) {
    words += row.elements;
    wrong += row.undefined ? 0 : row.mismatches;
  }
  text += fmt::format("bits: {} words compared, {} mismatches", words, wrong);
  const std::size_t others = result.mismatches() - wrong;
  return text + (others > 0 ? fmt::format("; {} more in metadata, kernels and GEMMs\n", others) : "\n");
}

// JSON --------------------------------------------------------------------------------------------

Json json_of(const std::vector<kernel::Explanation>& explanations) {
  Json list = Json::array();
  for (const kernel::Explanation& explanation : explanations) {
    list.push_back({{"cause", explanation.cause}, {"text", explanation.text}});
  }
  return list;
}

Json json_of(const BitsRow& row) {
  Json first = nullptr;
  if (row.first) {
    first = {{"set", row.file},
             {"output", row.first->output},
             {"case", row.first->index},
             {"category", row.first->category},
             {"row", row.first->row},
             {"column", row.first->column},
             {"hardware", row.first->expected},
             {"computed", row.first->computed},
             {"step", row.first->diagnosis.step}};
  }
  return {{"instruction", row.instruction},
          {"evidence", row.evidence},
          {"defined", !row.undefined},
          {"sets", row.sets},
          {"cases", row.cases},
          {"words", row.elements},
          {"mismatches", row.mismatches},
          {"first", first},
          {"explanations", json_of(row.explanations)}};
}

Json json_of(const TimedRow& row) {
  Json json{{"group", row.group}, {"subject", row.subject}, {"point", row.point},
            {"unit", row.unit},   {"sparse", row.sparse},   {"measured", row.measured}};
  if (row.simulated) {
    json["simulated"] = *row.simulated;
    json["deviation"] = *row.deviation();
  } else {
    json["reason"] = row.reason;
  }
  return json;
}

}  // namespace

std::string capture_text(const CaptureCrosscheck& result) {
  return header_text(result) + bits_text(result) + probes_text(result) + kernels_text(result) + times_text(result) +
         "\n" + findings_text(result) + summary_text(result);
}

std::string capture_json(const CaptureCrosscheck& result) {
  const Capture& capture = result.capture;
  Json root{{"schema", "sptcsim-crosscheck/0.1"},
            {"gpu", capture.gpu},
            {"target", capture.target},
            {"origin", capture.origin},
            {"source", capture.source},
            {"date", capture.date},
            {"arch", result.architecture.empty() ? Json(nullptr) : Json(result.architecture)},
            {"mismatches", result.mismatches()},
            {"items", Json::array()},
            {"bits", Json::array()},
            {"unknown_sets", result.unknown_sets},
            {"metadata_problems", result.metadata_problems},
            {"probes", Json::array()},
            {"kernels", Json::array()},
            {"times", Json::array()},
            {"unmeasured", result.times.unmeasured}};
  for (const CaptureItem& item : capture.items) {
    root["items"].push_back({{"name", item.name},
                             {"status", item.outcome.status},
                             {"reason", item.outcome.reason.empty() ? Json(nullptr) : Json(item.outcome.reason)}});
  }
  for (const BitsRow& row : result.bits) {
    root["bits"].push_back(json_of(row));
  }
  for (const ProbeRow& probe : capture.probes) {
    if (probe.applies && probe.outcome.measured()) {
      root["probes"].push_back(
          {{"name", probe.name}, {"instruction", probe.instruction}, {"d", probe.d}, {"supports", probe.supports}});
    }
  }
  for (const CheckedKernel& checked : result.kernels) {
    root["kernels"].push_back({{"file", checked.file},
                               {"instruction", checked.kernel.declared.instruction.ptx_name()},
                               {"words", checked.diagnosis.comparison.elements},
                               {"mismatches", checked.diagnosis.comparison.mismatches},
                               {"explanations", json_of(checked.diagnosis.fitting)}});
  }
  for (const TimedRow& row : result.times.rows) {
    root["times"].push_back(json_of(row));
  }
  return root.dump(2) + "\n";
}

}  // namespace sptc::check::capture
