// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/microbench/microbench.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace sptc::microbench {
namespace {

using numerics::DataType;

struct MmaRow {
  int k;
  DataType operand, accumulator;
  bool sparse;
  int ilp_of_4_warps, ilp_of_8_warps;
  bool selectors_in_turn = false;
};

// Sun et al., arXiv 2206.02874, Tables 3 and 6. The ILP of the dense rows is the one that closes
// warps x ILP x MACs / latency = throughput; Table 6 names 2 for 8 warps. Three of the programs
// that the authors published (github.com/sunlex0717/DissectingTensorCores) give every chain of
// mma.sp another selector; the others leave it at 0.
constexpr std::array kMmaRows{
    MmaRow{16, DataType::kF16, DataType::kF32, false, 3, 2},
    MmaRow{8, DataType::kF16, DataType::kF32, false, 4, 3},
    MmaRow{16, DataType::kF16, DataType::kF16, false, 3, 2},
    MmaRow{8, DataType::kF16, DataType::kF16, false, 4, 3},
    MmaRow{8, DataType::kTf32, DataType::kF32, false, 3, 2},
    MmaRow{32, DataType::kS8, DataType::kS32, false, 3, 2},
    MmaRow{64, DataType::kS4, DataType::kS32, false, 3, 2},
    MmaRow{256, DataType::kB1, DataType::kS32, false, 3, 2},
    MmaRow{32, DataType::kF16, DataType::kF32, true, 3, 2, true},
    MmaRow{16, DataType::kF16, DataType::kF32, true, 3, 2, true},
    MmaRow{32, DataType::kF16, DataType::kF16, true, 3, 2},
    MmaRow{16, DataType::kF16, DataType::kF16, true, 3, 2},
    MmaRow{16, DataType::kTf32, DataType::kF32, true, 3, 2, true},
    MmaRow{8, DataType::kTf32, DataType::kF32, true, 3, 2},
    MmaRow{64, DataType::kS8, DataType::kS32, true, 3, 2},
    MmaRow{32, DataType::kS8, DataType::kS32, true, 3, 2},
};

mma::MmaInstruction instruction_of(const MmaRow& row) {
  mma::MmaInstruction instruction{
      {16, 8, row.k}, row.operand, row.operand, row.accumulator, row.sparse};
  if (row.operand == DataType::kB1) {
    instruction.bit_operation = mma::BitOperation::kXor;
  }
  return instruction;
}

bool runs_on(const mma::Target& target, const mma::MmaInstruction& instruction) {
  const auto entries = mma::instructions(target);
  return std::any_of(entries.begin(), entries.end(), [&](const mma::CatalogueEntry& entry) {
    return entry.covers(instruction) && !entry.is_software && !are_two(runs_as(entry, instruction));
  });
}

void add_mma_cases(const mma::Target& target, std::vector<MicrobenchCase>& cases) {
  for (const MmaRow& row : kMmaRows) {
    const mma::MmaInstruction instruction = instruction_of(row);
    if (runs_on(target, instruction)) {
      const MatrixInstruction which{instruction, false, row.selectors_in_turn};
      cases.push_back({which, 1, 1});
      cases.push_back({which, 4, row.ilp_of_4_warps});
      cases.push_back({which, 8, row.ilp_of_8_warps});
    }
  }
}

// Instructions that few generations have: Sun et al., Table 5 (Turing); Raihan et al., ISPASS 2019
// (Volta); Abdelkhalik et al., arXiv 2208.11174 (f64).
void add_other_mma_cases(const gpu::GpuSpec& spec, const mma::Target& target,
                         std::vector<MicrobenchCase>& cases) {
  const auto add = [&](const mma::MmaInstruction& instruction, int ilp) {
    if (runs_on(target, instruction)) {
      cases.push_back({MatrixInstruction{instruction}, 1, 1});
      cases.push_back({MatrixInstruction{instruction}, 8, ilp});
    }
  };
  if (target.architecture == "volta") {
    for (const DataType accumulator : {DataType::kF32, DataType::kF16}) {
      add({{8, 8, 4}, DataType::kF16, DataType::kF16, accumulator}, 3);
    }
  }
  if (target.architecture == "turing") {
    add({{8, 8, 16}, DataType::kS8, DataType::kS8, DataType::kS32}, 4);
  }
  if (spec.sm.tensor_core.f64_multipliers > 0) {
    add({{8, 8, 4}, DataType::kF64, DataType::kF64, DataType::kF64}, 2);
  }
}

// Luo et al., arXiv 2402.13499 and 2501.12084, Tables 8 to 10.
void add_wgmma_cases(std::vector<MicrobenchCase>& cases) {
  struct Row {
    int n, k;
    DataType operand, accumulator;
    bool sparse;
  };
  constexpr std::array kRows{
      Row{256, 16, DataType::kF16, DataType::kF16, false},
      Row{256, 8, DataType::kTf32, DataType::kF32, false},
      Row{256, 32, DataType::kE4m3, DataType::kF16, false},
      Row{256, 32, DataType::kE4m3, DataType::kF32, false},
      Row{256, 32, DataType::kS8, DataType::kS32, false},
      Row{256, 16, DataType::kF16, DataType::kF32, false},
      Row{128, 16, DataType::kF16, DataType::kF32, false},
      Row{64, 16, DataType::kF16, DataType::kF32, false},
      Row{32, 16, DataType::kF16, DataType::kF32, false},
      Row{16, 16, DataType::kF16, DataType::kF32, false},
      Row{8, 16, DataType::kF16, DataType::kF32, false},
      Row{256, 32, DataType::kF16, DataType::kF32, true},
  };
  for (const Row& row : kRows) {
    const mma::MmaInstruction instruction{.shape = {64, row.n, row.k},
                                          .a_type = row.operand,
                                          .b_type = row.operand,
                                          .accumulator = row.accumulator,
                                          .sparse = row.sparse,
                                          .family = mma::MmaFamily::kWgmma};
    for (const bool a_in_registers : {false, true}) {
      cases.push_back({MatrixInstruction{instruction, a_in_registers}, 4, 1});
    }
  }
}

// SemiAnalysis, Dissecting Nvidia Blackwell, 2026: the peak from 128 columns on, below it what 128
// bytes of shared memory per cycle leave.
void add_tcgen05_cases(std::vector<MicrobenchCase>& cases) {
  for (const int n : {256, 128, 64, 32, 16}) {
    const mma::MmaInstruction instruction{.shape = {128, n, 16},
                                          .a_type = DataType::kF16,
                                          .b_type = DataType::kF16,
                                          .accumulator = DataType::kF32,
                                          .family = mma::MmaFamily::kTcgen05};
    cases.push_back({MatrixInstruction{instruction}, 4, 1});
  }
}

void add_load_cases(const mma::Target& target, std::vector<MicrobenchCase>& cases) {
  // Sun et al., Tables 9 and 10.
  constexpr std::array<std::pair<int, int>, 3> kBest{{{8, 4}, {4, 4}, {4, 2}}};
  for (int i = 0; has_ldmatrix(target) && i < 3; ++i) {
    const SharedLoad load{1 << i, 1, true};
    cases.push_back({load, 1, 1});
    cases.push_back({load, kBest[static_cast<std::size_t>(i)].first,
                     kBest[static_cast<std::size_t>(i)].second});
  }
  for (const int ways : {1, 2, 4, 8}) {
    cases.push_back({SharedLoad{1, ways, false}, 1, 1});
  }
}

/// The number between `prefix` and `suffix` of `name`; 0 where there is none.
int number_in(std::string_view name, std::string_view prefix, std::string_view suffix = "") {
  if (name.size() < prefix.size() + suffix.size() || !name.starts_with(prefix) ||
      !name.ends_with(suffix)) {
    return 0;
  }
  int number = 0;
  const char* const end = name.data() + name.size() - suffix.size();
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, number);
  return error == std::errc() && stop == end ? number : 0;
}

SharedLoad parse_load(const std::string& name) {
  for (const int registers : {1, 2, 4}) {
    if (name == "ldmatrix.x" + std::to_string(registers)) {
      return {registers, 1, true};
    }
  }
  const int ways = name == "ld.shared.u32" ? 1 : number_in(name, "ld.shared.u32 ", "-way");
  if (ways >= 1 && ways <= 32) {
    return {1, ways, false};
  }
  throw base::InputError("'" + name +
                         "' is no load of shared memory: ldmatrix.x1, ldmatrix.x2, ldmatrix.x4, "
                         "ld.shared.u32, or ld.shared.u32 N-way with N from 1 to 32");
}

constexpr std::array kGlobalLoads{std::pair{"ld.global.ca.u32", 1},
                                  std::pair{"ld.global.ca.v4.u32", 4}};

GlobalLoad parse_global_load(const std::string& name) {
  for (const auto& [known, registers] : kGlobalLoads) {
    if (name == known) {
      return {registers};
    }
  }
  throw base::InputError("'" + name +
                         "' is no load of global memory: ld.global.ca.u32 or ld.global.ca.v4.u32");
}

constexpr std::string_view kInTurn = " in turn";
constexpr std::string_view kCopy = "cp.async ";
constexpr std::string_view kBulkCopy = "cp.async.bulk ";
constexpr int kLongestCopy = 1 << 16;

AsyncCopy parse_copy(const std::string& name) {
  const int bulk = number_in(name, kBulkCopy);
  if (bulk > 0 && bulk <= kLongestCopy && bulk % 16 == 0) {
    return {bulk, true};
  }
  const int bytes = number_in(name, kCopy);
  if (bytes == 4 || bytes == 8 || bytes == 16) {
    return {bytes, false};
  }
  throw base::InputError(
      "'" + name +
      "' is no copy: cp.async 16 (or 8, 4), or cp.async.bulk with a multiple of 16 "
      "bytes up to " +
      std::to_string(kLongestCopy));
}

}  // namespace

bool has_ldmatrix(const mma::Target& target) {
  return target.name != "sm_70";
}

std::string runs_as(const mma::CatalogueEntry& entry, const mma::MmaInstruction& instruction) {
  if (!entry.sass.empty()) {
    return entry.sass;
  }
  for (const mma::CatalogueEntry& on_hopper : mma::instructions(mma::find_target("sm_90"))) {
    if (on_hopper.covers(instruction)) {
      return on_hopper.sass;
    }
  }
  return "";
}

bool are_two(std::string_view machine_instructions) {
  return machine_instructions.ends_with(" x2");
}

std::string name_of(const BenchInstruction& instruction) {
  if (const auto* copy = std::get_if<AsyncCopy>(&instruction)) {
    return std::string(copy->bulk ? kBulkCopy : kCopy) + std::to_string(copy->bytes);
  }
  if (const auto* load = std::get_if<SharedLoad>(&instruction)) {
    return load->matrix ? "ldmatrix.x" + std::to_string(load->registers)
                        : "ld.shared.u32 " + std::to_string(load->conflict_ways) + "-way";
  }
  if (const auto* load = std::get_if<GlobalLoad>(&instruction)) {
    return load->registers == 1 ? kGlobalLoads[0].first : kGlobalLoads[1].first;
  }
  const auto& matrix = std::get<MatrixInstruction>(instruction);
  const bool warpgroup = matrix.instruction.family == mma::MmaFamily::kWgmma;
  return matrix.instruction.ptx_name() + (!warpgroup ? "" : matrix.a_in_registers ? " rs" : " ss");
}

BenchInstruction parse_bench_instruction(const std::string& name) {
  if (name.starts_with("ld.global")) {
    return parse_global_load(name);
  }
  if (name.starts_with("ld")) {
    return parse_load(name);
  }
  if (name.starts_with("cp.async")) {
    return parse_copy(name);
  }
  const bool rs = name.ends_with(" rs");
  const bool ss = name.ends_with(" ss");
  const bool in_turn = name.ends_with(kInTurn);
  const std::size_t suffix = rs || ss  ? std::string_view(" rs").size()
                             : in_turn ? kInTurn.size()
                                       : 0;
  const mma::MmaInstruction instruction =
      mma::parse_instruction(name.substr(0, name.size() - suffix));
  if ((rs || ss) && instruction.family != mma::MmaFamily::kWgmma) {
    throw base::InputError("'" + name + "': rs and ss belong to wgmma");
  }
  if (in_turn &&
      (!instruction.sparse || mma::operand_registers(instruction).metadata_selectors < 2)) {
    throw base::InputError("'" + name + "': the instruction has no selectors to take in turn");
  }
  return MatrixInstruction{instruction, rs, in_turn};
}

std::vector<MicrobenchCase> published_cases(const gpu::GpuSpec& spec) {
  const mma::Target& target = mma::find_target(spec.instruction_set);
  std::vector<MicrobenchCase> cases;
  add_mma_cases(target, cases);
  add_other_mma_cases(spec, target, cases);
  if (spec.sm.has(mma::MmaFamily::kWgmma)) {
    add_wgmma_cases(cases);
  }
  if (spec.sm.has(mma::MmaFamily::kTcgen05)) {
    add_tcgen05_cases(cases);
  }
  // Without a selector that is wide enough the dense rows remain.
  std::erase_if(cases, [&](const MicrobenchCase& row) {
    const mma::MmaInstruction& instruction =
        std::get<MatrixInstruction>(row.instruction).instruction;
    return instruction.sparse &&
           instruction.sparse_pattern().candidates() > spec.sm.tensor_core.selector_inputs;
  });
  add_load_cases(target, cases);
  if (spec.sm.l1_and_shared_memory > base::Bytes()) {
    // RRZE-HPC gpu-benches, gpu-latency and gpu-l1-cache.
    cases.push_back({GlobalLoad{1}, 1, 1});
    cases.push_back({GlobalLoad{4}, 32, 1});
  }
  return cases;
}

}  // namespace sptc::microbench
