// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/workload.h"

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
std::string kept_types(const SimulationOptions& options,
                       const std::vector<workload::Operation>& operations);

}  // namespace sptc::run
