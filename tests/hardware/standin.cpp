// SPDX-License-Identifier: Apache-2.0
//
// hardware_capture with the simulator in place of an A100: bits, times and power. Tests of the
// script and of the programme run it where no GPU is. SPTC_STANDIN_FAULT plants a fault in one
// instruction: "crash" ends the process, "lost" makes the device fail from there on.
#include "models/mma/catalogue.h"
#include "tests/hardware/capture/program.h"
#include "tests/hardware/capture/simulated_device.h"
#include "tests/hardware/capture/simulated_timing.h"

#include <systemc>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace sptc::hardware {
namespace {

constexpr const char* kFaultyInstruction = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16";

class Standin final : public Device {
 public:
  Standin()
      : architecture_(config::load_architecture("a100-sxm4-80gb")),
        inner_(mma::find_target("sm_80")),
        info_(inner_.info()),
        timing_(make_simulated_timing(architecture_)) {
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
  return sptc::hardware::run_program(argc, argv,
                                     [] { return std::make_unique<sptc::hardware::Standin>(); });
}
