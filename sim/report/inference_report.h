// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sptc::report {

/// A pass of the network: latency, rate, watts, joules and where the time goes, in at most 100 columns. Where it was
/// asked for, which weights take 2:4 and why. `verbose`: all kernels instead, in at most 120 columns.
std::string inference_text(const run::RunResult& result, bool verbose);

/// The same for a page: "engine", "gemms_only", "head" and "rows" as texts, "not_modelled", and "stacks": what each
/// pass is made of.
nlohmann::ordered_json inference_table(const run::RunResult& result);

/// Adds the same to the object of a result: "engine", "kernels", "not_modelled", and to the variants of "totals"
/// "latency_us" and "inference".
void add_inference(const run::RunResult& result, nlohmann::ordered_json& json);

}  // namespace sptc::report
