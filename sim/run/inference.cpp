// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/run/design_cost.h"
#include "sim/run/energy.h"
#include "sim/run/network/kernel_plan.h"
#include "sim/run/network/kernel_time.h"
#include "sim/run/run_parts.h"
#include "sim/workload/dense_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace sptc::run {
namespace {

using energy::Event;

/// Bytes of registers that a lane reads and writes in an instruction: two operands and a result.
constexpr double kReadOfLane = 8, kWrittenOfLane = 4;

/// The products of attention, of which masks leave `macs`: as GEMMs whose tiles no copy brings.
void add_products(const network::PlannedKernel& kernel, const network::Network& network, double macs,
                  const gpu::GpuSpec& gpu, const energy::PowerSpec& power, SwitchingSource& switching,
                  energy::EventCounts& counts) {
  double whole = 0;
  for (const std::size_t i : kernel.gemms) {
    const workload::Operation& op = network.gemms[i];
    whole += static_cast<double>(op.shape.macs()) * static_cast<double>(op.batch);
  }
  for (const std::size_t i : kernel.gemms) {
    const workload::Operation& op = network.gemms[i];
    kernels::GemmProblem problem;
    problem.shape = op.shape;
    problem.batch = op.batch;
    problem.dtype = op.dtype;
    VariantResult figures;
    figures.kernel.instruction = kernels::kernel_instruction(problem, gpu.kernel_target());
    figures.design = design_cost(gpu, op.dtype);
    counts += launch_events(op, false, figures, switching.of(op, false), power.dot_width_bytes)
                  .scaled(std::min(1.0, macs / whole));
  }
}

/// A launch that is no GEMM as the power model sees it.
energy::Work work_of_kernel(const network::PlannedKernel& kernel, const network::Network& network,
                            const network::ClosedForm& form, const gpu::GpuSpec& gpu, const energy::PowerSpec& power,
                            SwitchingSource& switching) {
  const workload::Operation* const beside = network::gemm_beside(kernel, network);
  base::ensure(beside != nullptr, "a network without GEMMs has no energies");
  const workload::Operation& op = *beside;
  const energy::Switching& values = switching.of(op, false);
  const double switched = (values.operand_a + values.operand_b) / 2;
  energy::EventCounts counts(op.dtype);
  const network::KernelEvents& events = form.events;
  add_products(kernel, network, events.macs, gpu, power, switching, counts);
  counts.add(Event::kCudaCoreFma, events.lane_operations, values.accumulators);
  counts.add(Event::kRegisterRead, events.lane_operations * kReadOfLane, values.accumulators);
  counts.add(Event::kRegisterWrite, events.lane_operations * kWrittenOfLane + events.l2_bytes, values.accumulators);
  counts.add(Event::kSharedMemoryRead, events.shared_memory_bytes, switched);
  add_outer_memory(events.l2_bytes, events.dram_bytes, switched, counts);
  counts.add(Event::kInstructionIssue, events.instructions);
  const double boost_mhz = gpu.boost_clock_mhz;
  const double fed = form.times.tensor_us / form.times.time_us(1);
  return {counts, [times = form.times, boost_mhz](double mhz) { return 1e-6 * times.time_us(mhz / boost_mhz); },
          form.times.busy_sms, std::clamp(fed, 0.01, 1.0)};
}

/// A kernel in one of its variants: how long, and what happens.
struct Variant {
  std::function<double(double)> us_at;  ///< at a clock in MHz
  double left_out_us = 0;               ///< of a GEMM that cuts K: its epilogue, which is not simulated
  std::string tile;                     ///< of a GEMM
  std::optional<energy::Work> work;
};

struct Kernel {
  network::PlannedKernel plan;
  network::KernelBytes bytes;
  std::optional<Variant> dense;       ///< none: it runs behind a 2:4 kernel alone
  std::optional<Variant> sparse;      ///< of a GEMM with 2:4 weights, or behind one
  std::optional<std::size_t> behind;  ///< the kernel of that GEMM
  // Times of a GEMM at the clock that is asked for.
  double dense_us = 0;
  double sparse_us = 0;            ///< and how much longer with 2:4 weights those behind it take
  bool leaves_transposed = false;  ///< its 2:4 kernel leaves its result so
};

enum class Weights { kDense, kSparse, kMix };

class Inference {
 public:
  Inference(const network::Network& network, const gpu::GpuSpec& gpu, const SimulationOptions& options,
            double between_passes_us, KernelRunner& runner, SwitchingSource& switching)
      : network_(network),
        gpu_(gpu),
        options_(options),
        runner_(runner),
        switching_(switching),
        between_passes_us_(between_passes_us),
        asked_mhz_(options.clock_policy.mhz_of({}, gpu.boost_clock_mhz)) {
    std::vector<network::PlannedKernel> plan = network::plan_kernels(network);
    pass_bytes_ = network::bytes_of_pass(plan, network);
    for (network::PlannedKernel& kernel : plan) {
      add(std::move(kernel));
    }
  }

  InferenceResult result() {
    InferenceResult result;
    result.engine = network_.engine.name;
    result.engine_version = network_.engine.version;
    result.gemms_only = network_.engine.gemms_only;
    for (const Kernel& kernel : kernels_) {
      result.kernels.push_back(described(kernel));
    }
    const bool any_sparse =
        std::any_of(kernels_.begin(), kernels_.end(), [](const Kernel& kernel) { return kernel.sparse; });
    if (options_.variants != Variants::kSparse) {
      result.dense = pass(Weights::kDense, result.kernels);
    }
    if (any_sparse) {
      result.sparse = pass(Weights::kSparse, result.kernels);
    }
    if (any_sparse && result.dense) {
      result.mix = pass(Weights::kMix, result.kernels);
      require_fastest_mix(result);
    }
    result.tells_choices = options_.sparsity_auto;
    if (result.dense) {
      result.not_modelled = not_modelled(result.dense->latency_us);
    }
    return result;
  }

 private:
  /// Bytes since the residual connection that `kernel` adds was used: by the first kernel behind
  /// the last normalisation or residual before it.
  double bytes_since_residual(const network::PlannedKernel& kernel) const {
    double since = 0;
    for (auto before = kernels_.rbegin(); before != kernels_.rend(); ++before) {
      if (before->plan.count != kernel.count || before->plan.group == workload::WorkGroup::kNormalisation) {
        break;
      }
      since += before->bytes.all();
    }
    return since;
  }

  network::ResidentTensors resident(const Kernel& kernel) const {
    return network::resident_tensors(kernel.bytes, bytes_since_residual(kernel.plan), pass_bytes_, gpu_.memory);
  }

  void add(network::PlannedKernel plan) {
    Kernel kernel;
    kernel.bytes = network::bytes_of(plan, network_);
    kernel.plan = std::move(plan);
    if (kernel.plan.group == workload::WorkGroup::kGemm) {
      add_gemm(kernel);
    } else {
      add_other(kernel);
    }
    if (kernel.dense || kernel.sparse) {
      kernels_.push_back(std::move(kernel));
    }
  }

  /// What a pass with dense weights would take beside `latency_us`.
  std::vector<NotModelled> not_modelled(double latency_us) const {
    // PCIe 4.0 with 16 lanes carries 31.5 GB/s, of which copies get about 25 (assumed).
    constexpr double kHostLinkBytesPerUs = 25e3;
    std::vector<NotModelled> parts;
    const auto add = [&](const char* what, double us) {
      if (us > 0) {
        parts.push_back({what, us / (us + latency_us)});
      }
    };
    add("copies of inputs and results from and to the host", host_bytes() / kHostLinkBytesPerUs);
    double epilogues = 0;
    for (const Kernel& kernel : kernels_) {
      const double us = kernel.dense ? kernel.dense->left_out_us : 0;
      epilogues += us * static_cast<double>(kernel.plan.count);
    }
    add("what epilogues of kernels that cut K compute", epilogues);
    return parts;
  }

  /// Bytes of the first input, of the indices of a table, and of what the last kernel writes.
  double host_bytes() const {
    constexpr double kIndexBytes = 8;
    if (kernels_.empty() || network_.engine.gemms_only) {
      return 0;
    }
    const Kernel& first = kernels_.front();
    double bytes = first.bytes.recent;
    if (!first.plan.vectors.empty() && first.plan.gemms.empty()) {
      const workload::VectorOperation& op = network_.vectors[first.plan.vectors.front()];
      const bool table = op.kind == workload::VectorKind::kEmbedding;
      bytes = table ? kIndexBytes * static_cast<double>(op.rows) * op.tensors : bytes;
    }
    return bytes + kernels_.back().bytes.written;
  }

  /// Time of an epilogue that is not simulated, in its second kernel.
  double left_out_us(const workload::Operation& op, const VariantResult& figures) const {
    if (figures.kernel.split_k == 1) {
      return 0;
    }
    const double elements =
        static_cast<double>(op.shape.m) * static_cast<double>(op.shape.n) * static_cast<double>(op.batch);
    const double lanes = network::kLanes * gpu_.sm.sub_partitions * gpu_.sm.issue_per_cycle;
    return elements * op.epilogue_operations / lanes / gpu_.sms / gpu_.boost_clock_mhz;
  }

  Variant gemm(const Kernel& kernel, bool sparse) {
    const workload::Operation& op = network_.gemms[kernel.plan.gemms.front()];
    VariantResult figures = runner_.time(op, sparse);
    add_residual(kernel, figures);
    const double cycles = network_.engine.kernel_cycles;
    Variant variant;
    variant.us_at = [figures, cycles](double mhz) { return 1e6 * seconds_at(figures, mhz) + cycles / mhz; };
    variant.left_out_us = left_out_us(op, figures);
    const base::GemmShape& tile = figures.kernel.cta_tile;
    variant.tile = fmt::format("{}x{}x{}", tile.m, tile.n, tile.k);
    if (options_.power) {
      variant.work =
          work_of(op, sparse, *options_.power, switching_on(runner_, op, sparse, options_, switching_), figures);
      variant.work->seconds_at = [us_at = variant.us_at](double mhz) { return 1e-6 * us_at(mhz); };
    }
    return variant;
  }

  void add_gemm(Kernel& kernel) {
    const workload::Operation& op = network_.gemms[kernel.plan.gemms.front()];
    kernel.dense = gemm(kernel, false);
    kernel.dense_us = kernel.dense->us_at(asked_mhz_);
    if (op.prunable && options_.variants != Variants::kDense) {
      kernel.sparse = gemm(kernel, true);
      kernel.sparse_us = kernel.sparse->us_at(asked_mhz_);
    }
  }

  /// What the epilogue of `kernel` reads beside its parameters: a residual.
  void add_residual(const Kernel& kernel, VariantResult& figures) const {
    const network::KernelBytes& bytes = kernel.bytes;
    if (bytes.earlier <= 0) {
      return;
    }
    add_beside_operands({bytes.earlier, bytes.earlier * (1 - resident(kernel).earlier), 0}, gpu_, figures);
  }

  void add_other(Kernel& kernel) {
    if (!kernel.plan.sparse_only()) {
      kernel.dense = other(kernel, false);
    }
    const bool beside = kernel.plan.only_behind.has_value();
    const std::optional<std::size_t> gemm = beside ? kernel.plan.only_behind : kernel.plan.transposed_by;
    const auto writer = std::find_if(kernels_.begin(), kernels_.end(), [gemm](const Kernel& one) {
      return gemm && std::ranges::find(one.plan.gemms, *gemm) != one.plan.gemms.end();
    });
    if (writer == kernels_.end() || !writer->sparse) {
      return;
    }
    kernel.behind = static_cast<std::size_t>(writer - kernels_.begin());
    // Copies alone, of what belongs to a 2:4 kernel, turn a tensor round.
    kernel.sparse =
        other(kernel, !beside || network_.vectors[kernel.plan.vectors.front()].kind == workload::VectorKind::kCopy);
    writer->leaves_transposed = writer->leaves_transposed || !beside;
    writer->sparse_us += kernel.sparse->us_at(asked_mhz_) - (kernel.dense ? kernel.dense->us_at(asked_mhz_) : 0);
  }

  /// A launch that is no GEMM; `transposed`: behind a 2:4 kernel that left its result so.
  Variant other(const Kernel& kernel, bool transposed) {
    const network::KernelBytes& bytes = kernel.bytes;
    const bool attention = kernel.plan.group == workload::WorkGroup::kAttention;
    network::ClosedForm form =
        attention ? network::attention_kernel(kernel.plan, network_, bytes, resident(kernel), gpu_)
                  : network::vector_kernel(kernel.plan, network_, bytes, resident(kernel), gpu_, transposed);
    if (kernel.plan.group == workload::WorkGroup::kCommunication) {
      network::add_links(network_.vectors[kernel.plan.vectors.front()].kind, bytes.written,
                         {options_.gpus(), options_.link_gb_per_s}, form.times);
    }
    form.times.launch_us += gpu_.launch.call_us(network_.engine.launch, false);
    form.times.latency_us += network_.engine.kernel_cycles / gpu_.boost_clock_mhz;
    const double boost_mhz = gpu_.boost_clock_mhz;
    Variant variant;
    variant.us_at = [times = form.times, boost_mhz](double mhz) { return times.time_us(mhz / boost_mhz); };
    if (options_.power) {
      variant.work = work_of_kernel(kernel.plan, network_, form, gpu_, *options_.power, switching_);
    }
    return variant;
  }

  /// Whether the weights of `kernel`, or of that which it stands behind, are faster as 2:4.
  bool faster_sparse(const Kernel& kernel) const {
    const Kernel& gemm = kernel.behind ? kernels_[*kernel.behind] : kernel;
    return gemm.sparse && gemm.sparse_us < gemm.dense_us;
  }

  /// Weight by weight a mix may be slower than all dense or all 2:4, whose calls take the host less time or whose power
  /// leaves them a higher clock: then it is the faster one of these.
  void require_fastest_mix(InferenceResult& result) const {
    const bool sparse = result.sparse->latency_us < result.dense->latency_us;
    const InferenceTotals& other = sparse ? *result.sparse : *result.dense;
    if (result.mix->latency_us <= other.latency_us) {
      return;
    }
    const bool waits = result.mix->waiting_us > other.waiting_us;
    result.mix = other;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      InferenceKernel& row = result.kernels[i];
      const bool takes = sparse && kernels_[i].sparse.has_value();
      if (row.takes_sparse != takes && row.group == workload::WorkGroup::kGemm) {
        row.reason += waits ? ", but the GPU would wait longer for the host" : ", but power would limit the clock";
      }
      row.takes_sparse = takes;
    }
  }

  InferenceKernel described(const Kernel& kernel) const {
    InferenceKernel row;
    row.name = kernel.plan.name;
    row.group = kernel.plan.group;
    row.count = kernel.plan.count;
    for (const std::size_t i : kernel.plan.gemms) {
      if (network_.gemms[i].name != row.name) {
        row.fused.push_back(network_.gemms[i].name);
      }
    }
    for (const std::size_t i : kernel.plan.vectors) {
      if (network_.vectors[i].name != row.name && !kernel.plan.makes_contiguous) {
        row.fused.push_back(network_.vectors[i].name);
      }
    }
    if (kernel.plan.gemms.empty()) {
      const workload::VectorKind kind = network_.vectors[kernel.plan.vectors.front()].kind;
      row.quantises = kind == workload::VectorKind::kQuantize || kind == workload::VectorKind::kDequantize;
    }
    row.takes_sparse = faster_sparse(kernel);
    if (kernel.plan.group == workload::WorkGroup::kGemm) {
      row.reason = reason(network_.gemms[kernel.plan.gemms.front()], kernel);
    }
    return row;
  }

  std::string reason(const workload::Operation& op, const Kernel& kernel) const {
    if (!op.weight && !op.prunable) {
      return "both operands are activations";
    }
    if (!op.prunable && !options_.sparse_layers.empty()) {
      return "not listed by --sparsity";
    }
    if (!op.prunable) {
      const std::string_view role = workload::dense_role(op);
      if (std::string why = network_.engine.no_sparse(op); role.empty() && workload::asp_eligible(op) && !why.empty()) {
        return why;
      }
      return role.empty() || !workload::asp_eligible(op) ? "no kernel: the extents of the weight do not allow 2:4"
                                                         : fmt::format("{}: stays dense by its name", role);
    }
    if (gpu_.sm.tensor_core.selector_inputs == 1) {
      return "no kernel: the GPU has no sparse instructions";
    }
    if (!kernel.sparse) {
      return "2:4 was not simulated";
    }
    const double gain = kernel.dense_us / kernel.sparse_us;
    const std::string with =
        fmt::format("(kernel {}{})", kernel.sparse->tile, kernel.leaves_transposed ? ", transposed result" : "");
    return gain > 1 ? fmt::format("2:4 is {:.2f} times as fast {}", gain, with)
                    : fmt::format("2:4 takes {:.2f} times as long {}", 1 / gain, with);
  }

  /// The variant that runs; null where the kernel does not.
  const Variant* chosen(const Kernel& kernel, Weights weights) const {
    const bool sparse = weights == Weights::kSparse || (weights == Weights::kMix && faster_sparse(kernel));
    const std::optional<Variant>& variant = sparse && kernel.sparse ? kernel.sparse : kernel.dense;
    return variant ? &*variant : nullptr;
  }

  /// The clock of a pass: the highest at which its mean power is within the limit.
  double clock_of(Weights weights, std::vector<energy::PowerResult>& powers) const {
    if (!options_.power) {
      return asked_mhz_;
    }
    std::vector<energy::RepeatedWork> works;
    for (const Kernel& kernel : kernels_) {
      if (const Variant* variant = chosen(kernel, weights); variant != nullptr) {
        works.push_back({*variant->work, static_cast<double>(kernel.plan.count)});
      }
    }
    if (options_.clock_limited) {
      powers = energy::power_limited(*options_.power, works, asked_mhz_);
      return powers.front().clock_mhz;
    }
    for (const energy::RepeatedWork& work : works) {
      powers.push_back(energy::power_at(*options_.power, work.work, asked_mhz_));
    }
    return asked_mhz_;
  }

  InferenceTotals pass(Weights weights, std::vector<InferenceKernel>& rows) const {
    InferenceTotals totals;
    std::vector<energy::PowerResult> powers;
    totals.clock_mhz = clock_of(weights, powers);
    std::vector<network::QueuedLaunch> launches;
    double joules = 0;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const Kernel& kernel = kernels_[i];
      const Variant* const variant = chosen(kernel, weights);
      if (variant == nullptr) {
        continue;
      }
      const auto count = static_cast<double>(kernel.plan.count);
      const bool sparse = kernel.sparse && variant == &*kernel.sparse;
      const bool sparse_call = sparse && !kernel.behind;
      const double host_us = sparse_call ? network_.engine.sparse_host_us : network_.engine.host_us;
      launches.push_back({variant->us_at(totals.clock_mhz), host_us, kernel.plan.count});
      totals.group_us[static_cast<std::size_t>(kernel.plan.group)] += count * launches.back().us;
      KernelFigures figures{launches.back().us, {}};
      if (!powers.empty()) {
        figures.energy_uj = powers[launches.size() - 1].energy.total_pj() * 1e-6;
        joules += count * *figures.energy_uj * 1e-6;
      }
      if (weights == Weights::kDense) {
        rows[i].dense = figures;
      } else if (weights == Weights::kSparse && sparse) {
        rows[i].sparse = figures;
      }
    }
    const network::QueueTime time = network::queue_time(launches);
    totals.latency_us = time.latency_us + between_passes_us_;
    totals.waiting_us = time.waiting_us + between_passes_us_;
    if (!powers.empty()) {
      totals.limit_exceeded = powers.front().limit_exceeded;
      joules += totals.waiting_us * 1e-6 * energy::idle_w(*options_.power);
      totals.energy_uj = joules * 1e6;
      totals.power_w = joules / (totals.latency_us * 1e-6);
    }
    return totals;
  }

  const network::Network network_;
  const gpu::GpuSpec& gpu_;
  const SimulationOptions& options_;
  KernelRunner& runner_;
  SwitchingSource& switching_;
  const double between_passes_us_;  ///< in which the GPU waits for the host
  const double asked_mhz_;          ///< clock [MHz]; the limit of a pass may hold it below
  double pass_bytes_ = 0;
  std::vector<Kernel> kernels_;
};

/// Launches of a recording that are not simulated, by their part of its time.
void add_not_taken(const workload::Workload& workload, InferenceResult& inference) {
  double taken_us = 0;
  double not_taken_us = 0;
  for (const workload::Operation& op : workload.operations) {
    taken_us += static_cast<double>(op.count) * op.recorded.time_us;
  }
  for (const workload::NotTaken& launch : workload.not_taken) {
    not_taken_us += static_cast<double>(launch.count) * launch.time_us;
  }
  if (!workload.not_taken.empty()) {
    const bool timed = taken_us > 0 && not_taken_us > 0;
    inference.not_modelled.push_back({"launches of the recording that are not taken",
                                      timed ? std::optional(not_taken_us / (taken_us + not_taken_us)) : std::nullopt});
  }
}

}  // namespace

void run_inference(const workload::Workload& workload, const AskedWork& work, const gpu::GpuSpec& gpu,
                   const SimulationOptions& options, KernelRunner& kernels, SwitchingSource& switching,
                   RunResult& result) {
  const std::int64_t inputs = options.inputs_of_gpu(workload.inputs);
  const network::EngineSpec engine = network::for_pass(*options.network_engine, work.operations, inputs);
  const std::vector<workload::VectorOperation> none;
  const network::Network network{work.operations, engine.gemms_only ? none : work.vectors, engine};
  const double between_passes_us = engine.step_us + engine.sequence_us * static_cast<double>(inputs);
  result.inference = Inference(network, gpu, options, between_passes_us, kernels, switching).result();
  result.inference->batch = workload.inputs;
  if (!engine.gemms_only && workload.vectors.empty()) {
    result.notes.push_back("the workload has no operations beside GEMMs: what engine '" + engine.name +
                           "' needs for them is not part of its time");
    result.inference->not_modelled.push_back({kBesideGemms, {}});
  }
  add_not_taken(workload, *result.inference);
}

}  // namespace sptc::run
