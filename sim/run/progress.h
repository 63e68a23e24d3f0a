// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sptc::run {

/// Called before each operation and once at the end: operations done, of how many, and the next
/// one's name.
using ProgressCallback =
    std::function<void(std::size_t done, std::size_t total, const std::string& next)>;

/// In a worker (WorkerPool): sends each step to the process that waits for the answer.
ProgressCallback sent_progress(std::function<void(std::string_view part)> send);

/// What takes such steps there and calls `progress`, which must outlive it: a Waiting::part. Empty
/// where `progress` is.
std::function<void(std::string_view part)> received_progress(const ProgressCallback& progress);

}  // namespace sptc::run
