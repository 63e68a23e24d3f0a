// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu.h"
#include "sim/sm/sm.h"
#include "sim/tensor_core/passage_log.h"
#include "sim/tensor_core/waveform.h"

namespace sptc::gpu {

/// Shows the tensor cores of `sm`, and what they wait for, in `waveform`. All must outlive the
/// simulation.
void observe(sm::Sm& sm, const base::Clock& clock, const tensor_core::TensorCoreSpec& spec,
             tensor_core::Waveform& waveform);

/// Logs what the tensor cores and warps of the first SM do and wait for, and its copies of k-tiles.
/// Of L2 and DRAM it logs what they do for all SMs.
void observe(Gpu& gpu, const base::Clock& clock, const tensor_core::TensorCoreSpec& spec,
             tensor_core::PassageLog& log);

}  // namespace sptc::gpu
