// SPDX-License-Identifier: Apache-2.0
#include "sim/config/kernel_library.h"

#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace sptc::config {
namespace {

using nlohmann::json;

json library() {
  const json tile{{"cta", {128, 64}}, {"warp", {64, 32}}};
  return {{"name", "mine"}, {"evidence", "assumed"}, {"source", "a test"}, {"tiles", {tile}}};
}

TEST(KernelLibrary, EveryNumberArrivesInItsField) {
  const kernels::KernelLibrarySpec read = parse_kernel_library(library().dump(), "l.json");
  ASSERT_EQ(read.tiles.size(), 1U);
  EXPECT_EQ(read.tiles[0].cta_m, 128);
  EXPECT_EQ(read.tiles[0].warp_n, 32);
  EXPECT_EQ(read.tiles[0].family, mma::MmaFamily::kMma);
  EXPECT_EQ(read.tiles[0].cta_group, 1);
  EXPECT_TRUE(read.tiles[0].is_for(numerics::DataType::kBf16));
  // What is left out is of 2:4 weights as of dense ones.
  EXPECT_EQ(read.tiles_for(true, false, kernels::Algorithm::kHeuristic), read.tiles);
  EXPECT_EQ(read.tiles_for(false, true, kernels::Algorithm::kHeuristic), read.tiles);
  EXPECT_EQ(read.most_split_k, 16);
  EXPECT_EQ(read.swizzle, 8);
  EXPECT_EQ(read.f16_reduction_scheme, kernels::ReductionScheme::kComputeType);
  EXPECT_EQ(read.fp8_accumulation, kernels::Fp8Accumulation::kFast);
}

TEST(KernelLibrary, SaysHowItSums) {
  json summing = library();
  summing.update({{"f16_reduction_scheme", "output_type"}, {"fp8_accumulation", "promoted"}});
  const kernels::KernelLibrarySpec read = parse_kernel_library(summing.dump(), "l.json");
  EXPECT_EQ(read.f16_reduction_scheme, kernels::ReductionScheme::kOutputType);
  EXPECT_EQ(read.fp8_accumulation, kernels::Fp8Accumulation::kPromoted);
  summing["fp8_accumulation"] = "fas";
  support::expect_input_error([&] { parse_kernel_library(summing.dump(), "l.json"); },
                              {"/fp8_accumulation: unknown word 'fas' (nearest valid: 'fast'"});
}

TEST(KernelLibrary, IsFoundByItsName) {
  EXPECT_EQ(load_kernel_library("cublas-sm90-xmma").tiles.size(), 7U);
  support::expect_input_error([] { load_kernel_library("cublas-sm90-xma"); },
                              {"--library: unknown library 'cublas-sm90-xma'", "'cublas-sm90-xmma'"});
}

TEST(KernelLibrary, KernelsOf24WeightsMayBeOthers) {
  json of_both = library();
  of_both.update({{"most_split_k", 6}, {"swizzle", 4}});
  const kernels::KernelLibrarySpec alike = parse_kernel_library(of_both.dump(), "l.json");
  EXPECT_EQ(alike.most_split_k, 6);
  EXPECT_EQ(alike.sparse_most_split_k, 6);
  EXPECT_EQ(alike.swizzle, 4);
  EXPECT_EQ(alike.sparse_swizzle, 4);
  const json tile{{"cta", {64, 64}}, {"warp", {32, 32}}, {"types", {"f16", "s8"}}};
  of_both.update({{"sparse_tiles", {tile}}, {"sparse_most_split_k", 1}, {"sparse_swizzle", 2}});
  const kernels::KernelLibrarySpec read = parse_kernel_library(of_both.dump(), "l.json");
  EXPECT_EQ(read.tiles_for(false, false, kernels::Algorithm::kHeuristic).at(0).cta_m, 128);
  ASSERT_EQ(read.tiles_for(true, true, kernels::Algorithm::kHeuristic).size(), 1U);
  EXPECT_EQ(read.tiles_for(true, true, kernels::Algorithm::kHeuristic)[0].cta_m, 64);
  EXPECT_TRUE(read.tiles_for(true, true, kernels::Algorithm::kHeuristic)[0].is_for(numerics::DataType::kF16));
  EXPECT_TRUE(read.tiles_for(true, true, kernels::Algorithm::kHeuristic)[0].is_for(numerics::DataType::kS8));
  EXPECT_FALSE(read.tiles_for(true, true, kernels::Algorithm::kHeuristic)[0].is_for(numerics::DataType::kBf16));
  EXPECT_EQ(read.most_split_k, 6);
  EXPECT_EQ(read.sparse_most_split_k, 1);
  EXPECT_EQ(read.swizzle, 4);
  EXPECT_EQ(read.sparse_swizzle, 2);
}

TEST(KernelLibrary, DenseKernelsOfIntegersMayBeOthers) {
  json own = library();
  const json tile{{"cta", {64, 64}}, {"warp", {32, 32}}};
  own.update({{"most_split_k", 6}, {"integer_tiles", {tile}}});
  EXPECT_EQ(parse_kernel_library(own.dump(), "l.json").integer_most_split_k, 6);
  own["integer_most_split_k"] = 1;
  const kernels::KernelLibrarySpec read = parse_kernel_library(own.dump(), "l.json");
  EXPECT_EQ(read.tiles_for(false, true, kernels::Algorithm::kHeuristic), read.integer_tiles);
  EXPECT_EQ(read.tiles_for(false, false, kernels::Algorithm::kHeuristic), read.tiles);
  EXPECT_EQ(read.tiles_for(true, true, kernels::Algorithm::kHeuristic), read.tiles);
  EXPECT_EQ(read.most_split_k_for(false, true), 1);
  EXPECT_EQ(read.most_split_k_for(false, false), 6);
  EXPECT_EQ(read.most_split_k_for(true, true), 6);
}

TEST(KernelLibrary, ATileSaysWhatItIsMadeOf) {
  const auto read = [](const json& cta, const json& warp, const char* instruction, int group = 1) {
    json of_one = library();
    of_one["tiles"][0].update({{"cta", cta}, {"warp", warp}, {"instruction", instruction}});
    of_one["tiles"][0]["cta_group"] = group;
    return parse_kernel_library(of_one.dump(), "l.json").tiles.at(0);
  };
  EXPECT_EQ(read({128, 32}, {32, 32}, "mma.sync").family, mma::MmaFamily::kMma);
  EXPECT_EQ(read({128, 32}, {32, 32}, "tcgen05.mma", 2).family, mma::MmaFamily::kTcgen05);
  EXPECT_EQ(read({128, 32}, {32, 32}, "tcgen05.mma", 2).cta_group, 2);
  EXPECT_EQ(read({192, 32}, {16, 32}, "wgmma").family, mma::MmaFamily::kWgmma);
  const auto refused = [&](const json& cta, const json& warp, const char* instruction, int group, const char* why) {
    support::expect_input_error([&] { read(cta, warp, instruction, group); }, {why});
  };
  refused({128, 32}, {32, 32}, "wgmma", 1, "/tiles/0/warp: must be [16, n]");
  refused({96, 32}, {16, 32}, "wgmma", 1, "CTA tile of [a multiple of 64, n]");
  refused({128, 64}, {16, 32}, "wgmma", 1, "/tiles/0/warp");
  refused({256, 32}, {32, 32}, "tcgen05.mma", 1, "CTA tile of [128, n]");
  refused({128, 32}, {16, 32}, "wgmma", 2, "/tiles/0/cta_group: needs tcgen05.mma");
  refused({128, 32}, {32, 32}, "wgmm", 1, "unknown instruction 'wgmm' (nearest valid: 'wgmma'");
}

TEST(KernelLibrary, WhatMakesNoKernelIsRefusedAtItsPlace) {
  const auto refused = [](const char* pointer, const json& value, std::string_view part) {
    json damaged = library();
    damaged[json::json_pointer(pointer)] = value;
    support::expect_input_error([&] { parse_kernel_library(damaged.dump(), "l.json"); }, {part});
  };
  refused("/tiles", json::array(), "/tiles");
  refused("/tiles/0/cta", json::array({100, 64}), "/tiles/0/cta");
  refused("/tiles/0/cta", json::array({128}), "/tiles/0/cta");
  refused("/tiles/0/warp", json::array({48, 32}), "/tiles/0/warp");
  for (const std::string key :
       {"/most_split_k", "/integer_most_split_k", "/sparse_most_split_k", "/swizzle", "/sparse_swizzle"}) {
    for (const json& value : {json(0), json("high"), json(1025)}) {
      refused(key.c_str(), value, key);
    }
  }
  refused("/most_split_k", 65, "/most_split_k");
  refused("/tiles/0/types", json::array({"f16", "f61"}), "/tiles/0/types/1: unknown type 'f61' (nearest valid: 'f64'");
  refused("/tiles/0/types", json::array({"f32"}), "unknown type 'f32'");
  refused("/tiles/0/types", json::array(), "/tiles/0/types");
  for (const int group : {0, 2, 3}) {  // 2: of tcgen05.mma
    refused("/tiles/0/cta_group", group, "/tiles/0/cta_group");
  }
  refused("/tiles/0/speed", 1, "speed");
  refused("/evidence", "felt", "evidence");
  json without = library();
  without.erase("tiles");
  support::expect_input_error([&] { parse_kernel_library(without.dump(), "l.json"); }, {"tiles"});
}

TEST(KernelLibrary, AnUnknownNameIsAnsweredWithTheNearest) {
  const std::string error =
      support::input_error_of([] { load_kernel_library("cublas-a10", "a.json: /kernels/library"); });
  EXPECT_NE(error.find("/kernels/library"), std::string::npos);
  EXPECT_NE(error.find("nearest valid: 'cublas-a40'"), std::string::npos);
  // The directory of the configurations may be that of the shipped ones.
  EXPECT_NE(error.find("allowed: cublas-a40, cublas-sm100,"), std::string::npos) << error;
}

}  // namespace
}  // namespace sptc::config
