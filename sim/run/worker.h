// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace sptc::run {

using Progress = std::function<void(std::size_t done, std::size_t total, const std::string& next)>;

/// What `work` returns in a process of its own, where SystemC elaborates for the first time. What
/// `work` reports arrives at `progress` (may be empty) in this process. `poll` is called every
/// tenth of a second; what it throws ends the process. Throws what SeparateProcess::result()
/// throws.
std::string run_in_worker(const std::function<std::string(const Progress& report)>& work,
                          const Progress& progress, const std::function<void()>& poll);

}  // namespace sptc::run
