// SPDX-License-Identifier: Apache-2.0
#include "sim/run/asked_types.h"

#include "sim/config/architecture.h"
#include "sim/run/estimate.h"
#include "sim/run/option_table.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace sptc::run {
namespace {

using numerics::DataType;

SimulationOptions asked(const std::string& dtype) {
  SimulationOptions options;
  options.fidelity = Fidelity::kAnalytic;
  options.check = CheckMode::kNone;
  options.what_ifs = false;
  set_option(options, "dtype", dtype);
  return options;
}

RunResult run(const std::string& trace, const SimulationOptions& options) {
  return estimate(workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/" + trace),
                  config::load_architecture("h100-sxm5-80gb"), options);
}

/// Types of the operations of Mixtral, which has routers.
std::map<std::string, DataType> types_with(const std::string& dtype) {
  std::map<std::string, DataType> types;
  for (const OperationResult& op : run("mixtral_8x7b.json", asked(dtype)).operations) {
    types[op.name] = op.dtype;
  }
  return types;
}

std::string kept_of(const RunResult& result) {
  const auto found =
      std::find_if(result.notes.begin(), result.notes.end(), [](const std::string& note) {
        return note.find("as serving software has them") != std::string::npos;
      });
  return found == result.notes.end() ? "" : *found;
}

TEST(AskedTypes, EightBitsAreThoseOfWeightsAlone) {
  const auto types = types_with("e4m3");
  EXPECT_EQ(types.at("attn.qkv"), DataType::kE4m3);
  for (const char* const part : {"attn.scores", "attn.context", "moe.router", "lm_head"}) {
    EXPECT_EQ(types.at(part), DataType::kBf16) << part;
  }
  const std::string note = kept_of(run("mixtral_8x7b.json", asked("e4m3")));
  for (const char* const part :
       {"attention in bf16", "lm_head in bf16", "router in bf16", "--dtype all=e4m3"}) {
    EXPECT_NE(note.find(part), std::string::npos) << note;
  }
}

TEST(AskedTypes, SixteenBitsAndAllArePutEverywhere) {
  for (const auto& [dtype, type] :
       {std::pair("bf16", DataType::kBf16), {"all=e4m3", DataType::kE4m3}}) {
    for (const auto& [name, of] : types_with(dtype)) {
      EXPECT_EQ(of, type) << name;
    }
    EXPECT_EQ(kept_of(run("mixtral_8x7b.json", asked(dtype))), "");
  }
}

TEST(AskedTypes, APartMayHaveOneOfItsOwn) {
  const auto types = types_with("weights=s8,attention=bf16,lm_head=tf32");
  EXPECT_EQ(types.at("attn.qkv"), DataType::kS8);
  EXPECT_EQ(types.at("attn.scores"), DataType::kBf16);
  EXPECT_EQ(types.at("lm_head"), DataType::kTf32);
  EXPECT_EQ(types.at("moe.router"), DataType::kBf16);
  EXPECT_EQ(types_text(asked("weights=s8,attention=bf16")), "s8, attention bf16");
  const auto alone = types_with("attention=e4m3");
  EXPECT_EQ(alone.at("attn.scores"), DataType::kE4m3);
  EXPECT_EQ(alone.at("attn.qkv"), DataType::kBf16);
}

TEST(AskedTypes, BlocksAndQuantisedWeightsKeepToWeights) {
  SimulationOptions blocks = asked("e2m1");
  set_option(blocks, "scale-block", std::string("16"));
  const workload::Workload mixtral =
      workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/mixtral_8x7b.json");
  SimulationOptions quantised;
  set_option(quantised, "weight-dtype", std::string("s4"));
  for (workload::Operation op : mixtral.operations) {
    const bool layer = op.weight && op.name != "lm_head" && op.name != "moe.router";
    workload::Operation of_blocks = op;
    set_asked_type(blocks, of_blocks);
    EXPECT_EQ(of_blocks.storage.block_scaled(), layer) << op.name;
    set_asked_type(quantised, op);
    EXPECT_EQ(op.storage.weight.has_value(), layer) << op.name;
  }
}

TEST(AskedTypes, AreRefusedWhereAPartIsUnknownOrGivenTwice) {
  for (const auto& [text, part] :
       {std::pair<std::string, std::string>("weight=e4m3", "nearest valid: 'weights'"),
        {"weights=e4m3,attention=bf17", "bf17"},
        {"weights=e4m3,bf16", "unknown part 'bf16'"},
        {"weights=e4m3,weights=s8", "weights is given beside itself"},
        {"all=e4m3,lm_head=f16", "lm_head is given beside 'all'"},
        {"weights=", "--dtype"}}) {
    support::expect_input_error([&, &words = text] { asked(words); }, {part});
  }
}

}  // namespace
}  // namespace sptc::run
