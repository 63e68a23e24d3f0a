// SPDX-License-Identifier: Apache-2.0
//
// What all comparisons that simulate have in common.
#pragma once

#include "sim/compare/comparison.h"
#include "sim/config/config_fwd.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace sptc::compare {

/// Throws InputError where `list`, which `option` gave, has a name or number twice.
template <typename Name>
void require_each_once(const char* option, std::vector<Name> list) {
  std::ranges::sort(list);
  if (const auto again = std::ranges::adjacent_find(list); again != list.end()) {
    io::refuse("{} names '{}' twice", option, *again);
  }
}

/// Throws InputError where a board is among `boards` twice.
void require_other_boards(const std::vector<config::Architecture>& boards);

/// Whether the tensor cores of `board` have sparse instructions.
bool has_sparse_instructions(const config::Architecture& board);

/// The end of BoardComparison::scope that says that `workload` lists GEMMs alone; "" where it does not.
std::string beside_gemms(const workload::Workload& workload);

/// How near to each board anything was measured, of types once for each of them: lines of text.
std::string evidence_text(const BoardComparison& comparison);

/// Calls `fill` with each of `points` and its place, in one of `jobs` processes. What it refuses by InputError is the
/// failure of the point. Throws InputError where no point can be filled.
void fill_points(std::vector<ComparedPoint>& points, int jobs, const Progress& progress,
                 const std::function<void(std::size_t place, ComparedPoint& point)>& fill);

}  // namespace sptc::compare
