// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/gemm_simulator.h"

#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "sim/config/architecture.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/waveform.h"
#include "sim/kernels/gemm_operands.h"
#include "sim/kernels/grid_reuse.h"
#include "sim/kernels/kernel_choice.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/in_child.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sptc::gpu {
namespace {

using numerics::DataType;

/// A [m, k] whose groups keep elements 1 and 3, and B all ones.
kernels::GemmOperands second_and_fourth(std::size_t m, std::size_t n, std::size_t k, DataType type = DataType::kF16) {
  const numerics::Word one = numerics::from_double(1, type);
  base::Matrix<numerics::Word> a(m, k);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t col = 1; col < k; col += 2) {
      a(row, col) = one;
    }
  }
  kernels::GemmOperands operands;
  operands.compressed_a = sparsity::compress(a, type);
  operands.b_columns = base::Matrix<numerics::Word>(n, k, one);
  return operands;
}

/// Last value of every signal of a VCD text, by hierarchical name; undefined ones are left out.
std::map<std::string, std::uint64_t> last_values(const std::string& vcd) {
  std::istringstream in(vcd);
  std::map<std::string, std::string> names;
  std::map<std::string, std::uint64_t> values;
  std::vector<std::string> scopes;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first, second, third, fourth, fifth;
    words >> first >> second >> third >> fourth >> fifth;
    if (first == "$scope") {
      scopes.push_back(third);
    } else if (first == "$upscope") {
      scopes.pop_back();
    } else if (first == "$var") {
      std::string name;
      for (const std::string& scope : scopes) {
        name += scope + ".";
      }
      names[fourth] = name + fifth;
    } else if (first == "bx" && names.contains(second)) {
      values.erase(names[second]);
    } else if (!first.empty() && first[0] == 'b' && names.contains(second)) {
      values[names[second]] = std::stoull(first.substr(1), nullptr, 2);
    }
  }
  return values;
}

/// A launch of f16 with the library's stream-K kernel.
GemmRun run_stream_k(GemmSimulator& simulator, const base::GemmShape& shape, bool sparse = false) {
  return simulator.run({shape, 1, DataType::kF16, sparse}, {{}, {}, {}, kernels::Decomposition::kStreamK}, nullptr);
}

TEST(GemmSimulator, RefusesAPatternThatTheSelectorIsTooNarrowFor) {
  GpuSpec spec = config::load_architecture("a100-sxm4-80gb").gpu;
  const kernels::GemmProblem one_of_two{{64, 64, 64}, 1, DataType::kTf32, true};
  const auto with_four = support::in_child<std::int64_t>(
      1, [&] { return std::vector{GemmSimulator(spec, {}).run(one_of_two, {}, nullptr).cycles}; });
  spec.sm.tensor_core.selector_inputs = 2;
  GemmSimulator simulator(spec, {});
  support::expect_input_error(
      [&] {
        simulator.run({{64, 64, 64}, 1, DataType::kF16, true}, {}, nullptr);
      },
      {"2:4 f16", "selector has 2 inputs", "needs 4"});
  // 1:2 needs no more than two, and takes what it takes of four.
  EXPECT_EQ(simulator.run(one_of_two, {}, nullptr).cycles, with_four.front());
}

// DRAM reads more than in closed form here: what an eighth of its bandwidth adds is no work of SMs.
TEST(GemmSimulator, TakesNoLongerThanDramWhereThatWorksInEveryCycle) {
  GpuSpec slow = config::load_architecture("a100-sxm4-80gb").gpu;
  slow.memory.dram_gb_per_s /= 8;
  const std::vector<double> cycles = support::in_child<double>(2, [&] {
    const GemmRun run = GemmSimulator(slow, {}).run({{4096, 4096, 2048}, 1, DataType::kF16, false}, {}, nullptr);
    return std::vector<double>{static_cast<double>(run.cycles), run.budget.dram};
  });
  EXPECT_GE(cycles[0], cycles[1]);
  EXPECT_LT(cycles[0], 1.12 * cycles[1]);
}

TEST(GemmSimulator, StallsOfExtrapolatedCyclesAreThoseOfTheWholeLaunch) {
  for (const auto& [name, sparse] :
       {std::pair{"a100-sxm4-80gb", false}, {"a100-sxm4-80gb", true}, {"h100-sxm5-80gb", true}}) {
    const GpuSpec gpu = config::load_architecture(name).gpu;
    const kernels::GemmProblem problem{{4096, 2048, 2048}, 1, DataType::kF16, sparse};
    const auto stalls = [&](bool extrapolate) {
      return support::in_child<double>(sm::kStallReasons, [&] {
        const GemmRun run = GemmSimulator(gpu, {extrapolate}).run(problem, {}, nullptr);
        EXPECT_NEAR(run.stalls->total(), 1, 1e-12);
        return std::vector<double>(run.stalls->of.begin(), run.stalls->of.end());
      });
    };
    const std::vector<double> whole = stalls(false);
    const std::vector<double> carried_on = stalls(true);
    for (std::size_t i = 0; i < sm::kStallReasons; ++i) {
      EXPECT_NEAR(carried_on[i], whole[i], 0.06)
          << name << (sparse ? " sparse " : " dense ") << sm::kStallNames[i].json;
    }
  }
}

TEST(GemmSimulator, EightSubPartitionsOfHalfTheWidthDoTheWorkOfFour) {
  const GpuSpec four = config::load_architecture("a100-sxm4-80gb").gpu;
  GpuSpec eight = four;
  eight.sm.sub_partitions = 8;
  eight.sm.tensor_core.dot_units /= 2;
  eight.sm.tensor_core.f32_dot_units /= 2;
  const auto cycles_of = [](const GpuSpec& gpu) {
    return support::in_child<double>(1, [&] {
      const GemmRun run = GemmSimulator(gpu, {}).run({{3456, 2048, 1024}, 1, DataType::kF16, true}, {}, nullptr);
      return std::vector{static_cast<double>(run.cycles)};
    });
  };
  const double ratio = cycles_of(eight).front() / cycles_of(four).front();
  EXPECT_GT(ratio, 0.9);
  EXPECT_LT(ratio, 1.25);
  // Ones in half of K, and every warp where it belongs.
  GemmSimulator simulator(eight, {});
  const std::vector operands{second_and_fourth(128, 128, 256)};
  const GemmRun run = simulator.run({{128, 128, 256}, 1, DataType::kF16, true}, {}, &operands);
  const numerics::Word sum = numerics::from_double(128, DataType::kF32);
  EXPECT_EQ(std::count(run.d.front().data(), run.d.front().data() + run.d.front().size(), sum), 128 * 128);
}

// The part that one warp has of a k-tile of 1024 tf32 is 128 KiB.
TEST(GemmSimulator, ACopyMayBeAsLongAsSharedMemoryHolds) {
  const kernels::KernelOverrides tile{base::GemmShape{32, 8, 1024}, 1, {}};
  for (const char* const name : {"a100-sxm4-80gb", "h100-sxm5-80gb"}) {
    const GpuSpec gpu = config::load_architecture(name).gpu;
    const auto cycles = support::in_child<std::int64_t>(2, [&] {
      GemmSimulator simulator(gpu, {});
      std::vector<std::int64_t> of_variants;
      for (const bool sparse : {false, true}) {
        const kernels::GemmProblem problem{{96, 96, 4096}, 1, DataType::kTf32, sparse};
        of_variants.push_back(simulator.run(problem, tile, nullptr).cycles);
      }
      return of_variants;
    });
    for (const bool sparse : {false, true}) {
      const kernels::GemmProblem problem{{96, 96, 4096}, 1, DataType::kTf32, sparse};
      const auto closed_form = static_cast<double>(analytic_gemm(problem, tile, gpu, {}).cycles);
      // Which has fragments loaded behind other work, where one stage lets them wait.
      EXPECT_GT(static_cast<double>(cycles[sparse ? 1 : 0]), 0.9 * closed_form) << name;
      EXPECT_LT(static_cast<double>(cycles[sparse ? 1 : 0]), 2 * closed_form) << name;
    }
  }
}

TEST(GemmSimulator, StreamKEvensOutALastRoundThatFillsFewSms) {
  GemmSimulator simulator(config::load_architecture("a100-sxm4-80gb").gpu, {});
  const auto cycles = [&](std::int64_t rows_of_tiles, std::int64_t columns, kernels::Decomposition how) {
    const kernels::GemmProblem problem{{256 * rows_of_tiles, 128 * columns, 4096}, 1, DataType::kF16, false};
    const GemmRun run = simulator.run(problem, {base::GemmShape{256, 128, 32}, {}, {}, how}, nullptr);
    EXPECT_EQ(run.kernel.ctas_per_sm, 1);
    EXPECT_EQ(run.kernel.stream_k, how == kernels::Decomposition::kStreamK);
    return static_cast<double>(run.cycles);
  };
  using enum kernels::Decomposition;
  // 110 tiles on 108 SMs: two rounds, or one and a fiftieth and what the partial sums cost.
  const double two_rounds = cycles(11, 10, kDataParallel);
  const double streamed = cycles(11, 10, kStreamK);
  EXPECT_LT(streamed, 0.62 * two_rounds);
  EXPECT_GT(streamed, 110.0 / 108 * 256 * 128 * 4096 / 1024);  // what the multipliers need
  // 54 tiles: half of the SMs have none, or each half a tile.
  EXPECT_LT(cycles(9, 6, kStreamK), 0.75 * cycles(9, 6, kDataParallel));
  // 108 tiles: nothing to even out.
  EXPECT_EQ(cycles(12, 9, kStreamK), cycles(12, 9, kDataParallel));
}

/// Parts of its time [0..1] that a launch of all SMs, of which nothing is carried on and no cycles
/// are raised to a bound, has each resource work for: what was counted, at the rate of `gpu`.
std::vector<double> busy_parts(const GpuSpec& gpu, const kernels::GemmProblem& problem,
                               const kernels::KernelOverrides& overrides) {
  return support::in_child<double>(4, [&] {
    GemmSimulator simulator(gpu, {false});
    const GemmRun run = simulator.run(problem, overrides, nullptr);
    EXPECT_TRUE(run.activity);
    const memory::MemoryBytes& moved = run.traffic.l2_and_dram;
    const double macs = gpu.sms * gpu.sm.macs_per_cycle(16, numerics::DataType::kF32);
    const auto cycles = static_cast<double>(run.cycles);
    return std::vector{static_cast<double>(run.activity->executed_macs) / macs / cycles,
                       run.budget.shared_memory / cycles,
                       static_cast<double>(moved.l2()) / gpu.memory.l2_bytes_per_cycle / cycles,
                       static_cast<double>(moved.dram_read) / gpu.memory.dram_bytes_per_cycle(run.clock_mhz) / cycles};
  });
}

void expect_nothing_works_longer(const std::string& gpu, const kernels::GemmProblem& problem,
                                 const kernels::KernelOverrides& overrides) {
  const char* const resources[]{"tensor cores", "shared memory", "L2", "DRAM"};
  const std::vector<double> parts = busy_parts(config::load_architecture(gpu).gpu, problem, overrides);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_GT(parts[i], 0) << gpu << ", " << resources[i];
    EXPECT_LE(parts[i], 1) << gpu << ", " << resources[i];
  }
}

TEST(GemmSimulator, NothingWorksLongerThanALaunchOfStreamKTakes) {
  for (const auto& [gpu, shape] : {std::pair{"a100-sxm4-80gb", base::GemmShape{256, 384, 512}},
                                   {"a40", {128, 256, 1024}},
                                   {"a100-sxm4-80gb", {64, 64, 64}}}) {
    for (const bool sparse : {false, true}) {
      expect_nothing_works_longer(gpu, {shape, 1, DataType::kF16, sparse},
                                  {{}, {}, {}, kernels::Decomposition::kStreamK});
    }
  }
}

// A line through short grids leads below what the V100's shared memory needs; of the RTX 2080 Ti
// the L1 answers what the L2 has no time for.
TEST(GemmSimulator, NothingWorksLongerThanALaunchThroughRegistersTakes) {
  const kernels::GemmProblem lengthened{{1344, 1024, 2048}, 1, DataType::kF16, false};
  const kernels::KernelOverrides of_v100{base::GemmShape{128, 64, 32}, {}, 1};
  const auto budgets = support::in_child<CycleBudget>(1, [&] {
    GemmSimulator simulator(config::load_architecture("v100-sxm2-16gb").gpu, {});
    return std::vector{simulator.run(lengthened, of_v100, nullptr).budget};
  });
  EXPECT_LE(budgets.front().shared_memory, budgets.front().cycles);
  expect_nothing_works_longer("v100-sxm2-16gb", {{256, 512, 512}, 1, DataType::kF16, false}, of_v100);
  expect_nothing_works_longer("rtx2080ti", {{128, 512, 512}, 1, DataType::kF16, false},
                              {base::GemmShape{64, 32, 64}, {}, 1});
}

// A line through shorter grids led to three times that.
TEST(GemmSimulator, StreamKOfSharedTilesIsSimulatedWhole) {
  GemmSimulator simulator(config::load_architecture("a100-sxm4-80gb").gpu, {});
  const GemmRun run = simulator.run({{384, 1152, 2560}, 1, DataType::kF16, false},
                                    {base::GemmShape{128, 128, 32}, {}, {}, kernels::Decomposition::kStreamK}, nullptr);
  EXPECT_FALSE(run.simulated.extrapolated);
  EXPECT_EQ(run.simulated.cycles, run.cycles);
}

TEST(GemmSimulator, StreamKReadsPartialSumsFromTheL2) {
  GemmSimulator simulator(config::load_architecture("a40").gpu, {false});
  const base::GemmShape shape{1088, 128, 1088};
  const GemmRun run = run_stream_k(simulator, shape);
  ASSERT_TRUE(run.kernel.stream_k);
  EXPECT_EQ(run.traffic.l2_and_dram.dram_read,
            2 * (shape.m + shape.n) * shape.k);  // A and B, once each
  // Partial sums are counted in closed form as the memory counts them.
  const kernels::GemmKernel kernel =
      kernels::choose_kernel({shape, 1, DataType::kF16, false}, {{}, {}, {}, kernels::Decomposition::kStreamK},
                             config::load_architecture("a40").gpu.kernel_target(), false);
  const memory::MemorySpec memory = config::load_architecture("a40").gpu.memory;
  const kernels::MemoryTraffic form = kernels::closed_form_traffic(kernel, kernels::dram_bytes(kernel, memory, 84), 84);
  EXPECT_GT(form.l2_and_dram.dram_written, 4 * shape.m * shape.n);
  EXPECT_NEAR(static_cast<double>(form.l2_and_dram.dram_written),
              static_cast<double>(run.traffic.l2_and_dram.dram_written),
              0.01 * static_cast<double>(form.l2_and_dram.dram_written));
  EXPECT_NEAR(static_cast<double>(form.l2_and_dram.l2()), static_cast<double>(run.traffic.l2_and_dram.l2()),
              0.01 * static_cast<double>(form.l2_and_dram.l2()));
}

TEST(GemmSimulator, SlicesOfKAreAsDeepAsWhatIsLeftForThem) {
  GemmSimulator simulator(config::load_architecture("a100-sxm4-80gb").gpu, {false});
  // Five k-tiles in slices of two: the third slice has one, and there is no fourth.
  for (const kernels::GemmProblem& problem : {kernels::GemmProblem{{205, 6, 264}, 1, DataType::kF16, false},
                                              kernels::GemmProblem{{53, 1909, 258}, 1, DataType::kF16, false},
                                              kernels::GemmProblem{{4115, 72, 534}, 1, DataType::kF16, true}}) {
    const base::GemmShape tile{64, 64, problem.sparse ? 128 : 64};
    const GemmRun run = simulator.run(problem, {tile, {}, 4}, nullptr);
    EXPECT_EQ(run.kernel.split_k, 3);
    ASSERT_TRUE(run.activity);
    EXPECT_EQ(run.activity->executed_macs, run.issued_macs);
  }
}

TEST(GemmSimulator, CountsNothingWhereCyclesAreCarriedOn) {
  GemmSimulator simulator(config::load_architecture("a100-sxm4-80gb").gpu, {});
  const GemmRun run = simulator.run({{512, 512, 8192}, 1, DataType::kF16, false}, {}, nullptr);
  EXPECT_TRUE(run.simulated.extrapolated);
  EXPECT_FALSE(run.activity);
}

TEST(GemmSimulator, CountsAllSmsOfAGridThatIsTooShortToBeShortened) {
  const GpuSpec gpu = config::load_architecture("t4").gpu;
  const auto run_all = [&](bool extrapolate) {
    return support::in_child<std::int64_t>(5, [&] {
      GemmSimulator simulator(gpu, {extrapolate});
      const GemmRun run = simulator.run({{300, 600, 288}, 1, DataType::kF16, false}, {}, nullptr);
      return std::vector<std::int64_t>{run.cycles, run.traffic.l2_and_dram.l2_read, run.traffic.l2_and_dram.dram_read,
                                       run.traffic.l2_and_dram.dram_written,
                                       run.activity ? run.activity->executed_macs : -1};
    });
  };
  EXPECT_EQ(run_all(true), run_all(false));
}

/// The waveform of `launches` of a sparse GEMM of one k-tile of `type` each, with values.
std::string waveform_of(const std::vector<DataType>& types, std::int64_t k, const LogWindow& window = {},
                        const WaveformElement& element = {}) {
  Waveform waveform(window, element);
  GemmSimulator simulator(config::load_architecture("a100-sxm4-80gb").gpu, {true, {&waveform}});
  for (const DataType type : types) {
    const std::vector<kernels::GemmOperands> operands{second_and_fourth(32, 32, k, type)};
    simulator.run({{32, 32, k}, 1, type, true}, {base::GemmShape{32, 32, k}, 3, {}}, &operands);
  }
  return waveform.text();
}

TEST(GemmSimulator, WaveformShowsMetadataSelectingOperands) {
  const auto values = last_values(waveform_of({DataType::kF16}, 64));
  const std::string core = "sm0.sub_partition0.";
  // Indices 1 and 3 of every group: nibble 0b1101. The last step of the instruction, compressed
  // elements 8 to 15, meets rows 17, 19, 21, ... of B.
  EXPECT_EQ(values.at(core + "fetch.metadata_0"), 0b1101U);
  for (std::uint64_t t = 0; t < 8; ++t) {
    const std::string number = std::to_string(t);
    EXPECT_EQ(values.at(core + "select.row_of_b_" + number), 17 + 2 * t);
    EXPECT_EQ(values.at(core + "select.a_" + number), 1024U);
    EXPECT_EQ(values.at(core + "select.a_word_" + number), 0x3C00U);
    EXPECT_EQ(values.at(core + "select.b_word_" + number), 0x3C00U);
    EXPECT_EQ(values.at(core + "multiply.product_" + number), 1024U * 1024);
  }
  EXPECT_EQ(values.at(core + "round.word"), numerics::from_double(32, DataType::kF32));
}

TEST(GemmSimulator, WaveformIsUndefinedWhereAnInstructionHasNoGroupOrProduct) {
  // s8 has 16 groups and 16 products of a step, f16 half as many.
  const auto values = last_values(waveform_of({DataType::kS8, DataType::kF16}, 128));
  for (int i = 0; i < 16; ++i) {
    for (const auto& [signal, of_f16] : {std::pair{"fetch.metadata_", 0b1101U}, {"multiply.product_", 1024U * 1024}}) {
      const auto found = values.find("sm0.sub_partition0." + (signal + std::to_string(i)));
      ASSERT_EQ(found != values.end(), i < 8) << signal << i;
      if (i < 8) {
        EXPECT_EQ(found->second, of_f16) << signal << i;
      }
    }
  }
}

TEST(GemmSimulator, WaveformHasHandshakesStallsAndNamesInItsWindow) {
  const std::string vcd = waveform_of({DataType::kF16}, 64, {0, 100'000}, {3, 5});
  for (const char* const part : {" clock $end", " valid $end", " ready $end", " cta [31:0] $end", "smma.sp.sync",
                                 "s2:4 ", "sprologue_epilogue ", "smma "}) {
    EXPECT_NE(vcd.find(part), std::string::npos) << part;
  }
  // Times grow, every change names a declared signal.
  std::istringstream lines(vcd);
  std::int64_t now = -1;
  std::set<std::string> declared;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second, width, id;
    words >> first >> second >> width >> id;
    if (first == "$var") {
      declared.insert(id);
    } else if (first[0] == '#') {
      const std::int64_t time = std::stoll(first.substr(1));
      EXPECT_GT(time, now);
      now = time;
    } else if (first[0] != '$') {
      EXPECT_TRUE(declared.contains(second.empty() ? first.substr(1) : second)) << line;
    }
  }
  EXPECT_GT(now, 0);
}

TEST(GemmSimulator, RefusesAWaveformOfInstructionsThatOnlyTakeTime) {
  for (const char* const name : {"h100-sxm5-80gb", "b200"}) {
    SCOPED_TRACE(name);
    support::in_child<std::int64_t>(1, [&] {
      Waveform waveform({}, {});
      GemmSimulator simulator(config::load_architecture(name).gpu, {true, {&waveform}});
      support::expect_input_error(
          [&] {
            simulator.run({{256, 256, 256}, 1, DataType::kF16, false}, {}, nullptr);
          },
          {"no waveform of", "--fidelity datapath"});
      return std::vector<std::int64_t>{testing::Test::HasFailure()};
    });
  }
}

}  // namespace
}  // namespace sptc::gpu
