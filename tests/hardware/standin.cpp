// SPDX-License-Identifier: Apache-2.0
//
// hardware_capture with the simulator in place of an A100: bits, cycles of its microbenchmarks,
// closed-form times of its GEMMs, power of its energy file. Tests of the script and of the
// programme run it where no GPU is. SPTC_STANDIN_FAULT plants a fault in one instruction: "crash"
// ends the process, "lost" makes the device fail from there on.
#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/check/capture/gemm_simulation.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/run/data_source.h"
#include "sim/run/energy.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/microbench/microbench.h"
#include "sim/run/systemc_timer.h"
#include "tests/hardware/capture/program.h"
#include "tests/hardware/capture/simulated_device.h"
#include "tests/hardware/capture/timing_device.h"

#include <systemc>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace sptc::hardware {
namespace {

constexpr long long kStartUp = 37;  // cycles that the difference of two lengths cancels

/// What the simulator refuses is absent.
template <typename Ask>
auto or_absent(Ask ask) {
  try {
    return ask();
  } catch (const base::InputError& error) {
    throw AbsentError(error.what());
  }
}

class SimulatedGemm final : public GemmWorkload {
 public:
  SimulatedGemm(const config::Architecture& architecture, const std::optional<energy::PowerSpec>& power,
                const GemmChoice& choice, const GemmData& data)
      : architecture_(architecture),
        power_(power),
        library_(choice.library),
        sparse_(choice.sparse),
        zeros_(data.a(0, 0) == 0 && data.a(0, 1) == 0 && data.b(0, 0) == 0) {
    op_.name = data.shape().name;
    op_.shape = {data.shape().m, data.shape().n, data.shape().k};
    op_.dtype = data.instruction().a_type;
    op_.prunable = choice.sparse;
    options_.fidelity = run::Fidelity::kAnalytic;
    options_.clock_limited = power.has_value();
    if (choice.library == "own") {
      options_.kernel = check::capture::own_kernel(op_.dtype, choice.sparse);
    }
    figures_ = figures(options_);
  }

  std::string kernel() const override { return "simulated, as " + library_; }
  int copies() const override { return 1; }
  GemmCheck check() override { return {.mode = "none"}; }
  TimedLaunches time(double) override {
    return {std::vector<double>(10, figures_.timing.time_us), std::nullopt, figures_.timing.clock_mhz};
  }
  SustainedRun sustain(double seconds) override {
    SustainedRun run;
    run.launches = std::llround(std::ceil(seconds * 1e6 / figures_.timing.time_us));
    run.duration_s = static_cast<double>(run.launches) * figures_.timing.time_us * 1e-6;
    run.clock_mhz = figures_.timing.clock_mhz;
    if (figures_.energy) {
      run.power_w = figures_.energy->power_w;
      run.energy_j = *run.power_w * run.duration_s;
      run.samples.push_back({0, run.power_w, run.clock_mhz, std::nullopt, std::nullopt});
    }
    return run;
  }

  void choose(numerics::DataType d_dtype, kernels::Algorithm algorithm) override {
    if (library_ == "own" && algorithm == kernels::Algorithm::kBest) {
      throw AbsentError("an own kernel is the only one of its kind: there is none to choose");
    }
    options_.d_dtype = d_dtype;
  }
  GemmCheck check_on_device() override { return {.mode = "none"}; }
  TimedLaunches time_under(const kernels::LaunchConditions& conditions,
                           const kernels::Repetition& repetition) override {
    run::SimulationOptions options = options_;
    options.conditions = conditions;
    options.repetition = repetition;
    const run::VariantResult result = or_absent([&] { return figures(options); });
    return {{result.timing.time_us},
            result.energy ? std::optional(result.energy->power_w) : std::nullopt,
            result.timing.clock_mhz};
  }

 private:
  run::VariantResult figures(const run::SimulationOptions& options) const {
    const std::unique_ptr<gpu::Timer> timer = run::make_timer(architecture_.gpu, options);
    run::KernelRunner kernels(architecture_.gpu, options, *timer);
    run::VariantResult result = kernels.time(op_, sparse_);
    if (power_) {
      const run::GeneratedData values(zeros_ ? workload::DataKind::kZeros : workload::DataKind::kRandom, 0);
      run::add_energy(
          op_, sparse_, *power_, run::SwitchingSource(values).of(op_, sparse_), options,
          [&](double mhz) { return kernels.time(op_, sparse_, mhz); }, result);
    }
    return result;
  }

  const config::Architecture& architecture_;
  const std::optional<energy::PowerSpec>& power_;
  std::string library_;
  bool sparse_, zeros_;
  workload::Operation op_;
  run::SimulationOptions options_;
  run::VariantResult figures_;
};

/// SystemC elaborates with the first microbenchmark, once per process.
class SimulatedTiming final : public TimingDevice {
  using Kind = run::microbench::Move::Kind;

 public:
  explicit SimulatedTiming(const config::Architecture& architecture) : architecture_(architecture) {
    try {
      power_ = config::power_spec(config::load_energy(architecture.gpu.name).config, architecture.gpu);
    } catch (const base::InputError& error) {
      no_power_ = error.what();
    }
  }

  long long mma_cycles(const MmaLaunch& operands, int warps, int ilp, int rounds) override {
    return cycles(run::microbench::parse_bench_instruction(operands.ptx), warps, ilp, rounds);
  }
  std::vector<TimedWgmma> timed_wgmma() const override { return {}; }
  long long wgmma_cycles(std::size_t, int, int, bool) override { throw AbsentError("no wgmma is simulated here"); }
  long long ldmatrix_cycles(int matrices, int warps, int ilp, int rounds) override {
    return cycles(run::microbench::Move{Kind::kLoadMatrix, matrices}, warps, ilp, rounds);
  }
  long long ld_shared_cycles(int ways, int rounds) override {
    return cycles(run::microbench::Move{Kind::kLoadShared, ways}, 1, 1, rounds);
  }
  long long cp_async_cycles(int bytes, int threads, int in_flight, int rounds) override {
    return cycles(run::microbench::Move{Kind::kCopy, bytes}, threads / 32, in_flight, rounds);
  }
  long long tma_cycles(int bytes, int in_flight, int rounds) override {
    return cycles(run::microbench::Move{Kind::kBulkCopy, bytes}, 1, in_flight, rounds);
  }
  ChaseResult chase_cycles(std::size_t footprint, std::size_t stride, bool through_l1) override {
    if (through_l1) {
      throw AbsentError("the simulator has no L1");
    }
    return {bench().memory().chase_cycles(static_cast<std::int64_t>(footprint), static_cast<std::int64_t>(stride)),
            architecture_.gpu.boost_clock_mhz};
  }
  std::vector<L2Line> l2_line_cycles(int lines) override {
    std::vector<L2Line> result;
    for (int line = 0; line < lines; ++line) {
      const double cycles = bench().memory().line_cycles();
      result.push_back({0, line, cycles, cycles});
    }
    return result;
  }
  std::vector<double> bandwidth_gb_per_s(BandwidthOperation operation, std::size_t footprint, int launches) override {
    const auto which = operation == BandwidthOperation::kRead    ? run::microbench::BandwidthOperation::kRead
                       : operation == BandwidthOperation::kWrite ? run::microbench::BandwidthOperation::kWrite
                                                                 : run::microbench::BandwidthOperation::kCopy;
    return std::vector<double>(static_cast<std::size_t>(launches),
                               bench().memory().bandwidth_gb_per_s(which, static_cast<std::int64_t>(footprint)));
  }
  std::unique_ptr<GemmWorkload> gemm(const GemmChoice& choice, const GemmData& data) override {
    if (choice.library == "cusparselt") {
      throw AbsentError("libcusparseLt was not found");
    }
    return or_absent([&] { return std::make_unique<SimulatedGemm>(architecture_, power_, choice, data); });
  }
  std::optional<double> idle_power_w() override {
    return power_ ? std::optional(power_->static_power.board_idle_w) : std::nullopt;
  }
  std::optional<double> clock_mhz() override { return architecture_.gpu.boost_clock_mhz; }
  std::string why_no_power() override { return no_power_; }

 private:
  run::microbench::Microbench& bench() {
    if (!bench_) {
      bench_.emplace(architecture_.gpu);
    }
    return *bench_;
  }

  /// The same point is simulated once.
  long long cycles(const run::microbench::BenchInstruction& instruction, int warps, int ilp, int rounds) {
    const std::string key =
        run::microbench::name_of(instruction) + " " + std::to_string(warps) + " " + std::to_string(ilp);
    auto known = known_.find(key);
    if (known == known_.end()) {
      const double latency = or_absent([&] { return bench().run({instruction, warps, ilp}).latency_cycles; });
      known = known_.emplace(key, latency).first;
    }
    return kStartUp + std::llround(known->second * rounds);
  }

  const config::Architecture& architecture_;
  std::optional<energy::PowerSpec> power_;
  std::string no_power_;
  std::optional<run::microbench::Microbench> bench_;
  std::map<std::string, double> known_;
};

constexpr const char* kFaultyInstruction = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16";

class Standin final : public Device {
 public:
  Standin()
      : architecture_(config::load_architecture("a100-sxm4-80gb")),
        inner_(mma::find_target("sm_80")),
        info_(inner_.info()),
        timing_(std::make_unique<SimulatedTiming>(architecture_)) {
    if (const char* const fault = std::getenv("SPTC_STANDIN_FAULT")) {
      fault_ = fault;
    }
    info_.name = "NVIDIA A100-SXM4-80GB";
    info_.sm_count = architecture_.gpu.sms;
    info_.boost_clock_mhz = architecture_.gpu.boost_clock_mhz;
    info_.power_limit_w = 400;
  }

  const DeviceInfo& info() const override { return info_; }
  bool has(const std::string& ptx) const override { return inner_.has(ptx); }
  std::vector<std::uint32_t> run(const MmaLaunch& launch) override {
    if (launch.ptx == kFaultyInstruction && fault_ == "crash") {
      std::raise(SIGKILL);
    }
    lost_ = lost_ || (launch.ptx == kFaultyInstruction && fault_ == "lost");
    if (lost_) {
      throw std::runtime_error("cudaErrorIllegalAddress, planted");
    }
    return inner_.run(launch);
  }
  bool usable() override { return !lost_; }
  std::string origin() const override { return "simulated"; }
  TimingDevice* timing() override { return timing_.get(); }

 private:
  config::Architecture architecture_;
  SimulatedDevice inner_;
  DeviceInfo info_;
  std::unique_ptr<TimingDevice> timing_;
  std::string fault_;
  bool lost_ = false;
};

}  // namespace
}  // namespace sptc::hardware

int sc_main(int argc, char** argv) {
  return sptc::hardware::run_program(argc, argv, [] { return std::make_unique<sptc::hardware::Standin>(); });
}
