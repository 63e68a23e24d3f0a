// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/events.h"

#include <fmt/format.h>

#include <algorithm>

namespace sptc::workload::profile {
namespace {

using Kernel = ProfileEvents::Kernel;

using Processes = std::unordered_map<std::int64_t, std::uint32_t>;

/// The process of each id of `records`; kNoProcess where several have it.
template <typename Record>
Processes by_id(const std::vector<Record>& records, std::int64_t Record::*id) {
  Processes processes;
  for (const Record& record : records) {
    const auto [found, is_new] = processes.emplace(record.*id, record.process);
    if (!is_new && found->second != record.process) {
      found->second = ProfileEvents::kNoProcess;
    }
  }
  return processes;
}

/// kUnknownProcess where none has `id`, of which 0 is none.
std::uint32_t process_with(const Processes& processes, std::int64_t id) {
  const auto found = processes.find(id);
  return id == 0 || found == processes.end() ? ProfileEvents::kUnknownProcess : found->second;
}

/// Ranks have operations each. Where one process alone has some, the others are names of its own.
void join_without_operations(ProfileEvents& events) {
  std::set<std::uint32_t> with_operations;
  for (const auto& op : events.ops) {
    with_operations.insert(op.process);
  }
  if (events.processes < 2 || with_operations.size() > 1) {
    return;
  }
  events.processes = 1;
  for (auto& op : events.ops) {
    op.process = 0;
  }
  for (auto& call : events.calls) {
    call.process = 0;
  }
  for (auto& step : events.steps) {
    step.process = 0;
  }
}

}  // namespace

void assign_processes(ProfileEvents& events, std::vector<std::string>& notes) {
  const auto unknown = [](const Kernel& kernel) { return kernel.process == ProfileEvents::kUnknownProcess; };
  const bool all_known = std::ranges::none_of(events.kernels, unknown);
  if (!all_known) {
    join_without_operations(events);
  }
  if (events.processes > 1) {
    notes.push_back(fmt::format("launches of {} processes are counted together", events.processes));
  }
  if (all_known) {
    return;
  }
  const bool kernels_first = std::ranges::any_of(
      events.kernels, [](const Kernel& kernel) { return kernel.near == ProfileEvents::kUnknownProcess; });
  if (events.processes < 2 || (events.one_after_other && !kernels_first)) {
    for (Kernel& kernel : events.kernels) {
      const std::uint32_t process = events.processes == 1 ? 0 : kernel.near;
      kernel.process = unknown(kernel) ? process : kernel.process;
    }
    return;
  }
  const Processes calls = by_id(events.calls, &ProfileEvents::Call::correlation);
  const Processes ops = by_id(events.ops, &ProfileEvents::Op::external);
  bool shared = false;
  for (Kernel& kernel : events.kernels) {
    if (unknown(kernel)) {
      const std::uint32_t caller = process_with(calls, kernel.correlation);
      kernel.process = caller != ProfileEvents::kUnknownProcess ? caller : process_with(ops, kernel.external);
      shared = shared || kernel.process == ProfileEvents::kNoProcess;
    }
  }
  if (shared) {
    notes.emplace_back(
        "the file does not say which process launched the kernels of a GPU: a kernel whose id "
        "several processes have counts for none");
  }
}

}  // namespace sptc::workload::profile
