// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sptc::fuzz {

enum class Content { kJson, kText, kBytes };

/// A reader of something that comes from outside, as its fuzz targets see it.
struct Reader {
  std::string_view name;  ///< folder of tests/fuzz/corpus/
  Content content;        ///< which mutations get furthest
  /// Reads `bytes` and uses what they hold. Throws base::InputError where they are refused; any
  /// other exception is a fault of the reader.
  void (*read)(const std::string& bytes);
  int mutations = 2000;  ///< that a test run can afford
};

std::span<const Reader> workload_readers();
std::span<const Reader> configuration_readers();
std::span<const Reader> tensor_readers();
std::span<const Reader> comparison_readers();
std::span<const Reader> sweep_readers();

/// All of them.
std::span<const Reader> readers();

/// The reader called `name`; null where there is none.
const Reader* find_reader(std::string_view name);

}  // namespace sptc::fuzz
