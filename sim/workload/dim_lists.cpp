// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/dim_lists.h"

#include "models/base/text.h"
#include "sim/io/text_file.h"
#include "sim/workload/workload_text.h"

#include <algorithm>

namespace sptc::workload {
namespace {

constexpr std::size_t kMaxCombinations = 10000;

[[noreturn]] void refuse_dim(const std::string& name, std::string_view text) {
  io::refuse("--dim {}: must be an integer from 1 to {}, not '{}'", io::printable(name), kMaxExtent,
             io::printable(text));
}

std::int64_t parse_value(const std::string& name, std::string_view text) {
  std::int64_t value = 0;
  if (!io::parse_whole(text, value)) {
    refuse_dim(name, text);
  }
  return dim_in_range(name, value);
}

/// Adds "NAME=V", or "V" to the last dimension.
void add_part(std::string_view part, bool first, DimLists& lists) {
  const std::size_t equals = part.find('=');
  if (equals == 0 || (equals == std::string_view::npos && first)) {
    io::refuse("--dim must be NAME=V, for example batch=8 or batch=1,8,64, not '{}'", io::printable(part));
  }
  if (equals != std::string_view::npos) {
    const std::string name(part.substr(0, equals));
    if (std::ranges::count(lists, name, &DimLists::value_type::first) > 0) {
      io::refuse("--dim: {} is given twice", io::printable(name));
    }
    lists.push_back({name, {}});
    part.remove_prefix(equals + 1);
  }
  auto& [name, values] = lists.back();
  const std::int64_t value = parse_value(name, part);
  if (std::ranges::count(values, value) > 0) {
    io::refuse("--dim {}: {} stands twice", io::printable(name), value);
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

void require_context(std::int64_t context, std::int64_t seq) {
  if (context < seq) {
    io::refuse("--dim context={} is below seq={}: all tokens that are read count, the new ones among them", context,
               seq);
  }
}

DimLists parse_dim_lists(const std::vector<std::string>& given) {
  DimLists lists;
  for (const std::string& option : given) {
    bool first = true;
    for (const std::string_view part : parts_of(option, ',')) {
      add_part(part, std::exchange(first, false), lists);
    }
  }
  return lists;
}

NamedDims single_values(const DimLists& lists) {
  NamedDims dims;
  for (const auto& [name, values] : lists) {
    if (values.size() != 1) {
      io::refuse("--dim {}: one value is taken here, not {}", io::printable(name), values.size());
    }
    dims[name] = values.front();
  }
  return dims;
}

std::vector<NamedDims> combinations(const DimLists& lists) {
  std::vector<NamedDims> all{{}};
  for (const auto& [name, values] : lists) {
    if (all.size() * values.size() > kMaxCombinations) {
      io::refuse("--dim: the lists have more than {} combinations", kMaxCombinations);
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

std::optional<std::int64_t> OpenDims::given(const std::string& name) {
  asked_.insert(name);
  const auto found = given_.find(name);
  return found == given_.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t OpenDims::value(const std::string& name, std::string_view hint) {
  if (const auto value = given(name)) {
    return *value;
  }
  io::refuse("{}: the dimension '{}' is open: give it, for example --dim {}", file_, io::printable(name), hint);
}

std::int64_t OpenDims::value_or_missing(const std::string& name) {
  const auto value = given(name);
  if (!value && std::ranges::count(missing_, name) == 0) {
    missing_.push_back(name);
  }
  return value.value_or(1);
}

void OpenDims::refuse_missing() const {
  if (missing_.empty()) {
    return;
  }
  std::string names, example;
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    const std::string name = io::printable(missing_[i]);
    names += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == missing_.size() ? " and " : ", ", name);
    example += fmt::format("{}{}=1", i == 0 ? "" : ",", name);
  }
  const bool one = missing_.size() == 1;
  io::refuse("{}: the {} {} open: give {}, for example --dim {}", file_,
             one ? "dimension " + names : "dimensions " + names, one ? "is" : "are", one ? "it" : "them", example);
}

void OpenDims::refuse_unused() const {
  for (const auto& [name, value] : given_) {
    if (!asked_.contains(name)) {
      const std::vector<std::string_view> names(asked_.begin(), asked_.end());
      io::refuse("{} has no open dimension {}", file_, base::unknown_name(io::printable(name), names));
    }
  }
}

}  // namespace sptc::workload
