// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/kernel_list.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "tests/hardware/cuda/cuda_version.h"

#include <fmt/format.h>

#include <algorithm>

namespace sptc::hardware {
namespace {

std::vector<KernelRow> read_lists() {
  std::vector<KernelRow> rows;
  constexpr int r = 32;
  constexpr int l = 64;
#define SPTC_DENSE_OP(id, ptx, D, A, B, C, letter, first, last) \
  rows.push_back({#id, ptx, false, D, A, B, C, letter, 0, first, last});
#define SPTC_SPARSE_OP(id, ptx, D, A, B, C, letter, selectors, first, last) \
  rows.push_back({#id, ptx, false, D, A, B, C, letter, selectors, first, last});
#include "tests/hardware/cuda/mma_operations.inc"
#define SPTC_WGMMA_OP(id, name, ptx, D, B, tail, selectors) \
  rows.push_back({#id, name, true, D, 0, B, D, 32, selectors, 900, 900});
#include "tests/hardware/cuda/wgmma_operations.inc"
  return rows;
}

}  // namespace

const std::vector<KernelRow>& kernel_rows() {
  static const std::vector<KernelRow> rows = read_lists();
  return rows;
}

std::vector<std::string> timed_mma() {
  std::vector<std::string> names;
  const auto add = [&](const char* id) {
    const auto row = std::ranges::find(kernel_rows(), id, [](const KernelRow& kernel) { return kernel.id; });
    base::ensure(row != kernel_rows().end(), "a timed instruction has no kernel");
    names.push_back(row->ptx);
  };
#define SPTC_TIMED(id) add(#id);
#include "tests/hardware/cuda/mma_bench_operations.inc"
  return names;
}

std::string expected_sass(const std::string& target_name) {
  const mma::Target& target = mma::find_target(target_name);
  const std::vector<mma::CatalogueEntry> entries = mma::instructions(target);
  std::string text;
  for (const KernelRow& row : kernel_rows()) {
    const mma::MmaInstruction instruction = mma::parse_instruction(row.ptx);
    const auto entry = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& candidate) { return candidate.covers(instruction); });
    if (entry == entries.end() || entry->sass.empty() || entry->is_software) {
      continue;
    }
    std::string sass = entry->sass;
    // sm_70 runs m8n8k4 as a sequence of steps with names of their own.
    if (sass.find("STEP") != std::string::npos) {
      continue;
    }
    const bool twice = sass.ends_with(" x2");
    if (twice) {
      sass.resize(sass.size() - 3);
    }
    if (const std::size_t n = sass.find("xNx"); n != std::string::npos) {
      sass.replace(n, 3, fmt::format("x{}x", instruction.shape.n));
    }
    text += fmt::format("{}\t{}\t{}\t{}\n", row.id, std::max(1, row.selectors), sass, twice ? 2 : 1);
  }
  return text;
}

}  // namespace sptc::hardware
