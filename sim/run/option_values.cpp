// SPDX-License-Identifier: Apache-2.0
#include "sim/run/option_values.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/stages.h"
#include "sim/io/text_file.h"
#include "sim/kernels/gemm_problem.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>
#include <vector>

namespace sptc::run {
namespace {

constexpr double kMinClockMhz = 1, kMaxClockMhz = 100000;
constexpr double kMaxWatts = 100000;
constexpr double kMaxRate = 100000;  // GB/s

/// All of `text` as a number; false where it is none or does not fit.
template <typename Number>
bool parse_all(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

std::int64_t parse_integer(std::string_view what, const std::string& text, std::int64_t min,
                           std::int64_t max) {
  std::int64_t value = 0;
  if (!parse_all(text, value) || value < min || value > max) {
    throw base::InputError(fmt::format("{} must be an integer from {} to {}, not '{}'", what, min,
                                       max, io::printable(text)));
  }
  return value;
}

std::int64_t parse_positive(std::string_view what, const std::string& text, std::int64_t max) {
  return parse_integer(what, text, 1, max);
}

std::uint64_t parse_seed(const std::string& text) {
  std::uint64_t value = 0;
  if (!parse_all(text, value)) {
    throw base::InputError(
        fmt::format("--seed must be an integer from 0 to 2^64-1, not '{}'", io::printable(text)));
  }
  return value;
}

ClockChoice parse_clock(const std::string& text) {
  if (text.empty()) {
    return {};
  }
  if (text == "limited" || text == "boost") {
    return {text == "boost" ? ClockChoice::Kind::kBoost : ClockChoice::Kind::kLimited};
  }
  double value = 0;
  if (!parse_all(text, value) || !(value >= kMinClockMhz && value <= kMaxClockMhz)) {
    throw base::InputError(
        fmt::format("--clock must be 'limited', 'boost' or a number of MHz from {} to {}, not '{}'",
                    kMinClockMhz, kMaxClockMhz, io::printable(text)));
  }
  return {ClockChoice::Kind::kFixed, value};
}

base::GemmShape parse_tile(const std::string& text) {
  std::vector<std::int64_t> extents;
  std::string_view rest = text;
  while (true) {
    const std::size_t cross = rest.find('x');
    std::int64_t extent = 0;
    if (!parse_all(rest.substr(0, cross), extent) || extent < 1 ||
        extent > kernels::kMaxTileExtent) {
      break;
    }
    extents.push_back(extent);
    if (cross == std::string_view::npos) {
      if (extents.size() == 3) {
        return {extents[0], extents[1], extents[2]};
      }
      break;
    }
    rest.remove_prefix(cross + 1);
  }
  throw base::InputError(fmt::format(
      "--tile must be MxNxK with extents from 1 to {}, for example 128x128x32, not '{}'",
      kernels::kMaxTileExtent, io::printable(text)));
}

numerics::DataType parse_dtype(const std::string& text) {
  if (const auto type = workload::parse_usual_type(text)) {
    return *type;
  }
  throw base::InputError("--dtype: " + workload::unknown_operand_type(text));
}

void parse_types(const std::string& text, SimulationOptions& options) {
  static constexpr std::array<std::string_view, 5> kParts{"all", "weights", "attention", "router",
                                                          "lm_head"};
  options.dtype.reset();
  options.parts = {};
  if (text.find('=') == std::string::npos) {
    options.dtype = parse_dtype(text);
    return;
  }
  std::set<std::string, std::less<>> given;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    const std::string part = item.substr(0, equals);
    if (equals == std::string::npos ||
        std::find(kParts.begin(), kParts.end(), part) == kParts.end()) {
      throw base::InputError("--dtype: unknown part " +
                             base::unknown_name(io::printable(part), kParts));
    }
    if (!given.insert(part).second || (given.size() > 1 && given.contains("all"))) {
      throw base::InputError(fmt::format("--dtype: {} is given beside {}", part,
                                         given.size() > 1 ? "'all' or another part" : "itself"));
    }
    const numerics::DataType type = parse_dtype(item.substr(equals + 1));
    PartTypes& parts = options.parts;
    if (part == "attention" || part == "router" || part == "lm_head") {
      (part == "attention" ? parts.attention : part == "router" ? parts.router : parts.head) = type;
    } else {
      options.dtype = type;
      parts.all = part == "all";
    }
    begin = end + 1;
  }
}

numerics::DataType parse_weight_dtype(const std::string& text) {
  if (const auto type = workload::parse_weight_type(text)) {
    return *type;
  }
  throw base::InputError("--weight-dtype: " + workload::unknown_weight_type(text));
}

std::string parse_archive(std::string_view what, const std::string& text) {
  if (!text.ends_with(".npz")) {
    throw base::InputError(
        fmt::format("{} must be the name of a .npz file, not '{}'", what, io::printable(text)));
  }
  return text;
}

double parse_watts(std::string_view what, const std::string& text) {
  double watts = 0;
  if (!parse_all(text, watts) || !(watts > 0) || watts > kMaxWatts) {
    throw base::InputError(
        fmt::format("{} must be a number of watts above 0 and at most {}, not '{}'", what,
                    kMaxWatts, io::printable(text)));
  }
  return watts;
}

double parse_rate(std::string_view what, const std::string& text) {
  double rate = 0;
  if (!parse_all(text, rate) || !(rate > 0) || rate > kMaxRate) {
    throw base::InputError(
        fmt::format("{} must be a number of GB/s above 0 and at most {}, not '{}'", what, kMaxRate,
                    io::printable(text)));
  }
  return rate;
}

std::pair<std::int64_t, std::int64_t> parse_window(std::string_view what, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw base::InputError(fmt::format("{} must be FIRST:LAST, for example 0:20000, not '{}'", what,
                                       io::printable(text)));
  }
  constexpr std::int64_t kMost = 1LL << 50;
  const std::int64_t first = parse_integer(what, text.substr(0, colon), 0, kMost);
  return {first, parse_integer(what, text.substr(colon + 1), first + 1, kMost)};
}

std::pair<int, int> parse_element(std::string_view what, const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) {
    throw base::InputError(
        fmt::format("{} must be ROW,COL, for example 3,5, not '{}'", what, io::printable(text)));
  }
  const auto extent = [&](const std::string& number, int count) {
    return static_cast<int>(parse_integer(what, number, 0, count - 1));
  };
  return {extent(text.substr(0, comma), mma::kRows), extent(text.substr(comma + 1), mma::kCols)};
}

std::optional<bool> parse_sparsity_choice(std::string_view text) {
  static constexpr std::array<std::string_view, 2> kChoices{"all", "auto"};
  if (text.find_first_of("./") != std::string_view::npos) {
    return std::nullopt;
  }
  if (std::find(kChoices.begin(), kChoices.end(), text) == kChoices.end()) {
    throw base::InputError("unknown --sparsity " +
                           base::unknown_name(io::printable(text), kChoices));
  }
  return text == kChoices.back();
}

bool parse_switch(std::string_view what, std::string_view text) {
  if (text != "true" && text != "false") {
    throw base::InputError(
        fmt::format("{} must be true or false, not '{}'", what, io::printable(std::string(text))));
  }
  return text == "true";
}

}  // namespace sptc::run
