// SPDX-License-Identifier: Apache-2.0
#include "sim/config/named_file.h"

#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/config/kernel_library.h"
#include "sim/io/text_file.h"
#include "tests/support/environment.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace sptc::config {
namespace {

namespace fs = std::filesystem;

const std::string kConfigs = std::string(SPTC_SOURCE_DIR) + "/configs/";

/// A configuration directory of the user's own, in front of the shipped one.
class NamedFile : public ::testing::Test {
 protected:
  /// `shipped`, a path below configs/, under another name, but for what it calls itself.
  std::string copied(const std::string& shipped, const std::string& to) {
    const fs::path path = directory_.path() / to;
    fs::create_directories(path.parent_path());
    fs::copy_file(kConfigs + shipped, path);
    return path.string();
  }

  support::TemporaryDirectory directory_;
  const support::Environment variable_{"SPTCSIM_CONFIG_DIR", directory_.path().c_str()};
};

TEST_F(NamedFile, IsCalledAsItsFileIs) {
  const std::string board = copied("a100-sxm4-80gb.json", "mine.json");
  const std::string energy = copied("energy/a100-sxm4-80gb.json", "energy/mine.json");
  copied("libraries/cublas-sm90.json", "libraries/mine.json");
  const auto refused = [](const std::function<void()>& load, std::string_view name) {
    support::expect_input_error(load, {"mine.json: /name: must be 'mine'", name});
  };
  refused([] { load_architecture("mine"); }, "\"a100-sxm4-80gb\"");
  const char* const derived =
      R"({"base": "mine", "name": "d", "sms": {"value": 2, "evidence": "assumed", "source": "x"}})";
  refused([&] { parse_architecture(derived, "d.json"); }, "\"a100-sxm4-80gb\"");
  refused([] { load_energy("mine"); }, "\"a100-sxm4-80gb\"");
  refused([] { load_kernel_library("mine", "a library"); }, "\"cublas-sm90\"");
  EXPECT_EQ(load_architecture(board).gpu.name, "a100-sxm4-80gb");
  EXPECT_EQ(load_energy(energy).config.name, "a100-sxm4-80gb");
}

TEST_F(NamedFile, AnUnknownNameIsAnsweredWithAllThatAreThere) {
  copied("energy/a40.json", "energy/one.json");
  copied("energy/a40.json", "energy/mig/two-mig-1g.json");
  support::expect_input_error([] { load_energy("two-mig-2g"); },
                              {"unknown energy file 'two-mig-2g' (nearest valid: 'two-mig-1g'"});
}

TEST_F(NamedFile, AFileOfTheUsersOwnStandsOnShippedOnes) {
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((directory_.path() / name).parent_path());
    io::write_file(directory_.path() / name, text);
  };
  write("a16.json", R"({"base": "a40", "name": "a16", "board": true,
      "sms": {"value": 72, "evidence": "assumed", "source": "x"}})");
  write("energy/a16.json", R"({"base": "a40", "name": "a16", "clock": {
      "power_limit_w": {"value": 150, "evidence": "cited", "source": "x"}}})");
  write("energy/a16x.json", R"({"base": "a16", "name": "a16x", "static": {
      "board_idle_w": {"value": 30, "evidence": "cited", "source": "x"}}})");
  write("energy/a11.json", R"({"base": "a40", "name": "a11", "static": {
      "board_idle_w": {"value": 30, "evidence": "cited", "source": "x"}}})");
  EXPECT_EQ(load_architecture("a16").gpu.memory.l2_capacity, load_architecture("a40").gpu.memory.l2_capacity);
  EXPECT_EQ(load_architecture("A100").gpu.name, "a100-sxm4-80gb");
  EXPECT_EQ(load_energy("a16").config.power.power_limit_w, 150);
  EXPECT_EQ(load_energy("a16").limit_of, "a16");
  EXPECT_EQ(load_energy("a16x").limit_of, "a16");
  EXPECT_EQ(load_energy("a11").limit_of, "a40");
  EXPECT_EQ(load_energy("h200-sxm").limit_of, "h200-sxm");
  const std::vector<std::string> names = architecture_names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "a16"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "a40"), 1);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  // One's own file of a shipped name goes first.
  copied("l4.json", "l4.json");
  EXPECT_EQ(architecture_path("l4"), directory_.path() / "l4.json");
  EXPECT_EQ(architecture_path("l40s"), kConfigs + "l40s.json");
}

TEST_F(NamedFile, ADirectoryThatIsNotThereIsNoEmptyOne) {
  const std::string none = (directory_.path() / "none").string();
  const support::Environment variable("SPTCSIM_CONFIG_DIR", none.c_str());
  for (const auto& use :
       {std::function<void()>([] { architecture_names(); }), std::function<void()>([] { load_architecture("a40"); }),
        std::function<void()>([] { load_energy("a40"); })}) {
    EXPECT_EQ(support::input_error_of(use), "SPTCSIM_CONFIG_DIR: there is no directory '" + none + "'");
  }
}

// Of a path the end matters most, and no character is cut in two.
TEST(Printable, ShortensInTheMiddle) {
  const std::string path = "/" + std::string(200, 'd') + "/the_file.json";
  const std::string shown = io::printable(path);
  EXPECT_LE(shown.size(), 120U);
  EXPECT_TRUE(shown.starts_with("/dd")) << shown;
  EXPECT_TRUE(shown.ends_with("/the_file.json")) << shown;
  std::string umlauts;
  for (int i = 0; i < 100; ++i) {
    umlauts += "\u00e4";
  }
  for (const std::string& text : {umlauts, "a" + umlauts}) {
    EXPECT_NO_THROW(static_cast<void>(nlohmann::json(io::printable(text)).dump()));
  }
}

TEST_F(NamedFile, ABaseIsFoundBesideAFileFarDown) {
  const std::string deep = std::string(100, 'd') + "/" + std::string(100, 'e');
  copied("a100-sxm4-80gb.json", deep + "/base.json");
  const fs::path derived = directory_.path() / deep / "derived.json";
  io::write_file(derived, R"({"base": "base.json", "name": "d",
                          "sms": {"value": 2, "evidence": "assumed", "source": "x"}})");
  EXPECT_EQ(load_architecture(derived.string()).gpu.sms, 2);
}

}  // namespace
}  // namespace sptc::config
