// SPDX-License-Identifier: Apache-2.0
#include "models/mma/catalogue.h"
#include "sim/check/kernel/kernel_crosscheck.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

using Json = nlohmann::ordered_json;

std::string order_text(const KernelModel& model) {
  const KOrder& order = model.order;
  std::string text = order.slices == 1 ? std::string("one accumulator over K")
                                       : fmt::format("{} {}slices of K, reduction {}", order.slices,
                                                     order.interleaved ? "interleaved " : "",
                                                     name(order.reduction));
  return text + (order.c_in_epilogue ? ", C in the epilogue" : "");
}

std::string bucket_name(const UlpBucket& bucket) {
  return bucket.from == bucket.to ? fmt::format("{}", bucket.from)
                                  : fmt::format("{}..{}", bucket.from, bucket.to);
}

std::string histogram_text(const WordComparison& comparison) {
  std::string text = fmt::format("{:>24}  {:>10}  {:>6}\n", "ulps", "elements", "share");
  const auto line = [&](const std::string& label, std::size_t elements) {
    text += fmt::format(
        "{:>24}  {:>10}  {:>5.1f}%\n", label, elements,
        100.0 * static_cast<double>(elements) / static_cast<double>(comparison.elements));
  };
  for (const UlpBucket& bucket : comparison.histogram) {
    if (bucket.elements > 0) {
      line(bucket_name(bucket), bucket.elements);
    }
  }
  if (comparison.special > 0) {
    line("NaN or infinity", comparison.special);
  }
  return text;
}

constexpr std::size_t kPlacesInText = 8;

std::string places_text(const KernelData& data, const FaultLocation& location,
                        std::string_view heading = "where") {
  std::string text;
  const auto& places = location.places;
  for (std::size_t i = 0; i < std::min(kPlacesInText, places.size()); ++i) {
    const Region& region = places[i].region;
    text += fmt::format("{}: {}: {} of {} elements differ{}\n", heading, place_text(region, data),
                        region.mismatches, region.elements(),
                        places[i].fault ? "; there " + places[i].fault->text : "");
  }
  if (places.size() > kPlacesInText) {
    text += fmt::format("{}: {} other places\n", heading, places.size() - kPlacesInText);
  }
  return text;
}

/// Every cause of `causes`, which stand with "+" between, of which it is known where to look.
std::vector<std::pair<std::string, std::string_view>> advised(std::string_view causes) {
  std::vector<std::pair<std::string, std::string_view>> parts;
  for (std::size_t begin = 0; begin < causes.size();) {
    const std::size_t end = std::min(causes.find('+', begin), causes.size());
    const std::string cause(causes.substr(begin, end - begin));
    if (const std::string_view where = advice(cause); !where.empty()) {
      parts.emplace_back(cause, where);
    }
    begin = end + 1;
  }
  return parts;
}

/// What to look at in the kernel.
std::string look_at_text(std::string_view causes) {
  std::string text;
  for (const auto& [cause, where] : advised(causes)) {
    text += fmt::format("look at: {} [{}]\n", where, cause);
  }
  return text;
}

std::string errors_text(const Population& population) {
  return population.least_ulps
             ? fmt::format(" ({} to {} ulps; backward error to {:.1e})", *population.least_ulps,
                           *population.most_ulps, population.most_relative)
             : " (NaN or infinity)";
}

/// What the sizes of the errors say, where nothing explains all of them.
std::string populations_text(const KernelData& data, const KernelDiagnosis& diagnosis) {
  const ErrorPopulations& errors = diagnosis.populations;
  if (diagnosis.may_be_order()) {
    return fmt::format(
        "rounding: all {} are off by no more than another order of the sums can be{}, which is "
        "proved to {:.1e} of the sum of |a||b|\n"
        "order: none that is known (split-K, stream-K, slices of k, promotion) gives these bits; "
        "sums by atomics have none to find. --tolerance rel:{:.1e} takes D for right\n",
        errors.rounding.elements, errors_text(errors.rounding), errors.proved, errors.proved);
  }
  std::string text;
  if (errors.are_two()) {
    text = fmt::format(
        "two populations: {} elements are off by no more than another order of the sums can be{}, "
        "{} by more{}\n",
        errors.rounding.elements, errors_text(errors.rounding), errors.beyond.elements,
        errors_text(errors.beyond));
  }
  const FaultLocation& larger = diagnosis.beyond_rounding;
  if (larger.has_fault()) {
    text += fmt::format("cause of the larger errors, as far as rounding lets tell [{}]: {}\n{}",
                        larger.causes(), text_of(larger, data), look_at_text(larger.causes()));
  }
  return text.empty() ? text : text + places_text(data, larger, "by more");
}

/// The alternative that explains most, and what it leaves.
std::string nearest_text(const KernelData& data, const KernelDiagnosis& diagnosis) {
  if (!diagnosis.nearest) {
    return "";
  }
  const Explanation& nearest = *diagnosis.nearest;
  const std::size_t all = diagnosis.comparison.mismatches;
  const bool other_target = nearest.cause.find("architecture") != std::string::npos;
  return fmt::format("partial: [{}] explains {} of the {} elements that differ: {}; {} remain\n",
                     nearest.cause, all - std::min(all, nearest.mismatches), all, nearest.text,
                     nearest.mismatches) +
         places_text(data, diagnosis.rest, "what remains") +
         fmt::format("try: {}, which leaves one cause to look for\n",
                     other_target ? "the same with --arch of that architecture"
                                  : "the same with a --kernel file that declares it");
}

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
  for (const LocatedFault& place : location.places) {
    const Region& region = place.region;
    const TilePlace tile = tile_of(region, data.m, data.n);
    Json json{{"rows", json_of(region.rows)},
              {"columns", json_of(region.columns)},
              {"elements", region.elements()},
              {"mismatches", region.mismatches},
              {"tile", nullptr},
              {"cause", nullptr},
              {"text", nullptr}};
    if (tile.height > 0) {
      json["tile"] = {{"row", tile.row},
                      {"column", tile.column},
                      {"height", tile.height},
                      {"width", tile.width}};
    }
    if (place.fault) {
      json["cause"] = place.fault->cause;
      json["text"] = place.fault->text;
    }
    places.push_back(std::move(json));
  }
  return places;
}

Json json_of(const Population& population) {
  return {{"elements", population.elements},
          {"least_ulps", json_of(population.least_ulps)},
          {"most_ulps", json_of(population.most_ulps)},
          {"backward_error", population.most_relative}};
}

Json json_of(const KernelData& data, const KernelDiagnosis& diagnosis) {
  const ErrorPopulations& errors = diagnosis.populations;
  if (!errors.are_two() && !diagnosis.may_be_order() && !diagnosis.beyond_rounding.has_fault()) {
    return nullptr;
  }
  return {{"proved", errors.proved},
          {"rounding", json_of(errors.rounding)},
          {"beyond", json_of(errors.beyond)},
          {"places", json_of(data, diagnosis.beyond_rounding)}};
}

Json json_of(const Explanation& explanation) {
  return {{"cause", explanation.cause},
          {"text", explanation.text},
          {"mismatches", explanation.mismatches}};
}

/// What makes the kernel differ, as far as it is known, and what says so.
std::string cause_text(const KernelData& data, const KernelDiagnosis& diagnosis) {
  const std::string_view exact = diagnosis.tolerance.is_given()
                                     ? "explains every element within the tolerance"
                                     : "explains every element bit for bit";
  const FaultLocation& location = diagnosis.location;
  std::string text;
  for (std::size_t i = 0; i < diagnosis.fitting.size(); ++i) {
    const Explanation& fitting = diagnosis.fitting[i];
    text += fmt::format(
        "{} [{}]: {}\n",
        i == 0 ? fmt::format("likeliest cause, {}", exact) : std::string("this data fits as well"),
        fitting.cause, fitting.text);
  }
  if (!diagnosis.fitting.empty()) {
    return text + look_at_text(diagnosis.fitting.front().cause);
  }
  if (location.has_fault()) {
    return fmt::format("part of it is explained, bit for bit [{}]: {}\n{}", location.causes(),
                       text_of(location, data), look_at_text(location.causes()));
  }
  return fmt::format("no cause found: none of {} alternatives explains every element\n",
                     diagnosis.tried);
}

std::string verdict_text(const KernelDiagnosis& diagnosis) {
  const WordComparison& comparison = diagnosis.comparison;
  if (diagnosis.bit_exact()) {
    return fmt::format("bit-exact: {} of {} elements equal\n", comparison.elements,
                       comparison.elements);
  }
  std::string text = fmt::format("not bit-exact: {} of {} elements differ\n", comparison.mismatches,
                                 comparison.elements);
  if (diagnosis.tolerance.is_given()) {
    text += fmt::format("{}: {} of them are within the tolerance\n",
                        diagnosis.is_right() ? "right" : "wrong", diagnosis.tolerated);
  }
  return text;
}

/// Every cause that is named, and where to look for it.
Json look_at_json(const KernelDiagnosis& diagnosis) {
  const std::string causes = !diagnosis.fitting.empty()       ? diagnosis.fitting.front().cause
                             : diagnosis.location.has_fault() ? diagnosis.location.causes()
                                                              : diagnosis.beyond_rounding.causes();
  Json json = Json::array();
  for (const auto& [cause, where] : advised(causes)) {
    json.push_back({{"cause", cause}, {"text", where}});
  }
  return json;
}

Json tolerance_json(const KernelDiagnosis& diagnosis) {
  const Tolerance& tolerance = diagnosis.tolerance;
  if (!tolerance.is_given()) {
    return nullptr;
  }
  return {{"ulps", json_of(tolerance.ulps)},
          {"relative", json_of(tolerance.relative)},
          {"within", diagnosis.tolerated},
          {"is_right", diagnosis.is_right()}};
}

}  // namespace

std::string kernel_text(const KernelCase& kernel, const KernelDiagnosis& diagnosis) {
  const KernelData& data = kernel.data;
  std::string text = fmt::format(
      "{}: D[{}, {}] {}, k {}, {} on {} ({}), {}\n", kernel.name, data.m, data.n,
      numerics::name(data.d_type), data.k, kernel.declared.instruction.ptx_name(),
      kernel.target.name, mma::name(kernel.declared.rules.evidence), order_text(kernel.declared));
  if (const auto warning = mma::speed_warning(kernel.target, kernel.declared.instruction);
      !warning.empty()) {
    text += fmt::format("note: on {} {}\n", kernel.target.name, warning);
  }
  if (diagnosis.invalid_metadata) {
    const InvalidMetadata& invalid = *diagnosis.invalid_metadata;
    text += fmt::format(
        "invalid metadata{}: {} of {} nibbles, the first {:#06b} of row {}, group {}: PTX leaves "
        "such a D undefined\n",
        kernel.declared.instruction.needs_order() ? ", equal indices or out of order" : "",
        invalid.nibbles, invalid.of, invalid.nibble, invalid.row, invalid.group);
  }
  text += verdict_text(diagnosis);
  if (diagnosis.bit_exact()) {
    return text;
  }
  if (!diagnosis.is_right()) {
    text += places_text(data, diagnosis.location) + cause_text(data, diagnosis) +
            populations_text(data, diagnosis) + nearest_text(data, diagnosis);
  }
  const FirstMismatch& first = *diagnosis.first;
  text += fmt::format("first: D[{}, {}]: kernel {}, computed {}{}\n", first.row, first.column,
                      first.observed, first.computed,
                      first.ulps ? fmt::format(" ({} ulps)", *first.ulps) : "");
  return text + map_text(diagnosis) + histogram_text(diagnosis.comparison);
}

std::string kernel_json(const KernelCase& kernel, const KernelDiagnosis& diagnosis) {
  const KernelData& data = kernel.data;
  const WordComparison& comparison = diagnosis.comparison;
  Json histogram = Json::array();
  for (const UlpBucket& bucket : comparison.histogram) {
    histogram.push_back(
        {{"ulps_from", bucket.from}, {"ulps_to", bucket.to}, {"elements", bucket.elements}});
  }
  Json fitting = Json::array();
  for (const Explanation& explanation : diagnosis.fitting) {
    fitting.push_back(json_of(explanation));
  }
  Json first = nullptr;
  if (diagnosis.first) {
    first = {{"row", diagnosis.first->row},
             {"column", diagnosis.first->column},
             {"observed", diagnosis.first->observed},
             {"computed", diagnosis.first->computed},
             {"ulps", json_of(diagnosis.first->ulps)}};
  }
  Json invalid = nullptr;
  if (diagnosis.invalid_metadata) {
    invalid = {{"nibbles", diagnosis.invalid_metadata->nibbles},
               {"of", diagnosis.invalid_metadata->of},
               {"row", diagnosis.invalid_metadata->row},
               {"group", diagnosis.invalid_metadata->group},
               {"nibble", fmt::format("{:#06b}", diagnosis.invalid_metadata->nibble)}};
  }
  const Json root{{"schema", "sptcsim-crosscheck-kernel/0.1"},
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
                  {"tolerance", tolerance_json(diagnosis)},
                  {"invalid_metadata", invalid},
                  {"histogram", histogram},
                  {"first", first},
                  {"places", json_of(data, diagnosis.location)},
                  {"populations", json_of(data, diagnosis)},
                  {"alternatives_tried", diagnosis.tried},
                  {"fitting", fitting},
                  {"look_at", look_at_json(diagnosis)},
                  {"nearest", diagnosis.nearest ? json_of(*diagnosis.nearest) : Json(nullptr)},
                  {"rest", json_of(data, diagnosis.nearest ? diagnosis.rest : FaultLocation{})}};
  return root.dump(2) + "\n";
}

}  // namespace sptc::check::kernel
