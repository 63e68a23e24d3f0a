// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload {

/// Dimensions that a file leaves open, and the values that the user gives them.
class OpenDims {
 public:
  OpenDims(const std::map<std::string, std::int64_t>& given, std::string file)
      : given_(given), file_(std::move(file)) {}

  /// The value of `name`, where the user gives one.
  std::optional<std::int64_t> given(const std::string& name);
  /// The value of `name`. Throws InputError that says how to give it: "--dim `hint`".
  std::int64_t value(const std::string& name, std::string_view hint);
  /// The value of `name`; 1 where the user gives none, which refuse_missing() then says.
  std::int64_t value_or_missing(const std::string& name);
  /// Throws InputError that names all dimensions without a value.
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
