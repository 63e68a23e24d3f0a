// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/text.h"
#include "models/energy/area.h"
#include "models/energy/power.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/gpu/clock_policy.h"
#include "sim/kernels/kernel_overrides.h"
#include "sim/kernels/launch_conditions.h"
#include "sim/kernels/operand_storage.h"
#include "sim/run/network/engine.h"
#include "sim/workload/training.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sptc::run {

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

/// Over what the power limit holds on average.
enum class LimitOver {
  kLaunch,
  kGroup,  ///< the workload or, where it names groups of operations, each group, gaps included
};

/// Where the kernel of a GEMM comes from.
enum class KernelsFrom {
  kLibrary,  ///< the one that the GEMM library of the GPU would run
  kSearch,   ///< the fastest of all that fit the SM
};

/// The clock of the SMs.
struct ClockChoice {
  enum class Kind {
    kDefault,  ///< kLimited where the energies of the board are known, else kBoost
    kLimited,  ///< the highest that the power limit allows, up to boost
    kBoost,
    kFixed,  ///< `mhz`
  };
  Kind kind = Kind::kDefault;
  double mhz = 0;

  bool limited() const { return kind == Kind::kDefault || kind == Kind::kLimited; }
};

/// Types of the parts of a network that serving software keeps in 16 bits where its weights have
/// fewer.
struct PartTypes {
  bool all = false;  ///< SimulationOptions::dtype is that of these parts, too
  /// The formats of these parts; else as asked_type() says.
  std::optional<kernels::OperandFormat> attention, router, head;
};

/// What a caller may choose about a simulation, and below it what follows from that on an
/// architecture. The defaults are those of the command line.
struct SimulationOptions {
  Fidelity fidelity = Fidelity::kTiming;
  Variants variants = Variants::kBoth;
  std::optional<numerics::DataType> dtype;  ///< replaces the type of operations: see asked_type()
  int dtype_block = 0;                      ///< elements along K that share a scale, as its name says: 16 of nvfp4
  PartTypes parts;                          ///< of some of them another one
  kernels::OperandStorage storage;          ///< of weights, or of block-scaled types, where it says any
  std::optional<sparsity::WeightPattern> pattern;  ///< of sparse weights; else the hardware's
  std::string numerics;                            ///< arithmetic of another generation; empty: the architecture's own
  /// Source of kernels; nothing: kLibrary for a shipped GPU and where `library` names one, kSearch
  /// for a design of one's own.
  std::optional<KernelsFrom> kernels;
  std::string library;  ///< whose kernels run: a file of configs/libraries; empty: that of the GPU
  /// Operand values: random, integers, zeros, relu, or the path of a .safetensors file. Empty:
  /// those of the workload's network where it has them and the fidelity carries values, else
  /// random.
  std::string data;
  std::optional<CheckMode> check;  ///< else `eigen` in datapath, `sample` in timing, `none` in analytic
  std::uint64_t seed = 0;          ///< of generated operands and samples
  ClockChoice clock;
  /// Energies: a name of energy_names(), or the path of a file. Empty: those of the architecture or
  /// of what it is derived from, where there are any.
  std::string energy;
  std::optional<double> power_limit_w;  ///< instead of the energy file's
  std::optional<double> board_idle_w;   ///< at rest, instead of the energy file's
  std::optional<LimitOver> limit_over;  ///< else kLaunch
  kernels::KernelOverrides kernel;
  kernels::LaunchConditions conditions;
  std::optional<kernels::Algorithm> sparse_algorithm;  ///< of 2:4 kernels; else as dense ones
  std::optional<numerics::DataType> d_dtype;           ///< of D in memory; else as GemmProblem says
  std::optional<int> warmup, repeat;                   ///< both or none; none: endless repetition
  bool extrapolate = true;                             ///< only where no values travel
  /// A DRAM in the place of the modelled one: the path of a shared object
  /// (sim/include/sptcsim/plugin/memory.h), and what to tell it. Empty: the modelled one.
  std::string memory, memory_config;
  bool what_ifs = true;  ///< what bounds each launch; costs time
  /// What runs the network: a name of engine_names(), or the path of a file; empty: "gemms".
  std::string engine;
  bool sparsity_auto = false;  ///< which weights gain from 2:4, also of GEMMs only
  /// A list (sim/workload/layer_list.h) of the only weights that may be 2:4; empty: all may.
  std::string sparse_layers;
  /// Operations whose weights may be 2:4 though they stay dense by name (workload::dense_role()): a
  /// regular expression; empty: none. Not looked at with `sparse_layers`.
  std::string include;
  std::optional<workload::Training> training;  ///< a step of it; nothing: the list as it is
  /// GPUs over which the weights of each layer are split, or the experts of a mixture are shared
  /// out, and what the links of one carry each way.
  int tensor_parallel = 1;
  int expert_parallel = 1;
  double link_gb_per_s = 0;
  /// Files of what each launch read and computed (sim/run/value_files.h); empty: none.
  std::string save_operands, save_d;

  // What follows from these on an architecture: resolved() (sim/run/run_options.h) fills it in.
  gpu::ClockPolicy clock_policy;
  bool clock_limited = false;                         ///< the highest clock up to that one that the power limit allows
  std::optional<energy::PowerSpec> power;             ///< nothing: no energy in the report
  std::optional<energy::AreaTable> area;              ///< nothing: no area in the result
  std::string power_note;                             ///< where the energies come from, for the report
  std::optional<network::EngineSpec> network_engine;  ///< nothing: GEMMs only
  std::optional<kernels::Repetition> repetition;      ///< nothing: the steady state of endless repetition

  /// Whether the power limit holds on average over each Operation::group, not each launch.
  bool limits_group() const { return limit_over == LimitOver::kGroup; }
  bool runs_whole_network() const { return network_engine && !network_engine->gemms_only; }
  bool extrapolates() const { return extrapolate && fidelity == Fidelity::kTiming && memory.empty(); }
  /// GPUs in all: one of both numbers is 1.
  int gpus() const { return tensor_parallel * expert_parallel; }
  /// The part of `inputs` of the workload that one GPU has.
  std::int64_t inputs_of_gpu(std::int64_t inputs) const { return inputs / expert_parallel; }
  bool saves_values() const { return !save_operands.empty() || !save_d.empty(); }
  CheckMode check_mode() const {
    constexpr CheckMode kUsual[] = {CheckMode::kEigen, CheckMode::kSample, CheckMode::kNone};
    return check.value_or(kUsual[static_cast<std::size_t>(fidelity)]);
  }
};

/// The option, then the words of the enumerators, of an enumeration that an option chooses from.
template <typename Enum>
inline constexpr std::nullptr_t kWordsOf = nullptr;
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<Fidelity>{"--fidelity", "datapath", "timing", "analytic"};
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<Variants>{"--variants", "dense", "sparse", "both"};
template <>
inline constexpr std::array<std::string_view, 5> kWordsOf<CheckMode>{"--check", "none", "sample", "eigen", "exact"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<LimitOver>{"--limit-over", "launch", "group"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<KernelsFrom>{"--kernels", "library", "search"};
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<workload::Training>{"--training", "dense", "w24", "act24"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<kernels::Decomposition>{"--decomposition", "data-parallel",
                                                                                  "stream-k"};

template <typename Enum, std::size_t = kWordsOf<Enum>.size()>
std::string_view name(Enum value) {
  return kWordsOf<Enum>[1 + static_cast<std::size_t>(value)];
}

/// What makes the numbers of a GPU with `sms` SMs, for the first lines of a report: "SystemC, all
/// 108 SMs" or "closed form"; of several GPUs without their number.
std::string made_by(Fidelity fidelity, std::optional<int> sms);

/// The value called `word`. Throws InputError "--<option> ..." with the nearest valid name.
template <typename Enum>
Enum parse_word(std::string_view word) {
  return static_cast<Enum>(base::place_of_name(kWordsOf<Enum>.front(), word, std::span(kWordsOf<Enum>).subspan(1)));
}

/// Largest numbers of SimulationOptions::warmup and repeat.
inline constexpr int kMostLaunches = 1'000'000;

/// The type of D in memory that is called `word`: f32, f16, bf16, e4m3, s8 or s32. Throws
/// InputError, which begins with `what`.
numerics::DataType parse_d_dtype(std::string_view what, std::string_view word);

/// Throws InputError where `options` save values, of which `what` has no place to keep them.
void require_nothing_saved(const SimulationOptions& options, std::string_view what);

/// Throws InputError where two options contradict each other.
void require_consistent(const SimulationOptions& options);

/// Throws InputError where `options` have links that none of their GPUs needs; a comparison of types asks for several
/// numbers of GPUs, and looks itself.
void require_link_used(const SimulationOptions& options);

/// `options` of a run that is asked for times and energies alone: no value is checked or saved, and
/// no launch explained.
SimulationOptions times_alone(SimulationOptions options);

}  // namespace sptc::run
