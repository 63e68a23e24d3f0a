// SPDX-License-Identifier: Apache-2.0
//
// The microbenchmarks, GEMMs and NVML behind one interface.
#include "tests/hardware/cuda/cuda_timing.h"

#include "tests/hardware/cuda/gemm_workload.h"
#include "tests/hardware/cuda/memory_bench.h"
#include "tests/hardware/cuda/mma_bench.h"
#include "tests/hardware/cuda/nvml.h"

#include <chrono>
#include <thread>

namespace sptc::hardware {
namespace {

class CudaTiming final : public TimingDevice {
 public:
  explicit CudaTiming(const mma::Target& target) : target_(target) {}

  long long mma_cycles(const MmaLaunch& operands, int warps, int ilp, int rounds) override {
    return hardware::mma_cycles(operands, warps, ilp, rounds);
  }
  std::vector<TimedWgmma> timed_wgmma() const override {
    return target_.name == "sm_90" ? wgmma_list() : std::vector<TimedWgmma>();
  }
  long long wgmma_cycles(std::size_t index, int warpgroups, int rounds, bool random) override {
    return hardware::wgmma_cycles(index, warpgroups, rounds, random);
  }
  long long ldmatrix_cycles(int matrices, int warps, int ilp, int rounds) override {
    return hardware::ldmatrix_cycles(matrices, warps, ilp, rounds);
  }
  long long ld_shared_cycles(int ways, int rounds) override { return hardware::ld_shared_cycles(ways, rounds); }
  long long cp_async_cycles(int bytes, int threads, int in_flight, int rounds) override {
    return hardware::cp_async_cycles(bytes, threads, in_flight, rounds);
  }
  long long tma_cycles(int bytes, int in_flight, int rounds) override {
    return hardware::tma_cycles(bytes, in_flight, rounds);
  }
  ChaseResult chase_cycles(std::size_t footprint, std::size_t stride, bool through_l1) override {
    return hardware::chase_cycles(footprint, stride, through_l1);
  }
  std::vector<L2Line> l2_line_cycles(int lines) override { return hardware::l2_line_cycles(lines); }
  std::vector<double> bandwidth_gb_per_s(BandwidthOperation operation, std::size_t footprint, int launches) override {
    return hardware::bandwidth_gb_per_s(operation, footprint, launches);
  }
  std::unique_ptr<GemmWorkload> gemm(const GemmChoice& choice, const GemmData& data) override {
    return make_gemm_workload(choice, data, target_);
  }
  std::optional<double> idle_power_w() override {
    if (Nvml::get() == nullptr) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::seconds(2));
    return Nvml::get()->power_w();
  }
  std::optional<double> clock_mhz() override {
    return Nvml::get() != nullptr ? Nvml::get()->clock_mhz() : std::nullopt;
  }
  std::string why_no_power() override { return Nvml::get() != nullptr ? "" : Nvml::why_absent(); }

 private:
  mma::Target target_;
};

}  // namespace

std::unique_ptr<TimingDevice> make_cuda_timing(const mma::Target& target) {
  return std::make_unique<CudaTiming>(target);
}

}  // namespace sptc::hardware
