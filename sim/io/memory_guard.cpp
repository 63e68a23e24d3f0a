// SPDX-License-Identifier: Apache-2.0
#include "sim/io/memory_guard.h"

#include "models/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <sys/resource.h>
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

/// Memory of this process [bytes], whether it is in use or not.
struct Taken {
  std::uint64_t all = 0;
  std::uint64_t data = 0;  ///< that only this process has, and its stacks
};

Taken taken_memory() {
  std::ifstream statm("/proc/self/statm");
  Taken pages;
  std::uint64_t resident = 0, shared = 0, text = 0, libraries = 0;
  statm >> pages.all >> resident >> shared >> text >> libraries >> pages.data;
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {pages.all * page_bytes, pages.data * page_bytes};
}

/// What the limit `kind` leaves a process that has `taken` so much.
std::uint64_t left_by_limit(__rlimit_resource_t kind, std::uint64_t taken) {
  rlimit limit{};
  if (::getrlimit(kind, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kUnlimited;
  }
  return limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
}

std::uint64_t left_by_limits() {
  const Taken taken = taken_memory();
  return std::min(left_by_limit(RLIMIT_DATA, taken.data), left_by_limit(RLIMIT_AS, taken.all));
}

std::uint64_t memory_of_machine() {
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

std::uint64_t available_memory() {
  return std::min(memory_of_machine(), left_by_limits());
}

void require_memory(std::uint64_t bytes, std::string_view what) {
  const std::uint64_t machine = memory_of_machine();
  const std::uint64_t limits = left_by_limits();
  if (bytes > std::min(machine, limits)) {
    throw base::InputError(
        limits < machine
            ? fmt::format("{}: needs {} of memory, but the limit of this process leaves {}", what,
                          shown(bytes), shown(limits))
            : fmt::format("{}: needs {} of memory, but this machine has {} available", what,
                          shown(bytes), shown(machine)));
  }
}

void limit_memory(std::uint64_t bytes) {
  const std::uint64_t taken = taken_memory().data;
  if (bytes <= taken) {
    throw base::InputError(fmt::format("a limit of {} of memory is less than the {} of the program",
                                       shown(bytes), shown(taken)));
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
  ::setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace sptc::io
