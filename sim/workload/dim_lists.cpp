// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/dim_lists.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace sptc::workload {
namespace {

constexpr std::size_t kMaxCombinations = 10000;

[[noreturn]] void refuse_dim(const std::string& name, std::string_view text) {
  throw base::InputError(fmt::format("--dim {}: must be an integer from 1 to {}, not '{}'",
                                     io::printable(name), kMaxExtent, io::printable(text)));
}

std::int64_t parse_value(const std::string& name, std::string_view text) {
  std::int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) {
    refuse_dim(name, text);
  }
  return dim_in_range(name, value);
}

/// Adds "NAME=V", or "V" to the last dimension.
void add_part(std::string_view part, bool first, DimLists& lists) {
  const std::size_t equals = part.find('=');
  if (equals == 0 || (equals == std::string_view::npos && first)) {
    throw base::InputError(
        fmt::format("--dim must be NAME=V, for example batch=8 or batch=1,8,64, not '{}'",
                    io::printable(part)));
  }
  if (equals != std::string_view::npos) {
    const std::string name(part.substr(0, equals));
    for (const auto& [other, values] : lists) {
      if (other == name) {
        throw base::InputError(fmt::format("--dim: {} is given twice", io::printable(name)));
      }
    }
    lists.push_back({name, {}});
    part.remove_prefix(equals + 1);
  }
  auto& [name, values] = lists.back();
  const std::int64_t value = parse_value(name, part);
  if (std::find(values.begin(), values.end(), value) != values.end()) {
    throw base::InputError(fmt::format("--dim {}: {} stands twice", io::printable(name), value));
  }
  values.push_back(value);
}

}  // namespace

std::int64_t dim_in_range(const std::string& name, std::int64_t value) {
  if (value < 1 || value > kMaxExtent) {
    refuse_dim(name, std::to_string(value));
  }
  return value;
}

DimLists parse_dim_lists(const std::vector<std::string>& given) {
  DimLists lists;
  for (const std::string& option : given) {
    std::string_view rest = option;
    for (bool first = true, more = true; more; first = false) {
      const std::size_t comma = rest.find(',');
      add_part(rest.substr(0, comma), first, lists);
      more = comma != std::string_view::npos;
      rest = more ? rest.substr(comma + 1) : std::string_view{};
    }
  }
  return lists;
}

NamedDims single_values(const DimLists& lists) {
  NamedDims dims;
  for (const auto& [name, values] : lists) {
    if (values.size() != 1) {
      throw base::InputError(fmt::format("--dim {}: one value is taken here, not {}",
                                         io::printable(name), values.size()));
    }
    dims[name] = values.front();
  }
  return dims;
}

std::vector<NamedDims> combinations(const DimLists& lists) {
  std::vector<NamedDims> all{{}};
  for (const auto& [name, values] : lists) {
    if (all.size() * values.size() > kMaxCombinations) {
      throw base::InputError(
          fmt::format("--dim: the lists have more than {} combinations", kMaxCombinations));
    }
    std::vector<NamedDims> longer;
    for (const NamedDims& dims : all) {
      for (const std::int64_t value : values) {
        longer.push_back(dims);
        longer.back()[name] = value;
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace sptc::workload
