// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/profile/torch_call.h"

#include <functional>

namespace sptc::workload::profile {

/// What a profile of a program holds, without what no GEMM needs. Times are in us.
class ProfileEvents {
 public:
  static constexpr std::uint32_t kUnknownProcess = 0xFFFFFFFF;
  static constexpr std::uint32_t kNoProcess = 0xFFFFFFFE;  ///< none of those that launch
  struct Op {
    double begin = 0, end = 0;
    std::int64_t external = 0;
    std::uint32_t thread = 0;
    std::uint32_t process = 0;
    std::uint32_t name = 0;
    std::int32_t launch = -1;  ///< the first in `launches`; -1: no GEMM
    std::uint8_t parts = 1;    ///< launches that follow each other there
  };
  struct Kernel {
    double begin = 0, duration = 0;              ///< as recorded: it may be negative
    std::int64_t external = 0, correlation = 0;  ///< of its process alone
    std::uint32_t name = 0;
    std::uint32_t process = kUnknownProcess;  ///< that launched it, as far as it is recorded
    std::uint32_t near = kUnknownProcess;     ///< that of the operation or call before it in the file
  };
  /// A call of the runtime or the driver.
  struct Call {
    std::int64_t correlation = 0;
    double begin = 0;
    std::uint32_t thread = 0;
    std::uint32_t process = 0;
  };
  struct Step {
    std::string name;
    double begin = 0, end = 0;
    std::uint32_t process = 0;
  };

  /// `place` is called where the operation is a GEMM whose shapes contradict each other.
  /// `process` and `thread` are any numbers that are others for others.
  void add_op(std::uint64_t process, std::uint64_t thread, double begin, double duration, std::int64_t external,
              TorchCall& call, const std::function<std::string()>& place);
  void add_kernel(Kernel kernel, std::string& name);
  void add_call(std::uint64_t process, std::uint64_t thread, double begin, std::int64_t correlation);
  void add_step(std::uint64_t process, Step step);
  void add_gpu(const std::string& name);
  /// The number of `process` in the events; kNoProcess where nothing of it was added.
  std::uint32_t process_index(std::uint64_t process) const;

  std::vector<Op> ops;
  std::vector<Kernel> kernels;
  std::vector<Call> calls;
  std::vector<Step> steps;               ///< ProfilerStep#N
  std::vector<RecordedLaunch> launches;  ///< each kind of call once
  std::vector<std::string> names;        ///< of operations and kernels
  std::vector<std::string> gpus;         ///< each name once
  std::uint32_t processes = 0;           ///< those of operations and calls are counted from 0
  bool one_after_other = true;           ///< the operations and calls of a process follow each other

 private:
  std::uint32_t enter_process(std::uint64_t process);
  std::uint32_t thread_index(std::uint64_t thread);
  std::uint32_t name_index(std::string& name);

  /// Where in `launches` those of a call are.
  struct Parts {
    std::int32_t first = 0;
    std::uint8_t number = 0;
  };
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, Parts> launches_;
  std::unordered_map<std::uint64_t, std::uint32_t> threads_, processes_;
  std::uint32_t process_ = kUnknownProcess;  ///< of the last operation or call
};

/// Takes the launches of `events` into `recording`; `no_shapes` is why a kernel without operation
/// is not taken, and `tf32` decides f32 where no kernel is recorded. Throws InputError.
void take_profile(ProfileEvents& events, const std::string& file, std::string_view no_shapes, bool tf32,
                  Recording& recording);

}  // namespace sptc::workload::profile
