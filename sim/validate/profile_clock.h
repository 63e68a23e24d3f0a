// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/kernel_library_spec.h"
#include "sim/validate/measurements.h"
#include "sim/validate/prediction.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sptc::sim {

/// Which rows were measured one after the other, over and over: those whose sources are operations
/// of one model ("model/operation"), with the same n and on as many GPUs, which shows in the share
/// of the operation's largest m * k. Indices of rows; a row without such a source is in none.
std::vector<std::vector<std::size_t>> layers_of(std::span<const Measurement> rows);

/// Gives launches the sustained clock of the load they were measured under: zeros are a smaller one
/// (`sustained_zeros_percent`), and a GPU may average over the layer (`sustained_layer_percent`).
void follow_profile(std::span<const Measurement> rows, const KernelLibrarySpec& library,
                    std::vector<Prediction>& launches);

/// What follow_profile() reads from the names of `rows` on this GPU, as a sentence; empty where
/// nothing is.
std::string clock_note(std::span<const Measurement> rows, const KernelLibrarySpec& library);

}  // namespace sptc::sim
