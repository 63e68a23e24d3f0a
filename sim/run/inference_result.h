// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/vector_operation.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sptc::run {

/// A launch of a kernel in a variant of the network, at the clock of that.
struct KernelFigures {
  double time_us = 0;
  std::optional<double> energy_uj;
};

/// A kernel of an engine, and which weights it takes in the fastest mix.
struct InferenceKernel {
  std::string name;
  std::vector<std::string> fused;  ///< operations in it beside the one that names it
  workload::WorkGroup group = workload::WorkGroup::kGemm;
  std::int64_t count = 1;
  std::optional<KernelFigures> dense, sparse;  ///< sparse: of 2:4 weights, and of what they change
  /// Of weights: what the mix takes, and why.
  bool takes_sparse = false;
  std::string reason;
};

/// A pass of the network: with dense weights, all 2:4, or the mix.
struct InferenceTotals {
  double latency_us = 0;
  double clock_mhz = 0;
  double waiting_us = 0;  ///< of it the GPU waits for the host
  std::optional<double> energy_uj, power_w;
  /// Time of the kernels by WorkGroup.
  std::array<double, workload::kWorkGroups> group_us{};
};

/// What a pass leaves out, and by an estimate its part of the time with dense weights.
struct NotModelled {
  std::string what;
  std::optional<double> share;  ///< nothing: not known
};

struct InferenceResult {
  std::string engine;
  bool gemms_only = false;     ///< EngineSpec::gemms_only: nothing beside the GEMMs is part of it
  bool tells_choices = false;  ///< the short report says which weights take 2:4, and why
  std::int64_t batch = 0;      ///< inputs of a pass: Workload::inputs
  std::vector<InferenceKernel> kernels;
  std::optional<InferenceTotals> dense, sparse, mix;
  std::vector<NotModelled> not_modelled;
};

}  // namespace sptc::run
