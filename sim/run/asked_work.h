// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/run/run_options.h"
#include "sim/run/run_result.h"
#include "sim/workload/workload.h"

#include <optional>
#include <string>
#include <vector>

namespace sptc::run {

/// The type that `op` is multiplied in: that of its part (PartTypes) or SimulationOptions::dtype
/// where `options` give one. But a type of 8 bits and less is that of weights alone unless it is
/// given for all parts: both products of attention, routers and the last layer keep their own, as
/// serving software has them.
numerics::DataType asked_type(const SimulationOptions& options, const workload::Operation& op);

/// Gives `op` the type and the storage that `options` ask for: they go before what the workload
/// says, but no product of two activations has a quantised weight. Throws InputError.
void set_asked_type(const SimulationOptions& options, workload::Operation& op);

/// "e4m3, attention bf16", or "as given".
std::string types_text(const SimulationOptions& options);

/// Which of `operations`, as the workload has them, keep their type though `options` ask for
/// another one, and how to change that; empty: none.
std::string kept_types(const SimulationOptions& options, const std::vector<workload::Operation>& operations);

/// Moves the launches of a recording whose operands the tensor cores of `gpu` do not multiply, with
/// the types that `options` ask for, to those that are not taken. A list that nobody recorded stays
/// as it is: simulate() refuses such an operation. Throws InputError where no launch is left, and for
/// a model, which has dimensions: its figures would be those of a part.
void leave_unsupported(const gpu::GpuSpec& gpu, const SimulationOptions& options, workload::Workload& workload);

/// `workload` without what leave_unsupported() leaves; nothing where it leaves none.
std::optional<workload::Workload> without_unsupported(const gpu::GpuSpec& gpu, const SimulationOptions& options,
                                                      const workload::Workload& workload);

/// Throws InputError where `result` is not of all launches, as figures that are compared must be.
void require_all_launches(const RunResult& result);

/// What a run simulates.
struct AskedWork {
  std::vector<workload::Operation> operations;
  std::vector<workload::VectorOperation> vectors;
  std::string kept_dense;  ///< the sentence of workload::keep_dense_by_role()
  /// Why the engine has no 2:4 kernels for a weight: see network::keep_dense_without_kernels().
  std::string no_kernels;
};

/// The operations of `workload` as `options` ask for them: with their type, as the part of one of
/// several GPUs, and as their engine joins and launches them. Throws InputError.
AskedWork asked_work(const workload::Workload& workload, const SimulationOptions& options);

}  // namespace sptc::run
