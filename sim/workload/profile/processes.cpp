// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace sptc::workload::profile {
namespace {

using Kernel = ProfileEvents::Kernel;
using Processes = std::set<std::uint32_t>;

/// Which processes have a call or an operation of an id.
class Candidates {
 public:
  explicit Candidates(const ProfileEvents& events) {
    for (const auto& call : events.calls) {
      calls_[call.correlation].insert(call.process);
    }
    for (const auto& op : events.ops) {
      ops_[op.external].insert(op.process);
    }
  }

  const Processes& of(const Kernel& kernel) const {
    static const Processes kNone;
    for (const auto& [processes, id] :
         {std::pair(&calls_, kernel.correlation), std::pair(&ops_, kernel.external)}) {
      const auto found = processes->find(id);
      if (id != 0 && found != processes->end()) {
        return found->second;
      }
    }
    return kNone;
  }

 private:
  std::unordered_map<std::int64_t, Processes> calls_, ops_;
};

/// The process of each GPU: that to which alone most of its kernels can belong, and where there is
/// none, the next in order that no other GPU has. `guessed` is set then.
std::map<std::uint32_t, std::uint32_t> processes_of_gpus(const ProfileEvents& events,
                                                         const Candidates& candidates,
                                                         bool& guessed) {
  std::map<std::uint32_t, std::map<std::uint32_t, std::int64_t>> certain;
  std::map<std::uint32_t, Processes> possible;
  for (const Kernel& kernel : events.kernels) {
    const Processes& processes = candidates.of(kernel);
    possible[kernel.device].insert(processes.begin(), processes.end());
    certain[kernel.device];
    if (processes.size() == 1) {
      ++certain[kernel.device][*processes.begin()];
    }
  }
  std::map<std::uint32_t, std::uint32_t> result;
  Processes taken;
  for (const auto& [device, votes] : certain) {
    if (!votes.empty()) {
      result[device] =
          std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
          })->first;
      taken.insert(result[device]);
    }
  }
  for (const auto& [device, processes] : possible) {
    if (result.contains(device) || processes.empty()) {
      continue;
    }
    const auto open = std::find_if(processes.begin(), processes.end(),
                                   [&](std::uint32_t process) { return !taken.contains(process); });
    result[device] = open == processes.end() ? *processes.begin() : *open;
    taken.insert(result[device]);
    guessed = true;
  }
  return result;
}

/// Ranks have operations each. Where one process alone has some, the others are names of its own.
void join_without_operations(ProfileEvents& events) {
  Processes with_operations;
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
  const auto unknown = [](const Kernel& kernel) {
    return kernel.process == ProfileEvents::kUnknownProcess;
  };
  const bool all_known = std::none_of(events.kernels.begin(), events.kernels.end(), unknown);
  if (!all_known) {
    join_without_operations(events);
  }
  if (events.processes > 1) {
    notes.push_back(fmt::format("launches of {} processes are counted together", events.processes));
  }
  if (all_known) {
    return;
  }
  const bool kernels_first = std::any_of(
      events.kernels.begin(), events.kernels.end(),
      [](const Kernel& kernel) { return kernel.near == ProfileEvents::kUnknownProcess; });
  if (events.processes < 2 || (events.one_after_other && !kernels_first)) {
    for (Kernel& kernel : events.kernels) {
      const std::uint32_t process = events.processes == 1 ? 0 : kernel.near;
      kernel.process = unknown(kernel) ? process : kernel.process;
    }
    return;
  }
  const Candidates candidates(events);
  bool guessed = false;
  const auto of_gpus = processes_of_gpus(events, candidates, guessed);
  const bool told_apart = !guessed || of_gpus.size() >= events.processes;
  for (Kernel& kernel : events.kernels) {
    const Processes& processes = candidates.of(kernel);
    if (unknown(kernel) && !processes.empty()) {
      const std::uint32_t of_gpu = of_gpus.at(kernel.device);
      kernel.process = !told_apart && processes.size() > 1 ? ProfileEvents::kNoProcess
                       : processes.contains(of_gpu)        ? of_gpu
                                                           : *processes.begin();
    }
  }
  if (guessed) {
    notes.push_back(std::string("the file does not say which process launched the kernels of a "
                                "GPU: ") +
                    (told_apart ? "GPUs and processes are matched in their order"
                                : "kernels whose ids several processes have are of none"));
  }
}

}  // namespace sptc::workload::profile
