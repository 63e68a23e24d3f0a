// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/io/text_file.h"
#include "sim/run/microbench/microbench.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sptc::run::microbench {
namespace {

/// Warps and ILP of the runs that are published of an instruction; 0 warps: no more.
using Runs = std::array<std::pair<int, int>, 3>;
constexpr Runs kOne{{{1, 1}}}, kThreeAndTwo{{{1, 1}, {4, 3}, {8, 2}}}, kFourAndThree{{{1, 1}, {4, 4}, {8, 3}}},
    kWarpgroup{{{4, 1}}};

struct PublishedRow {
  std::string_view name;  ///< of wgmma with A in shared memory and in registers
  Runs runs;
  std::string_view architecture = {};  ///< that alone has it so; empty: any
};

constexpr std::array kRows{
    // Sun et al., arXiv 2206.02874, Tables 3 and 6. The ILP of the dense rows is the one that
    // closes warps x ILP x MACs / latency = throughput; Table 6 names 2 for 8 warps. Three of the
    // programs that the authors published (github.com/sunlex0717/DissectingTensorCores) give every
    // chain of mma.sp another selector; the others leave it at 0.
    PublishedRow{"m16n8k16.f32.f16.f16.f32", kThreeAndTwo},
    PublishedRow{"m16n8k8.f32.f16.f16.f32", kFourAndThree},
    PublishedRow{"m16n8k16.f16.f16.f16.f16", kThreeAndTwo},
    PublishedRow{"m16n8k8.f16.f16.f16.f16", kFourAndThree},
    PublishedRow{"m16n8k8.f32.tf32.tf32.f32", kThreeAndTwo},
    PublishedRow{"m16n8k32.s32.s8.s8.s32", kThreeAndTwo},
    PublishedRow{"m16n8k64.s32.s4.s4.s32", kThreeAndTwo},
    PublishedRow{"m16n8k256.s32.b1.b1.s32.xor", kThreeAndTwo},
    PublishedRow{"mma.sp.m16n8k32.f32.f16.f16.f32 in turn", kThreeAndTwo},
    PublishedRow{"mma.sp.m16n8k16.f32.f16.f16.f32 in turn", kThreeAndTwo},
    PublishedRow{"mma.sp.m16n8k32.f16.f16.f16.f16", kThreeAndTwo},
    PublishedRow{"mma.sp.m16n8k16.f16.f16.f16.f16", kThreeAndTwo},
    PublishedRow{"mma.sp.m16n8k16.f32.tf32.tf32.f32 in turn", kThreeAndTwo},
    PublishedRow{"mma.sp.m16n8k8.f32.tf32.tf32.f32", kThreeAndTwo},
    PublishedRow{"mma.sp.m16n8k64.s32.s8.s8.s32", kThreeAndTwo},
    PublishedRow{"mma.sp.m16n8k32.s32.s8.s8.s32", kThreeAndTwo},
    // Raihan et al., ISPASS 2019; Sun et al., Table 5; Abdelkhalik et al., arXiv 2208.11174.
    PublishedRow{"m8n8k4.f32.f16.f16.f32", {{{1, 1}, {8, 3}}}, "volta"},
    PublishedRow{"m8n8k4.f16.f16.f16.f16", {{{1, 1}, {8, 3}}}, "volta"},
    PublishedRow{"m8n8k16.s32.s8.s8.s32", {{{1, 1}, {8, 4}}}, "turing"},
    PublishedRow{"m8n8k4.f64.f64.f64.f64", {{{1, 1}, {8, 2}}}},
    // Luo et al., arXiv 2402.13499 and 2501.12084, Tables 8 to 10.
    PublishedRow{"wgmma.m64n256k16.f16.f16.f16", kWarpgroup},
    PublishedRow{"wgmma.m64n256k8.f32.tf32.tf32", kWarpgroup},
    PublishedRow{"wgmma.m64n256k32.f16.e4m3.e4m3", kWarpgroup},
    PublishedRow{"wgmma.m64n256k32.f32.e4m3.e4m3", kWarpgroup},
    PublishedRow{"wgmma.m64n256k32.s32.s8.s8", kWarpgroup},
    PublishedRow{"wgmma.m64n256k16.f32.f16.f16", kWarpgroup},
    PublishedRow{"wgmma.m64n128k16.f32.f16.f16", kWarpgroup},
    PublishedRow{"wgmma.m64n64k16.f32.f16.f16", kWarpgroup},
    PublishedRow{"wgmma.m64n32k16.f32.f16.f16", kWarpgroup},
    PublishedRow{"wgmma.m64n16k16.f32.f16.f16", kWarpgroup},
    PublishedRow{"wgmma.m64n8k16.f32.f16.f16", kWarpgroup},
    PublishedRow{"wgmma.sp.m64n256k32.f32.f16.f16", kWarpgroup},
    // SemiAnalysis, Dissecting Nvidia Blackwell, 2026: the peak from 128 columns on, below it what
    // 128 bytes of shared memory per cycle leave.
    PublishedRow{"tcgen05.m128n256k16.f32.f16.f16", kWarpgroup},
    PublishedRow{"tcgen05.m128n128k16.f32.f16.f16", kWarpgroup},
    PublishedRow{"tcgen05.m128n64k16.f32.f16.f16", kWarpgroup},
    PublishedRow{"tcgen05.m128n32k16.f32.f16.f16", kWarpgroup},
    PublishedRow{"tcgen05.m128n16k16.f32.f16.f16", kWarpgroup},
    // Sun et al., Tables 9 and 10.
    PublishedRow{"ldmatrix.x1", {{{1, 1}, {8, 4}}}},
    PublishedRow{"ldmatrix.x2", {{{1, 1}, {4, 4}}}},
    PublishedRow{"ldmatrix.x4", {{{1, 1}, {4, 2}}}},
    PublishedRow{"ld.shared.u32 1-way", kOne},
    PublishedRow{"ld.shared.u32 2-way", kOne},
    PublishedRow{"ld.shared.u32 4-way", kOne},
    PublishedRow{"ld.shared.u32 8-way", kOne},
    // RRZE-HPC gpu-benches, gpu-latency and gpu-l1-cache.
    PublishedRow{"ld.global.ca.u32", kOne},
    PublishedRow{"ld.global.ca.v4.u32", {{{32, 1}}}},
};

bool is_there(const gpu::GpuSpec& spec, const PublishedRow& row, const BenchInstruction& bench) {
  if (!row.architecture.empty() && row.architecture != mma::find_target(spec.instruction_set).architecture) {
    return false;
  }
  try {
    require_modelled(spec, bench);
    return true;
  } catch (const base::InputError&) {
    return false;
  }
}

/// The number between `prefix` and `suffix` of `name`; 0 where there is none.
int number_in(std::string_view name, std::string_view prefix, std::string_view suffix = "") {
  if (name.size() < prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix)) {
    return 0;
  }
  int number = 0;
  name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  return io::parse_whole(name, number) ? number : 0;
}

Move parse_load(const std::string& name) {
  for (const int registers : {1, 2, 4}) {
    if (name == "ldmatrix.x" + std::to_string(registers)) {
      return {Move::Kind::kLoadMatrix, registers};
    }
  }
  const int ways = name == "ld.shared.u32" ? 1 : number_in(name, "ld.shared.u32 ", "-way");
  if (ways >= 1 && ways <= 32) {
    return {Move::Kind::kLoadShared, ways};
  }
  throw base::InputError("'" + name +
                         "' is no load of shared memory: ldmatrix.x1, ldmatrix.x2, ldmatrix.x4, "
                         "ld.shared.u32, or ld.shared.u32 N-way with N from 1 to 32");
}

constexpr std::array kGlobalLoads{std::pair{"ld.global.ca.u32", 1}, std::pair{"ld.global.ca.v4.u32", 4}};

Move parse_global_load(const std::string& name) {
  for (const auto& [known, registers] : kGlobalLoads) {
    if (name == known) {
      return {Move::Kind::kLoadGlobal, registers};
    }
  }
  throw base::InputError("'" + name + "' is no load of global memory: ld.global.ca.u32 or ld.global.ca.v4.u32");
}

constexpr std::string_view kInTurn = " in turn";
constexpr std::string_view kWaitedFor = " waited for";
constexpr std::string_view kPair = ".cta_group::2";
constexpr std::string_view kCopy = "cp.async ";
constexpr std::string_view kBulkCopy = "cp.async.bulk ";
constexpr int kLongestCopy = 1 << 16;

Move parse_copy(const std::string& name) {
  const int bulk = number_in(name, kBulkCopy);
  if (bulk > 0 && bulk <= kLongestCopy && bulk % 16 == 0) {
    return {Move::Kind::kBulkCopy, bulk};
  }
  const int bytes = number_in(name, kCopy);
  if (bytes == 4 || bytes == 8 || bytes == 16) {
    return {Move::Kind::kCopy, bytes};
  }
  throw base::InputError("'" + name +
                         "' is no copy: cp.async 16 (or 8, 4), or cp.async.bulk with a multiple of 16 "
                         "bytes up to " +
                         std::to_string(kLongestCopy));
}

std::string cell(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "";
}

/// The rows that are published for the generation of `spec`, as far as the architecture has the
/// instruction, and of sparse ones the inputs of the selector.
std::vector<MicrobenchCase> published_cases(const gpu::GpuSpec& spec) {
  std::vector<MicrobenchCase> cases;
  for (const PublishedRow& row : kRows) {
    const BenchInstruction bench = parse_bench_instruction(std::string(row.name));
    if (!is_there(spec, row, bench)) {
      continue;
    }
    for (const auto& [warps, ilp] : row.runs) {
      if (warps > 0) {
        cases.push_back({bench, warps, ilp});
      }
    }
    if (row.name.starts_with("wgmma")) {
      cases.push_back(cases.back());
      std::get<MatrixInstruction>(cases.back().instruction).a_in_registers = true;
    }
  }
  return cases;
}

std::string matrix_name(const MatrixInstruction& matrix) {
  mma::MmaInstruction whole = matrix.instruction;
  whole.shape.m *= matrix.cta_group;
  std::string name = whole.ptx_name();
  if (matrix.cta_group > 1) {
    name.insert(name.find(".kind::"), kPair);
  }
  if (whole.family == mma::MmaFamily::kWgmma) {
    name += matrix.a_in_registers ? " rs" : " ss";
  } else if (matrix.a_in_registers) {
    name += " ts";
  }
  return matrix.waited_for ? name.append(kWaitedFor) : name;
}

MatrixInstruction parse_matrix(const std::string& name) {
  std::string left = name;
  const auto take = [&left](std::string_view suffix) {
    const bool there = left.ends_with(suffix);
    left.resize(left.size() - (there ? suffix.size() : 0));
    return there;
  };
  const auto refuse_if = [&name](bool wrong, const std::string& why) {
    if (wrong) {
      throw base::InputError("'" + name + "': " + why);
    }
  };
  MatrixInstruction matrix{};
  matrix.waited_for = take(kWaitedFor);
  const bool rs = take(" rs");
  const bool ts = !rs && take(" ts");
  const bool ss = !rs && !ts && take(" ss");
  matrix.a_in_registers = rs || ts;
  matrix.selectors_in_turn = !ss && !matrix.a_in_registers && take(kInTurn);
  if (const std::size_t pair = left.find(kPair); pair != std::string::npos) {
    left.erase(pair, kPair.size());
    matrix.cta_group = 2;
  }
  mma::MmaInstruction& instruction = matrix.instruction;
  instruction = mma::parse_instruction(left);
  const bool is_tcgen05 = instruction.family == mma::MmaFamily::kTcgen05;
  refuse_if((rs && instruction.family != mma::MmaFamily::kWgmma) || (ts && !is_tcgen05) ||
                (ss && !instruction.is_asynchronous()),
            "rs and ss belong to wgmma, ts and ss to tcgen05.mma");
  refuse_if(matrix.waited_for && !is_tcgen05, "'waited for' belongs to tcgen05.mma");
  refuse_if(matrix.cta_group > 1 && (!is_tcgen05 || instruction.shape.m % 2 != 0),
            "cta_group::2 belongs to tcgen05.mma, half of whose rows are those of each SM");
  refuse_if(
      matrix.selectors_in_turn && (!instruction.sparse || mma::operand_registers(instruction).metadata_selectors < 2),
      "the instruction has no selectors to take in turn");
  instruction.shape.m /= matrix.cta_group;
  return matrix;
}

bool is_ordered(const BenchInstruction& instruction) {
  const auto* const matrix = std::get_if<MatrixInstruction>(&instruction);
  return matrix != nullptr && matrix->instruction.ordered_metadata;
}

}  // namespace

std::string name_of(const BenchInstruction& instruction) {
  if (const auto* move = std::get_if<Move>(&instruction)) {
    const std::string amount = std::to_string(move->amount);
    switch (move->kind) {
      case Move::Kind::kLoadMatrix:
        return "ldmatrix.x" + amount;
      case Move::Kind::kLoadShared:
        return "ld.shared.u32 " + amount + "-way";
      case Move::Kind::kLoadGlobal:
        return (move->amount == 1 ? kGlobalLoads[0] : kGlobalLoads[1]).first;
      case Move::Kind::kCopy:
        return std::string(kCopy) + amount;
      case Move::Kind::kBulkCopy:
        return std::string(kBulkCopy) + amount;
    }
  }
  return matrix_name(std::get<MatrixInstruction>(instruction));
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
  return parse_matrix(name);
}

std::vector<MicrobenchCase> asked_cases(const gpu::GpuSpec& spec, const std::string& name, std::optional<int> warps,
                                        std::optional<int> ilp) {
  std::vector<MicrobenchCase> cases = published_cases(spec);
  if (!name.empty()) {
    const BenchInstruction instruction = parse_bench_instruction(name);
    const bool ordered = is_ordered(instruction);
    for (MicrobenchCase& row : cases) {  // those of one spelling are published, for both
      if (auto* const matrix = std::get_if<MatrixInstruction>(&row.instruction);
          matrix != nullptr && matrix->instruction.sparse) {
        matrix->instruction.ordered_metadata = ordered;
      }
    }
    const std::string whole = name_of(instruction);
    std::erase_if(cases, [&](const MicrobenchCase& row) { return name_of(row.instruction) != whole; });
    if (cases.empty() || warps || ilp) {
      const auto* matrix = std::get_if<MatrixInstruction>(&instruction);
      cases = {{instruction, matrix != nullptr ? matrix->instruction.warps() : 1, 1}};
    }
  }
  for (MicrobenchCase& row : cases) {
    row.warps = warps.value_or(row.warps);
    row.ilp = ilp.value_or(row.ilp);
  }
  return cases;
}

std::vector<MicrobenchResult> run_cases(const gpu::GpuSpec& spec, const std::vector<MicrobenchCase>& cases) {
  Microbench microbench(spec);
  std::vector<MicrobenchResult> rows;
  rows.reserve(cases.size());
  for (const MicrobenchCase& row : cases) {
    rows.push_back(microbench.run(row));
  }
  return rows;
}

std::string rows_text(const gpu::GpuSpec& spec, const std::vector<MicrobenchResult>& rows) {
  std::string text = fmt::format(
      "{}: one SM, simulated. Sparse instructions count the zeros that they skip; in turn:\n"
      "every chain of a warp has its metadata in other lanes (selector) than the one before.\n\n"
      "{:<62} {:>6} {:>5} {:>3} {:>9} {:>10} {:>10}\n",
      spec.name, "instruction", "sparse", "warps", "ilp", "latency", "FMA/clk/SM", "B/clk/SM");
  for (const MicrobenchResult& row : rows) {
    text +=
        fmt::format("{:<62} {:>6} {:>5} {:>3} {:>9.1f} {:>10} {:>10}\n",
                    row.instruction + (row.selectors_in_turn ? " in turn" : ""), row.sparse ? "yes" : "no", row.warps,
                    row.ilp, row.latency_cycles, cell(row.fma_per_clk_per_sm, 1), cell(row.bytes_per_clk_per_sm, 1));
  }
  const auto warned = std::find_if(rows.begin(), rows.end(), [](const auto& row) { return !row.warning.empty(); });
  return warned == rows.end()
             ? text
             : text + fmt::format("\nnote: on {} {}\n", mma::find_target(spec.instruction_set).name, warned->warning);
}

std::string rows_csv(const std::vector<MicrobenchResult>& rows) {
  std::string text =
      "instruction,sparse,warps,ilp,latency_cycles,fma_per_clk_per_sm,bytes_per_clk_per_sm,"
      "selectors_in_turn\n";
  for (const MicrobenchResult& row : rows) {
    text +=
        fmt::format("{},{},{},{},{},{},{},{}\n", row.instruction, row.sparse, row.warps, row.ilp, row.latency_cycles,
                    cell(row.fma_per_clk_per_sm, 3), cell(row.bytes_per_clk_per_sm, 3), row.selectors_in_turn);
  }
  return text;
}

std::string rows_json(const gpu::GpuSpec& spec, const std::vector<MicrobenchResult>& rows, std::string_view version) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const MicrobenchResult& row : rows) {
    Json json{{"instruction", row.instruction},
              {"sparse", row.sparse},
              {"selectors_in_turn", row.selectors_in_turn},
              {"warps", row.warps},
              {"ilp", row.ilp},
              {"latency_cycles", row.latency_cycles}};
    if (row.fma_per_clk_per_sm) {
      json["fma_per_clk_per_sm"] = *row.fma_per_clk_per_sm;
    }
    if (row.bytes_per_clk_per_sm) {
      json["bytes_per_clk_per_sm"] = *row.bytes_per_clk_per_sm;
    }
    list.push_back(std::move(json));
  }
  const Json root{
      {"schema", "sptcsim-microbench-1"}, {"version", version}, {"arch", spec.name}, {"rows", std::move(list)}};
  return root.dump(2) + "\n";
}

}  // namespace sptc::run::microbench
