// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/run_options.h"
#include "sim/run/run_result.h"
#include "sim/workload/workload.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace sptc::run {

/// Runs a network layer by layer with its real values: B is the layer's input rounded to the
/// operand type, D comes out of the simulated tensor cores, bias and ReLU are applied on the host
/// in f32. The dense chain uses the dense weights, the sparse chain the 2:4 fine-tuned ones (layers
/// that are not prunable run them on the dense kernel). Fills `dense` and `sparse` of each of
/// `results` and returns the accuracy of both chains beside a float64 forward pass of the same
/// stored weights and inputs. Throws InputError where tensors do not fit the operations, or where
/// the weights of the sparse chain are not legal for the hardware pattern.
AccuracyResult run_network(const workload::NetworkData& network,
                           const std::vector<workload::Operation>& operations,
                           const gpu::GpuSpec& gpu, const RunOptions& options,
                           KernelRunner& kernels, const std::function<void(std::size_t)>& progress,
                           std::vector<OperationResult>& results);

}  // namespace sptc::run
