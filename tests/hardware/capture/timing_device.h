// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/kernels/launch_conditions.h"
#include "tests/hardware/capture/capture_writer.h"
#include "tests/hardware/capture/device.h"
#include "tests/hardware/capture/gemm_data.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sptc::hardware {

/// wgmma at n = 64, 128 and 256, A and B in shared memory (sm_90a).
struct TimedWgmma {
  std::string ptx;
  int n = 0;
  int macs_per_row_and_column = 0;  ///< logical k
  bool sparse = false;
};

/// A line that is in the L2, read by one SM: for the first time, and from then on.
struct L2Line {
  int sm, line;
  double first_cycles, cycles;
};

/// Of a dependent load; the clock is that of the SMs meanwhile.
struct ChaseResult {
  double cycles, clock_mhz;
};

enum class BandwidthOperation { kRead, kWrite, kCopy };

struct PowerSample {
  double t_ms = 0;
  std::optional<double> power_w, clock_mhz, memory_clock_mhz, temperature_c;
};

/// Single launches of a GEMM, one after the other.
struct TimedLaunches {
  std::vector<double> us;
  std::optional<double> power_w, clock_mhz;  ///< means meanwhile
};

/// Launches of a GEMM without a pause.
struct SustainedRun {
  double duration_s = 0;
  long long launches = 0;
  std::vector<PowerSample> samples;
  std::optional<double> power_w, clock_mhz;  ///< means without the start of the run
  std::optional<double> energy_j;            ///< of the board's counter
};

/// What computes a GEMM.
struct GemmChoice {
  std::string library;  ///< "own", "wgmma", "cublaslt", "cusparselt"
  bool sparse = false;
  std::string dtype;  ///< "f16", "bf16", "s8", "e4m3"
};

/// A GEMM that can be launched over and over, operands rotating over several copies.
class GemmWorkload {
 public:
  GemmWorkload() = default;
  GemmWorkload(const GemmWorkload&) = delete;
  GemmWorkload& operator=(const GemmWorkload&) = delete;
  virtual ~GemmWorkload() = default;

  virtual std::string kernel() const = 0;
  virtual int copies() const = 0;
  /// Poisons D, launches once and compares sampled elements.
  virtual GemmCheck check() = 0;
  /// At least ten launches, and as many as fit into `seconds`, at most 500.
  virtual TimedLaunches time(double seconds) = 0;
  virtual SustainedRun sustain(double seconds) = 0;

  /// What D holds from now on, and which kernel computes it. Throws AbsentError where there is
  /// none.
  virtual void choose(numerics::DataType d_dtype, kernels::Algorithm algorithm) = 0;
  /// Poisons D, launches once and compares elements all over D with a plain kernel of the device.
  virtual GemmCheck check_on_device() = 0;
  /// Launches under `conditions`, of whose algorithm choose() decides.
  virtual TimedLaunches time_under(const kernels::LaunchConditions& conditions,
                                   const kernels::Repetition& repetition) = 0;
};

/// What measures times and power: a GPU, or the simulator in its place. Everything throws
/// std::runtime_error where the device reports an error, AbsentError where it lacks what is asked
/// for. Cycles are of the SM clock.
class TimingDevice {
 public:
  TimingDevice() = default;
  TimingDevice(const TimingDevice&) = delete;
  TimingDevice& operator=(const TimingDevice&) = delete;
  virtual ~TimingDevice() = default;

  /// One block of `warps` warps does `rounds` rounds of `ilp` independent executions each;
  /// registers as in `operands`, which holds one case.
  virtual long long mma_cycles(const MmaLaunch& operands, int warps, int ilp, int rounds) = 0;
  virtual std::vector<TimedWgmma> timed_wgmma() const = 0;
  /// wgmma number `index` of timed_wgmma() by `warpgroups` of four warps. With `random` the tiles
  /// hold random bits of moderate exponents, else zeros.
  virtual long long wgmma_cycles(std::size_t index, int warpgroups, int rounds, bool random) = 0;

  /// `rounds` rounds of `ilp` dependent chains of ldmatrix.x1, .x2 or .x4 (`matrices` 1, 2, 4) by
  /// `warps` warps of one block, without bank conflicts.
  virtual long long ldmatrix_cycles(int matrices, int warps, int ilp, int rounds) = 0;
  /// `rounds` dependent ld.shared.u32 of one warp in which `ways` lanes meet in each bank.
  virtual long long ld_shared_cycles(int ways, int rounds) = 0;
  /// `rounds` rounds in which `threads` threads each issue `in_flight` cp.async of `bytes` bytes
  /// and wait for them; the lines are in the L2, with 4 and 8 bytes in the L1.
  virtual long long cp_async_cycles(int bytes, int threads, int in_flight, int rounds) = 0;
  /// `rounds` rounds in which one thread issues `in_flight` bulk copies (TMA) of `bytes` bytes from
  /// lines in the L2 to shared memory and waits for them.
  virtual long long tma_cycles(int bytes, int in_flight, int rounds) = 0;

  /// Mean cycles of a dependent load in a chase of random order over `footprint` bytes with one
  /// word per `stride` bytes; `through_l1`: ld.global.ca, else .cg.
  virtual ChaseResult chase_cycles(std::size_t footprint, std::size_t stride, bool through_l1) = 0;
  /// Every SM in turn reads each of `lines` lines through L2 only.
  virtual std::vector<L2Line> l2_line_cycles(int lines) = 0;
  /// 1e9 bytes per second while all SMs walk over `footprint` bytes again and again, of each of
  /// `launches` launches; a copy reads one half and writes the other.
  virtual std::vector<double> bandwidth_gb_per_s(BandwidthOperation operation, std::size_t footprint, int launches) = 0;

  virtual std::unique_ptr<GemmWorkload> gemm(const GemmChoice& choice, const GemmData& data) = 0;

  /// Power of the board at rest: waits until it has come to rest. Nothing where nobody says.
  virtual std::optional<double> idle_power_w() = 0;
  /// Clock of the SMs at this moment.
  virtual std::optional<double> clock_mhz() = 0;
  /// Why power cannot be measured; empty: it can.
  virtual std::string why_no_power() = 0;
};

}  // namespace sptc::hardware
