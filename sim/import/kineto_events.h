// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/import/torch_call.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <unordered_map>
#include <vector>

namespace sptc::sim {

/// What a PyTorch profile (Kineto JSON) holds, without what no GEMM needs. Times are in us.
struct KinetoEvents {
  struct Op {
    double begin = 0, end = 0;
    std::int64_t external = 0;
    std::uint32_t thread = 0;
    std::uint32_t name = 0;
    std::int32_t launch = -1;  ///< in `launches`; -1: no GEMM
  };
  struct Kernel {
    double begin = 0, duration = 0;
    std::int64_t external = 0, correlation = 0;
    std::uint32_t name = 0;
  };
  /// A call of the runtime or the driver.
  struct Call {
    std::int64_t correlation = 0;
    double begin = 0;
    std::uint32_t thread = 0;
  };
  struct Step {
    std::string name;
    double begin = 0, end = 0;
  };

  std::vector<Op> ops;
  std::vector<Kernel> kernels;
  std::vector<Call> calls;
  std::vector<Step> steps;               ///< ProfilerStep#N
  std::vector<RecordedLaunch> launches;  ///< each kind of call once
  std::vector<std::string> names;        ///< of operations and kernels
  std::string gpu;
  bool complete = false;  ///< the events ended as they should
};

/// Reads the JSON event by event. Throws InputError.
KinetoEvents read_kineto_events(std::istream& stream, const std::string& file);

}  // namespace sptc::sim
