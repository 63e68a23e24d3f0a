// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/vectors/verify.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sptc::compare::vectors {
namespace {

using Json = nlohmann::ordered_json;

struct Totals {
  std::size_t cases = 0;
  std::size_t elements = 0;
  std::size_t contested = 0;
  std::size_t corrected = 0;
};

Totals totals(const VerifyResult& result) {
  Totals sum;
  for (const VerifiedSet& set : result.sets) {
    sum.cases += set.cases;
    sum.elements += set.elements;
    sum.contested += set.contested;
    sum.corrected += set.corrected;
  }
  return sum;
}

std::string_view profile_name(mma::Profile profile) {
  return profile == mma::Profile::kHardware ? "hardware" : "mma-sim";
}

Json json_of(const Mismatch& first) {
  return {{"output", first.output},        {"case", first.index},
          {"category", first.category},    {"row", first.row},
          {"column", first.column},        {"expected", first.expected},
          {"computed", first.computed},    {"step", first.diagnosis.step},
          {"trace", first.diagnosis.trace}};
}

}  // namespace

std::string verify_text(const VerifyResult& result) {
  std::size_t width = 4;
  for (const VerifiedSet& set : result.sets) {
    width = std::max(width, set.file.size());
  }
  std::string text = fmt::format("{:<{}} {:>6} {:>9} {:>9} {:>10}\n", "file", width, "cases",
                                 "elements", "contested", "mismatches");
  for (const VerifiedSet& set : result.sets) {
    text += fmt::format("{:<{}} {:>6} {:>9} {:>9} {:>10}\n", set.file, width, set.cases,
                        set.elements, set.contested, set.mismatches);
    if (set.corrected > 0) {
      text += fmt::format(
          "  {} words left out differ in the bits of a NaN of f64 alone: this model has those of "
          "its host, and captures of an H100 and an H200 those that are computed "
          "(tests/hardware/DEVIATIONS.md)\n",
          set.corrected);
    }
    if (set.first) {
      const Mismatch& first = *set.first;
      text += fmt::format("  first: {}[{}, {}, {}]{}: expected {}, computed {}\n  {}\n",
                          first.output, first.index, first.row, first.column,
                          first.category.empty() ? "" : " (" + first.category + ")", first.expected,
                          first.computed, set.instruction);
      text += fmt::format("  differs in: {}\n", first.diagnosis.step);
      for (const std::string& line : first.diagnosis.trace) {
        text += fmt::format("    {}\n", line);
      }
    }
  }
  const Totals sum = totals(result);
  text += fmt::format(
      "profile {}: {} files, {} cases, {} elements compared, {} contested left out, {}{} "
      "mismatches\n",
      profile_name(result.profile), result.sets.size(), sum.cases, sum.elements, sum.contested,
      sum.corrected > 0 ? fmt::format("{} corrected by captures, ", sum.corrected) : "",
      result.mismatches());
  return text;
}

std::string verify_json(const VerifyResult& result) {
  Json files = Json::array();
  for (const VerifiedSet& set : result.sets) {
    files.push_back({{"file", set.file},
                     {"family", set.family},
                     {"instruction", set.instruction},
                     {"evidence", set.evidence},
                     {"cases", set.cases},
                     {"elements", set.elements},
                     {"contested", set.contested},
                     {"corrected", set.corrected},
                     {"mismatches", set.mismatches},
                     {"first", set.first ? json_of(*set.first) : Json(nullptr)}});
  }
  const Totals sum = totals(result);
  const Json root{{"profile", profile_name(result.profile)},
                  {"files", files},
                  {"totals",
                   {{"files", result.sets.size()},
                    {"cases", sum.cases},
                    {"elements", sum.elements},
                    {"contested", sum.contested},
                    {"corrected", sum.corrected},
                    {"mismatches", result.mismatches()}}}};
  return root.dump(2) + "\n";
}

}  // namespace sptc::compare::vectors
