// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

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
  /// Throws InputError where the user gives a name that nothing asked for.
  void refuse_unused() const;

 private:
  const std::map<std::string, std::int64_t>& given_;
  std::string file_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace sptc::workload
