// SPDX-License-Identifier: Apache-2.0
#include "sim/run/asked_work.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/io/text_file.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/network/expert_parallel.h"
#include "sim/run/network/kernel_plan.h"
#include "sim/run/network/network_changes.h"
#include "sim/run/network/tensor_parallel.h"
#include "sim/run/pass_kind.h"
#include "sim/workload/dense_role.h"
#include "sim/workload/layer_list.h"
#include "sim/workload/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

namespace sptc::run {
namespace {

using kernels::OperandFormat;
using numerics::DataType;

constexpr int kBitsOfServing = 16;  ///< of what serving software does not quantise

/// What an operation is, as --dtype names it, and the format that `options` give it as such.
struct Part {
  std::string_view name;  ///< empty: a layer like any other
  std::optional<OperandFormat> format;
};

/// Whether `options` treat parts differently; asked of each of a million points of a sweep.
bool tells_parts_apart(const SimulationOptions& options) {
  const PartTypes& parts = options.parts;
  return parts.attention || parts.router || parts.head || options.storage.weight ||
         (!parts.all && options.dtype && numerics::storage_bits(*options.dtype) < kBitsOfServing);
}

Part part_of(const SimulationOptions& options, const workload::Operation& op) {
  if (!tells_parts_apart(options)) {
    return {};
  }
  if (!op.weight) {
    return {"attention", options.parts.attention};
  }
  const std::string_view role = workload::dense_role(op.name);
  return role == "router" ? Part{"router", options.parts.router}
         : role == "head" ? Part{"lm_head", options.parts.head}
                          : Part{};
}

/// Whether `part` has SimulationOptions::dtype, where there is one.
bool is_converted(const SimulationOptions& options, const Part& part) {
  return part.name.empty() || options.parts.all ||
         (options.dtype && numerics::storage_bits(*options.dtype) >= kBitsOfServing);
}

/// The format of SimulationOptions::dtype, where there is one.
std::optional<OperandFormat> format_of_all(const SimulationOptions& options) {
  return options.dtype ? std::optional(OperandFormat{*options.dtype, options.dtype_block}) : std::nullopt;
}

/// What `options` make of `op`, which is `part`; without scales where it keeps its own type.
OperandFormat format_of(const SimulationOptions& options, const workload::Operation& op, const Part& part) {
  const OperandFormat own{op.dtype};
  return part.format ? *part.format : is_converted(options, part) ? format_of_all(options).value_or(own) : own;
}

}  // namespace

DataType asked_type(const SimulationOptions& options, const workload::Operation& op) {
  return format_of(options, op, part_of(options, op)).type;
}

void set_asked_type(const SimulationOptions& options, workload::Operation& op) {
  const Part part = part_of(options, op);
  const OperandFormat format = format_of(options, op, part);
  if (format.type != op.dtype && op.storage.block_scaled()) {
    op.storage = {};  // those blocks were of the other type
  }
  const kernels::OperandStorage& asked = options.storage;
  const bool of_all = !options.dtype && !asked.weight;  // blocks of what the workload has
  const bool stored = asked.weight ? op.weight && (part.name.empty() || options.parts.all)
                                   : !part.format && (of_all || is_converted(options, part));
  op.dtype = format.type;
  op.d_dtype = type_of_d(op, options);
  if (format.weight || format.scale_block > 0) {
    op.storage = {format.weight, format.scale_block};
  }
  if (!asked.plain() && stored) {
    op.storage = asked;
  }
  if (const std::string why = kernels::impossible_storage(op.storage, op.dtype); !why.empty()) {
    throw base::InputError("'" + io::printable(op.name) + "' of " + std::string(numerics::name(op.dtype)) + ": " + why);
  }
}

std::string types_text(const SimulationOptions& options) {
  auto all = format_of_all(options);
  if (all && options.storage.weight) {
    all = OperandFormat{all->type, options.storage.scale_block, options.storage.weight};
  }
  std::string text = all ? std::string(kernels::name(*all)) : "as given";
  const PartTypes& parts = options.parts;
  text += parts.all && options.dtype ? ", all" : "";
  for (const auto& [name, format] :
       {std::pair("attention", parts.attention), {"router", parts.router}, {"lm_head", parts.head}}) {
    text += format ? fmt::format(", {} {}", name, kernels::name(*format)) : "";
  }
  return text;
}

std::string kept_types(const SimulationOptions& options, const std::vector<workload::Operation>& operations) {
  std::set<std::string> parts;
  std::string first;
  for (const workload::Operation& op : operations) {
    const Part part = part_of(options, op);
    if (options.dtype && !part.format && !is_converted(options, part) && op.dtype != *options.dtype) {
      parts.insert(fmt::format("{} in {}", part.name, numerics::name(op.dtype)));
      first = first.empty() ? std::string(part.name) : first;
    }
  }
  if (parts.empty()) {
    return "";
  }
  return fmt::format(
      "--dtype {0} leaves {1}, as serving software does; --dtype all={0} converts them, too, and "
      "--dtype weights={0},{2}=TYPE one part",
      kernels::name(*format_of_all(options)), fmt::join(parts, ", "), first);
}

namespace {

std::string type_text(const workload::Operation& op) {
  return std::string(kernels::name(OperandFormat{op.dtype, op.storage.operand_block()}));
}

/// Whether the tensor cores of `gpu` multiply the operands of `op`.
bool multiplies(const gpu::GpuSpec& gpu, const workload::Operation& op) {
  kernels::GemmProblem problem{op.shape, op.batch, op.dtype};
  problem.storage = op.storage;
  try {
    gpu::require_instruction(kernels::kernel_instruction(problem, gpu.kernel_target()), gpu);
    return true;
  } catch (const base::InputError&) {
    return false;
  }
}

/// The same with the types that `options` ask for.
bool multiplies(const gpu::GpuSpec& gpu, const SimulationOptions& options, workload::Operation op) {
  set_asked_type(options, op);
  return multiplies(gpu, op);
}

/// ", such as w4a16" where `op` is of FP4, and `gpu` and the engine take weights of 4 bits that are multiplied as bf16.
std::string type_for_fp4(const gpu::GpuSpec& gpu, const SimulationOptions& options, workload::Operation op) {
  constexpr std::string_view kInstead = "w4a16";
  const auto format = kernels::parse_weight_format(kInstead);
  if (op.dtype != DataType::kE2m1 || !format) {
    return "";
  }
  op.dtype = format->type;
  op.storage = {format->weight, format->scale_block};
  const bool offered = !options.runs_whole_network() || options.network_engine->no_types(op).empty();
  return offered && multiplies(gpu, op) ? fmt::format(", such as {}", kInstead) : "";
}

}  // namespace

void leave_unsupported(const gpu::GpuSpec& gpu, const SimulationOptions& options, workload::Workload& workload) {
  if (workload.source.empty()) {
    return;
  }
  const std::size_t first = workload.not_taken.size();
  std::vector<workload::Operation> taken;
  std::vector<std::size_t> taken_before{0};
  for (workload::Operation& op : workload.operations) {
    const bool executed = multiplies(gpu, options, op);
    taken_before.push_back(taken_before.back() + (executed ? 1 : 0));
    if (executed) {
      taken.push_back(std::move(op));
      continue;
    }
    workload::Operation asked = op;
    set_asked_type(options, asked);
    if (!workload.dims.empty()) {
      io::refuse(
          "'{}': the tensor cores of {} multiply no {}, and a model is not simulated in part; --dtype has "
          "other types{}",
          io::printable(op.name), gpu.name, type_text(asked), type_for_fp4(gpu, options, asked));
    }
    workload.not_taken.push_back({op.name, op.shape, op.batch, type_text(asked), op.count, op.recorded.time_us,
                                  fmt::format("the tensor cores of {} multiply no {}", gpu.name, type_text(asked))});
  }
  workload.operations = std::move(taken);
  for (workload::VectorOperation& op : workload.vectors) {
    op.after = taken_before[op.after];
  }
  if (workload.operations.empty()) {
    io::refuse("{}: no launch can be simulated on {}; the first: {}", io::printable(workload.file.string()), gpu.name,
               workload.not_taken[first].reason);
  }
}

std::optional<workload::Workload> without_unsupported(const gpu::GpuSpec& gpu, const SimulationOptions& options,
                                                      const workload::Workload& workload) {
  const auto is_left = [&](const workload::Operation& op) { return !multiplies(gpu, options, op); };
  if (workload.source.empty() || std::none_of(workload.operations.begin(), workload.operations.end(), is_left)) {
    return std::nullopt;
  }
  workload::Workload result = workload;
  leave_unsupported(gpu, options, result);
  return result;
}

void require_all_launches(const RunResult& result) {
  if (!result.left_out.empty()) {
    throw base::InputError(result.left_out);
  }
}

namespace {

/// Operations with the type that `options` ask for, and sizes that 64 bits can count.
std::vector<workload::Operation> prepared_operations(const workload::Workload& workload,
                                                     const SimulationOptions& options) {
  std::vector<workload::Operation> operations = workload.operations;
  if (operations.empty()) {
    throw base::InputError(workload.file.string() + ": the workload has no operations");
  }
  for (workload::Operation& op : operations) {
    set_asked_type(options, op);
    std::optional<std::int64_t> macs = 1;
    for (const std::int64_t extent : {op.shape.m, op.shape.n, op.shape.k, op.batch, op.count}) {
      base::ensure(extent > 0, "an operation has an extent that is not positive");
      macs = macs ? base::checked_multiply(*macs, extent) : std::nullopt;
    }
    if (!macs || !base::checked_multiply(*macs, 2)) {
      io::refuse("'{}': {} x {} x {} multiply-accumulates, batch {}, count {}, do not fit 64 bits", op.name, op.shape.m,
                 op.shape.n, op.shape.k, op.batch, op.count);
    }
  }
  return operations;
}

}  // namespace

AskedWork asked_work(const workload::Workload& workload, const SimulationOptions& options) {
  std::vector<workload::Operation> prepared = prepared_operations(workload, options);
  std::vector<workload::VectorOperation> between = workload.vectors;
  if (!options.sparse_layers.empty()) {
    workload::prune_only_listed(workload::read_layer_list(options.sparse_layers), options.sparse_layers, prepared,
                                between);
  }
  const std::string kept_dense =
      options.sparse_layers.empty() ? workload::keep_dense_by_role(options.include, prepared) : "";
  if (options.training) {
    if (!workload.source.empty() && workload.dims.empty()) {
      throw base::InputError("--training takes a workload of forward passes, not a recording: " +
                             io::printable(workload.file.string()));
    }
    if (pass_kind(workload).stage == PassKind::Stage::kDecode) {
      throw base::InputError("--training takes whole sequences: seq=1 is a step of decoding");
    }
    workload::add_backward(*options.training, prepared, between);
  }
  auto [operations, vectors] =
      options.expert_parallel > 1
          ? network::share_out_experts(prepared, between, options.expert_parallel, workload.inputs)
          : network::split_over(prepared, between, options.tensor_parallel, workload.inputs);
  std::string no_kernels;
  if (options.runs_whole_network()) {
    const network::EngineSpec engine =
        network::for_pass(*options.network_engine, operations, options.inputs_of_gpu(workload.inputs));
    network::require_types(engine, operations);
    no_kernels = network::keep_dense_without_kernels(engine, operations);
    network::merge_siblings(engine, operations, vectors);
    network::widen_tensors(engine, operations, vectors);
    network::quantise_inputs(engine, operations, vectors);
    const network::Network asked{operations, vectors, engine};
    operations = network::under_engine(asked, network::plan_kernels(asked));
  }
  return {std::move(operations), std::move(vectors), kept_dense, no_kernels};
}

}  // namespace sptc::run
