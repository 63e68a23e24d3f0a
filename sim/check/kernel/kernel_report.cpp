// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_crosscheck.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace sptc::check::kernel {
namespace {

using Json = nlohmann::ordered_json;

/// Every cause of `causes`, which stand with "+" between, of which it is known where to look.
std::vector<std::pair<std::string, std::string_view>> advised(std::string_view causes) {
  std::vector<std::pair<std::string, std::string_view>> parts;
  while (!causes.empty()) {
    const std::string cause(causes.substr(0, causes.find('+')));
    if (const std::string_view where = advice(cause); !where.empty()) {
      parts.emplace_back(cause, where);
    }
    causes.remove_prefix(std::min(cause.size() + 1, causes.size()));
  }
  return parts;
}

// Text --------------------------------------------------------------------------------------------

std::string look_at_text(std::string_view causes) {
  std::string text;
  for (const auto& [cause, where] : advised(causes)) {
    text += fmt::format("look at: {} [{}]\n", where, cause);
  }
  return text;
}

std::string order_text(const KOrder& order) {
  const std::string slices = order.slices == 1
                                 ? std::string("one accumulator over K")
                                 : fmt::format("{} {}slices of K, reduction {}", order.slices,
                                               order.interleaved ? "interleaved " : "", name(order.reduction));
  return slices + (order.c_in_epilogue ? ", C in the epilogue" : "");
}

std::string head_text(const KernelCase& kernel, const KernelDiagnosis& diagnosis) {
  const KernelData& data = kernel.data;
  const mma::MmaInstruction& instruction = kernel.declared.instruction;
  std::string text = fmt::format("{}: D[{}, {}] {}, k {}, {} on {} ({}), {}\n", kernel.name, data.m, data.n,
                                 numerics::name(data.d_type), data.k, instruction.ptx_name(), kernel.target.name,
                                 mma::name(kernel.declared.rules.evidence), order_text(kernel.declared.order));
  if (const auto warning = mma::speed_warning(kernel.target, instruction); !warning.empty()) {
    text += fmt::format("note: on {} {}\n", kernel.target.name, warning);
  }
  if (const auto& invalid = diagnosis.invalid_metadata) {
    text += fmt::format(
        "invalid metadata{}: {} of {} nibbles, the first {:#06b} of row {}, group {}: PTX leaves such a D "
        "undefined\n",
        instruction.needs_order() ? ", equal indices or out of order" : "", invalid->nibbles, invalid->of,
        invalid->nibble, invalid->row, invalid->group);
  }
  const WordComparison& comparison = diagnosis.comparison;
  text += diagnosis.bit_exact()
              ? fmt::format("bit-exact: {0} of {0} elements equal\n", comparison.elements)
              : fmt::format("not bit-exact: {} of {} elements differ\n", comparison.mismatches, comparison.elements);
  if (diagnosis.tolerance.is_given() && !diagnosis.bit_exact()) {
    text += fmt::format("{}: {} of them are within the tolerance\n", diagnosis.is_right() ? "right" : "wrong",
                        diagnosis.tolerated);
  }
  return text;
}

std::string places_text(const KernelData& data, const FaultLocation& location, std::string_view heading) {
  constexpr std::size_t kListed = 8;
  const std::size_t count = location.places.size();
  std::string text;
  for (std::size_t i = 0; i < std::min(kListed, count); ++i) {
    const auto& [region, fault] = location.places[i];
    text += fmt::format("{}: {}: {} of {} elements differ{}\n", heading, place_text(region, data), region.mismatches,
                        region.elements(), fault ? "; there " + fault->text : "");
  }
  return count > kListed ? text + fmt::format("{}: {} other places\n", heading, count - kListed) : text;
}

/// What makes the kernel differ, as far as it is known, and what says so.
std::string cause_text(const KernelData& data, const KernelDiagnosis& diagnosis) {
  const FaultLocation& location = diagnosis.location;
  std::string text;
  for (const Explanation& fitting : diagnosis.fitting) {
    text +=
        fmt::format("{} [{}]: {}\n",
                    !text.empty()                    ? "fits as well; this data cannot tell them apart"
                    : diagnosis.may_be_chance        ? "may be, but too few words differ to tell"
                    : diagnosis.tolerance.is_given() ? "likeliest cause, explains every element within the tolerance"
                                                     : "likeliest cause, explains every element bit for bit",
                    fitting.cause, fitting.text);
  }
  if (!diagnosis.fitting.empty()) {
    return text + look_at_text(diagnosis.fitting.front().cause);
  }
  return location.has_fault() ? fmt::format("some of the elements that differ are explained, bit for bit [{}]: {}\n{}",
                                            location.causes(), text_of(location, data), look_at_text(location.causes()))
                              : fmt::format(
                                    "no cause found: none of {} changes of the whole kernel explains every element, "
                                    "nor do faults of places\n",
                                    diagnosis.tried);
}

std::string errors_text(const Population& population) {
  return population.least_ulps ? fmt::format(" ({} to {} ulps; backward error to {:.1e})", *population.least_ulps,
                                             *population.most_ulps, population.most_relative)
                               : " (NaN or infinity)";
}

/// What the sizes of the errors say, where nothing explains all of them.
std::string populations_text(const KernelData& data, const KernelDiagnosis& diagnosis) {
  const auto& [rounding, beyond, where, proved] = diagnosis.populations;
  const FaultLocation& larger = diagnosis.beyond_rounding;
  if (diagnosis.may_be_order()) {
    const bool is_rest = diagnosis.location.has_fault();
    return fmt::format(
        "rounding: {} {} are off by no more than another order of the sums can be{}, which is proved to {:.1e} of the "
        "sum of |a||b|\n"
        "order: none that is known (split-K, stream-K, slices of k, promotion) gives these bits; sums by atomics have "
        "none to find. --tolerance rel:{:.1e} takes {} for right\n",
        is_rest ? "the other" : "all", rounding.elements, errors_text(rounding), proved, rounding.most_relative * 1.05,
        is_rest ? "them" : "D");
  }
  std::string text;
  if (diagnosis.populations.are_two()) {
    text = fmt::format(
        "two populations: {} elements are off by no more than another order of the sums can be{}, {} by {}{}\n",
        rounding.elements, errors_text(rounding), beyond.elements,
        beyond.least_ulps && beyond.most_relative <= proved ? "far more than these" : "more", errors_text(beyond));
  }
  if (larger.has_fault()) {
    text += fmt::format("cause of the larger errors, as far as rounding lets tell [{}]: {}\n{}", larger.causes(),
                        text_of(larger, data), look_at_text(larger.causes()));
  }
  return text.empty() ? text : text + places_text(data, larger, "by more");
}

/// The alternative that explains most, and what it leaves.
std::string nearest_text(const KernelData& data, const KernelDiagnosis& diagnosis) {
  if (!diagnosis.nearest) {
    return "";
  }
  const auto& [cause, text, left] = *diagnosis.nearest;
  const std::size_t all = diagnosis.comparison.mismatches;
  const bool other_target = cause.find("architecture") != std::string::npos;
  return fmt::format(
      "partial: [{}] explains {} of the {} elements that differ: {}; {} remain\n{}try: the same with {}, "
      "which leaves one cause to look for\n",
      cause, all - std::min(all, left), all, text, left, places_text(data, diagnosis.rest, "what remains"),
      other_target ? "--arch of that architecture" : "--k-order, --instruction or a --kernel file that says so");
}

std::string histogram_text(const WordComparison& comparison) {
  std::string text = fmt::format("{:>24}  {:>10}  {:>6}\n", "ulps", "elements", "share");
  const auto line = [&](const std::string& label, std::size_t elements) {
    const double share = 100.0 * static_cast<double>(elements) / static_cast<double>(comparison.elements);
    text += elements == 0 ? "" : fmt::format("{:>24}  {:>10}  {:>5.1f}%\n", label, elements, share);
  };
  for (const auto& [from, to, elements] : comparison.histogram) {
    line(from == to ? fmt::format("{}", from) : fmt::format("{}..{}", from, to), elements);
  }
  line("NaN or infinity", comparison.special);
  return text;
}

// JSON --------------------------------------------------------------------------------------------

template <typename Value>
Json json_of(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const Intervals& intervals) {
  Json json = Json::array();
  for (const Interval& interval : intervals) {
    json.push_back({interval.begin, interval.end - 1});
  }
  return json;
}

Json json_of(const KernelData& data, const FaultLocation& location) {
  Json places = Json::array();
  for (const auto& [region, fault] : location.places) {
    const TilePlace tile = tile_of(region, data.m, data.n);
    Json tile_json = nullptr;
    if (tile.height > 0) {
      tile_json = {{"row", tile.row}, {"column", tile.column}, {"height", tile.height}, {"width", tile.width}};
    }
    places.push_back({{"rows", json_of(region.rows)},
                      {"columns", json_of(region.columns)},
                      {"elements", region.elements()},
                      {"mismatches", region.mismatches},
                      {"tile", tile_json},
                      {"cause", fault ? Json(fault->cause) : Json(nullptr)},
                      {"text", fault ? Json(fault->text) : Json(nullptr)}});
  }
  return places;
}

Json json_of(const Population& population) {
  return {{"elements", population.elements},
          {"least_ulps", json_of(population.least_ulps)},
          {"most_ulps", json_of(population.most_ulps)},
          {"backward_error", population.most_relative}};
}

Json json_of(const Explanation& explanation) {
  return {{"cause", explanation.cause}, {"text", explanation.text}, {"mismatches", explanation.mismatches}};
}

}  // namespace

std::string answer_text(const KernelCase& kernel, const KernelDiagnosis& diagnosis) {
  const KernelData& data = kernel.data;
  std::string text = head_text(kernel, diagnosis);
  if (diagnosis.bit_exact()) {
    return text;
  }
  if (!diagnosis.is_right()) {
    text += places_text(data, diagnosis.location, "where") + cause_text(data, diagnosis) +
            populations_text(data, diagnosis) + nearest_text(data, diagnosis);
  }
  const FirstMismatch& first = *diagnosis.first;
  return text + fmt::format("first: D[{}, {}]: your kernel {}, expected {}{}\n", first.row, first.column,
                            first.observed, first.computed, first.ulps ? fmt::format(" ({} ulps)", *first.ulps) : "");
}

std::string kernel_text(const KernelCase& kernel, const KernelDiagnosis& diagnosis) {
  const std::string answer = answer_text(kernel, diagnosis);
  return diagnosis.bit_exact() ? answer : answer + map_text(diagnosis) + histogram_text(diagnosis.comparison);
}

std::string kernel_json(const KernelCase& kernel, const KernelDiagnosis& diagnosis) {
  const KernelData& data = kernel.data;
  const WordComparison& comparison = diagnosis.comparison;
  Json root{{"schema", "sptcsim-crosscheck-kernel/0.1"},
            {"name", kernel.name},
            {"arch", kernel.target.name},
            {"instruction", kernel.declared.instruction.ptx_name()},
            {"evidence", mma::name(kernel.declared.rules.evidence)},
            {"m", data.m},
            {"n", data.n},
            {"k", data.k},
            {"d_type", numerics::name(data.d_type)},
            {"bit_exact", diagnosis.bit_exact()},
            {"elements", comparison.elements},
            {"mismatches", comparison.mismatches},
            {"special", comparison.special},
            {"tolerance", nullptr},
            {"invalid_metadata", nullptr},
            {"histogram", Json::array()},
            {"first", nullptr},
            {"places", json_of(data, diagnosis.location)},
            {"populations", nullptr},
            {"alternatives_tried", diagnosis.tried},
            {"may_be_chance", diagnosis.may_be_chance},
            {"fitting", Json::array()},
            {"look_at", Json::array()},
            {"nearest", nullptr},
            {"rest", json_of(data, diagnosis.nearest ? diagnosis.rest : FaultLocation{})}};
  if (const Tolerance& tolerance = diagnosis.tolerance; tolerance.is_given()) {
    root["tolerance"] = {{"ulps", json_of(tolerance.ulps)},
                         {"relative", json_of(tolerance.relative)},
                         {"within", diagnosis.tolerated},
                         {"is_right", diagnosis.is_right()}};
  }
  if (const auto& invalid = diagnosis.invalid_metadata) {
    root["invalid_metadata"] = {{"nibbles", invalid->nibbles},
                                {"of", invalid->of},
                                {"row", invalid->row},
                                {"group", invalid->group},
                                {"nibble", fmt::format("{:#06b}", invalid->nibble)}};
  }
  for (const auto& [from, to, elements] : comparison.histogram) {
    root["histogram"].push_back({{"ulps_from", from}, {"ulps_to", to}, {"elements", elements}});
  }
  if (const auto& first = diagnosis.first) {
    root["first"] = {{"row", first->row},
                     {"column", first->column},
                     {"observed", first->observed},
                     {"computed", first->computed},
                     {"ulps", json_of(first->ulps)}};
  }
  const ErrorPopulations& errors = diagnosis.populations;
  if (errors.are_two() || diagnosis.may_be_order() || diagnosis.beyond_rounding.has_fault()) {
    root["populations"] = {{"proved", errors.proved},
                           {"rounding", json_of(errors.rounding)},
                           {"beyond", json_of(errors.beyond)},
                           {"places", json_of(data, diagnosis.beyond_rounding)}};
  }
  for (const Explanation& explanation : diagnosis.fitting) {
    root["fitting"].push_back(json_of(explanation));
  }
  for (const auto& [cause, where] : advised(!diagnosis.fitting.empty()       ? diagnosis.fitting.front().cause
                                            : diagnosis.location.has_fault() ? diagnosis.location.causes()
                                                                             : diagnosis.beyond_rounding.causes())) {
    root["look_at"].push_back({{"cause", cause}, {"text", where}});
  }
  if (diagnosis.nearest) {
    root["nearest"] = json_of(*diagnosis.nearest);
  }
  return root.dump(2) + "\n";
}

}  // namespace sptc::check::kernel
