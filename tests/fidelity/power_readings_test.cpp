// SPDX-License-Identifier: Apache-2.0
//
// The power model on its own against published readings. The GEMM is ideal (tests/support): its
// utilization is an input, so these tests are about power and clock, not about time.
#include "models/base/random.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "tests/support/ideal_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sptc::fidelity {
namespace {

using energy::Event;
using energy::PowerSpec;
using energy::Switching;
using numerics::DataType;

enum class Values { kRandom, kIntegers, kZeros };

/// Switching of sampled operands: N(0,1), integers of -8..8, zeros.
Switching switching_of(Values values, DataType type) {
  constexpr std::uint64_t kDepth = 512;
  const double scale = numerics::info(type).is_float() ? 1 : 32;
  const base::RandomStream stream(7);
  const auto value = [&](const char* operand, std::uint64_t index) {
    const base::RandomStream own = stream.fork(operand);
    switch (values) {
      case Values::kRandom:
        return own.normal(index) * scale;
      case Values::kIntegers:
        return static_cast<double>(own.below(index, 17)) - 8;
      case Values::kZeros:
        break;
    }
    return 0.0;
  };
  energy::ToggleSampler sampler(type, energy::products_per_step(type));
  for (std::uint64_t dot = 0; dot < 64; ++dot) {
    std::vector<numerics::Word> a;
    std::vector<numerics::Word> b;
    for (std::uint64_t k = 0; k < kDepth; ++k) {
      a.push_back(numerics::from_double(value("a", dot * kDepth + k), type));
      b.push_back(numerics::from_double(value("b", dot * kDepth + k), type));
    }
    sampler.add(a, b);
  }
  return relative_switching(sampler.toggles(), type);
}

/// 295 TFLOP/s of 312 on zeros, which no power limit holds back: the efficiency of that kernel.
constexpr double kUtilization = 295 / 311.9;

support::IdealGemm gemm_8192(Values values, DataType type = DataType::kF16) {
  return {{8192, 8192, 8192}, type, switching_of(values, type), kUtilization};
}

PowerSpec power_of(const std::string& name) {
  return config::power_spec(config::load_energy(name).config, config::load_architecture(name).gpu);
}

PowerSpec a100() {
  return power_of("a100-sxm4-80gb");
}

double limited_tflops(const PowerSpec& spec, const support::IdealGemm& gemm) {
  return gemm.tflops_at(power_limited(spec, gemm.work(), spec.boost_clock_mhz).clock_mhz);
}

TEST(PowerReadings, A100At400WattIsHeldBackByRandomOperandsOnly) {
  // He, thonking.ai: 257 TFLOP/s on N(0,1), 288 on small integers, 295 on zeros. The energy of
  // operand_latch is fitted to the first (scripts/energy_fit.py).
  const PowerSpec spec = a100();
  const support::IdealGemm random = gemm_8192(Values::kRandom);
  const energy::PowerResult at_limit = power_limited(spec, random.work(), 1410);
  EXPECT_TRUE(at_limit.limited);
  EXPECT_NEAR(at_limit.average_w, 400, 0.01);
  const double on_random = limited_tflops(spec, random);
  const double on_integers = limited_tflops(spec, gemm_8192(Values::kIntegers));
  const double on_zeros = limited_tflops(spec, gemm_8192(Values::kZeros));
  EXPECT_NEAR(on_random / 257, 1, 0.03);
  EXPECT_NEAR(on_zeros / on_random / 1.148, 1, 0.03);
  // The model does not hold integers back (300 W at boost), so 288 and 295 are one figure to it.
  EXPECT_NEAR(on_integers / on_random / 1.121, 1, 0.03);
}

TEST(PowerReadings, A100PcieAt250WattNotFitted) {
  // PyTorch 2.8, cuBLAS, A100-PCIE-40GB, 8192^3: f16 197.5, bf16 215.3 TFLOP/s. Its board: 66.5 W.
  PowerSpec spec = a100();
  spec.power_limit_w = 250;
  spec.static_power.board_idle_w = 66.5;
  EXPECT_NEAR(limited_tflops(spec, gemm_8192(Values::kRandom)) / 197.5, 1, 0.05);
  EXPECT_NEAR(limited_tflops(spec, gemm_8192(Values::kRandom, DataType::kBf16)) / 215.3, 1, 0.05);
  // tf32, 97.3 TFLOP/s, comes out a tenth too fast: it takes as much power per cycle as f16 there,
  // with half the products, and the model gives it less.
  const double tf32 = limited_tflops(spec, gemm_8192(Values::kRandom, DataType::kTf32)) / 97.3;
  EXPECT_GT(tf32, 1);
  EXPECT_LT(tf32, 1.15);
}

/// Watts of the model while a kernel moves `bytes_per_s` from HBM to the registers and computes
/// `fma_per_s` in f32 at the boost clock.
double cuda_core_watts(const PowerSpec& spec, double bytes_per_s, double fma_per_s, double switching) {
  energy::EventCounts counts(DataType::kF16);
  counts.add(Event::kHbmAccess, bytes_per_s);
  counts.add(Event::kL2Access, bytes_per_s);
  counts.add(Event::kInterconnect, bytes_per_s);
  counts.add(Event::kSharedMemoryRead, bytes_per_s);
  counts.add(Event::kRegisterWrite, bytes_per_s);
  counts.add(Event::kInstructionIssue, bytes_per_s / 128);
  counts.add(Event::kCudaCoreFma, fma_per_s, switching);
  counts.add(Event::kRegisterRead, 12 * fma_per_s, switching);
  counts.add(Event::kRegisterWrite, 4 * fma_per_s, switching);
  counts.add(Event::kInstructionIssue, fma_per_s / 32);
  const energy::Work work{counts, [](double) { return 1.0; }, static_cast<double>(spec.sms), 1};
  return power_at(spec, work, spec.boost_clock_mhz).average_w;
}

TEST(PowerReadings, A100CudaCoreFitIsRespected) {
  // RRZE gpu-benches, A100-SXM4-40GB at 1410 MHz: 66.5 W + 118.4 pJ/byte + 5.194 pJ/flop (f32).
  PowerSpec spec = a100();
  spec.static_power.board_idle_w = 66.5;
  EXPECT_NEAR(cuda_core_watts(spec, 0, 0, 0), 66.5, 0.1);
  EXPECT_NEAR(cuda_core_watts(spec, 1e12, 0, 0) - 66.5, 118.4, 0.02 * 118.4);
  // That benchmark's operand values are not known: its flop lies between still and random ones.
  const double still = cuda_core_watts(spec, 0, 1e12, 0) - 66.5;
  const double random = cuda_core_watts(spec, 0, 1e12, 1) - 66.5;
  EXPECT_LT(still, 2 * 5.194);
  EXPECT_GT(random, 2 * 5.194);
  EXPECT_LT(random, 1.5 * 2 * 5.194);
  // A whole reading of the memory-bound end: 1372 GB/s, 0.343 TFLOP/s, 230.2 W.
  EXPECT_NEAR(cuda_core_watts(spec, 1.372e12, 0.1715e12, 0.5), 230.2, 0.03 * 230.2);
}

/// wgmma m64n256k16 (k32 bytes) as Luo et al. measure it: A and B in shared memory, accumulators in
/// registers, one instruction after the other on 114 SMs at 1620 MHz. 0.963 of the issue slots.
struct Wgmma {
  DataType type = DataType::kF16;
  int accumulator_bits = 32;
  Values values = Values::kRandom;

  double macs() const { return 64.0 * 256 * 32 * 8 / numerics::storage_bits(type); }

  energy::PowerResult limited(const PowerSpec& spec) const {
    constexpr double kLaunches = 1e6;
    const Switching switching = switching_of(values, type);
    const double accumulators = 64.0 * 256 * accumulator_bits / 8;
    energy::EventCounts counts(type);
    counts.add(Event::kMultiply, macs(), switching.products);
    counts.add(Event::kAlignAdd, macs(), switching.addends);
    counts.add(Event::kRound, macs() / (2 * energy::products_per_step(type)), switching.accumulators);
    counts.add(Event::kOperandLatch, 2 * macs() * numerics::storage_bits(type) / 8,
               (switching.operand_a + switching.operand_b) / 2);
    counts.add(Event::kRegisterRead, accumulators, switching.accumulators);
    counts.add(Event::kRegisterWrite, accumulators, switching.accumulators);
    counts.add(Event::kSharedMemoryRead, (64 + 256) * 32, (switching.operand_a + switching.operand_b) / 2);
    counts.add(Event::kInstructionIssue, 4);
    const energy::Work work{counts.scaled(spec.sms * kLaunches),
                            [](double mhz) { return 128 * kLaunches / (mhz * 1e6 * 0.963); },
                            static_cast<double>(spec.sms), 1};
    return power_limited(spec, work, 1620);
  }

  double tflops(const PowerSpec& spec) const {
    return 2e-12 * macs() * spec.sms * limited(spec).clock_mhz * 1e6 * 0.963 / 128;
  }
};

TEST(PowerReadings, H800At350WattIsHeldBackByRandomOperandsAndNotByZeros) {
  // Luo et al., arXiv 2402.13499, Table 8 and section 6: zeros below 200 W, random at 350 W. One
  // number of the file is fitted to 665.4 TFLOP/s.
  const PowerSpec spec = power_of("h800-pcie");
  const Wgmma random;
  EXPECT_TRUE(random.limited(spec).limited);
  EXPECT_NEAR(random.limited(spec).average_w, 350, 0.01);
  EXPECT_NEAR(random.tflops(spec) / 665.4, 1, 0.03);
  const Wgmma zeros{DataType::kF16, 32, Values::kZeros};
  EXPECT_FALSE(zeros.limited(spec).limited);
  EXPECT_LT(zeros.limited(spec).average_w, 200);
  EXPECT_NEAR(zeros.tflops(spec) / 728.5, 1, 0.005);
}

TEST(PowerReadings, H800OtherTypesNotFitted) {
  const PowerSpec spec = power_of("h800-pcie");
  EXPECT_NEAR((Wgmma{DataType::kF16, 16, Values::kRandom}.tflops(spec)) / 704.5, 1, 0.03);
  EXPECT_NEAR((Wgmma{DataType::kE4m3, 32, Values::kRandom}.tflops(spec)) / 1417.2, 1, 0.03);
  EXPECT_NEAR((Wgmma{DataType::kE4m3, 16, Values::kRandom}.tflops(spec)) / 1439.2, 1, 0.03);
  EXPECT_NEAR((Wgmma{DataType::kTf32, 32, Values::kRandom}.tflops(spec)) / 357.1, 1, 0.03);
  EXPECT_NEAR((Wgmma{DataType::kS8, 32, Values::kRandom}.tflops(spec)) / 1442.3, 1, 0.03);
}

}  // namespace
}  // namespace sptc::fidelity
