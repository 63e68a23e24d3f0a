// SPDX-License-Identifier: Apache-2.0
#include "sim/run/energy_files.h"

#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace sptc::run {
namespace {

TEST(EnergyFiles, FilesThatCallThemselvesAlikeHaveRangesOfTheirOwn) {
  const std::string name = "a100-sxm4-80gb";
  const support::TemporaryDirectory directory;
  const std::string file = (directory.path() / "mine.json").string();
  nlohmann::json document = nlohmann::json::parse(
      std::ifstream(std::string(SPTC_SOURCE_DIR) + "/configs/energy/" + name + ".json"));
  nlohmann::json& hbm = document["events"]["hbm_pj_per_byte"];
  hbm["range"] = {hbm["value"], hbm["value"]};
  std::ofstream(file) << document;

  EnergyFiles files;
  const config::Architecture a100 = config::load_architecture(name);
  const auto factors_of = [&](const std::string& given) {
    const config::LoadedEnergy& loaded = files.load(given);
    return files.factors_of(
        loaded, config::power_spec(loaded.config, a100.gpu, files.gpu_of(loaded, a100)));
  };
  const auto shipped = factors_of(name), mine = factors_of(file);
  EXPECT_EQ(factors_of(name), shipped) << "made once";
  const auto hbm_of = [](const energy::CostFactors& factors) {
    const auto part = static_cast<std::size_t>(energy::Event::kHbmAccess);
    return factors
        .factors[static_cast<std::size_t>(factors.energy.at(numerics::DataType::kF16)[part])];
  };
  EXPECT_LT(hbm_of(*shipped).low, 1);
  EXPECT_EQ(hbm_of(*mine).low, 1);
  EXPECT_EQ(hbm_of(*mine).high, 1);
}

}  // namespace
}  // namespace sptc::run
