// SPDX-License-Identifier: Apache-2.0
#include "sim/io/memory_guard.h"

#include "models/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <unistd.h>

namespace sptc::io {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> mem_available() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::string rest;
  std::uint64_t kibibytes = 0;
  while (meminfo >> key >> kibibytes && std::getline(meminfo, rest)) {
    if (key == "MemAvailable:") {
      return kibibytes * 1024;
    }
  }
  return std::nullopt;
}

/// The limit of a container with control groups version 2; "max" is no number and reads as
/// unlimited.
std::uint64_t control_group_limit() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : kUnlimited;
}

std::uint64_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes)
             : kUnlimited;
}

/// Memory that this process can expect to get without swapping.
std::uint64_t available_memory() {
  const std::optional<std::uint64_t> available = mem_available();
  return std::min(available ? *available : physical_memory(), control_group_limit());
}

std::string shown(std::uint64_t bytes) {
  constexpr std::uint64_t kKibibyte = 1024, kMebibyte = 1024 * kKibibyte;
  return bytes < kMebibyte ? fmt::format("{} KiB", bytes / kKibibyte)
         : bytes < 1024 * kMebibyte
             ? fmt::format("{} MiB", bytes / kMebibyte)
             : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1024 * kMebibyte));
}

}  // namespace

void require_memory(std::uint64_t bytes, std::string_view what) {
  if (const std::uint64_t available = available_memory(); bytes > available) {
    throw base::InputError(fmt::format("{}: needs {} of memory, but this machine has {} available",
                                       what, shown(bytes), shown(available)));
  }
}

}  // namespace sptc::io
