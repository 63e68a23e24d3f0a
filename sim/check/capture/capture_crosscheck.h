// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/step_rules.h"
#include "sim/check/capture/capture.h"
#include "sim/check/capture/capture_times.h"
#include "sim/check/kernel/kernel_crosscheck.h"
#include "sim/check/vectors/verify.h"
#include "sim/run/simulation_options.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace sptc::check::capture {

/// The sets of one instruction, added up; `file` is that of the first mismatch.
struct BitsRow : vectors::VerifiedSet {
  /// Metadata without a meaning in the PTX ISA: differences are findings, not errors.
  bool undefined = false;
  std::size_t sets = 0;
  std::vector<kernel::Explanation> explanations;  ///< of the set of the first mismatch
};

/// A whole GEMM of the capture that was computed anew.
struct CheckedKernel {
  std::string file;
  kernel::KernelCase kernel;
  kernel::KernelDiagnosis diagnosis;
};

struct CaptureCrosscheck {
  Capture capture;
  std::string architecture;
  std::vector<BitsRow> bits;                   ///< by instruction, those with a meaning first
  std::vector<std::string> unknown_sets;       ///< not compared: nobody knows their arithmetic
  std::vector<std::string> metadata_problems;  ///< registers that do not say what the indices do
  std::vector<CheckedKernel> kernels;
  CaptureTimes times;

  /// Wrong words that count: of defined sets, kernels, checks that the capture holds, and metadata.
  std::size_t mismatches() const;
};

/// Computes every array set and kernel of `capture` in `profile`, and compares its times.
/// `threads` of the host for kernels. Throws InputError for a set or kernel that cannot be read.
CaptureCrosscheck crosscheck_capture(const Capture& capture, mma::Profile profile, const TimeSimulation& simulation,
                                     int threads);

struct CaptureOptions {
  std::string arch;  ///< whose times are simulated; empty: architecture_of() the capture
  run::Fidelity fidelity = run::Fidelity::kAnalytic;  ///< of its GEMMs; not datapath
  mma::Profile profile = mma::Profile::kHardware;
  int threads = 1;  ///< of the host
};

/// The same of the capture in `directory`, beside times of the architecture that it is of. Where there is none, the
/// bits alone are compared. Throws InputError.
CaptureCrosscheck crosscheck_capture(const std::filesystem::path& directory, const CaptureOptions& options);

std::string capture_text(const CaptureCrosscheck& result);
std::string capture_json(const CaptureCrosscheck& result);

}  // namespace sptc::check::capture
