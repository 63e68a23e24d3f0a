// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/capture/capture_crosscheck.h"

#include "models/base/error.h"
#include "sim/compare/capture/set_explanation.h"
#include "sim/compare/vectors/vector_set.h"
#include "sim/config/architecture.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/microbench/microbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace sptc::compare::capture {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxJsonBytes = 1 << 20;

class BitsCheck {
 public:
  BitsCheck(mma::Profile profile, CaptureCrosscheck& result) : profile_(profile), result_(result) {}

  void check(const fs::path& directory) {
    const vectors::VerifyResult verified =
        vectors::verify(directory, profile_, vectors::UnknownSets::kLeaveOut);
    for (const vectors::VerifiedSet& set : verified.sets) {
      add(set, directory / set.file);
    }
    result_.unknown_sets.insert(result_.unknown_sets.end(), verified.unknown.begin(),
                                verified.unknown.end());
    std::ranges::stable_sort(result_.bits, {}, &BitsRow::undefined);
  }

 private:
  void add(const vectors::VerifiedSet& verified, const fs::path& json_file) {
    const std::string text = io::read_text_file(json_file, kMaxJsonBytes);
    const nlohmann::json json = io::parse_json(text, io::printable(json_file.string()));
    const io::JsonObject object(json, {io::printable(json_file.string()), ""});
    const bool undefined = object.text_or("case_set", "defined") == "undefined";
    auto row = std::ranges::find_if(result_.bits, [&](const BitsRow& candidate) {
      return candidate.instruction == verified.instruction && candidate.undefined == undefined;
    });
    if (row == result_.bits.end()) {
      result_.bits.push_back({verified.instruction, verified.evidence, undefined});
      row = std::prev(result_.bits.end());
    }
    ++row->sets;
    row->cases += verified.cases;
    row->elements += verified.elements;
    row->mismatches += verified.mismatches;
    if (object.has("measured")) {
      check_metadata(json_file, verified.file);
    }
    if (verified.first && !row->first) {
      row->first = verified.first;
      row->first_set = verified.file;
      row->explanations = explain(json_file, verified.first->output);
    }
  }

  void check_metadata(const fs::path& json_file, const std::string& shown) {
    const vectors::VectorSet set = vectors::read_vector_set(json_file, json_file.parent_path());
    for (const std::string& problem : inconsistent_metadata(json_file, set)) {
      result_.metadata_problems.push_back(fmt::format("{}: {}", shown, problem));
    }
  }

  std::vector<kernel::Explanation> explain(const fs::path& json_file,
                                           const std::string& name) const {
    const vectors::VectorSet set = vectors::read_vector_set(json_file, json_file.parent_path());
    for (const vectors::VectorOutput& output : set.outputs) {
      if (output.name == name) {
        return explain_set(
            set, output,
            mma::with_profile(
                mma::instruction_rules(output.target, output.instruction, output.grouping),
                profile_));
      }
    }
    return {};
  }

  mma::Profile profile_;
  CaptureCrosscheck& result_;
};

/// What the simulator says of `capture`: with `bench`, which must outlive it, also of single
/// instructions and of memory.
TimeSimulation time_simulation(const config::Architecture& architecture, const Capture& capture,
                               run::Fidelity fidelity, microbench::Microbench* bench) {
  TimeSimulation simulation;
  simulation.architecture = architecture.gpu.name;
  if (!capture.gemm.empty() || !capture.power.empty()) {
    simulation.gemms = simulate_gemms(architecture, capture, fidelity);
  }
  if (bench == nullptr) {
    return simulation;
  }
  simulation.microbench = [bench](const microbench::MicrobenchCase& which) {
    return bench->run(which);
  };
  simulation.chase_cycles = [bench](std::int64_t footprint, std::int64_t stride) {
    return bench->memory().chase_cycles(footprint, stride);
  };
  simulation.line_cycles = [bench] { return bench->memory().line_cycles(); };
  simulation.bandwidth_gb_per_s = [bench](microbench::BandwidthOperation operation,
                                          std::int64_t footprint) {
    return bench->memory().bandwidth_gb_per_s(operation, footprint);
  };
  // L1 and shared memory are one array, of which the L1 has what is left over.
  simulation.l1_reach_bytes = 2 * architecture.gpu.sm.shared_memory.count();
  return simulation;
}

}  // namespace

std::size_t CaptureCrosscheck::mismatches() const {
  std::size_t sum = metadata_problems.size();
  for (const BitsRow& row : bits) {
    sum += row.undefined ? 0 : row.mismatches;
  }
  for (const CheckedKernel& kernel : kernels) {
    sum += kernel.diagnosis.comparison.mismatches;
  }
  for (const CaptureGemmRow& row : capture.gemm) {
    sum += row.check && row.check->mode != "none" ? row.check->mismatches : 0;
  }
  return sum;
}

CaptureCrosscheck crosscheck_capture(const Capture& capture, mma::Profile profile,
                                     const TimeSimulation& simulation, int threads) {
  CaptureCrosscheck result;
  result.capture = capture;
  result.architecture = simulation.architecture;
  BitsCheck bits(profile, result);
  for (const fs::path& directory : capture.bits) {
    bits.check(directory);
  }
  for (const fs::path& file : capture.kernels) {
    CheckedKernel checked{file.lexically_relative(capture.directory).generic_string(),
                          kernel::read_kernel_file(file),
                          {}};
    checked.diagnosis = kernel::crosscheck_kernel(checked.kernel.data, checked.kernel.declared,
                                                  checked.kernel.target, threads);
    checked.kernel.data = {};  // the words are not needed any more
    result.kernels.push_back(std::move(checked));
  }
  result.times = compare_times(capture, simulation);
  return result;
}

CaptureCrosscheck crosscheck_capture(const fs::path& directory, const CaptureOptions& options) {
  if (options.fidelity == run::Fidelity::kDatapath) {
    throw base::InputError("--fidelity: measured times are compared with timing or analytic");
  }
  const Capture capture = read_capture(directory);
  const std::string name = options.arch.empty() ? architecture_of(capture) : options.arch;
  if (name.empty()) {
    TimeSimulation none;
    none.reason = "no architecture of this simulator is a " + io::printable(capture.gpu) +
                  "; --arch names one";
    return crosscheck_capture(capture, options.profile, none, options.threads);
  }
  const config::Architecture architecture = config::load_architecture(name);
  std::optional<microbench::Microbench> bench;
  if (!capture.microbench.empty() || !capture.memory.empty()) {
    bench.emplace(architecture.gpu);
  }
  return crosscheck_capture(
      capture, options.profile,
      time_simulation(architecture, capture, options.fidelity, bench ? &*bench : nullptr),
      options.threads);
}

}  // namespace sptc::compare::capture
