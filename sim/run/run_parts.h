// SPDX-License-Identifier: Apache-2.0
//
// What run_workload() is made of.
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/asked_work.h"
#include "sim/run/energy.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/run_options.h"
#include "sim/run/run_result.h"
#include "sim/workload/workload.h"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::run {

class ValueFiles;

/// RunResult::options.
std::vector<std::pair<std::string, std::string>> describe(const SimulationOptions& options);

/// What the memory of `gpu` cannot hold, part by part (sim/run/memory_use.h), in a sentence with
/// the number of boards that it takes and what 2:4 weights make of it, or that nobody says how large
/// the cache is; empty where all fits as far as that is known. `work`: what asked_work() has of
/// `workload`, that of one of several GPUs.
std::string does_not_fit(const workload::Workload& workload, const AskedWork& work, const SimulationOptions& options,
                         const gpu::GpuSpec& gpu);

/// What the launches of a run have in common.
struct LaunchContext {
  const gpu::GpuSpec& gpu;
  const SimulationOptions& options;
  const DataSource& data;
  SwitchingSource& switching;
  KernelRunner& kernels;
  ValueFiles* saved;  ///< gets what each launch reads and computes; null: nobody asked
};

/// One variant of one operation: its time, its values checked as the options ask and, where the
/// power limit holds over each launch, its energy. Throws InputError.
VariantResult run_variant(const workload::Operation& op, bool sparse, const LaunchContext& run);

/// Runs a network layer by layer with its real values: B is the layer's input rounded to the
/// operand type, D comes out of the simulated tensor cores, bias and ReLU are applied on the host
/// in f32. The dense chain uses the dense weights, the sparse chain the 2:4 fine-tuned ones (layers
/// that are not prunable run them on the dense kernel). Fills `dense` and `sparse` of each of
/// `results` and returns the accuracy of both chains beside a float64 forward pass of the same
/// stored weights and inputs. Throws InputError where tensors do not fit the operations, or where
/// the weights of the sparse chain are not legal for the hardware pattern.
AccuracyResult run_network(const workload::NetworkData& network, const std::vector<workload::Operation>& operations,
                           const gpu::GpuSpec& gpu, const SimulationOptions& options, KernelRunner& kernels,
                           const std::function<void(std::size_t)>& progress, std::vector<OperationResult>& results);

/// Adds RunResult::inference: one pass of the network under its engine, its kernels one behind the
/// other, at the one clock at which their mean power is what the board allows. Each GEMM is
/// simulated by `kernels`, dense and, where its weight can be pruned, sparse; what lies between
/// them is computed in closed form.
void run_inference(const workload::Workload& workload, const AskedWork& work, const gpu::GpuSpec& gpu,
                   const SimulationOptions& options, KernelRunner& kernels, SwitchingSource& switching,
                   RunResult& result);

/// Adds to result.notes what a reader of its operations must know about values, kernels, clock,
/// design and how operands lie in memory. `network_ran`: the network of `workload` classified its
/// samples.
void add_notes(const workload::Workload& workload, const AskedWork& work, const SimulationOptions& options,
               const gpu::GpuSpec& gpu, bool network_ran, const KernelRunner& kernels, RunResult& result);

}  // namespace sptc::run
