// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

#include <utility>

namespace sptc::workload {

/// Named dimensions and the values that each takes.
using DimLists = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

/// `value` of dimension `name`. Throws InputError where no extent is as small or as large.
std::int64_t dim_in_range(const std::string& name, std::int64_t value);

/// Throws InputError where a pass reads fewer tokens, `context`, than it has new ones, `seq`.
void require_context(std::int64_t context, std::int64_t seq);

/// The dimensions of the options --dim in `given`: "batch=1,8,64", "seq=384" or both as
/// "batch=1,8,64,seq=384". Throws InputError.
DimLists parse_dim_lists(const std::vector<std::string>& given);

/// The one value of each dimension. Throws InputError where one has several.
NamedDims single_values(const DimLists& lists);

/// All combinations, the last dimension fastest. Throws InputError for more than 10,000.
std::vector<NamedDims> combinations(const DimLists& lists);

/// Dimensions that a file leaves open, and the values that the user gives them.
class OpenDims {
 public:
  OpenDims(const std::map<std::string, std::int64_t>& given, std::string file)
      : given_(given), file_(std::move(file)) {}

  std::optional<std::int64_t> given(const std::string& name);
  /// The value of `name`. Throws InputError that says how to give it: "--dim `hint`".
  std::int64_t value(const std::string& name, std::string_view hint);
  /// The value of `name`; 1 where the user gives none, which refuse_missing() then says.
  std::int64_t value_or_missing(const std::string& name);
  void refuse_missing() const;
  /// Throws InputError where the user gives a name that nothing asked for.
  void refuse_unused() const;

 private:
  const std::map<std::string, std::int64_t>& given_;
  std::string file_;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> missing_;  ///< in the order in which they were asked for
};

}  // namespace sptc::workload
