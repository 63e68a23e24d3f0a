// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sm/sm.h"
#include "sim/tensor_core/passage_log.h"
#include "sim/tensor_core/waveform.h"

namespace sptc::gpu {

/// Shows the tensor cores of `sm`, and what they wait for, in `waveform`. All must outlive the
/// simulation.
void observe(sm::Sm& sm, const base::Clock& clock, const tensor_core::TensorCoreSpec& spec,
             tensor_core::Waveform& waveform);

/// Logs what the tensor cores and warps of `sm` do and wait for, and its copies of k-tiles.
void observe(sm::Sm& sm, const base::Clock& clock, const tensor_core::TensorCoreSpec& spec,
             tensor_core::PassageLog& log);

}  // namespace sptc::gpu
