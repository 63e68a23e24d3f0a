// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace sptc::kernels {

/// What the L2 holds of the operands when a launch begins.
struct L2State {
  enum class Kind {
    kCold,    ///< nothing
    kWarm,    ///< what the same launch left behind, over and over on the same buffers
    kRotate,  ///< `weights` weights A take turns; B and D are one buffer each
  };
  static constexpr int kMostWeights = 1024;

  Kind kind = Kind::kCold;
  int weights = 1;  ///< kRotate

  auto operator<=>(const L2State&) const = default;
  /// "cold", "warm" or "rotate:6".
  std::string name() const;
};

/// How launches follow each other on the host.
enum class LaunchMode {
  kStream,  ///< one call each, back to back
  kGraph,   ///< replays of a CUDA graph
  kEager,   ///< the host waits for each
};

/// Which of its kernels the library runs.
enum class Algorithm {
  kHeuristic,  ///< the one that its heuristic takes for the fastest
  kBest,       ///< the fastest of all, as a user finds who times them
};

/// Where wgmma of dense weights sums products of 8-bit floats, of which its own accumulators lose
/// bits. With 2:4 weights e4m3 takes cuSPARSELt as long as s8: those are not promoted.
enum class Fp8Accumulation {
  kFast,      ///< in them alone
  kPromoted,  ///< after each k-tile they are added to others (CUTLASS: GmmaFP8Accumulation)
};

/// How a launch cuts a GEMM into CTAs, in CUTLASS's words; slices of K ("split-K") go with the
/// first.
enum class Decomposition {
  kDataParallel,  ///< an output tile, or a slice of it, is the work of one CTA
  kStreamK,       ///< all CTAs have as many k-tiles, whichever output tiles those belong to
};

/// The type in which the partial sums of split-K pass memory, in cuBLAS's words.
enum class ReductionScheme {
  kComputeType,  ///< that of the accumulators
  kOutputType,   ///< that of D
};

/// How B and D lie in memory, by which cuSPARSELt takes its default kernel.
struct OperandLayout {
  bool k_contiguous = true;  ///< of B[k, n]: columns; else rows
  bool n_major = true;       ///< D as [n, m], as a linear layer writes it; else as [m, n]

  auto operator<=>(const OperandLayout&) const = default;
  std::string_view name() const;  ///< "Kc/n-major"
};

/// Under which conditions a launch runs, or was measured.
struct LaunchConditions {
  L2State l2;
  LaunchMode launch = LaunchMode::kStream;
  Algorithm algorithm = Algorithm::kHeuristic;
  OperandLayout layout;
  std::optional<Fp8Accumulation> fp8_accumulation;  ///< nothing: as the library does
  double clock_mhz = 0;                             ///< of the SMs; 0: that of the run

  auto operator<=>(const LaunchConditions&) const = default;
};

/// Launches before those that count, and those: the board starts idle. Without it the same launch
/// repeats for ever, and the clock is that of the steady state.
struct Repetition {
  int warmup = 0;
  int repeat = 1;

  auto operator<=>(const Repetition&) const = default;
};

std::string_view name(LaunchMode mode);
std::string_view name(Algorithm algorithm);

/// "cold", "warm" or "rotate:N" with N from 1 to 1024. Throws InputError, which begins with `what`,
/// as the others do.
L2State parse_l2_state(std::string_view what, std::string_view word);
LaunchMode parse_launch_mode(std::string_view what, std::string_view word);
Algorithm parse_algorithm(std::string_view what, std::string_view word);
Fp8Accumulation parse_fp8_accumulation(std::string_view what, std::string_view word);
OperandLayout parse_layout(std::string_view what, std::string_view word);

}  // namespace sptc::kernels
