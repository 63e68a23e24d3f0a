// SPDX-License-Identifier: Apache-2.0
#include "sim/run/option_table.h"

#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/run/asked_work.h"
#include "sim/run/estimate.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace sptc::run {
namespace {

using nlohmann::json;

/// The words among the values that `option` lists: "boost" and "limited" of "boost|limited|MHZ".
std::set<std::string> words_of(const SimulationOption& option) {
  std::set<std::string> words;
  std::istringstream listed{std::string(option.type)};
  for (std::string word; std::getline(listed, word, '|');) {
    if (std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c); })) {
      words.insert(word);
    }
  }
  return words;
}

TEST(OptionTable, EveryOptionTakesEveryWordThatItLists) {
  std::size_t words = 0;
  for (const SimulationOption& option : simulation_options()) {
    for (const std::string& word : words_of(option)) {
      SimulationOptions options;
      EXPECT_NO_THROW(set_option(options, option.name, word)) << option.name << " " << word;
      ++words;
    }
  }
  EXPECT_EQ(words, 57u);
  EXPECT_EQ(simulation_option("dtype").type,
            fmt::format("{}|{}|{}|fp16|fp8|int8|fp4|PART=TYPE,..", fmt::join(workload::kernel_operand_types(), "|"),
                        fmt::join(kernels::block_format_names(), "|"), fmt::join(kernels::weight_format_names(), "|")));
}

TEST(OptionTable, AnOptionThatNobodySetsHasItsUsualValue) {
  SimulationOptions options;
  for (const SimulationOption& option : simulation_options()) {
    if (!option.usual.empty()) {
      set_option(options, option.name, std::string(option.usual));
    }
  }
  const SimulationOptions untouched;
  EXPECT_EQ(options.fidelity, untouched.fidelity);
  EXPECT_EQ(options.variants, untouched.variants);
  EXPECT_EQ(options.conditions, untouched.conditions);
  EXPECT_EQ(options.seed, untouched.seed);
  EXPECT_EQ(options.extrapolate, untouched.extrapolate);
}

TEST(OptionTable, SetsEachOptionFromTheValueThatJsonHas) {
  SimulationOptions options;
  const json values = {
      {"clock", 1200.5},        {"power-limit", 250},  {"board-idle", 60}, {"stages", 3},
      {"split-k", 2},           {"warmup", 0},         {"repeat", 10},     {"seed", 18446744073709551615U},
      {"no-extrapolate", true}, {"tile", "128x64x32"}, {"l2", "rotate:4"}, {"pattern", "1:4"},
      {"data", "relu"},         {"numerics", "volta"}, {"energy", "h100"}, {"limit-over", "group"},
      {"engine", "tensorrt"},   {"sparsity", "auto"},  {"tp", "4"},        {"ep", "64"},
      {"link", "300"}};
  for (const auto& [name, value] : values.items()) {
    set_option(options, name, value);
  }
  EXPECT_EQ(options.clock.kind, ClockChoice::Kind::kFixed);
  EXPECT_EQ(options.clock.mhz, 1200.5);
  EXPECT_EQ(options.power_limit_w, 250);
  EXPECT_EQ(options.board_idle_w, 60);
  EXPECT_EQ(options.kernel.stages, 3);
  EXPECT_EQ(options.kernel.split_k, 2);
  EXPECT_EQ(options.warmup, 0);
  EXPECT_EQ(options.repeat, 10);
  EXPECT_EQ(options.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(options.extrapolate);
  EXPECT_EQ(*options.kernel.cta_tile, (base::GemmShape{128, 64, 32}));
  EXPECT_TRUE(options.kernel.tile_of_pair);
  EXPECT_EQ(options.conditions.l2.weights, 4);
  EXPECT_EQ(options.pattern->name(), "1:4");
  EXPECT_EQ(options.data + options.numerics + options.energy, "reluvoltah100");
  EXPECT_EQ(options.limit_over, LimitOver::kGroup);
  EXPECT_EQ(options.engine, "tensorrt");
  EXPECT_TRUE(options.sparsity_auto);
  EXPECT_EQ(options.tensor_parallel, 4);
  EXPECT_EQ(options.expert_parallel, 64);
  EXPECT_EQ(options.link_gb_per_s, 300);
  set_option(options, "no-extrapolate", json(false));
  EXPECT_TRUE(options.extrapolate);
}

TEST(OptionTable, RefusesWhatItDoesNotKnowByTheNearestName) {
  SimulationOptions options;
  const auto set = [&](const char* name, const json& value) {
    return [&options, name, value] { set_option(options, name, value); };
  };
  support::expect_input_error(set("fidelty", "timing"), {"unknown option 'fidelty' (nearest valid: 'fidelity'"});
  support::expect_input_error(set("fidelity", "timin"), {"unknown --fidelity 'timin' (nearest valid: 'timing'"});
  support::expect_input_error(set("limit-over", "grup"), {"unknown --limit-over 'grup' (nearest valid: 'group'"});
  support::expect_input_error(set("sparsity", "aut"), {"unknown --sparsity 'aut' (nearest valid: 'auto'"});
  support::expect_input_error(set("sparsity", "2:4"), {"'2:4' (that is --variants sparse; allowed: all, auto)"});
  support::expect_input_error(set("sparsity", "dense"), {"'dense' (that is --variants dense; allowed: all, auto)"});
  support::expect_input_error(set("tp", "9"), {"--tp must be an integer from 1 to 8"});
  support::expect_input_error(set("ep", "73"), {"--ep must be an integer from 1 to 72"});
  support::expect_input_error(set("link", "-1"), {"--link must be a number of GB/s from 0.001 to 100000, not '-1'"});
  support::expect_input_error(set("link", "1e-300"), {"--link must be a number of GB/s from 0.001"});
  support::expect_input_error(set("stages", 2.5), {"--stages must be an integer from 1 to 16, not '2.5'"});
  support::expect_input_error(set("no-extrapolate", "maybe"), {"--no-extrapolate must be true or false, not 'maybe'"});
  support::expect_input_error(set("power-limit", std::numeric_limits<double>::quiet_NaN()),
                              {"--power-limit must be a number of watts from 0.001"});
  support::expect_input_error(set("data", ""), {"--data: the value is empty"});
  support::expect_input_error(set("seed", nullptr), {"--seed must be a number, a word or true or false"});
  support::expect_input_error(set("tile", json::array({128, 128, 32})), {"--tile must be a number, a word"});
}

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
  const auto found = std::find_if(result.notes.begin(), result.notes.end(), [](const std::string& note) {
    return note.find("as serving software does") != std::string::npos;
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
  for (const char* const part : {"attention in bf16", "lm_head in bf16", "router in bf16", "--dtype all=e4m3"}) {
    EXPECT_NE(note.find(part), std::string::npos) << note;
  }
}

TEST(AskedTypes, SixteenBitsAndAllArePutEverywhere) {
  for (const auto& [dtype, type] : {std::pair("bf16", DataType::kBf16), {"all=e4m3", DataType::kE4m3}}) {
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

TEST(AskedTypes, MayNameTheScalesOfTheirBlocks) {
  workload::Operation op;
  op.name = "up";
  op.shape = {64, 64, 64};
  const auto storage_with = [&](const std::string& dtype, workload::Operation of) {
    set_asked_type(asked(dtype), of);
    return of.storage;
  };
  EXPECT_EQ(storage_with("nvfp4", op), (kernels::OperandStorage{std::nullopt, 16}));
  EXPECT_EQ(storage_with("all=mxfp8", op), (kernels::OperandStorage{std::nullopt, 32}));
  op.dtype = DataType::kE2m1;
  op.storage.scale_block = 16;
  EXPECT_EQ(storage_with("mxfp4", op), (kernels::OperandStorage{std::nullopt, 32}));
  EXPECT_EQ(storage_with("bf16", op), kernels::OperandStorage{});
  workload::Operation head = op;
  head.name = "lm_head";
  EXPECT_EQ(storage_with("weights=nvfp4,lm_head=mxfp8", head), (kernels::OperandStorage{std::nullopt, 32}));
  EXPECT_EQ(types_text(asked("weights=nvfp4,lm_head=mxfp8")), "nvfp4, lm_head mxfp8");
  SimulationOptions other = asked("nvfp4");
  set_option(other, "scale-block", std::string("32"));
  support::expect_input_error([&] { require_consistent(other); }, {"--scale-block 32 contradicts --dtype nvfp4"});
}

TEST(AskedTypes, MayNameHowWeightsLieInMemory) {
  workload::Operation op;
  op.name = "up";
  op.shape = {64, 64, 256};
  const auto with = [](const SimulationOptions& options, workload::Operation of) {
    set_asked_type(options, of);
    EXPECT_EQ(of.dtype, DataType::kBf16);
    return of.storage;
  };
  EXPECT_EQ(with(asked("w4a16"), op), (kernels::OperandStorage{DataType::kS4, 128}));
  EXPECT_EQ(with(asked("w8a16"), op), (kernels::OperandStorage{DataType::kS8, 0}));
  EXPECT_EQ(types_text(asked("w4a16")), "w4a16");
  SimulationOptions smaller = asked("w4a16");
  set_option(smaller, "scale-block", std::string("64"));
  require_consistent(smaller);
  EXPECT_EQ(with(smaller, op), (kernels::OperandStorage{DataType::kS4, 64}));
  workload::Operation head = op;
  head.name = "lm_head";
  EXPECT_EQ(with(asked("w4a16"), head), kernels::OperandStorage{});
  EXPECT_EQ(with(asked("weights=bf16,lm_head=w8a16"), head), (kernels::OperandStorage{DataType::kS8, 0}));
  workload::Operation scores = op;
  scores.weight = false;
  EXPECT_EQ(with(asked("w4a16"), scores), kernels::OperandStorage{});
  support::expect_input_error([] { asked("weights=bf16,attention=w4a16"); }, {"attention has no weights"});
}

TEST(AskedTypes, AreRefusedWhereAPartIsUnknownOrGivenTwice) {
  for (const auto& [text, part] : {std::pair<std::string, std::string>("weight=e4m3", "nearest valid: 'weights'"),
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
