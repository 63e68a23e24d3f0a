// SPDX-License-Identifier: Apache-2.0
#include "sim/io/memory_guard.h"

#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace sptc::io {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t mem_available() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::string rest;
  std::uint64_t kibibytes = 0;
  while (meminfo >> key >> kibibytes && std::getline(meminfo, rest)) {
    if (key == "MemAvailable:") {
      return kibibytes * 1024;
    }
  }
  return kUnlimited;
}

/// The limit of a container with control groups version 2; "max" is no number and reads as
/// unlimited.
std::uint64_t control_group_limit() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : kUnlimited;
}

std::string shown(std::uint64_t bytes) {
  constexpr std::uint64_t kKibibyte = 1024, kMebibyte = 1024 * kKibibyte;
  return bytes < kMebibyte          ? fmt::format("{} KiB", bytes / kKibibyte)
         : bytes < 1024 * kMebibyte ? fmt::format("{} MiB", bytes / kMebibyte)
                                    : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1024 * kMebibyte));
}

}  // namespace

void require_memory(std::uint64_t bytes, std::string_view what) {
  if (const std::uint64_t available = std::min(mem_available(), control_group_limit()); bytes > available) {
    refuse("{}: needs {} of memory, but this machine has {} available", what, shown(bytes), shown(available));
  }
}

}  // namespace sptc::io
