// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/capture_writer.h"

#include <chrono>
#include <filesystem>
#include <functional>

namespace sptc::hardware {

/// Runs `work` in a process of its own, watched. Where that process dies, or an item takes longer
/// than its limit (a kernel that never ends), the item is recorded as failed and a new process goes
/// on with the next one: after some errors nothing else brings a GPU back. `work` gets how to start
/// its CaptureWriter and returns an exit code, kDeviceLost where it wants to go on in a new
/// process. Returns 0 when it is done, else the first exit code that ends it.
/// A process that is silent for `between_items` while no item runs, because the GPU cannot be
/// opened, say, is ended too.
inline constexpr int kDeviceLost = 75;
int supervise(const std::filesystem::path& directory, const std::function<int(CaptureWriter::Start)>& work,
              std::chrono::seconds between_items = std::chrono::seconds(180));

}  // namespace sptc::hardware
