// SPDX-License-Identifier: Apache-2.0
#include "sim/config/board_names.h"

#include "models/base/text.h"
#include "sim/config/architecture.h"
#include "sim/config/documented_architecture.h"
#include "sim/config/energy.h"
#include "sim/io/text_file.h"
#include "tests/support/environment.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sptc::config {
namespace {

TEST(BoardNames, KnowTheWordsOfVendorsWhateverTheirSpelling) {
  EXPECT_EQ(board_name("A100"), "a100-sxm4-80gb");
  EXPECT_EQ(board_name("A100-PCIE"), "a100-pcie-80gb");
  EXPECT_EQ(board_name("a100 pcie"), "a100-pcie-80gb");
  EXPECT_EQ(board_name("H100"), "h100-sxm5-80gb");
  EXPECT_EQ(board_name("H200"), "h200-sxm");
  EXPECT_EQ(board_name("V100"), "v100-sxm2-16gb");
  for (const char* const name : {"B200", "L40S", "L4", "A30", "A40", "T4", "RTX4090", "RTX3090"}) {
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_EQ(board_name(name), lower);
  }
  EXPECT_EQ(board_name("NVIDIA GeForce RTX 4090"), "rtx4090");
  EXPECT_EQ(board_name("Tesla T4"), "t4");
  EXPECT_EQ(board_name("NVIDIA A100 80GB PCIe"), "a100-pcie-80gb");
  EXPECT_EQ(board_name("rtx 3070-ti"), "rtx3070ti");
}

TEST(BoardNames, KnowTheGpusOf2026) {
  for (const auto& [word, board] : std::map<std::string, std::string>{{"Orin", "jetson-agx-orin-64gb"},
                                                                      {"Jetson AGX Orin", "jetson-agx-orin-64gb"},
                                                                      {"Thor", "jetson-agx-thor"},
                                                                      {"RTX3060", "rtx3060"},
                                                                      {"A10", "a10"},
                                                                      {"A6000", "rtx-a6000"},
                                                                      {"RTX A6000", "rtx-a6000"},
                                                                      {"H20", "h20"},
                                                                      {"L20", "l20"},
                                                                      {"RTX5090", "rtx5090"},
                                                                      {"NVIDIA GeForce RTX 5070 Ti", "rtx5070ti"},
                                                                      {"RTXPRO6000", "rtx-pro-6000-blackwell"},
                                                                      {"rtx-pro-6000", "rtx-pro-6000-blackwell"},
                                                                      {"B300", "b300"},
                                                                      {"gb-200", "gb200"},
                                                                      {"GB300", "gb300"}}) {
    EXPECT_EQ(board_name(word), board) << word;
  }
  // Near names are other GPUs.
  for (const char* const word : {"H21", "L40", "A1", "GH200", "RTX5070", "RTX 6000"}) {
    EXPECT_EQ(board_name(word), word);
  }
}

TEST(BoardNames, LeaveNamesPathsAndUnknownWordsAsTheyAre) {
  for (const char* const word : {"a40", "./A100.json", "dir/A100", "A10O", ""}) {
    EXPECT_EQ(board_name(word), word);
  }
}

TEST(BoardNames, EachShippedAliasMeansAShippedBoardAndNoOther) {
  const auto aliases = nlohmann::json::parse(io::read_text_file(
      (shipped_config_directory() / "common" / "aliases.json").string(), 1 << 20))["aliases"]
                           .get<std::map<std::string, std::string>>();
  const std::vector<std::string> names = architecture_names();
  for (const auto& [alias, board] : aliases) {
    EXPECT_NE(std::ranges::find(names, board), names.end()) << alias;
    EXPECT_EQ(board_name(alias), board);
    EXPECT_TRUE(std::ranges::none_of(
        names,
        [&, &word = alias](const std::string& name) { return base::plain_name(name) == base::plain_name(word); }))
        << alias << " is the name of a board";
  }
  EXPECT_GT(aliases.size(), 20u);
}

TEST(BoardNames, SayOfTheNearestWhetherItIsAnotherChip) {
  const auto refused = [](const char* word, std::initializer_list<std::string_view> parts) {
    support::expect_input_error([&] { load_architecture(word); }, parts);
  };
  refused("rtx5070",
          {"unknown architecture 'rtx5070' (a GB205, not among the boards", "'rtx5070ti' (another chip, GB203)"});
  refused("l40", {"a AD102, not among", "'l40s' (the same chip)"});
  refused("rtx3080", {"a GA102, not among", "'rtx3090' (the same chip)"});
  refused("b100", {"a GB100, not among", "'b200' (the same chip)"});
  refused("rtx4091", {"nearest valid: 'rtx4090' (another chip, AD102, unless misspelt)"});
  refused("mi300x", {"another chip", "unless misspelt"});
  support::expect_input_error(
      [] { load_energy("rtx5070"); },
      {"unknown energy file 'rtx5070' (a GB205, not among the boards", "'rtx5070ti' (another chip, GB203)"});
}

TEST(BoardNames, HaveTheChipsOfTheirDescriptions) {
  for (const std::string& name : architecture_names()) {
    const auto [architecture, document] = load_documented_architecture(name);
    const std::string chip = chip_of_board(architecture);
    const std::string text = document["description"];
    const std::size_t at = text.find("(G") != std::string::npos ? text.find("(G") : text.find("(T");
    if (at != std::string::npos && name.find("mig") == std::string::npos) {
      EXPECT_EQ(text.substr(at + 1, text.find(',', at) - at - 1), chip) << name;
    }
    EXPECT_FALSE(chip.empty()) << name;
  }
}

TEST(BoardNames, MayBeAddedInADirectoryOfTheUsersOwn) {
  const support::TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() / "common");
  std::filesystem::copy_file(std::string(SPTC_SOURCE_DIR) + "/configs/a40.json", directory.path() / "a40.json");
  const auto write = [&](const std::string& text) {
    io::write_file(directory.path() / "common" / "aliases.json", text);
  };
  const support::Environment variable("SPTCSIM_CONFIG_DIR", directory.path().c_str());
  write(R"({"aliases": {"mine": "a40"}})");
  EXPECT_EQ(load_architecture("Mine").gpu.name, "a40");
  EXPECT_EQ(load_architecture("A100").gpu.name, "a100-sxm4-80gb");
  write(R"({"aliases": {"mine": 40}})");
  support::expect_input_error([] { board_name("mine"); },
                              {"aliases.json: /aliases/mine: must be a string that is not empty, not 40"});
  write(R"({"alias": {}})");
  support::expect_input_error([] { board_name("mine"); }, {"aliases.json", "unknown key 'alias'"});
}

TEST(BoardNames, AreTargetsOfMatrixInstructions) {
  EXPECT_EQ(target_of("sm_90a").name, "sm_90");
  EXPECT_EQ(target_of("A100").name, "sm_80");
  EXPECT_EQ(target_of("a100-pcie-40gb").name, "sm_80");
  EXPECT_EQ(target_of("a100-sxm4-80gb-mig-1g.10gb").name, "sm_80");
  EXPECT_EQ(target_of("RTX3090").name, "sm_86");
  EXPECT_EQ(target_of("A6000").name, "sm_86");
  EXPECT_EQ(target_of("Jetson AGX Orin").name, "sm_87");
  EXPECT_EQ(target_of("rtx2080ti").name, "sm_75");
  EXPECT_EQ(target_of("H100-PCIE").name, "sm_90");
  EXPECT_EQ(target_of("h800").name, "sm_90");
  EXPECT_EQ(target_of("rtx5080").name, "sm_120");
  EXPECT_EQ(target_of("rtx5080").architecture, "rtx-blackwell");
  EXPECT_EQ(target_of(std::string(SPTC_SOURCE_DIR) + "/configs/v100-sxm2-16gb.json").name, "sm_70");
  support::expect_input_error([] { target_of("rtx4091"); },
                              {"unknown architecture 'rtx4091'", "nearest valid: 'rtx4090'"});
}

}  // namespace
}  // namespace sptc::config
