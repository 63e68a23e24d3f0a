// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run_notes.h"

#include "models/mma/instruction.h"
#include "models/numerics/data_type.h"
#include "sim/run/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace sptc::sim {
namespace {

void add_notes_on_values(const Workload& workload, const RunOptions& options,
                         std::string_view numerics, bool network_ran, RunResult& result) {
  if (workload.network && !network_ran) {
    result.notes.push_back(
        options.fidelity != Fidelity::kDatapath
            ? fmt::format("accuracy is not computed: no values travel in --fidelity {}",
                          name(options.fidelity))
            : "accuracy is not computed: --data replaces the values of the network");
  }
  if (options.check_mode() != CheckMode::kNone && options.fidelity != Fidelity::kDatapath) {
    result.notes.push_back(
        fmt::format("checked elements are computed by the batched engine: no values travel in "
                    "--fidelity {}",
                    name(options.fidelity)));
  }
  const auto is_lowered = [&](const OperationResult& op) {
    return numerics::is_fp8(op.dtype) && Arithmetic(numerics, op.dtype, false).rules.lowered_fp8;
  };
  if (std::any_of(result.operations.begin(), result.operations.end(), is_lowered)) {
    result.notes.push_back(
        "fp8 runs as f16: the cycles hold its steps, not the conversions and the additions of the "
        "accumulator, which other units do");
  }
}

/// Says which launches the tile that the user asks for keeps from the instructions of their SM.
void add_note_on_tile(const RunOptions& options, const SmSpec& sm, RunResult& result) {
  const mma::MmaFamily own =
      sm.has(mma::MmaFamily::kTcgen05) ? mma::MmaFamily::kTcgen05 : mma::MmaFamily::kWgmma;
  if (!options.kernel.cta_tile || options.fidelity == Fidelity::kDatapath || !sm.has(own)) {
    return;
  }
  const auto any_falls_back = [&](std::optional<VariantResult> OperationResult::*variant) {
    return std::any_of(result.operations.begin(), result.operations.end(),
                       [&](const OperationResult& op) {
                         return op.*variant && !(op.*variant)->kernel.instruction.is_asynchronous();
                       });
  };
  const bool dense = any_falls_back(&OperationResult::dense);
  const bool sparse = any_falls_back(&OperationResult::sparse);
  if (dense || sparse) {
    result.notes.push_back(fmt::format(
        "{} launches run as mma.sync, not {}: the library has no such kernel with this tile and "
        "these stages",
        dense && sparse ? "dense and sparse"
        : dense         ? "dense"
                        : "sparse",
        mma::name(own)));
  }
}

void add_note_on_clock(const RunOptions& options, const GpuSpec& gpu, RunResult& result) {
  if (options.clock.kind == ClockPolicy::Kind::kFixed && options.clock.mhz > gpu.boost_clock_mhz) {
    result.notes.push_back(fmt::format(
        "{:.0f} MHz is above the boost clock of {}, {:.0f} MHz: nothing that was measured or cited "
        "holds there, and energies are those of the voltage at the boost clock",
        options.clock.mhz, gpu.name, gpu.boost_clock_mhz));
  }
}

}  // namespace

void add_notes(const Workload& workload, const RunOptions& options, const GpuSpec& gpu,
               bool network_ran, RunResult& result) {
  add_notes_on_values(workload, options, gpu.numerics, network_ran, result);
  add_note_on_tile(options, gpu.sm, result);
  add_note_on_clock(options, gpu, result);
}

}  // namespace sptc::sim
