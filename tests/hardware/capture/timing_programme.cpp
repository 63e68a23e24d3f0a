// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/timing_programme.h"

#include "models/mma/catalogue.h"
#include "models/numerics/data_type_info.h"
#include "tests/hardware/capture/case_generator.h"
#include "tests/hardware/capture/element_source.h"
#include "tests/hardware/capture/kernel_list.h"
#include "tests/hardware/capture/operand_image.h"
#include "tests/hardware/capture/timing_device.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sptc::hardware {
namespace {

using Json = nlohmann::ordered_json;
using mma::MmaInstruction;

constexpr int kRounds = 256;  ///< between the two lengths that are compared
constexpr int kMaxIlp = 6;
// Of the time for all that is timed; GEMMs and power take what is left.
constexpr double kMicrobenchShare = 0.35;
constexpr double kMemoryShare = 0.5;

/// Cycles per round from two lengths: what does not grow with the rounds drops out.
template <typename CyclesOf>
double cycles_per_round(CyclesOf cycles_of, int repeats) {
  constexpr int kShort = 64;
  long long shorter = std::numeric_limits<long long>::max();
  long long longer = shorter;
  for (int i = 0; i < repeats; ++i) {
    shorter = std::min<long long>(shorter, cycles_of(kShort));
    longer = std::min<long long>(longer, cycles_of(kShort + kRounds));
  }
  return static_cast<double>(longer - shorter) / kRounds;
}

/// Registers of one case: zeros, or normal values (random bits for integers); metadata is legal.
MmaLaunch operands_of(const MmaInstruction& instruction, bool random, std::uint64_t seed) {
  CaseSet set = defined_cases(instruction, seed, 1);
  const bool is_float = numerics::info(instruction.a_type).is_float();
  const std::string wanted(name(is_float ? Category::kNormal : Category::kUniformBits));
  const auto category = static_cast<std::uint64_t>(std::find(set.categories.begin(), set.categories.end(), wanted) -
                                                   set.categories.begin());
  const auto found = std::find(set.category_of_case.begin(), set.category_of_case.end(), category);
  const auto index = static_cast<std::size_t>(found - set.category_of_case.begin());
  if (!random) {
    for (check::vectors::BitArray* const array : {&set.operands.a, &set.operands.b, &set.operands.c}) {
      std::fill(array->bits.begin(), array->bits.end(), 0);
    }
  }
  const OperandImage image(instruction);
  MmaLaunch launch;
  launch.ptx = instruction.ptx_name();
  image.append(set.operands, index, launch);
  if (instruction.sparse) {
    launch.metadata =
        image.metadata(set.nibbles[index], 0, std::vector<std::uint32_t>(static_cast<std::size_t>(image.lanes())));
  }
  return launch;
}

struct Point {
  std::string instruction;
  bool sparse;
  int warps, ilp;
  bool random;
  long long macs;  ///< logical, of one instruction
};

template <typename CyclesOf>
void time_point(RowTable& table, const Point& point, int repeats, CyclesOf cycles_of) {
  table.row({{"instruction", point.instruction},
             {"sparse", point.sparse},
             {"warps", point.warps},
             {"ilp", point.ilp},
             {"data", point.random ? "random" : "zeros"},
             {"rounds", kRounds},
             {"repeats", repeats},
             {"latency_cycles", nullptr},
             {"fma_per_clk_per_sm", nullptr}},
            [&](Json& row) {
              const double cycles = cycles_per_round(cycles_of, repeats);
              const int groups = point.instruction.starts_with("wgmma") ? 4 : 1;
              row["latency_cycles"] = cycles;
              row["fma_per_clk_per_sm"] = static_cast<double>(point.macs) * point.ilp * (point.warps / groups) / cycles;
            });
}

void time_mma(RowTable& table, const TimingProgramme& programme, const mma::Target& target, TimingDevice& timing) {
  const std::vector<int> warps = programme.quick ? std::vector{1, 4, 8} : std::vector{1, 2, 4, 8, 16};
  const int repeats = programme.quick ? 2 : 4;
  for (const std::string& ptx : timed_mma()) {
    const MmaInstruction instruction = mma::parse_instruction(ptx);
    const auto entries = mma::instructions(target);
    if (std::none_of(entries.begin(), entries.end(), [&](const mma::CatalogueEntry& entry) {
          return entry.covers(instruction) && !entry.is_software;
        })) {
      continue;
    }
    const long long macs = 1LL * instruction.shape.m * instruction.shape.n * instruction.shape.k;
    for (const bool random : {false, true}) {
      const MmaLaunch operands = operands_of(instruction, random, programme.seed);
      for (const int warp_count : warps) {
        for (int ilp = 1; ilp <= kMaxIlp; ++ilp) {
          time_point(table, {ptx, instruction.sparse, warp_count, ilp, random, macs}, repeats,
                     [&](int rounds) { return timing.mma_cycles(operands, warp_count, ilp, rounds); });
        }
      }
    }
  }
}

void time_wgmma(RowTable& table, const TimingProgramme& programme, TimingDevice& timing) {
  const std::vector<TimedWgmma> list = timing.timed_wgmma();
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const bool random : {false, true}) {
      for (const int groups : {1, 2}) {
        const long long macs = 64LL * list[i].n * list[i].macs_per_row_and_column;
        time_point(table, {list[i].ptx, list[i].sparse, 4 * groups, 1, random, macs}, programme.quick ? 2 : 4,
                   [&](int rounds) { return timing.wgmma_cycles(i, groups, rounds, random); });
      }
    }
  }
}

constexpr int kRepeats = 3;
constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

/// What an item about memory measures with.
struct MemoryRun {
  TimingDevice& timing;
  double capability;  ///< rows that need a later one are absent
  bool quick;

  void require(double needed, const char* what) const {
    if (capability < needed) {
      throw AbsentError(what);
    }
  }
};

/// Cycles of a round that moves `bytes`, and their rate.
template <typename CyclesOf>
void time_moves(Json& row, double bytes, CyclesOf cycles_of) {
  const double cycles = cycles_per_round(cycles_of, kRepeats);
  row["latency_cycles"] = cycles;
  row["bytes_per_clk_per_sm"] = bytes / cycles;
}

void time_shared(RowTable& table, const MemoryRun& run) {
  for (const int matrices : {1, 2, 4}) {
    for (const int warps : {1, 2, 4, 8}) {
      for (const int ilp : {1, 2, 4}) {
        table.row({{"kind", "ldmatrix"}, {"variant", "x" + std::to_string(matrices)}, {"warps", warps}, {"ilp", ilp}},
                  [&](Json& row) {
                    run.require(7.5, "ldmatrix needs sm_75");
                    time_moves(row, 128.0 * matrices * warps * ilp,
                               [&](int rounds) { return run.timing.ldmatrix_cycles(matrices, warps, ilp, rounds); });
                  });
      }
    }
  }
  for (const int ways : {1, 2, 4, 8, 16, 32}) {
    table.row({{"kind", "ld_shared"}, {"conflict_ways", ways}}, [&](Json& row) {
      row["latency_cycles"] =
          cycles_per_round([&](int rounds) { return run.timing.ld_shared_cycles(ways, rounds); }, kRepeats);
    });
  }
}

void time_cp_async(RowTable& table, const MemoryRun& run) {
  for (const int bytes : {4, 8, 16}) {
    for (const int threads : {32, 128, 256}) {
      for (const int in_flight : {1, 4}) {
        table.row({{"kind", "cp_async"}, {"bytes_per_thread", bytes}, {"threads", threads}, {"in_flight", in_flight}},
                  [&](Json& row) {
                    run.require(8.0, "cp.async needs sm_80");
                    time_moves(row, 1.0 * bytes * threads * in_flight, [&](int rounds) {
                      return run.timing.cp_async_cycles(bytes, threads, in_flight, rounds);
                    });
                  });
      }
    }
  }
}

void time_tma(RowTable& table, const MemoryRun& run) {
  for (const int bytes : {1024, 4096, 8192}) {
    for (const int in_flight : {1, 2, 4}) {
      table.row({{"kind", "tma"}, {"bytes", bytes}, {"in_flight", in_flight}}, [&](Json& row) {
        run.require(9.0, "bulk copies need sm_90");
        time_moves(row, 1.0 * bytes * in_flight,
                   [&](int rounds) { return run.timing.tma_cycles(bytes, in_flight, rounds); });
      });
    }
  }
}

std::vector<std::size_t> footprints(bool quick) {
  if (quick) {
    return {1 * kMiB, 8 * kMiB, 32 * kMiB, 256 * kMiB};
  }
  return {256 * kKiB, 1 * kMiB,  4 * kMiB,  8 * kMiB,  16 * kMiB,  20 * kMiB,  24 * kMiB, 32 * kMiB,
          40 * kMiB,  48 * kMiB, 64 * kMiB, 96 * kMiB, 128 * kMiB, 256 * kMiB, 512 * kMiB};
}

void time_chases(RowTable& table, const MemoryRun& run) {
  const auto chase = [&](std::size_t footprint, std::size_t stride, bool through_l1) {
    table.row({{"kind", "pointer_chase"},
               {"footprint_bytes", footprint},
               {"stride_bytes", stride},
               {"cache", through_l1 ? "ca" : "cg"}},
              [&](Json& row) {
                const ChaseResult result = run.timing.chase_cycles(footprint, stride, through_l1);
                row["latency_cycles"] = result.cycles;
                row["clock_mhz"] = std::round(result.clock_mhz);
              });
  };
  for (const std::size_t footprint : {16 * kKiB, 64 * kKiB}) {
    chase(footprint, 128, true);
  }
  for (const std::size_t footprint : footprints(run.quick)) {
    chase(footprint, 512, false);
  }
}

Json json_of(const L2Line& line) {
  return {{"sm", line.sm}, {"line", line.line}, {"first_cycles", line.first_cycles}, {"latency_cycles", line.cycles}};
}

void time_lines(RowTable& table, const MemoryRun& run) {
  std::vector<L2Line> lines;
  table.row({{"kind", "l2_line"}}, [&](Json& row) {
    lines = run.timing.l2_line_cycles(run.quick ? 16 : 64);
    row.update(json_of(lines.front()));
  });
  for (std::size_t i = 1; i < lines.size(); ++i) {
    Json point{{"kind", "l2_line"}};
    point.update(json_of(lines[i]));
    table.row(point, [](Json&) {});
  }
}

void time_bandwidth(RowTable& table, const MemoryRun& run) {
  std::vector<std::size_t> all = footprints(run.quick);
  all.push_back(1024 * kMiB);
  for (const auto& [operation, word] :
       {std::pair{BandwidthOperation::kRead, "read"}, std::pair{BandwidthOperation::kWrite, "write"},
        std::pair{BandwidthOperation::kCopy, "copy"}}) {
    for (const std::size_t footprint : all) {
      table.row({{"kind", "bandwidth"}, {"operation", word}, {"footprint_bytes", footprint}},
                [&, which = operation](Json& row) {
                  std::vector<double> rates = run.timing.bandwidth_gb_per_s(which, footprint, run.quick ? 5 : 15);
                  std::sort(rates.begin(), rates.end());
                  row["gb_per_s"] = rates[rates.size() / 2];
                  row["launches"] = rates.size();
                });
    }
  }
}

}  // namespace

void capture_timing(CaptureWriter& writer, const TimingProgramme& programme, Device& device) {
  TimingDevice& timing = *device.timing();
  const auto share = [&](double fraction) {
    return programme.start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                 (programme.deadline - programme.start) * fraction);
  };
  const std::chrono::seconds limit = programme.item_limit();
  const auto usable = [&] { return device.usable(); };
  writer.item("nvml", kItemLimit, [&]() -> ItemOutcome {
    if (const std::string why = timing.why_no_power(); !why.empty()) {
      throw AbsentError(why);
    }
    return {};
  });
  // An item for each kind of kernel: one that spoils the device takes nothing from the next.
  const auto rows = [&](const std::string& name, double until, const char* file, auto measure) {
    writer.item(name, limit, [&] {
      RowTable table(share(until), usable);
      measure(table);
      append_rows(writer, file, {{"clock_mhz", json_or_null(timing.clock_mhz())}}, table.rows());
      if (table.all_absent()) {
        throw AbsentError(table.rows().front()["reason"].get<std::string>());
      }
      return table.outcome(file);
    });
  };
  rows("microbench/mma", kMicrobenchShare, "microbench.json",
       [&](RowTable& table) { time_mma(table, programme, mma::find_target(device.info().target), timing); });
  if (!timing.timed_wgmma().empty()) {
    rows("microbench/wgmma", kMicrobenchShare, "microbench.json",
         [&](RowTable& table) { time_wgmma(table, programme, timing); });
  }
  const MemoryRun run{timing, std::stod(device.info().compute_capability), programme.quick};
  using Measure = void (*)(RowTable&, const MemoryRun&);
  for (const auto& [name, measure] : {std::pair<const char*, Measure>{"chase", time_chases},
                                      {"bandwidth", time_bandwidth},
                                      {"shared", time_shared},
                                      {"cp_async", time_cp_async},
                                      {"l2_line", time_lines},
                                      {"tma", time_tma}}) {
    rows(std::string("memory/") + name, kMemoryShare, "memory.json",
         [&, which = measure](RowTable& table) { which(table, run); });
  }
  capture_gemm(writer, programme, device);
}

}  // namespace sptc::hardware
