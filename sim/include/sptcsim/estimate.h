// SPDX-License-Identifier: Apache-2.0
//
// Times and energies in closed form: which kernel a GPU runs for a GEMM, how long it takes, what it
// moves and what energy that costs, without simulating it. Link sptcsim::estimate; SystemC is not
// needed. What the same simulation says is in <sptcsim/simulate.h>.
//
// Times are in microseconds, energies in microjoules, powers in watts, clocks in MHz, traffic in
// bytes. Functions throw InputError, one clear sentence, for bad input. Calls of estimate() from
// several threads wait for each other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <sptcsim/values.h>
#include <string>
#include <vector>

namespace sptcsim {

/// A GPU: its numbers, each with unit, evidence and source.
class Architecture {
 public:
  /// Reads a name of architectures(), or the path of a file ('/' in it, or ".json" at its end).
  /// Throws InputError that lists every problem of the file.
  explicit Architecture(const std::string& name_or_path);

  const std::string& name() const;
  /// The number at `path`: a JSON pointer of its file ("/sms"), "sm.max_warps", or a last key that
  /// occurs once.
  double number(const std::string& path) const;
  /// The same GPU with other numbers, paths as in number(). Values are checked as those of a file.
  Architecture with(const std::map<std::string, double>& numbers) const;

  struct State;
  const State& state() const { return *state_; }

 private:
  explicit Architecture(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

/// The names that Architecture knows, sorted: the files of config_directory().
std::vector<std::string> architectures();

/// Where architectures and energies are: the environment variable SPTCSIM_CONFIG_DIR, else what
/// set_config_directory() was given, else the source tree that the library was built from. The
/// CMake package gives that of the installation; pkg-config knows it as the variable `configdir`.
std::string config_directory();
/// Call it before anything is loaded.
void set_config_directory(const std::string& directory);
#ifdef SPTCSIM_CONFIG_DIRECTORY
inline const bool kConfigDirectoryIsSet = [] {
  set_config_directory(SPTCSIM_CONFIG_DIRECTORY);
  return true;
}();
#endif

/// `count` launches of `batch` independent GEMMs D[m, n] = A[m, k] B[k, n]; A is the weight.
struct Gemm {
  std::string name = "gemm";
  std::int64_t m = 0, n = 0, k = 0;  ///< elements; K is logical where A is sparse
  std::int64_t batch = 1;
  std::int64_t count = 1;
  DataType dtype = DataType::kF16;  ///< of A and B
  bool prunable = true;             ///< also simulated with 2:4 weights
};

/// What a GPU is to compute.
class Workload {
 public:
  explicit Workload(const std::vector<Gemm>& gemms, const std::string& name = "workload");
  /// Reads a file, as `sptcsim run` does: JSON or CSV.
  static Workload read(const std::string& path);

  struct State;
  const State& state() const { return *state_; }

 private:
  explicit Workload(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

/// Options by name, as `sptcsim run --help` lists them, without the dashes: {"clock", "boost"}.
/// A switch is "true" or "false".
using Options = std::map<std::string, std::string>;

/// One launch, dense or with sparse weights.
struct Launch {
  std::string tile;  ///< of a CTA: "128x256x32"
  std::int64_t cycles = 0;
  double time_us = 0;      ///< cycles and launch
  double clock_mhz = 0;    ///< that the power limit allows, unless Options say otherwise
  double tflops = 0;       ///< effective: skipped zeros count
  double utilization = 0;  ///< useful executed multiply-accumulates of the peak in `cycles`
  std::string bound_by;
  std::int64_t dram_bytes = 0, l2_bytes = 0;
  std::optional<double> energy_uj, power_w;  ///< absent where the GPU has no energy file
  std::int64_t mismatches = 0;               ///< of checked values; estimates check none
};

struct GemmResult {
  Gemm gemm;
  std::optional<Launch> dense;
  std::optional<Launch> sparse;  ///< absent where A is no weight, or nobody asked
  /// Dense time / sparse time, where there are both.
  std::optional<double> speedup() const;
};

struct Result {
  std::vector<GemmResult> gemms;   ///< in the order of the workload
  std::vector<std::string> notes;  ///< what a reader of the figures must know
  std::string json;                ///< everything, as `sptcsim run --format json` prints it
};

/// Every GEMM of `workload` on `architecture`, in closed form. The option "fidelity" is not taken.
Result estimate(const Workload& workload, const Architecture& architecture, const Options& options = {});

}  // namespace sptcsim
