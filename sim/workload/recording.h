// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload_text.h"

#include <utility>

namespace sptc::workload {

/// What was understood of a recording. Launches that were not taken stand in the workload.
struct Account {
  std::string format;              ///< empty: a workload of our own, which needs no account
  std::string gpu;                 ///< as the recording names it; may be empty
  std::string arch;                ///< the board that the name means; empty where it means none
  double kernels_us = 0;           ///< of all kernels that were recorded; 0: no times
  std::vector<std::string> notes;  ///< one sentence each: grounds and choices

  /// Empty ones are none.
  void add_note(std::string note) {
    if (!note.empty()) {
      notes.push_back(std::move(note));
    }
  }
  void add_notes(const std::vector<std::string>& more) { notes.insert(notes.end(), more.begin(), more.end()); }
};

struct Recording {
  Workload workload;
  /// The workload as JSON with expressions of its dimensions, where they are known; else empty.
  std::string parametric;
  Account account;
};

/// The recording as gemm-workload JSON. Throws InputError for a network with real values.
std::string workload_json(const Recording& recording);

struct ImportOptions {
  NamedDims dims{};                                           ///< --dim NAME=V
  std::map<std::string, std::vector<std::int64_t>> inputs{};  ///< --input NAME=1,3,640,640
  bool tf32 = false;                                          ///< f32 GEMMs whose kernel is not recorded run as TF32
  Convention convention = Convention::kWeightFirst;           ///< of a CSV of m, n, k
};

}  // namespace sptc::workload
