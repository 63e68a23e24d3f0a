// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/energy/power.h"
#include "models/energy/switching.h"

#include <cstdint>
#include <functional>

namespace sptc::support {

/// A dense GEMM as the simulated library runs a large one: CTA tiles of 128 x 128, two per SM, and
/// warp tiles of 64 x 64, all SMs in whole waves, tensor cores busy for `utilization` of the time
/// at any clock. Written apart from sim/, so that the energy model can be tested against readings
/// on its own.
struct IdealGemm {
  base::GemmShape shape;
  numerics::DataType type = numerics::DataType::kF16;
  energy::Switching switching;
  double utilization = 1;
  int sms = 108;
  double macs_per_sm_and_cycle = 1024;  ///< of f16

  double seconds_at(double mhz) const {
    const double rate = macs_per_sm_and_cycle * 16 / numerics::storage_bits(type);
    return static_cast<double>(shape.macs()) / (rate * sms * utilization * mhz * 1e6);
  }

  double tflops_at(double mhz) const { return 2e-12 * static_cast<double>(shape.macs()) / seconds_at(mhz); }

  energy::Work work() const {
    constexpr double kCta = 128, kWarp = 64;
    const double bytes = numerics::storage_bits(type) / 8.0;
    const auto m = static_cast<double>(shape.m);
    const auto n = static_cast<double>(shape.n);
    const auto k = static_cast<double>(shape.k);
    const double macs = m * n * k;
    // m16n8 instructions of 32 bytes of k: 16 x 8 x 16 in f16.
    const double instructions = macs / (16.0 * 8 * 32 / bytes);
    const double from_l2 = macs * bytes * 2 / kCta;
    const double fragments = macs * bytes * 2 / kWarp;
    // A wave of 18 x 12 tiles shares its rows and columns in the L2.
    const double waves = m * n / (kCta * kCta) / (2.0 * sms);
    const double from_hbm = waves * k * bytes * (18 + 12) * kCta + 2 * m * n;
    const double operands = (switching.operand_a + switching.operand_b) / 2;

    energy::EventCounts counts(type);
    using energy::Event;
    counts.add(Event::kMultiply, macs, switching.products);
    counts.add(Event::kAlignAdd, macs, switching.addends);
    counts.add(Event::kRound, macs / energy::products_per_step(type), switching.accumulators);
    counts.add(Event::kOperandLatch, 2 * macs * bytes, operands);
    counts.add(Event::kRegisterRead, instructions * 512, switching.operand_a);
    counts.add(Event::kRegisterRead, instructions * 256, switching.operand_b);
    counts.add(Event::kRegisterRead, instructions * 512, switching.accumulators);
    counts.add(Event::kRegisterWrite, instructions * 512, switching.accumulators);
    counts.add(Event::kRegisterWrite, fragments, operands);
    counts.add(Event::kSharedMemoryRead, fragments, operands);
    counts.add(Event::kSharedMemoryWrite, from_l2, operands);
    counts.add(Event::kL2Access, from_l2 + from_hbm, operands);
    counts.add(Event::kInterconnect, from_l2, operands);
    counts.add(Event::kHbmAccess, from_hbm, operands);
    counts.add(Event::kInstructionIssue, 1.2 * (instructions + fragments / 512));
    return {counts, [gemm = *this](double mhz) { return gemm.seconds_at(mhz); }, static_cast<double>(sms), utilization};
  }
};

}  // namespace sptc::support
