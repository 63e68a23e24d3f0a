// SPDX-License-Identifier: Apache-2.0
#include "sim/run/library_path.h"

#include "sim/run/option_table.h"
#include "sim/run/simulate.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::run {
namespace {

workload::Workload layer() {
  workload::Workload result;
  workload::Operation& op = result.operations.emplace_back();
  op.name = "mlp.up";
  op.shape = {8192, 2048, 8192};
  op.dtype = numerics::DataType::kBf16;
  op.prunable = op.weight = true;
  return result;
}

SimulationOptions closed_form(const std::string& algorithm = "default") {
  SimulationOptions options;
  options.fidelity = Fidelity::kAnalytic;
  options.check = CheckMode::kNone;
  set_option(options, "algorithm", algorithm);
  return options;
}

std::optional<LibraryPath> path_of(const std::string& board, const SimulationOptions& options) {
  const config::Architecture architecture = config::load_architecture(board);
  return library_path(layer(), architecture, options, simulate(layer(), architecture, options));
}

TEST(LibraryPath, NamesWhatTheOtherAlgorithmGains) {
  const config::Architecture h100 = config::load_architecture("h100-sxm5-80gb");
  const double by_default = *simulate(layer(), h100, closed_form()).totals.speedup;
  const double searched = *simulate(layer(), h100, closed_form("sparse=best")).totals.speedup;
  EXPECT_LT(by_default, searched);
  const auto usual = path_of("h100-sxm5-80gb", closed_form());
  ASSERT_TRUE(usual && usual->default_known);
  EXPECT_EQ(usual->algorithm, kernels::Algorithm::kHeuristic);
  EXPECT_EQ(*usual->other_gain, searched);
  const auto best = path_of("h100-sxm5-80gb", closed_form("sparse=best"));
  EXPECT_EQ(best->algorithm, kernels::Algorithm::kBest);
  EXPECT_EQ(*best->other_gain, by_default);
}

TEST(LibraryPath, SaysWhereNoDefaultKernelIsKnown) {
  const auto path = path_of("a100-sxm4-80gb", closed_form());
  ASSERT_TRUE(path.has_value());
  EXPECT_FALSE(path->default_known);
  EXPECT_FALSE(path->other_gain.has_value());
}

TEST(LibraryPath, IsThatOfALibraryAlone) {
  SimulationOptions searched = closed_form();
  set_option(searched, "kernels", std::string("search"));
  EXPECT_FALSE(path_of("h100-sxm5-80gb", searched).has_value());
}

TEST(AlgorithmOption, IsOfEachLibrary) {
  SimulationOptions options = closed_form("dense=best");
  EXPECT_EQ(options.conditions.algorithm, kernels::Algorithm::kBest);
  EXPECT_EQ(options.sparse_algorithm, kernels::Algorithm::kHeuristic);
  options = closed_form("sparse=best,dense=default");
  EXPECT_EQ(options.conditions.algorithm, kernels::Algorithm::kHeuristic);
  EXPECT_EQ(options.sparse_algorithm, kernels::Algorithm::kBest);
  options = closed_form("best");
  EXPECT_FALSE(options.sparse_algorithm.has_value());
  EXPECT_EQ(closed_form("heuristic").conditions.algorithm, kernels::Algorithm::kHeuristic);
  for (const char* const word :
       {"", "fast", "best,", "cusparselt=best", "sparse=", "sparse=best;"}) {
    support::expect_input_error([&] { closed_form(word); }, {"--algorithm"});
  }
}

}  // namespace
}  // namespace sptc::run
