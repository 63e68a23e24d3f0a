// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/area.h"
#include "models/energy/power.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/gpu/gemm_simulator.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sptc::sim {

enum class Fidelity {
  kDatapath,  ///< operand bits travel through the SystemC stages
  kTiming,    ///< the same events without payload
  kAnalytic,  ///< closed forms, no events
};

/// Which weights to simulate: as given, at the hardware's N:M pattern, or both.
enum class Variants { kDense, kSparse, kBoth };

enum class CheckMode {
  kNone,
  kSample,  ///< a seeded sample of elements of D against the double-precision reference
  kEigen,   ///< every element against the double-precision reference
  kExact,   ///< every element, bit for bit, against the plain arithmetic
};

std::string_view name(Fidelity fidelity);
std::string_view name(Variants variants);
std::string_view name(CheckMode mode);
std::string_view name(GemmSimulator::Sms sms);
std::string_view name(Decomposition decomposition);

/// The value called `word`. Throws InputError "--<option> ..." with the nearest valid name.
Fidelity parse_fidelity(std::string_view word);
Variants parse_variants(std::string_view word);
CheckMode parse_check_mode(std::string_view word);
GemmSimulator::Sms parse_sms(std::string_view word);
Decomposition parse_decomposition(std::string_view word);

/// The type of D in memory that is called `word`: f32, f16, bf16, e4m3, s8 or s32. Throws
/// InputError, which begins with `what`.
numerics::DataType parse_d_dtype(std::string_view what, std::string_view word);

/// Largest numbers of a Repetition.
inline constexpr int kMostLaunches = 1'000'000;

/// What a user may choose about a run.
struct RunOptions {
  Fidelity fidelity = Fidelity::kTiming;
  Variants variants = Variants::kBoth;
  std::optional<numerics::DataType> dtype;         ///< replaces the type of every operation
  std::optional<sparsity::WeightPattern> pattern;  ///< of sparse weights; else the hardware's
  std::string numerics;  ///< for the report; empty: the architecture's own
  std::string data;      ///< how the operands are called in the report
  std::optional<CheckMode> check;
  std::uint64_t seed = 0;
  ClockPolicy clock;
  bool clock_limited = false;  ///< the highest clock, up to that one, that the power limit allows
  bool clock_asked = true;     ///< else a board without energies runs at boost
  bool limit_over_group = false;  ///< on average over each Operation::group, not each launch
  std::optional<energy::PowerSpec> power;  ///< nothing: no energy in the report
  std::optional<energy::AreaTable> area;   ///< nothing: no area in the result
  std::string power_note;                  ///< where the energies come from, for the report
  KernelOverrides kernel;
  LaunchConditions conditions;
  std::optional<numerics::DataType> d_dtype;  ///< of D in memory; else as GemmProblem says
  std::optional<Repetition> repetition;       ///< nothing: the steady state of endless repetition
  std::optional<GemmSimulator::Sms> sms;      ///< else one for all, in datapath all
  bool extrapolate = true;                    ///< only where no values travel
  bool what_ifs = false;                      ///< of every launch: what bounds it

  GemmSimulator::Sms simulated_sms() const {
    return sms.value_or(fidelity == Fidelity::kDatapath ? GemmSimulator::Sms::kAll
                                                        : GemmSimulator::Sms::kSampled);
  }
  bool extrapolates() const { return extrapolate && fidelity == Fidelity::kTiming; }

  /// `eigen` in datapath, `sample` in timing, unless chosen.
  CheckMode check_mode() const {
    return check.value_or(fidelity == Fidelity::kDatapath ? CheckMode::kEigen : CheckMode::kSample);
  }
};

/// Throws InputError where two options contradict each other.
void require_consistent(const RunOptions& options);

}  // namespace sptc::sim
