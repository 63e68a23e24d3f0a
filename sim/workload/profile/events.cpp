// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/events.h"

#include "sim/io/text_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace sptc::workload::profile {
namespace {

using Op = ProfileEvents::Op;
using Kernel = ProfileEvents::Kernel;
using Step = ProfileEvents::Step;

constexpr std::size_t kMaxKernelName = 200;

/// Finds the operation that launched a kernel.
class Linker {
 public:
  explicit Linker(ProfileEvents& events) : events_(events) {
    // Operations of one thread nest: sorted by begin, the longer first, the innermost comes last.
    std::ranges::sort(events.ops, [](const Op& a, const Op& b) {
      return std::tuple(a.thread, a.begin, -a.end) < std::tuple(b.thread, b.begin, -b.end);
    });
    for (const ProfileEvents::Call& call : events.calls) {
      calls_.emplace(Key(call.process, call.correlation), &call);
    }
    for (std::size_t i = 0; i < events.ops.size(); ++i) {
      by_external_.emplace(Key(events.ops[i].process, events.ops[i].external), i);
    }
    find_parents();
  }

  /// The index of the operation; nothing where there is none. In files of 2022 and 2023 a kernel's
  /// external id is its correlation, and only the call at that time tells the operation.
  std::optional<std::size_t> op_of(const Kernel& kernel) const {
    const ProfileEvents::Call* call = call_of(kernel);
    if (call == nullptr || (kernel.external != 0 && kernel.external != kernel.correlation)) {
      if (const auto op = with_external({kernel.process, kernel.external})) {
        return op;
      }
    }
    return call == nullptr ? std::nullopt : innermost(call->thread, call->begin);
  }

  double launch_time(const Kernel& kernel) const {
    const ProfileEvents::Call* call = call_of(kernel);
    return call == nullptr ? kernel.begin : call->begin;
  }

  /// The operation itself, or the next GEMM around it; nothing where none is within kMostOutwards.
  std::optional<std::size_t> gemm_around(std::size_t op) const {
    int steps = 0;
    for (std::int64_t at = static_cast<std::int64_t>(op); at >= 0 && steps++ < kMostOutwards;
         at = parents_[static_cast<std::size_t>(at)]) {
      if (events_.ops[static_cast<std::size_t>(at)].launch >= 0) {
        return static_cast<std::size_t>(at);
      }
    }
    return std::nullopt;
  }

 private:
  /// Operations around one that each kernel looks at. Python nests no deeper.
  static constexpr int kMostOutwards = 1000;

  void find_parents() {
    parents_.assign(events_.ops.size(), -1);
    std::vector<std::int64_t> open;
    for (std::size_t i = 0; i < events_.ops.size(); ++i) {
      const Op& op = events_.ops[i];
      while (!open.empty()) {
        const Op& outer = events_.ops[static_cast<std::size_t>(open.back())];
        if (outer.thread == op.thread && op.begin < outer.end) {
          break;
        }
        open.pop_back();
      }
      parents_[i] = open.empty() ? -1 : open.back();
      open.push_back(static_cast<std::int64_t>(i));
    }
  }

  /// Ids are those of a process, and 0 is none.
  using Key = std::pair<std::uint32_t, std::int64_t>;

  std::optional<std::size_t> with_external(const Key& key) const {
    const auto found = key.second == 0 ? by_external_.end() : by_external_.find(key);
    return found == by_external_.end() ? std::nullopt : std::optional(found->second);
  }

  const ProfileEvents::Call* call_of(const Kernel& kernel) const {
    const Key key(kernel.process, kernel.correlation);
    const auto found = key.second == 0 ? calls_.end() : calls_.find(key);
    return found == calls_.end() ? nullptr : found->second;
  }

  std::optional<std::size_t> innermost(std::uint32_t thread, double time) const {
    const auto after =
        std::upper_bound(events_.ops.begin(), events_.ops.end(), std::pair(thread, time),
                         [](const auto& key, const Op& op) { return key < std::pair(op.thread, op.begin); });
    std::int64_t at = after - events_.ops.begin() - 1;
    if (at < 0 || events_.ops[static_cast<std::size_t>(at)].thread != thread) {
      return std::nullopt;
    }
    int steps = 0;
    while (at >= 0 && events_.ops[static_cast<std::size_t>(at)].end < time) {
      at = steps++ < kMostOutwards ? parents_[static_cast<std::size_t>(at)] : -1;
    }
    return at < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(at));
  }

  ProfileEvents& events_;
  std::map<Key, const ProfileEvents::Call*> calls_;
  std::map<Key, std::size_t> by_external_;
  std::vector<std::int64_t> parents_;
};

/// The step of median length of those with GEMMs; nothing where no process has two steps.
std::optional<Step> chosen_step(const ProfileEvents& events, std::vector<std::string>& notes) {
  std::vector<double> gemms;  // when they begin
  for (const Op& op : events.ops) {
    if (op.launch >= 0) {
      gemms.push_back(op.begin);
    }
  }
  std::ranges::sort(gemms);
  std::vector<Step> steps;
  for (const Step& step : events.steps) {
    const auto first = std::lower_bound(gemms.begin(), gemms.end(), step.begin);
    if (first != gemms.end() && *first <= step.end) {
      steps.push_back(step);
    }
  }
  std::set<std::string_view> names;
  for (const Step& step : events.steps) {
    names.insert(step.name);
  }
  if (names.size() < 2 || steps.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(steps, [](const Step& a, const Step& b) { return a.end - a.begin < b.end - b.begin; });
  const Step& chosen = steps[(steps.size() - 1) / 2];
  notes.push_back(
      fmt::format("of {} steps {} is taken, of those with GEMMs the one of median length", names.size(), chosen.name));
  return chosen;
}

struct Launched {
  double time_us = 0;
  bool untimed = false;               ///< a kernel of it has no possible duration
  std::optional<std::uint32_t> main;  ///< name of the kernel that multiplies, or the longest
  double main_us = 0;
  bool multiplies = false;
};

bool holds_gemms(const std::string& name, const std::optional<KernelName>& decoded) {
  if (decoded) {
    return decoded->is_gemm();
  }
  static constexpr std::string_view kParts[] = {
      "gemm",      "GEMM",      "Gemm",      "Cijk_",     "triton_tem", "fused_moe", "marlin",   "Marlin",
      "machete",   "matmul",    "scaled_mm", "flash_fwd", "flash_bwd",  "FlashAttn", "fmha",     "sdpa",
      "sage_attn", "attention", "Attention", "PagedKV",   "RaggedKV",   "_attn_fwd", "_attn_bwd"};
  const auto has = [&name](std::string_view part) { return name.find(part) != std::string::npos; };
  const bool embedding = has("fbgemm") || has("split_embedding");
  const bool of_tensorrt_llm = name.starts_with("bmm_");  // experts, generated at build time
  return of_tensorrt_llm || (!embedding && std::ranges::any_of(kParts, has));
}

std::string short_name(const std::string& name) {
  const std::size_t open = name.find('<');
  std::string_view bare = name;
  if (name.starts_with("void cutlass") && open != std::string::npos) {
    bare = bare.substr(open + 1, bare.find_first_of(">,", open) - open - 1);
  }
  return std::string(bare.substr(0, kMaxKernelName));
}

class Profile {
 public:
  /// `tf32`: where no kernel is recorded at all, f32 runs as TF32.
  Profile(ProfileEvents& events, bool tf32, std::vector<std::string>& notes)
      : events_(events), linker_(events), step_(chosen_step(events, notes)), tf32_(tf32 && events.kernels.empty()) {
    for (const Step& step : events.steps) {  // each process has its own of that name
      if (step_ && step.name == step_->name) {
        steps_[step.process] = step;
      }
    }
    for (const std::string& name : events.names) {
      decoded_.push_back(decode_kernel_name(name));
    }
  }

  /// All, with the time of their kernels; of kernels that no operation launched those that hold
  /// GEMMs.
  LaunchList launches(const std::string& file, const std::string& no_shapes) {
    std::unordered_map<std::size_t, std::vector<const Kernel*>> kernels_of;
    // Time and number of other kernels, by name and reason.
    std::map<std::pair<std::uint32_t, std::string>, std::pair<double, std::int64_t>> others;
    for (const Kernel& kernel : events_.kernels) {
      if (!(kernel.duration <= kMaxRecordedUs)) {
        io::refuse("{}: a kernel takes at most {} us, not {}", file, kMaxRecordedUs, kernel.duration);
      }
      const auto op = linker_.op_of(kernel);
      const auto gemm = op ? linker_.gemm_around(*op) : std::nullopt;
      if (gemm) {
        kernels_of[*gemm].push_back(&kernel);
      }
      if (!in_step(kernel.process, op ? events_.ops[*op].begin : linker_.launch_time(kernel))) {
        continue;
      }
      backwards += kernel.duration < 0 ? 1 : 0;
      kernels_us += std::max(kernel.duration, 0.0);
      if (!gemm && holds_gemms(events_.names[kernel.name], decoded_[kernel.name])) {
        const std::pair key(kernel.name, op ? "the kernel is of " + events_.names[events_.ops[*op].name] +
                                                  ", whose recorded inputs do not tell m, n and k"
                                            : no_shapes);
        auto& [time_us, count] = others[key];
        time_us += std::max(kernel.duration, 0.0);
        ++count;
      }
    }
    LaunchList list;
    for (std::size_t i = 0; i < events_.ops.size(); ++i) {
      const Op& op = events_.ops[i];
      if (op.launch >= 0) {
        const std::vector<Launched> parts = parts_of(op, kernels_of[i]);
        for (std::size_t part = 0; part < parts.size(); ++part) {
          list.add(launch(op, part, parts[part]), file);
        }
      }
    }
    for (const auto& [key, sum] : others) {
      RecordedLaunch left;
      left.op.name = short_name(events_.names[key.first]);
      left.op.count = sum.second;
      left.op.recorded.time_us = sum.first / static_cast<double>(sum.second);
      left.dtype = decoded_[key.first] ? decoded_[key.first]->a_type : "";
      left.reason = key.second;
      list.add(std::move(left), file);
    }
    return list;
  }

  double kernels_us = 0;       ///< of the step
  std::int64_t backwards = 0;  ///< kernels of it that end before they begin

 private:
  bool in_step(std::uint32_t process, double time) const {
    const auto own = steps_.find(process);
    const Step* const step = own != steps_.end() ? &own->second : step_ ? &*step_ : nullptr;
    return step == nullptr || (time >= step->begin && time <= step->end);
  }

  void add(const Kernel& kernel, Launched& launched) const {
    const bool is_product = multiplies(kernel);
    launched.time_us += kernel.duration;
    launched.untimed = launched.untimed || kernel.duration < 0;
    if (std::pair(is_product, kernel.duration) > std::pair(launched.multiplies, launched.main_us) || !launched.main) {
      launched.main = kernel.name;
      launched.main_us = kernel.duration;
      launched.multiplies = is_product;
    }
  }

  /// What each launch of `op` ran. Where there are several, their kernels take turns.
  std::vector<Launched> parts_of(const Op& op, std::vector<const Kernel*>& kernels) const {
    std::vector<Launched> parts(op.parts);
    if (op.parts > 1) {
      std::erase_if(kernels, [&](const Kernel* kernel) { return !multiplies(*kernel); });
      std::ranges::stable_sort(kernels, [](const Kernel* a, const Kernel* b) { return a->begin < b->begin; });
    }
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      add(*kernels[i], parts[i % parts.size()]);
    }
    return parts;
  }

  bool multiplies(const Kernel& kernel) const {
    const auto& decoded = decoded_[kernel.name];
    return decoded ? decoded->unit != KernelName::Unit::kHelper : holds_gemms(events_.names[kernel.name], decoded);
  }

  RecordedLaunch launch(const Op& op, std::size_t part, const Launched& launched) const {
    RecordedLaunch launch = events_.launches[static_cast<std::size_t>(op.launch) + part];
    if (!in_step(op.process, op.begin)) {
      launch.reason = kAnotherStep + (" than " + step_->name);
      return launch;
    }
    if (!launched.main && !events_.kernels.empty() && launch.reason.empty()) {
      launch.reason = "no kernel is recorded: it ran on the CPU, or the recording had ended";
    }
    if (tf32_ && launch.dtype == "f32") {
      launch.dtype = "tf32";
    }
    launch.op.recorded.time_us = launched.untimed ? 0 : launched.time_us;
    const auto* decoded = launched.main && decoded_[*launched.main] ? &*decoded_[*launched.main] : nullptr;
    apply_kernel(decoded, launched.main ? short_name(events_.names[*launched.main]) : "", launch);
    return launch;
  }

  ProfileEvents& events_;
  Linker linker_;
  std::optional<Step> step_;
  std::map<std::uint32_t, Step> steps_;  ///< the same of each process
  bool tf32_;
  std::vector<std::optional<KernelName>> decoded_;
};

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
  const auto join = [](auto& records) {
    for (auto& record : records) {
      record.process = 0;
    }
  };
  join(events.ops);
  join(events.calls);
  join(events.steps);
}

/// Says of each kernel which process launched it, where its recording does not: ids are those of a
/// process, and files of several ranks repeat them. `notes` gets what is counted together.
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
        "the file does not say which process launched the kernels of a GPU: a kernel whose id several processes have "
        "counts for none");
  }
}

}  // namespace

void ProfileEvents::add_op(std::uint64_t process, std::uint64_t thread, double begin, double duration,
                           std::int64_t external, TorchCall& call, const std::function<std::string()>& place) {
  Parts launched{-1, 1};
  if (is_leaf_gemm(call.name)) {
    const auto [found, is_new] = launches_.emplace(call.signature(), Parts{});
    if (is_new) {
      std::vector<RecordedLaunch> more = launches_of(call, place());
      found->second = {static_cast<std::int32_t>(launches.size()), static_cast<std::uint8_t>(more.size())};
      std::move(more.begin(), more.end(), std::back_inserter(launches));
    }
    launched = found->second;
  }
  ops.push_back({begin, begin + std::max(duration, 0.0), external, thread_index(thread), enter_process(process),
                 name_index(call.name), launched.first, launched.number});
}

void ProfileEvents::add_kernel(Kernel kernel, std::string& name) {
  kernel.name = name_index(name);
  kernel.near = process_;
  kernels.push_back(kernel);
}

void ProfileEvents::add_call(std::uint64_t process, std::uint64_t thread, double begin, std::int64_t correlation) {
  calls.push_back({correlation, begin, thread_index(thread), enter_process(process)});
}

void ProfileEvents::add_step(std::uint64_t process, Step step) {
  step.process = enter_process(process);
  steps.push_back(std::move(step));
}

void ProfileEvents::add_gpu(const std::string& name) {
  if (std::ranges::count(gpus, name) == 0) {
    gpus.push_back(name);
  }
}

std::uint32_t ProfileEvents::process_index(std::uint64_t process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? kNoProcess : found->second;
}

std::uint32_t ProfileEvents::enter_process(std::uint64_t process) {
  const auto [found, is_new] = processes_.emplace(process, processes);
  processes += is_new ? 1 : 0;
  one_after_other = one_after_other && (is_new || found->second == process_);
  return process_ = found->second;
}

std::uint32_t ProfileEvents::thread_index(std::uint64_t thread) {
  return threads_.emplace(thread, static_cast<std::uint32_t>(threads_.size())).first->second;
}

std::uint32_t ProfileEvents::name_index(std::string& name) {
  const auto [found, is_new] = names_.emplace(name, static_cast<std::uint32_t>(names.size()));
  if (is_new) {
    names.push_back(std::move(name));
  }
  return found->second;
}

void take_profile(ProfileEvents& events, const std::string& file, std::string_view no_shapes, bool tf32,
                  Recording& recording) {
  Account& account = recording.account;
  account.gpu = events.gpus.empty() ? "" : events.gpus.front();
  if (events.gpus.size() > 1) {
    account.notes.push_back(fmt::format("recorded on several GPUs, of which the first stands for all: {}",
                                        io::printable(fmt::format("{}", fmt::join(events.gpus, ", ")))));
  }
  assign_processes(events, account.notes);
  Profile profile(events, tf32, account.notes);
  LaunchList list = profile.launches(file, std::string(no_shapes));
  account.kernels_us = profile.kernels_us;
  if (profile.backwards > 0) {
    account.notes.push_back(
        fmt::format("{} recorded as ending before {}: the launch has no time",
                    profile.backwards == 1 ? "a kernel is" : std::to_string(profile.backwards) + " kernels are",
                    profile.backwards == 1 ? "it begins" : "they begin"));
  }
  std::move(list).move_to(recording, file);
  account.add_notes(grounds_of(recording.workload.operations));
}

}  // namespace sptc::workload::profile
