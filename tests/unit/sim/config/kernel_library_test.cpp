// SPDX-License-Identifier: Apache-2.0
#include "sim/config/kernel_library.h"

#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <limits>
#include <string>

namespace sptc::sim {
namespace {

using nlohmann::json;

json library() {
  const json tile{{"cta", {128, 64}}, {"warp", {64, 32}}, {"main_loop_percent", 93.5}};
  return {{"name", "mine"},
          {"evidence", "assumed"},
          {"source", "a test"},
          {"tiles", {tile}},
          {"sparse_main_loop_percent", 77}};
}

TEST(KernelLibrary, EveryNumberArrivesInItsField) {
  const KernelLibrarySpec read = parse_kernel_library(library().dump(), "l.json");
  ASSERT_EQ(read.tiles.size(), 1U);
  EXPECT_EQ(read.tiles[0].cta_m, 128);
  EXPECT_EQ(read.tiles[0].warp_n, 32);
  EXPECT_EQ(read.tiles[0].family, mma::MmaFamily::kMma);
  EXPECT_EQ(read.tiles[0].cta_group, 1);
  EXPECT_EQ(read.tiles[0].main_loop_percent, 93.5);
  EXPECT_EQ(read.sparse_main_loop_percent, 77);
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
  const auto refused = [&](const json& cta, const json& warp, const char* instruction, int group,
                           const char* why) {
    expect_input_error([&] { read(cta, warp, instruction, group); }, {why});
  };
  refused({128, 32}, {32, 32}, "wgmma", 1, "/tiles/0/warp: must be [16, n]");
  refused({96, 32}, {16, 32}, "wgmma", 1, "CTA tile of [a multiple of 64, n]");
  refused({128, 64}, {16, 32}, "wgmma", 1, "/tiles/0/warp");
  refused({256, 32}, {32, 32}, "tcgen05.mma", 1, "CTA tile of [128, n]");
  refused({128, 32}, {16, 32}, "wgmma", 2, "/tiles/0/cta_group: is of tcgen05.mma");
  refused({128, 32}, {32, 32}, "wgmm", 1, "unknown instruction 'wgmm' (nearest valid: 'wgmma'");
}

TEST(KernelLibrary, WhatMakesNoKernelIsRefusedAtItsPlace) {
  const auto error = [](const std::function<void(json&)>& damage) {
    json damaged = library();
    damage(damaged);
    return input_error_of([&] { parse_kernel_library(damaged.dump(), "l.json"); });
  };
  EXPECT_NE(error([](json& l) { l["tiles"] = json::array(); }).find("/tiles"), std::string::npos);
  EXPECT_NE(error([](json& l) {
              l["tiles"][0]["cta"] = {100, 64};
            }).find("/tiles/0/cta"),
            std::string::npos);
  EXPECT_NE(error([](json& l) { l["tiles"][0]["cta"] = {128}; }).find("/tiles/0/cta"),
            std::string::npos);
  EXPECT_NE(error([](json& l) {
              l["tiles"][0]["warp"] = {48, 32};
            }).find("/tiles/0/warp"),
            std::string::npos);
  EXPECT_NE(
      error([](json& l) { l["tiles"][0]["main_loop_percent"] = "high"; }).find("main_loop_percent"),
      std::string::npos);
  for (const double impossible : {0.0, 1e-300, -5.0, 100.5}) {
    EXPECT_NE(error([&](json& l) {
                l["tiles"][0]["main_loop_percent"] = impossible;
              }).find("main_loop_percent"),
              std::string::npos);
  }
  for (const int group : {0, 2, 3}) {  // 2: of tcgen05.mma
    EXPECT_NE(
        error([&](json& l) { l["tiles"][0]["cta_group"] = group; }).find("/tiles/0/cta_group"),
        std::string::npos);
  }
  EXPECT_NE(error([](json& l) { l["tiles"][0]["speed"] = 1; }).find("speed"), std::string::npos);
  EXPECT_NE(error([](json& l) { l.erase("tiles"); }).find("tiles"), std::string::npos);
  EXPECT_NE(error([](json& l) { l["evidence"] = "felt"; }).find("evidence"), std::string::npos);
}

json ruled() {
  json of_one = library();
  of_one["rules"] = {{{"rows_above", 4096},
                      {"columns_from", 1664},
                      {"k", {2048, 4096}},
                      {"cta", {128, 64}},
                      {"main_loop_percent", 84.5},
                      {"source", "a test"}}};
  return of_one;
}

TEST(KernelLibrary, ARuleOfItsChoiceArrives) {
  const KernelLibrarySpec read = parse_kernel_library(ruled().dump(), "l.json");
  ASSERT_EQ(read.rules.size(), 1U);
  const ChoiceRule& rule = read.rules[0];
  EXPECT_EQ(rule.rows_above, 4096);
  EXPECT_EQ(rule.columns_from, 1664);
  EXPECT_EQ(rule.k_from, 2048);
  EXPECT_EQ(rule.k_to, 4096);
  EXPECT_EQ(rule.cta_m, 128);
  EXPECT_EQ(rule.cta_n, 64);
  EXPECT_EQ(rule.main_loop_percent, 84.5);
}

TEST(KernelLibrary, ARuleThatDecidesNothingIsRefusedAtItsPlace) {
  const auto refused = [](const std::function<void(json&)>& damage, const char* why) {
    json damaged = ruled();
    damage(damaged["rules"][0]);
    expect_input_error([&] { parse_kernel_library(damaged.dump(), "l.json"); }, {why});
  };
  refused([](json& rule) { rule["cta"] = {128, 128}; }, "/rules/0/cta: 128 x 128 is none of");
  refused([](json& rule) { rule["k"] = {4096, 2048}; }, "/rules/0/k/1");
  refused([](json& rule) { rule["k"] = {4096}; }, "/rules/0/k: must be [least, most]");
  refused([](json& rule) { rule["k"] = {"few", 4096}; }, "/rules/0/k/0");
  refused([](json& rule) { rule["rows_above"] = -1; }, "/rules/0/rows_above");
  refused([](json& rule) { rule["main_loop_percent"] = 0; }, "/rules/0/main_loop_percent");
  refused([](json& rule) { rule.erase("source"); }, "/rules/0");
  refused([](json& rule) { rule["why"] = "unknown"; }, "why");
}

TEST(KernelLibrary, AnUnknownNameIsAnsweredWithTheNearest) {
  const std::string error = input_error_of([] {
    load_kernel_library("cublas-a10", {"a.json", "/kernels/library"});
  });
  EXPECT_NE(error.find("/kernels/library"), std::string::npos);
  EXPECT_NE(error.find("nearest valid: 'cublas-a100'"), std::string::npos);
  // The directory of the configurations may be that of the shipped ones.
  EXPECT_NE(error.find("allowed: cublas-a100, cublas-a40,"), std::string::npos) << error;
}

}  // namespace
}  // namespace sptc::sim
