// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture.h"

#include "sim/config/architecture_fields.h"
#include "sim/config/derivation.h"
#include "tests/unit/sim/config/changed_architecture.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace sptc::config {
namespace {

TEST(Architecture, EveryFileInTheTreeIsValidAndNamedAsItIs) {
  const std::vector<std::string> names = architecture_names();
  for (const std::string& name : names) {
    EXPECT_EQ(load_architecture(name).gpu.name, name);
  }
  for (const char* expected : {"a100-sxm4-80gb", "a40", "h100-sxm5-80gb", "v100-sxm2-16gb"}) {
    EXPECT_NE(std::ranges::find(names, expected), names.end()) << expected;
  }
}

TEST(Architecture, KeepsTheProvenanceOfEveryNumber) {
  const Architecture a100 = load_architecture(kA100);
  ASSERT_EQ(a100.parameters.size(), architecture_fields().size());
  for (const Parameter& parameter : a100.parameters) {
    EXPECT_FALSE(parameter.source.empty()) << parameter.pointer;
  }
  EXPECT_EQ(a100.parameters[0].pointer, "/sms");
  EXPECT_EQ(a100.parameters[0].evidence, "cited");
  const auto port = std::ranges::find(
      a100.parameters, "/sm/tensor_core/metadata_port_bytes_per_cycle", &Parameter::pointer);
  ASSERT_NE(port, a100.parameters.end());
  EXPECT_EQ(port->unit, "bytes/cycle");
}

// What a file may leave out, for it is there for designs of one's own, ...
const std::map<std::string, int> kDesign{{"selector_kept", 3},
                                         {"mma_m", 32},
                                         {"mma_n", 64},
                                         {"mma_k_bytes", 128},
                                         {"accumulator_fraction_bits", 17},
                                         {"accumulator_step_bytes", 8}};

// ... or some GPUs have it and others do not.
const std::set<std::string> kOfSomeGpus{"dram_capacity_bytes",
                                        "reserved_shared_memory_per_cta_bytes",
                                        "async_copy_bytes",
                                        "async_copy_latency_cycles",
                                        "bulk_copy_latency_cycles",
                                        "l1_and_shared_memory_bytes",
                                        "l1_latency_cycles",
                                        "f64_multipliers",
                                        "cluster_ctas",
                                        "wgmma_interval_cycles",
                                        "tcgen05_interval_cycles",
                                        "rows_per_pass",
                                        "selector_change_cycles",
                                        "bulk_fill_bytes_per_cycle",
                                        "bulk_edge_elements_per_cycle",
                                        "sparse_launch_us"};

TEST(Architecture, FillsEachFieldFromItsOwnKey) {
  // Every number different: no two fields can be swapped without a difference in what is stored.
  std::map<std::string, double, std::less<>> written;
  const std::string text = changed([&](json& document) {
    document["numerics"] = "hopper";  // which has wgmma
    double next = 1;
    for (const ArchitectureField& field : architecture_fields()) {
      const std::string key(field.key);
      if (kDesign.contains(key) || kOfSomeGpus.contains(key)) {
        continue;  // see ReadsADesignOfOnesOwn
      }
      document[json::json_pointer(std::string(field.section) + "/" + key)]["value"] = ++next;
      written[key] = next;
    }
    document["memory"]["l2_partitions"]["value"] = 1;
    document["sm"]["max_warps"]["value"] = 64;
    document["sm"]["tensor_core"]["reuse_registers"]["value"] = 3;
    document["sm"]["shared_memory_bytes"]["value"] = 1000;
    document["sm"]["tensor_core"]["dot_units"]["value"] = 3 * written["f32_dot_units"];
  });
  const gpu::GpuSpec gpu = parse_architecture(text, "x.json").gpu;
  const tensor_core::TensorCoreSpec& core = gpu.sm.tensor_core;
  EXPECT_EQ(gpu.sms, written["sms"]);
  EXPECT_EQ(gpu.sm.sub_partitions, written["sub_partitions"]);
  EXPECT_EQ(gpu.sm.registers, written["registers"]);
  EXPECT_EQ(gpu.sm.shared_memory_banks, written["shared_memory_banks"]);
  EXPECT_EQ(gpu.sm.shared_memory_wavefront_cycles, written["shared_memory_wavefront_cycles"]);
  EXPECT_EQ(core.dot_units, 3 * written["f32_dot_units"]);
  EXPECT_EQ(core.operand_a_port_bytes_per_cycle, written["operand_a_port_bytes_per_cycle"]);
  EXPECT_EQ(core.multiply_latency_cycles, written["multiply_latency_cycles"]);
  EXPECT_EQ(core.sub_byte_extra_cycles, written["sub_byte_extra_cycles"]);
  EXPECT_EQ(core.instruction_window, written["instruction_window"]);
  EXPECT_EQ(gpu.memory.l2_partitions, 1);
  EXPECT_EQ(gpu.memory.l2_capacity.count(), written["l2_capacity_bytes"]);
  EXPECT_EQ(gpu.memory.l2_far_latency_cycles, written["l2_far_latency_cycles"]);
  EXPECT_EQ(gpu.memory.dram_gb_per_s, written["dram_gb_per_s"]);
  EXPECT_EQ(gpu.memory.dram_refresh_ns, written["dram_refresh_ns"]);
  EXPECT_EQ(gpu.memory.dram_access_latency_cycles, written["dram_access_latency_cycles"]);
}

TEST(Architecture, ReadsADesignOfOnesOwn) {
  const auto write = [](json& document, const std::string& key, int value) {
    document["sm"]["tensor_core"][key] = {
        {"value", value}, {"evidence", "assumed"}, {"source", "what if"}};
  };
  const std::string text = changed([&](json& document) {
    for (const auto& [key, value] : kDesign) {
      write(document, key, value);
    }
  });
  const tensor_core::TensorCoreSpec core = parse_architecture(text, "x.json").gpu.sm.tensor_core;
  EXPECT_EQ(core.selector().kept, 3);
  EXPECT_EQ(core.mma_design(), (mma::MmaDesign{32, 64, 128}));
  EXPECT_EQ(core.accumulator_design(), (mma::AccumulatorDesign{17, 8}));
  for (const auto& [key, value] : {std::pair{"mma_m", 24},
                                   {"mma_n", 4},
                                   {"mma_k_bytes", 8},
                                   {"accumulator_step_bytes", 24},
                                   {"selector_kept", 5}}) {
    expect_refused(
        [&, &name = key, &wrong = value](json& document) { write(document, name, wrong); },
        {std::string("/sm/tensor_core/") + key, std::to_string(value)});
  }
}

TEST(Architecture, ThatSaysNothingOfItsDesignHasTheHardwares) {
  const Architecture a100 = load_architecture("a100-sxm4-80gb");
  EXPECT_EQ(a100.gpu.sm.tensor_core.mma_design(), mma::MmaDesign());
  EXPECT_EQ(a100.gpu.sm.tensor_core.accumulator_design(), mma::AccumulatorDesign());
  for (const Parameter& parameter : a100.parameters) {
    if (parameter.pointer.ends_with("/mma_m")) {
      EXPECT_EQ(parameter.evidence, "cited");
    }
  }
}

TEST(VariedArchitecture, GivesWhatTheDocumentWouldGiveTimeAndAgain) {
  const Architecture base = load_architecture("a100-sxm4-80gb");
  const std::vector<std::pair<std::string, double>> numbers{{"/sms", 54},
                                                            {"/memory/dram_gb_per_s", 1000}};
  VariedArchitecture varied(base);
  const std::vector<std::pair<std::string, double>> others{{"/sm/registers", 1024},
                                                           {"/memory/dram_gb_per_s", 7}};
  ASSERT_NE(varied.with(others, "another test"), nullptr);
  const Architecture* const quick = varied.with(numbers, "a test");
  ASSERT_NE(quick, nullptr);
  json document = load_architecture_document("a100-sxm4-80gb");
  for (const auto& [pointer, value] : numbers) {
    set_parameter(document, pointer, value, "a test");
  }
  const Architecture slow = to_architecture(document, "x.json");
  EXPECT_EQ(quick->gpu.sms, slow.gpu.sms);
  EXPECT_EQ(quick->gpu.sm.registers, slow.gpu.sm.registers);
  EXPECT_EQ(quick->gpu.memory.dram_gb_per_s, slow.gpu.memory.dram_gb_per_s);
  ASSERT_EQ(quick->parameters.size(), slow.parameters.size());
  for (std::size_t i = 0; i < slow.parameters.size(); ++i) {
    EXPECT_EQ(quick->parameters[i].pointer, slow.parameters[i].pointer);
    EXPECT_EQ(quick->parameters[i].value, slow.parameters[i].value);
    EXPECT_EQ(quick->parameters[i].evidence, slow.parameters[i].evidence);
    EXPECT_EQ(quick->parameters[i].source, slow.parameters[i].source);
  }
  using Numbers = std::vector<std::pair<std::string, double>>;
  for (const Numbers& refused :
       {Numbers{{"/sms", 0}}, Numbers{{"/sms", 1.5}}, Numbers{{"/kernels/library", 1}},
        Numbers{{"/nothing", 1}}, Numbers{{"/memory/l2_far_latency_cycles", 10}}}) {
    EXPECT_EQ(varied.with(refused, "a test"), nullptr) << refused.front().first;
  }
}

TEST(Architecture, LetsOnlyWhatAnArchitectureCanLackBeZero) {
  const auto with_zero = [](const char* section, const char* key) {
    return [=](json& document) { document[json::json_pointer(section)][key]["value"] = 0; };
  };
  EXPECT_EQ(parse_architecture(changed(with_zero("/sm", "wgmma_interval_cycles")), "x.json")
                .gpu.sm.wgmma_interval_cycles,
            0);
  EXPECT_EQ(parse_architecture(changed(with_zero("/sm/tensor_core", "f64_multipliers")), "x.json")
                .gpu.sm.tensor_core.f64_multipliers,
            0);
  expect_refused(with_zero("/sm", "shared_memory_banks"),
                 {"/sm/shared_memory_banks/value: must be a whole number from 1"});
}

TEST(Architecture, WhatIsAssumedAsFittedForAnotherGpuIsThatNumber) {
  constexpr std::string_view kAsFitted = "as fitted for ";
  const auto kernels_of = [](const std::string& name) {
    return json::parse(io::read_text_file(config_directory() / (name + ".json"), 1 << 20))
        .value("kernels", json::object());
  };
  int compared = 0;
  for (const std::string& name : architecture_names()) {
    if (!std::filesystem::exists(config_directory() / (name + ".json"))) {
      continue;  // a slice of another one
    }
    const json kernels = kernels_of(name);  // none: as its base
    for (const auto& [key, entry] : kernels.items()) {
      const std::string source = entry.is_object() ? entry.value("source", "") : "";
      if (source.starts_with(kAsFitted)) {
        const std::string other =
            source.substr(kAsFitted.size(), source.find(':') - kAsFitted.size());
        EXPECT_EQ(entry.at("value"), kernels_of(other).at(key).at("value")) << name << ' ' << key;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 20);
}

TEST(Architecture, PeakRatesOfTheFilesAreThoseOfTheDatasheets) {
  // Dense FP16 with FP32 accumulators [TFLOPS]; Hopper's by wgmma.
  const auto tflops = [](const char* name) {
    const gpu::GpuSpec gpu = load_architecture(name).gpu;
    const tensor_core::TensorCoreSpec& core = gpu.sm.tensor_core;
    const double fma_per_clock = core.f32_dot_units * core.dot_width_bytes / 2.0;
    return 2 * fma_per_clock * gpu.sm.sub_partitions * gpu.sms * gpu.boost_clock_mhz * 1e6 / 1e12;
  };
  EXPECT_NEAR(tflops("v100-sxm2-16gb"), 125, 1);
  EXPECT_NEAR(tflops("t4"), 65, 0.5);
  EXPECT_NEAR(tflops("a40"), 149.7, 0.5);
  EXPECT_NEAR(tflops("rtx4090"), 165.2, 0.5);
  EXPECT_NEAR(tflops("l40s"), 362, 5);
  EXPECT_NEAR(tflops("h100-sxm5-80gb"), 989.4, 1);
  EXPECT_NEAR(tflops("h200-sxm"), 989.4, 1);
  EXPECT_NEAR(tflops("a100-sxm4-80gb"), 312, 0.5);
  EXPECT_NEAR(tflops("a100-pcie-80gb"), 312, 1);
  EXPECT_NEAR(tflops("a100-pcie-40gb"), 312, 1);
  EXPECT_NEAR(tflops("a100-sxm4-40gb"), 312, 1);
  EXPECT_NEAR(tflops("a30"), 165, 0.5);
  EXPECT_NEAR(tflops("l4"), 121, 0.5);
  EXPECT_NEAR(tflops("rtx3090"), 71, 0.5);
  EXPECT_NEAR(tflops("rtx5080"), 112.6, 0.5);
}

TEST(Architecture, AFileOfAnotherGenerationSaysSo) {
  EXPECT_EQ(load_architecture("v100-sxm2-16gb").gpu.numerics, "volta");
  EXPECT_EQ(load_architecture("t4").gpu.numerics, "turing");
  EXPECT_EQ(load_architecture("a40").gpu.numerics, "ampere");
  EXPECT_EQ(load_architecture("l40s").gpu.numerics, "ada");
  EXPECT_EQ(load_architecture("h100-sxm5-80gb").gpu.numerics, "hopper");
  EXPECT_EQ(load_architecture("b200").gpu.numerics, "blackwell");
  EXPECT_EQ(load_architecture("rtx5080").gpu.numerics, "rtx-blackwell");
}

}  // namespace
}  // namespace sptc::config
