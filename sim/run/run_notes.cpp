// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run_notes.h"

#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"
#include "sim/io/text_file.h"
#include "sim/run/asked_types.h"
#include "sim/workload/asp_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::run {
namespace {

void add_notes_on_values(const workload::Workload& workload, const RunOptions& options,
                         bool network_ran, RunResult& result) {
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
}

/// Says which kernels of fp8 are of instructions that the GPU does as f16.
void add_note_on_fp8(std::string_view numerics, RunResult& result) {
  bool dense = false, sparse = false, native = false;
  for (const OperationResult& op : result.operations) {
    for (const auto* variant : {&op.dense, &op.sparse}) {
      if (numerics::is_fp8(op.dtype) && *variant) {
        const auto rules = mma::find_step_rules(numerics, (*variant)->kernel.instruction);
        const bool lowered = rules && rules->lowered_fp8;
        (variant == &op.dense ? dense : sparse) |= lowered;
        native |= !lowered;
      }
    }
  }
  if (dense || sparse) {
    result.notes.push_back(fmt::format(
        "fp8 runs as f16{}: the cycles hold its steps, not the conversions and the additions of "
        "the accumulator, which other units do",
        native ? fmt::format(" in {} launches of mma.sync", dense && sparse ? "dense and sparse"
                                                            : dense         ? "dense"
                                                                            : "sparse")
               : ""));
  }
}

/// Says which launches the tile that the user asks for keeps from the instructions of their SM.
void add_note_on_tile(const RunOptions& options, const sm::SmSpec& sm, RunResult& result) {
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

/// Says where the library has dense integer kernels of an older generation alone.
void add_note_on_integers(const gpu::GpuSpec& gpu, RunResult& result) {
  const auto is_old = [&](const OperationResult& op) {
    return !numerics::info(op.dtype).is_float() && op.dense &&
           !op.dense->kernel.instruction.is_asynchronous();
  };
  if (!gpu.kernels.integer_tiles.empty() && gpu.sm.has(mma::MmaFamily::kTcgen05) &&
      std::any_of(result.operations.begin(), result.operations.end(), is_old)) {
    result.notes.push_back(
        "dense integer launches run as mma.sync: cuBLAS has no tcgen05.mma kernels of integers; "
        "2:4 ones are tcgen05.mma, which is most of their gain");
  }
}

void add_note_on_clock(const RunOptions& options, const gpu::GpuSpec& gpu, RunResult& result) {
  if (options.clock_policy.fixed_mhz > gpu.boost_clock_mhz) {
    result.notes.push_back(fmt::format(
        "{:.0f} MHz is above the boost clock of {}, {:.0f} MHz: nothing that was measured or cited "
        "holds there, and energies are those of the voltage at the boost clock",
        options.clock_policy.fixed_mhz, gpu.name, gpu.boost_clock_mhz));
  }
}

void add_note_on_search(const RunOptions& options, const gpu::GpuSpec& gpu, RunResult& result) {
  if (options.kernel.search && !options.kernels) {
    result.notes.push_back(fmt::format(
        "kernels are searched, because no library was written for {}: a shipped GPU compares with "
        "it by --kernels search",
        gpu.name));
  }
}

/// Rates of what feeds mma.sync from the registers: a model of asynchronous instructions has none.
constexpr std::array<std::pair<std::string_view, double tensor_core::TensorCoreSpec::*>, 6>
    kFeedsOfMmaSync{
        {{"operand_a_port_bytes_per_cycle",
          &tensor_core::TensorCoreSpec::operand_a_port_bytes_per_cycle},
         {"operand_b_port_bytes_per_cycle",
          &tensor_core::TensorCoreSpec::operand_b_port_bytes_per_cycle},
         {"accumulator_port_bytes_per_cycle",
          &tensor_core::TensorCoreSpec::accumulator_port_bytes_per_cycle},
         {"metadata_port_bytes_per_cycle",
          &tensor_core::TensorCoreSpec::metadata_port_bytes_per_cycle},
         {"selector_bytes_per_cycle", &tensor_core::TensorCoreSpec::selector_bytes_per_cycle},
         {"register_bank_bytes_per_cycle",
          &tensor_core::TensorCoreSpec::register_bank_bytes_per_cycle}}};

/// The first kernel of `result` that asynchronous instructions make up, or null.
const kernels::KernelResult* asynchronous_kernel(const RunResult& result) {
  for (const OperationResult& op : result.operations) {
    for (const auto* variant : {&op.dense, &op.sparse}) {
      if (*variant && (*variant)->kernel.instruction.is_asynchronous()) {
        return &(*variant)->kernel;
      }
    }
  }
  return nullptr;
}

/// Says which numbers that a derived design changes do nothing to launches of wgmma or tcgen05.mma.
void add_note_on_feeds(const gpu::GpuSpec& gpu, RunResult& result) {
  const kernels::KernelResult* kernel = asynchronous_kernel(result);
  if (!gpu.fitted_design || kernel == nullptr) {
    return;
  }
  const tensor_core::TensorCoreSpec& core = gpu.sm.tensor_core;
  const tensor_core::TensorCoreSpec& shipped = gpu.fitted_design->sm.tensor_core;
  std::vector<std::string_view> changed;
  for (const auto& [name, rate] : kFeedsOfMmaSync) {
    if (core.*rate != shipped.*rate) {
      changed.push_back(name);
    }
  }
  if (core.selector_latency_cycles != shipped.selector_latency_cycles) {
    changed.push_back("selector_latency_cycles");
  }
  if (!changed.empty()) {
    result.notes.push_back(fmt::format(
        "no effect on the time of {} launches: {}; operands and metadata of such instructions pass "
        "no port, selector or register bank of the model",
        mma::name(kernel->instruction.family), fmt::join(changed, ", ")));
  }
}

void add_note_on_weights(const RunOptions& options, RunResult& result) {
  const auto& operations = result.operations;
  if (options.variants != Variants::kDense && !operations.empty() &&
      std::none_of(operations.begin(), operations.end(),
                   [](const OperationResult& op) { return op.prunable; })) {
    result.notes.push_back(
        "dense only: no operation has weights to prune (of a CSV, column 'sparsity'; of a JSON "
        "workload, 'weight_operand' and 'prunable_2_4', by default m a multiple of 8 and k of 16)");
  }
}

/// Says which pruned weights have a shape that NVIDIA's tool does not prune.
void add_note_on_shapes(const std::vector<workload::Operation>& operations,
                        const RunOptions& options, RunResult& result) {
  const auto is_refused = [](const workload::Operation& op) {
    return op.prunable && !workload::asp_eligible(op);
  };
  const auto first = std::find_if(operations.begin(), operations.end(), is_refused);
  if (options.variants == Variants::kDense || first == operations.end()) {
    return;
  }
  const auto more = std::count_if(first, operations.end(), is_refused) - 1;
  result.notes.push_back(fmt::format(
      "'{}'{}: weights of {} x {} are pruned, though NVIDIA's ASP takes multiples of 8 x 16 "
      "('sptcsim legal': what libraries take)",
      io::printable(first->name), more > 0 ? fmt::format(" and {} more operations", more) : "",
      first->shape.m, first->shape.k));
}

}  // namespace

void add_notes_on_storage(const std::vector<workload::Operation>& operations, RunResult& result) {
  const auto quantised =
      std::find_if(operations.begin(), operations.end(),
                   [](const workload::Operation& op) { return op.storage.weight.has_value(); });
  if (quantised != operations.end()) {
    result.notes.push_back(fmt::format(
        "weights lie in memory as {} and are dequantised in registers to {} before they are "
        "multiplied (mma.sync, as Marlin's kernels do); how many instructions that takes is "
        "assumed",
        numerics::name(*quantised->storage.weight), numerics::name(quantised->dtype)));
  }
  if (std::any_of(operations.begin(), operations.end(),
                  [](const workload::Operation& op) { return op.storage.block_scaled(); })) {
    result.notes.push_back(
        "block-scaled operands: time and energy alone; their values are not checked, and the rate "
        "of their instructions is assumed from the bits of an element");
  }
}

void add_notes(const workload::Workload& workload, const RunOptions& options,
               const gpu::GpuSpec& gpu, bool network_ran, RunResult& result) {
  add_notes_on_values(workload, options, network_ran, result);
  add_note_on_fp8(gpu.numerics, result);
  if (std::string kept = kept_types(options, workload.operations); !kept.empty()) {
    result.notes.push_back(std::move(kept));
  }
  add_note_on_tile(options, gpu.sm, result);
  add_note_on_integers(gpu, result);
  add_note_on_clock(options, gpu, result);
  add_note_on_search(options, gpu, result);
  add_note_on_feeds(gpu, result);
  add_note_on_weights(options, result);
  add_note_on_shapes(workload.operations, options, result);
}

}  // namespace sptc::run
