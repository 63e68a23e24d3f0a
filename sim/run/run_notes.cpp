// SPDX-License-Identifier: Apache-2.0
#include "models/base/shape.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/memory_use.h"
#include "sim/run/run.h"
#include "sim/run/run_parts.h"
#include "sim/workload/dense_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::run {
namespace {

void add_notes_on_values(const workload::Workload& workload, const SimulationOptions& options, bool network_ran,
                         RunResult& result) {
  if (workload.network && !network_ran) {
    result.notes.push_back(options.fidelity != Fidelity::kDatapath
                               ? fmt::format("the accuracy of the network is not computed in --fidelity {}: datapath "
                                             "does that",
                                             name(options.fidelity))
                               : "the accuracy of the network is not computed: --data replaces its values");
  }
  if (options.check_mode() != CheckMode::kNone && options.fidelity != Fidelity::kDatapath) {
    result.notes.push_back(
        fmt::format("--fidelity {} gives times alone: the checked elements are computed apart, "
                    "with the arithmetic of the same instructions",
                    name(options.fidelity)));
  }
}

/// The networks in which something is so.
struct Which {
  bool dense = false, sparse = false;

  void add(bool sparse_weights, bool so) { (sparse_weights ? sparse : dense) |= so; }
  bool any() const { return dense || sparse; }
  std::string_view words() const { return !sparse ? "dense" : dense ? "dense and sparse" : "sparse"; }
};

/// Says which kernels of fp8 are of instructions that the GPU does as f16.
void add_note_on_fp8(std::string_view numerics, RunResult& result) {
  Which lowered;
  bool native = false;
  result.for_each_variant([&](const OperationResult& op, const VariantResult& variant, bool sparse) {
    if (numerics::is_fp8(op.dtype)) {
      const auto rules = mma::find_step_rules(numerics, variant.kernel.instruction);
      const bool as_f16 = rules && rules->lowered_fp8;
      lowered.add(sparse, as_f16);
      native |= !as_f16;
    }
  });
  if (lowered.any()) {
    result.notes.push_back(
        fmt::format("the tensor cores multiply fp8 as f16{}: the cycles count the steps in f16, not the "
                    "conversions and the additions to the accumulator, which other units do",
                    native ? fmt::format(" in {} launches of mma.sync", lowered.words()) : ""));
  }
}

/// Says which launches the tile that the user asks for keeps from the instructions of their SM.
void add_note_on_tile(const SimulationOptions& options, const sm::SmSpec& sm, RunResult& result) {
  const mma::MmaFamily own = sm.has(mma::MmaFamily::kTcgen05) ? mma::MmaFamily::kTcgen05 : mma::MmaFamily::kWgmma;
  if (!options.kernel.cta_tile || options.fidelity == Fidelity::kDatapath || !sm.has(own)) {
    return;
  }
  Which fall_back;
  result.for_each_variant([&](const OperationResult& /*op*/, const VariantResult& variant, bool sparse) {
    fall_back.add(sparse, !variant.kernel.instruction.is_asynchronous());
  });
  if (fall_back.any()) {
    result.notes.push_back(
        fmt::format("{} launches run as mma.sync, not {}: the library has no such kernel with this tile and "
                    "these stages",
                    fall_back.words(), mma::name(own)));
  }
}

/// Says where the library has dense integer kernels of an older generation alone.
void add_note_on_integers(const gpu::GpuSpec& gpu, RunResult& result) {
  const auto is_old = [&](const OperationResult& op) {
    return !numerics::info(op.dtype).is_float() && op.dense && !op.dense->kernel.instruction.is_asynchronous();
  };
  if (!gpu.kernels.integer_tiles.empty() && gpu.sm.has(mma::MmaFamily::kTcgen05) &&
      std::any_of(result.operations.begin(), result.operations.end(), is_old)) {
    result.notes.push_back(
        "dense integer launches run as mma.sync: cuBLAS has no tcgen05.mma kernels of integers; "
        "2:4 ones are tcgen05.mma, which is most of their gain");
  }
}

void add_note_on_clock(const SimulationOptions& options, const gpu::GpuSpec& gpu, RunResult& result) {
  if (options.clock_policy.fixed_mhz > gpu.boost_clock_mhz) {
    result.notes.push_back(
        fmt::format("{:.0f} MHz is above the boost clock of {}, {:.0f} MHz: nothing that was measured or cited "
                    "holds there, and energies are those of the voltage at the boost clock",
                    options.clock_policy.fixed_mhz, gpu.name, gpu.boost_clock_mhz));
  }
}

void add_note_on_search(const SimulationOptions& options, const gpu::GpuSpec& gpu, RunResult& result) {
  if (options.kernel.search && !options.kernels) {
    result.notes.push_back(
        fmt::format("kernels are searched, as no library was written for {}: give a shipped GPU --kernels "
                    "search, too, to compare the two",
                    gpu.name));
  }
}

/// Rates of what feeds mma.sync from the registers: a model of asynchronous instructions has none.
constexpr std::array<std::pair<std::string_view, double tensor_core::TensorCoreSpec::*>, 6> kFeedsOfMmaSync{
    {{"operand_a_port_bytes_per_cycle", &tensor_core::TensorCoreSpec::operand_a_port_bytes_per_cycle},
     {"operand_b_port_bytes_per_cycle", &tensor_core::TensorCoreSpec::operand_b_port_bytes_per_cycle},
     {"accumulator_port_bytes_per_cycle", &tensor_core::TensorCoreSpec::accumulator_port_bytes_per_cycle},
     {"metadata_port_bytes_per_cycle", &tensor_core::TensorCoreSpec::metadata_port_bytes_per_cycle},
     {"selector_bytes_per_cycle", &tensor_core::TensorCoreSpec::selector_bytes_per_cycle},
     {"register_bank_bytes_per_cycle", &tensor_core::TensorCoreSpec::register_bank_bytes_per_cycle}}};

/// The first kernel of `result` that asynchronous instructions make up, or null.
const kernels::KernelResult* asynchronous_kernel(const RunResult& result) {
  const kernels::KernelResult* first = nullptr;
  result.for_each_variant([&](const OperationResult& /*op*/, const VariantResult& variant, bool /*sparse*/) {
    if (first == nullptr && variant.kernel.instruction.is_asynchronous()) {
      first = &variant.kernel;
    }
  });
  return first;
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
    result.notes.push_back(
        fmt::format("the time of {} launches does not depend on {}: operands and metadata of such instructions "
                    "pass no port, selector or register bank of the model",
                    mma::name(kernel->instruction.family), fmt::join(changed, ", ")));
  }
}

void add_note_on_weights(const SimulationOptions& options, RunResult& result) {
  const auto& operations = result.operations;
  if (options.variants != Variants::kDense && !operations.empty() && options.training != workload::Training::kDense &&
      std::none_of(operations.begin(), operations.end(), [](const OperationResult& op) { return op.prunable; })) {
    result.notes.push_back(
        "dense only: no operation has weights to prune (of a CSV, column 'sparsity'; of a JSON "
        "workload, 'weight_operand' and 'prunable_2_4', by default m a multiple of 8 and k of 16)");
  }
}

/// Says which pruned weights have a shape that NVIDIA's tool does not prune.
void add_note_on_shapes(const std::vector<workload::Operation>& operations, const SimulationOptions& options,
                        RunResult& result) {
  const auto is_refused = [](const workload::Operation& op) { return op.prunable && !workload::asp_eligible(op); };
  const auto first = std::find_if(operations.begin(), operations.end(), is_refused);
  if (options.variants == Variants::kDense || first == operations.end()) {
    return;
  }
  const auto more = std::count_if(first, operations.end(), is_refused) - 1;
  result.notes.push_back(
      fmt::format("'{}'{}: weights of {} x {} are pruned, though NVIDIA's ASP takes multiples of 8 x 16 "
                  "('sptcsim legal': what libraries take)",
                  io::printable(first->name), more > 0 ? fmt::format(" and {} more operations", more) : "",
                  first->shape.m, first->shape.k));
}

void add_notes_on_storage(const std::vector<workload::Operation>& operations, RunResult& result) {
  const auto quantised = std::find_if(operations.begin(), operations.end(),
                                      [](const workload::Operation& op) { return op.storage.weight.has_value(); });
  if (quantised != operations.end()) {
    result.notes.push_back(
        fmt::format("weights lie in memory as {} and are dequantised in registers to {} before they are "
                    "multiplied (mma.sync, as Marlin's kernels do); how many instructions that takes is "
                    "assumed",
                    numerics::name(*quantised->storage.weight), numerics::name(quantised->dtype)));
  }
  if (std::any_of(operations.begin(), operations.end(),
                  [](const workload::Operation& op) { return op.storage.block_scaled(); })) {
    result.notes.push_back(
        "block-scaled operands have times and energies alone: their values are not checked, and "
        "the rate of their instructions is assumed from the bits of an element");
  }
}

std::string clock_text(const SimulationOptions& options) {
  const std::string asked = options.clock_policy.name();
  return options.clock_limited ? fmt::format("limited by {} W{}, at most {}", options.power->power_limit_w,
                                             options.limits_group() ? " on average over a group" : "", asked)
                               : asked;
}

std::string library_text(const SimulationOptions& options) {
  if (options.kernel.search) {
    return "none: kernels are searched";
  }
  return options.library.empty() ? "as the architecture" : options.library;
}

/// Says what a step of training is, and of its 2:4 what only an engine has.
void add_note_on_training(const SimulationOptions& options, RunResult& result) {
  if (!options.training) {
    return;
  }
  const bool beside = *options.training != workload::Training::kDense && !options.runs_whole_network();
  result.notes.push_back(
      fmt::format("each pass is a step of training, forward and backward, as a bound: without optimiser, sums "
                  "of gradients over GPUs and anything that is computed twice; memory is not counted{}",
                  beside ? "; what chooses and masks 2:4 values needs an engine, such as --engine xformers" : ""));
}

/// Says which launch alone has more to keep than the memory of the board, where a network does not say it of the whole.
void add_note_on_memory(const std::vector<workload::Operation>& operations, const SimulationOptions& options,
                        const gpu::GpuSpec& gpu, RunResult& result) {
  const auto bytes_of = [&](const workload::Operation& op) {
    const auto& [m, n, k] = op.shape;
    const int bits = numerics::storage_bits(op.dtype);
    const bool is_float = numerics::info(op.dtype).is_float();
    const numerics::DataType d = type_of_d(op, options).value_or(is_float ? op.dtype : numerics::DataType::kS32);
    return (base::product({m, k, op.batch}) * op.storage.a_bits(bits) +
            base::product({k, n, op.batch}) * op.distinct_b() * bits +
            base::product({m, n, op.batch}) * numerics::storage_bits(d)) /
           8;
  };
  const auto largest = std::ranges::max_element(operations, {}, bytes_of);
  const auto capacity = static_cast<double>(gpu.memory.dram_capacity.count());
  if (capacity > 0 && result.does_not_fit.empty() && largest != operations.end() && bytes_of(*largest) > capacity) {
    result.notes.push_back(
        fmt::format("A, B and D of '{}' take {:.0f} GiB with dense weights, more than the {:.0f} GiB of {}: the "
                    "figures are those of a board that had the room",
                    io::printable(largest->name), bytes_of(*largest) / kGib, capacity / kGib, gpu.name));
  }
}

/// Says what lies where with --ep.
void add_note_on_experts(const SimulationOptions& options, RunResult& result) {
  if (options.expert_parallel > 1) {
    result.notes.push_back(
        fmt::format("--ep {0}: each GPU has 1/{0} of the experts and of the sequences, and all other weights; "
                    "every expert gets as many tokens (uniform routing, whatever shares the file has), a token "
                    "is sent to each of its experts by itself, and nothing else runs meanwhile",
                    options.expert_parallel));
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe(const SimulationOptions& options) {
  const auto tile = [](const base::GemmShape& shape) { return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k); };
  std::vector<std::pair<std::string, std::string>> rows{
      {"fidelity", std::string(name(options.fidelity))},
      {"variants", std::string(name(options.variants))},
      {"numerics", options.numerics.empty() ? "as the architecture" : options.numerics},
      {"pattern", options.pattern ? options.pattern->name() : "the hardware's"},
      {"dtype", types_text(options)},
      {"data", options.data},
      {"check", std::string(name(options.check_mode()))},
      {"clock", clock_text(options)},
      {"library", library_text(options)},
      {"tile", options.kernel.cta_tile ? tile(*options.kernel.cta_tile) : "auto"},
      {"stages", options.kernel.stages ? std::to_string(*options.kernel.stages) : "auto"},
      {"split_k", options.kernel.split_k ? std::to_string(*options.kernel.split_k) : "auto"},
      {"decomposition", options.kernel.decomposition ? std::string(name(*options.kernel.decomposition)) : "auto"},
      {"extrapolate", options.extrapolates() ? "yes" : "no"},
  };
  if (options.training) {
    rows.emplace_back("training", name(*options.training));
  }
  return rows;
}

void add_notes(const workload::Workload& workload, const AskedWork& work, const SimulationOptions& options,
               const gpu::GpuSpec& gpu, bool network_ran, const KernelRunner& kernels, RunResult& result) {
  add_notes_on_values(workload, options, network_ran, result);
  add_note_on_fp8(gpu.numerics, result);
  if (std::string kept = kept_types(options, workload.operations); !kept.empty()) {
    result.notes.push_back(std::move(kept));
  }
  add_note_on_tile(options, gpu.sm, result);
  add_note_on_integers(gpu, result);
  add_note_on_clock(options, gpu, result);
  add_note_on_search(options, gpu, result);
  add_note_on_training(options, result);
  add_note_on_experts(options, result);
  add_note_on_memory(work.operations, options, gpu, result);
  add_note_on_feeds(gpu, result);
  if (work.no_kernels.empty()) {
    add_note_on_weights(options, result);
  } else if (options.variants != Variants::kDense) {
    result.notes.push_back((result.no_sparse.empty() ? "" : "dense only: ") + work.no_kernels);
  }
  add_note_on_shapes(workload.operations, options, result);
  add_notes_on_storage(work.operations, result);
  for (std::string& note : kernels.notes()) {
    result.notes.push_back(std::move(note));
  }
  if (!work.kept_dense.empty() && options.variants != Variants::kDense) {
    result.notes.push_back(work.kept_dense);
  }
  if (!options.sparse_layers.empty()) {
    result.notes.push_back("only the weights that " + io::printable(options.sparse_layers) + " lists are sparse");
  }
}

std::vector<std::string> assumptions(const config::Architecture& architecture) {
  std::vector<std::string> result;
  for (const config::Parameter& parameter : architecture.parameters) {
    if (parameter.evidence == "assumed") {
      result.push_back(fmt::format("{} = {}{}{}", parameter.pointer, parameter.value, parameter.unit.empty() ? "" : " ",
                                   parameter.unit));
    }
  }
  return result;
}

}  // namespace sptc::run
