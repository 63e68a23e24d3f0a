// SPDX-License-Identifier: Apache-2.0
//
// Every number of an architecture file, changed in a derived file, moves the answer the right way.
#include "sim/config/architecture_fields.h"
#include "tests/support/program_process.h"
#include "tests/unit/sim/cli/program.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sptc::cli {
namespace {

using nlohmann::json;

struct Change {
  const char* key;  ///< of an ArchitectureField
  double value;
  char time;                ///< '>' longer, '<' shorter, '=' as long
  const char* command;      ///< after "gemm"
  const char* beside = "";  ///< "key=value,key=value" that both have
  const char* arch = "a100-sxm4-80gb";
};

constexpr const char* kSquare = "1024 1024 512 --variants sparse";
constexpr const char* kSmall = "512 512 1024 --variants sparse";
constexpr const char* kTiled = "1024 1024 1024 --tile 64x64x64 --variants sparse";
// Two stages hide little of the latency of the L2.
constexpr const char* kExposed = "1024 1024 1024 --tile 64x64x64 --stages 2 --variants dense";
// Few columns: DRAM delivers the weights and nothing else matters.
constexpr const char* kTwoOfEight = "8192 16 8192 --variants sparse --pattern 2:8";
constexpr const char* kOneOfFour = "8192 16 8192 --variants sparse --pattern 1:4";

const std::vector<Change>& changes() {
  static const std::vector<Change> all{
      {"sms", 54, '>', kSquare},
      {"boost_clock_mhz", 1000, '>', kSquare},
      {"sub_partitions", 2, '>', kSquare},
      {"max_warps", 4, '>', kTiled},
      {"max_ctas", 1, '>', kTiled},
      {"registers", 24576, '>', kSquare},
      {"shared_memory_bytes", 66560, '>', kTiled, "max_shared_memory_per_cta_bytes=65536"},
      {"max_shared_memory_per_cta_bytes", 32768, '>', kSquare},
      {"max_registers_per_thread", 168, '>', kSquare},
      {"reserved_shared_memory_per_cta_bytes", 65536, '>', kTiled},
      {"shared_memory_allocation_bytes", 131072, '>', kTiled},
      {"issue_per_cycle", 2, '<', "2048 2048 512 --variants dense"},
      {"barrier_latency_cycles", 400, '>', kSquare},
      {"shared_memory_banks", 16, '>', kSquare},
      {"shared_memory_bank_bytes_per_cycle", 2, '>', kSquare},
      {"shared_memory_latency_cycles", 300, '>', kSquare},
      {"shared_memory_wavefront_cycles", 16, '>', kSquare},
      {"async_copy_bytes", 0, '>', kSquare},
      {"async_copy_latency_cycles", 2000, '>', kSquare},
      // So large that what a CTA has loaded is there for a later one.
      {"l1_and_shared_memory_bytes", 1 << 24, '<', "8192 4096 128 --variants dense", "async_copy_bytes=0"},
      {"dot_units", 64, '<', kSquare, "f32_dot_units=64"},
      {"dot_width_bytes", 8, '>', kSquare},
      {"f32_dot_units", 16, '>', kSquare},
      {"operand_a_port_bytes_per_cycle", 32, '>', kSquare},
      {"operand_b_port_bytes_per_cycle", 16, '>', kSquare},
      {"accumulator_port_bytes_per_cycle", 32, '>', kSquare},
      {"metadata_port_bytes_per_cycle", 5, '>', kSquare},
      {"register_banks", 1, '>', kSquare, "register_bank_bytes_per_cycle=64"},
      {"register_bank_bytes_per_cycle", 32, '>', kSquare},
      {"reuse_registers", 0, '>', kSquare, "register_bank_bytes_per_cycle=64"},
      {"selector_bytes_per_cycle", 128, '>', kSquare},
      {"selector_inputs", 8, '<', kTwoOfEight},
      {"selector_kept", 1, '<', kOneOfFour},
      {"mma_m", 32, '<', kSquare, "operand_b_port_bytes_per_cycle=16"},
      {"mma_n", 16, '<', kSquare, "operand_a_port_bytes_per_cycle=32"},
      {"mma_k_bytes", 64, '<', kSquare, "accumulator_port_bytes_per_cycle=16"},
      {"accumulator_fraction_bits", 12, '=', kSquare},
      {"accumulator_step_bytes", 8, '>', kSquare},
      {"operand_fetch_latency_cycles", 200, '>', kSmall},
      {"selector_latency_cycles", 200, '>', kSmall},
      {"multiply_latency_cycles", 200, '>', kSmall},
      {"align_add_latency_cycles", 200, '>', kSmall},
      {"round_latency_cycles", 200, '>', kSmall},
      {"write_back_latency_cycles", 200, '>', kSmall},
      {"same_warp_gap_cycles", 40, '>', kSmall},
      {"selector_change_cycles", 40, '>', kSquare},
      {"instruction_window", 1, '>', kSquare},
      {"sm_port_bytes_per_cycle", 8, '>', kSquare},
      {"l2_partitions", 1, '<', kSquare},  // everything is near
      {"l2_capacity_bytes", 262144, '>', "2048 2048 512 --variants sparse"},
      {"l2_bytes_per_cycle", 500, '>', kSquare},
      {"l2_near_latency_cycles", 400, '>', kExposed},
      {"l2_far_latency_cycles", 550, '>', kSmall},
      {"dram_gb_per_s", 200, '>', kSquare},
      {"dram_efficiency_percent", 10, '>', kSquare},
      {"dram_refresh_ns", 3500, '>', kSquare},
      {"dram_refresh_interval_ns", 400, '>', kSquare},
      {"dram_access_latency_cycles", 3000, '>', kSmall},
      {"launch_us", 50, '>', kSmall},
      {"stream_us", 50, '>', "512 512 1024 --variants dense"},
      {"sparse_stream_us", 50, '>', kSmall},
      {"reduction_launch_us", 50, '>', "512 512 4096 --split-k 4 --variants sparse"},
      {"cluster_ctas", 1, '>', "2048 2048 1024 --library cublas-sm90-xmma --variants dense", "", "h100-sxm5-80gb"},
      {"bulk_fill_bytes_per_cycle", 16, '>', "2048 2048 1024 --variants sparse", "", "h100-sxm5-80gb"},
      {"bulk_edge_elements_per_cycle", 1, '>', "2048 64 2048 --dtype bf16 --variants sparse", "", "h100-sxm5-80gb"},
      {"sparse_launch_us", 50, '>', kSmall, "", "h100-sxm5-80gb"},
      {"tcgen05_interval_cycles", 400, '>', "2048 2048 1024 --variants dense", "", "b200"}};
  return all;
}

const config::ArchitectureField& field_of(const std::string& key) {
  for (const config::ArchitectureField& field : config::architecture_fields()) {
    if (field.key == key) {
      return field;
    }
  }
  throw std::runtime_error("no field " + key);
}

class DesignSpace : public JsonProgram {
 protected:
  void set(json& document, const std::string& key, double value) const {
    const config::ArchitectureField& field = field_of(key);
    const std::string pointer = std::string(field.section) + "/" + key;
    json number = {{"evidence", "assumed"}, {"source", "a test"}};
    number["value"] = field.integer ? json(static_cast<std::int64_t>(value)) : json(value);
    document[json::json_pointer(pointer)] = std::move(number);
  }

  /// The variant that `command` simulates on `arch` with the changes of `document`: a run number
  /// tells its files from those of others.
  json measure(json document, const std::string& command, std::string arch, std::size_t run) const {
    const std::string file = path("run" + std::to_string(run));
    if (!document.empty()) {
      document["base"] = arch;
      document["name"] = "changed";
      arch = file + ".json";
      std::ofstream(arch) << document;
    }
    std::istringstream words("gemm " + command + " --arch " + arch +
                             " --clock boost --kernels library --check none --quiet --format json");
    const std::vector<std::string> arguments(std::istream_iterator<std::string>(words), {});
    const int code = support::wait_for_program(support::start_program(arguments, file + ".out", file + ".err"));
    EXPECT_EQ(code, 0) << command << ": " << read(file + ".err");
    if (code != 0) {
      return {{"time_us", 0}, {"cycles", 0}};
    }
    const json op = json::parse(read(file + ".out"))["operations"][0];
    return op["sparse"].is_null() ? op["dense"] : op["sparse"];
  }

  /// What all changes are made to, and what they make of it: a figure of each, before and after.
  std::vector<std::pair<double, double>> measure_all() const {
    using Key = std::array<std::string, 3>;  // document, command, architecture
    std::map<Key, std::size_t> run_of;
    std::vector<Key> runs;
    const auto ask = [&](const json& document, const Change& change) {
      const Key key{document.dump(), change.command, change.arch};
      const auto [at, added] = run_of.try_emplace(key, runs.size());
      if (added) {
        runs.push_back(key);
      }
      return at->second;
    };
    std::vector<std::pair<std::size_t, std::size_t>> asked;
    for (const Change& change : changes()) {
      const auto [before, after] = documents_of(change);
      const std::size_t first = ask(before, change);
      asked.emplace_back(first, ask(after, change));
    }
    std::vector<json> measured(runs.size());
    std::atomic<std::size_t> next{0};
    std::vector<std::future<void>> workers;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      workers.push_back(std::async(std::launch::async, [&] {
        for (std::size_t run = next++; run < runs.size(); run = next++) {
          const auto& [document, command, arch] = runs[run];
          measured[run] = measure(json::parse(document), command, arch, run);
        }
      }));
    }
    for (std::future<void>& worker : workers) {
      worker.get();
    }
    std::vector<std::pair<double, double>> figures;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const char* const figure = in_time(changes()[i].key) ? "time_us" : "cycles";
      figures.emplace_back(measured[asked[i].first][figure], measured[asked[i].second][figure]);
    }
    return figures;
  }

 private:
  /// Clock, launch and DRAM, which keeps its own time, change times [us], and not cycles.
  static bool in_time(const std::string& key) {
    return key == "boost_clock_mhz" || key.ends_with("launch_us") || key.ends_with("stream_us") ||
           key.starts_with("dram");
  }

  std::pair<json, json> documents_of(const Change& change) const {
    json before = json::object();
    std::istringstream beside(change.beside);
    for (std::string number; std::getline(beside, number, ',');) {
      const std::size_t equals = number.find('=');
      set(before, number.substr(0, equals), std::stod(number.substr(equals + 1)));
    }
    json after = before;
    set(after, change.key, change.value);
    if (std::string(change.key) == "dot_units") {
      before = json::object();  // half as many of both
    }
    return {before, after};
  }
};

TEST_F(DesignSpace, EveryNumberThatChangesMovesTheTimeTheRightWay) {
  const std::vector<std::pair<double, double>> figures = measure_all();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Change& change = changes()[i];
    const auto [before, after] = figures[i];
    switch (change.time) {
      case '>':
        EXPECT_GT(after, 1.0005 * before) << change.key;
        break;
      case '<':
        EXPECT_LT(after, 0.9995 * before) << change.key;
        break;
      default:
        EXPECT_EQ(after, before) << change.key;
    }
  }
}

/// Instructions that no GEMM kernel is made of.
struct InstructionChange {
  const char* key;
  double value;
  const char* arch;
  const char* instruction;
  int ilp;             ///< chains of each of four warps
  const char* figure;  ///< of a row of `microbench`
  char direction;
};

const std::vector<InstructionChange>& instruction_changes() {
  static const std::vector<InstructionChange> all{
      {"f64_multipliers", 8, "a100-sxm4-80gb", "m8n8k4.f64.f64.f64.f64", 4, "fma_per_clk_per_sm", '<'},
      {"f64_multipliers", 8, "a100-sxm4-80gb", "m8n8k4.f64.f64.f64.f64", 1, "latency_cycles", '>'},
      {"integer_dot_units", 8, "a100-sxm4-80gb", "m16n8k32.s32.s8.s8.s32", 4, "fma_per_clk_per_sm", '<'},
      {"rows_per_pass", 32, "a100-sxm4-80gb", "m16n8k32.s32.s8.s8.s32", 4, "fma_per_clk_per_sm", '<'},
      {"sub_byte_extra_cycles", 8, "a100-sxm4-80gb", "m16n8k64.s32.s4.s4.s32", 4, "fma_per_clk_per_sm", '<'},
      {"sub_byte_extra_cycles", 8, "a100-sxm4-80gb", "m16n8k256.s32.b1.b1.s32.xor.popc", 1, "latency_cycles", '>'},
      {"integer_interval_cycles", 40, "a100-sxm4-80gb", "m16n8k32.s32.s8.s8.s32", 4, "fma_per_clk_per_sm", '<'},
      {"tcgen05_latency_cycles", 400, "b200", "tcgen05.m128n64k16.f32.f16.f16 waited for", 1, "latency_cycles", '>'},
      {"tcgen05_pair_latency_cycles", 400, "b200", "tcgen05.cta_group::2.m256n64k16.f32.f16.f16 waited for", 1,
       "latency_cycles", '>'},
      {"metadata_sorting_cycles", 2000, "rtx5090", "mma.sp.m16n8k32.f32.f16.f16.f32", 1, "latency_cycles", '>'},
      {"l1_latency_cycles", 100, "t4", "ld.global.ca.u32", 1, "latency_cycles", '>'},
      {"bulk_copy_latency_cycles", 500, "h100-sxm5-80gb", "cp.async.bulk 4096", 1, "latency_cycles", '>'},
      // With 8 columns the interval is longer than the arithmetic.
      {"wgmma_interval_cycles", 40, "h800-pcie", "wgmma.m64n8k16.f32.f16.f16 rs", 1, "fma_per_clk_per_sm", '<'},
  };
  return all;
}

TEST_F(DesignSpace, NumbersOfOtherInstructionsMoveTheirLatencyAndThroughputTheRightWay) {
  for (const InstructionChange& change : instruction_changes()) {
    const auto measured = [&](const std::string& arch) {
      return json_of(fmt::format("microbench --arch {} --instruction '{}' --warps 4 --ilp {} --format json", arch,
                                 change.instruction, change.ilp))["rows"][0][change.figure]
          .get<double>();
    };
    json document = {{"base", change.arch}, {"name", "changed"}};
    set(document, change.key, change.value);
    std::ofstream(path("i.json")) << document;
    const double before = measured(change.arch);
    const double after = measured(path("i.json"));
    if (change.direction == '>') {
      EXPECT_GT(after, 1.05 * before) << change.instruction;
    } else {
      EXPECT_LT(after, 0.95 * before) << change.instruction;
    }
  }
}

TEST_F(DesignSpace, IsTestedWhole) {
  std::set<std::string, std::less<>> tested;
  for (const Change& change : changes()) {
    tested.insert(change.key);
  }
  for (const InstructionChange& change : instruction_changes()) {
    tested.insert(change.key);
  }
  tested.insert("dram_capacity_bytes");  // no time: a note where a network does not fit
  for (const config::ArchitectureField& field : config::architecture_fields()) {
    EXPECT_TRUE(tested.contains(field.key)) << field.key;
  }
}

TEST_F(DesignSpace, WhatHasNoEffectIsRefused) {
  expect_refused("gemm 64 64 64 --variants dense --pattern 1:4", "--pattern has no effect");
  expect_refused("gemm 64 64 64 --pattern 4:8", "need a selector of 8 inputs");
  expect_refused("gemm 64 64 64 --pattern 4:4", "N:M");
  expect_refused("gemm 64 64 64 --pattern 64:2:8 --fidelity datapath", "--fidelity datapath computes N:M weights");
  expect_refused("gemm 64 64 64 --pattern 64:2:8", "--fidelity analytic");
  std::ofstream(path("h.json")) << R"({"base": "h100-sxm5-80gb", "name": "h", "sm": {"tensor_core":
      {"mma_m": {"value": 32, "evidence": "assumed", "source": "a test"}}}})";
  expect_refused("gemm 64 64 64 --arch " + path("h.json"), "no effect beside wgmma");
}

TEST_F(DesignSpace, SaysWhereTheLibraryHasOldKernelsOfDenseIntegers) {
  const auto is_said = [&](const std::string& options) {
    const support::ProgramOutcome outcome = run("gemm 4096 4096 4096 --fidelity analytic --check none " + options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.find("dense integer launches run as mma.sync") != std::string::npos;
  };
  EXPECT_TRUE(is_said("--dtype s8 --arch b200"));
  EXPECT_FALSE(is_said("--dtype s8 --arch b200 --kernels search"));
  EXPECT_FALSE(is_said("--dtype e4m3 --arch b200"));
  EXPECT_FALSE(is_said("--dtype s8 --arch h100-pcie"));
}

TEST_F(DesignSpace, SaysWhichNumbersDoNothingToAsynchronousInstructions) {
  const auto notes = [&](const std::string& base, const std::string& rate, const std::string& options = "") {
    std::ofstream(path("d.json")) << fmt::format(
        R"({{"base": "{}", "name": "d", "sm": {{"tensor_core": {{"{}":
            {{"value": 7, "evidence": "assumed", "source": "a test"}}}}}}}})",
        base, rate);
    const support::ProgramOutcome outcome =
        run("gemm 4096 4096 4096 --fidelity analytic --check none --arch " + path("d.json") + options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  for (const std::string rate :
       {"operand_a_port_bytes_per_cycle", "operand_b_port_bytes_per_cycle", "accumulator_port_bytes_per_cycle",
        "metadata_port_bytes_per_cycle", "selector_bytes_per_cycle", "register_bank_bytes_per_cycle",
        "selector_latency_cycles"}) {
    expect_has(notes("h100-sxm5-80gb", rate), "the time of wgmma launches does not depend on " + rate);
  }
  const std::string none = "launches does not depend on";
  expect_has(notes("b200", "metadata_port_bytes_per_cycle"), "the time of tcgen05.mma " + none);
  expect_lacks(notes("h100-sxm5-80gb", "multiply_latency_cycles"), none);
  expect_lacks(notes("a100-sxm4-80gb", "metadata_port_bytes_per_cycle"), none);
  const std::string on_mma_sync = " --tile 160x128x64";
  expect_lacks(notes("h100-sxm5-80gb", "metadata_port_bytes_per_cycle", on_mma_sync), none);
}

TEST_F(DesignSpace, ReportsNameThePatternOfTheWeights) {
  const std::string gemm = "gemm 4096 4096 4096 --fidelity analytic --check none --explain --verbose ";
  for (const auto& [options, pattern] :
       {std::pair{"--pattern 1:4", "1:4"}, {"--pattern 64:2:8", "64:2:8"}, {"--dtype tf32", "1:2"}, {"", "2:4"}}) {
    const std::string name = pattern;
    const support::ProgramOutcome outcome = run(gemm + options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("2:4") != std::string::npos, name == "2:4") << outcome.out;
    for (const std::string& part : {name + "   gain", "  " + name + " gains", name + " saves"}) {
      expect_has(outcome.out, part);
    }
  }
}

}  // namespace
}  // namespace sptc::cli
