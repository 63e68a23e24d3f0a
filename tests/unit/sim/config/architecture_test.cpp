// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture.h"

#include "sim/config/derivation.h"
#include "sim/config/documented_architecture.h"
#include "tests/unit/sim/config/changed_architecture.h"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sptc::config {
namespace {

/// Numbers that a file may leave out, for they are there for designs of one's own.
const std::map<std::string, int> kDesign{
    {"selector_kept", 3},         {"mma_m", 32}, {"mma_n", 64}, {"mma_k_bytes", 128}, {"accumulator_fraction_bits", 17},
    {"accumulator_step_bytes", 8}};

TEST(Architecture, ReadsADesignOfOnesOwn) {
  const auto write = [](json& document, const std::string& key, int value) {
    document["sm"]["tensor_core"][key] = {{"value", value}, {"evidence", "assumed"}, {"source", "what if"}};
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
    expect_refused([&, &name = key, &wrong = value](json& document) { write(document, name, wrong); },
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
  const std::vector<std::pair<std::string, double>> numbers{{"/sms", 54}, {"/memory/dram_gb_per_s", 1000}};
  VariedArchitecture varied(base);
  const std::vector<std::pair<std::string, double>> others{{"/sm/registers", 1024}, {"/memory/dram_gb_per_s", 7}};
  ASSERT_NE(varied.with(others, "another test"), nullptr);
  const Architecture* const quick = varied.with(numbers, "a test");
  ASSERT_NE(quick, nullptr);
  json document = load_documented_architecture("a100-sxm4-80gb").document;
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
  for (const Numbers& refused : {Numbers{{"/sms", 0}}, Numbers{{"/sms", 1.5}}, Numbers{{"/kernels/library", 1}},
                                 Numbers{{"/nothing", 1}}, Numbers{{"/memory/l2_far_latency_cycles", 10}}}) {
    EXPECT_EQ(varied.with(refused, "a test"), nullptr) << refused.front().first;
  }
}

TEST(Architecture, LetsOnlyWhatAnArchitectureCanLackBeZero) {
  const auto with_zero = [](const char* section, const char* key) {
    return [=](json& document) { document[json::json_pointer(section)][key]["value"] = 0; };
  };
  EXPECT_EQ(
      parse_architecture(changed(with_zero("/sm", "wgmma_interval_cycles")), "x.json").gpu.sm.wgmma_interval_cycles, 0);
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
        const std::string other = source.substr(kAsFitted.size(), source.find(':') - kAsFitted.size());
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
  EXPECT_NEAR(tflops("a10"), 125, 1);
  EXPECT_NEAR(tflops("rtx-a6000"), 154.8, 1);
  EXPECT_NEAR(tflops("rtx3060"), 25.5, 0.2);
  EXPECT_NEAR(tflops("l20"), 119.5, 1);
  EXPECT_NEAR(tflops("h20"), 148, 0.5);
  EXPECT_NEAR(tflops("rtx5090"), 209.5, 0.5);
  EXPECT_NEAR(tflops("rtx5070ti"), 87.9, 0.5);
  EXPECT_NEAR(tflops("rtx-pro-6000-blackwell"), 500, 4);
  EXPECT_NEAR(tflops("b300"), 2250, 10);
  EXPECT_NEAR(tflops("gb200"), 2500, 10);
  EXPECT_NEAR(tflops("gb300"), 2500, 10);
  EXPECT_NEAR(tflops("jetson-agx-orin-64gb"), 42.6, 0.2);
  EXPECT_NEAR(tflops("jetson-agx-thor"), 258.5, 1);
}

}  // namespace
}  // namespace sptc::config
