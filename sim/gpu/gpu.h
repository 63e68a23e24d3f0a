// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/cta_scheduler.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/hardware/memory/l2_before_dram.h"
#include "sim/hardware/memory/memory_system.h"
#include "sim/hardware/memory/transfer_limits.h"
#include "sim/hardware/sm/sm.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sptc::gpu {

/// What one grid did.
struct GridRun {
  std::int64_t cycles = 0;                       ///< launch of the first CTA to the end of the last
  std::vector<std::vector<sm::CtaRecord>> ctas;  ///< per SM, in the order in which they ended
  sm::StallCycles stalls;                        ///< of all tensor cores, as many cycles of each
  std::int64_t macs = 0;                         ///< that those executed
};

/// SMs, the memory system and the CTA scheduler, wired. Grids run one after the other, each from an
/// empty L2 on.
class Gpu : public sc_core::sc_module {
 public:
  enum class Memory {
    kModelled,
    /// The caller binds the socket `dram` of the L2 to a target of its own.
    kDramOutside,
    /// The caller binds the socket async_copy.memory of every SM to a target of its own, which may
    /// have events for ever: refresh, a clock.
    kOutside,
  };

  Gpu(const sc_core::sc_module_name& name, const base::Clock& clock, const GpuSpec& spec,
      Memory memory = Memory::kModelled);
  ~Gpu() override;

  /// SM clock of the grids from here on, for the rates of the memory; the simulation itself counts
  /// cycles.
  void set_clock_mhz(double mhz) { clock_mhz_ = mhz; }

  /// Runs `launched` to its end; the L2 begins with `l2`. Throws InternalError where the simulation
  /// gets stuck, with what is resident.
  GridRun run(const sm::KernelLaunch& launched, const memory::L2Contents& l2 = {});

  tensor_core::Activity activity() const;

  /// Bytes of the latest grid, moved by a memory of its own.
  memory::MemoryBytes memory_counters() const;

  /// Passes on to MemoryPorts::observe; nobody is told where the memory is outside.
  void observe_memory(const memory::MemoryPorts::Observer& observer);

  const base::Clock& clock() const { return clock_; }
  const std::vector<std::unique_ptr<sm::Sm>>& sms() const { return sms_; }
  /// The L2 of kDramOutside.
  memory::L2BeforeDram& l2() { return *outer_l2_; }

 private:
  /// The wires between one SM and the CTA scheduler.
  struct Links {
    Links(int index, const base::Clock& clock);
    base::Wire<sm::CtaLaunch> launch;
    base::Wire<sm::CtaDone> done;
  };

  /// What the CTA units have recorded since cycle `start`, from which the result counts.
  GridRun take_records(std::int64_t start);
  void simulate();
  bool busy() const;
  /// Grows where an instruction is issued or a transaction is answered.
  std::int64_t progress() const;
  void report_stuck() const;

  const base::Clock& clock_;
  CtaScheduler scheduler_;
  std::vector<std::unique_ptr<sm::Sm>> sms_;
  std::unique_ptr<memory::MemorySystem> memory_;  ///< null of kOutside
  memory::L2BeforeDram* outer_l2_ = nullptr;      ///< the same of kDramOutside
  double clock_mhz_;
  std::vector<std::unique_ptr<Links>> links_;
};

}  // namespace sptc::gpu
