// SPDX-License-Identifier: Apache-2.0
// Dimensions of workloads in a sweep: per workload, and as axes.
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <gtest/gtest.h>

namespace sptc::sweep {
namespace {

using nlohmann::json;

class SweepDims : public testing::Test {
 protected:
  void SetUp() override {
    io::write_file(directory_.path() / "net.json",
                   R"({"schema": "gemm-workload/0.2", "name": "net", "dims": {"batch": 1, "seq": 8},
                   "ops": [{"name": "x", "m": 16, "n": "batch*seq", "k": 32}]})");
  }

  SweepPlan plan(const json& workloads, const json& axes) const {
    json spec = spec_json({{"workloads", workloads}, {"axes", axes}});
    if (axes.empty()) {
      spec.erase("axes");
    }
    return SweepPlan(parse_sweep_spec(spec.dump(), directory_.path() / "spec.json"));
  }

  void expect_refused(const json& workloads, const json& axes, std::initializer_list<std::string_view> parts) const {
    support::expect_input_error([&] { plan(workloads, axes); }, parts);
  }

  static std::int64_t n_of(const SweepPlan& plan, std::uint64_t position) {
    return plan.spec().workloads[plan.point(position).workload].workload.operations.at(0).shape.n;
  }

  support::TemporaryDirectory directory_;
};

const json kSmall = json::parse(R"({"m": 16, "n": 16, "k": 16})");

TEST_F(SweepDims, AListInAWorkloadIsSeveralWorkloads) {
  const SweepPlan both =
      plan({{{"file", "net.json"}, {"dims", {{"batch", {1, 4}}, {"seq", 16}}}}, kSmall, "net.json"}, json::array());
  EXPECT_EQ(both.spec().axes[0].values,
            (std::vector<json>{"net (batch=1, seq=16)", "net (batch=4, seq=16)", "16x16x16", "net (batch=1, seq=8)"}));
  EXPECT_EQ(both.product(), 4);
  EXPECT_EQ(n_of(both, 1), 64);
  EXPECT_NE(both.hash(both.point(0)), both.hash(both.point(3)));
}

TEST_F(SweepDims, AnAxisVariesADimensionOfEveryWorkload) {
  const SweepPlan varied = plan({"net.json", {{"file", "net.json"}, {"dims", {{"seq", 16}}}}},
                                {{{"dim", "batch"}, {"values", {1, 2, 4}}}, {{"option", "seed"}, {"values", {1, 2}}}});
  EXPECT_EQ(varied.spec().axes[0].values, (std::vector<json>{"net (seq=8)", "net (seq=16)"}));
  ASSERT_EQ(varied.product(), 12);
  std::vector<std::int64_t> found;
  for (std::uint64_t position = 0; position < 12; position += 2) {
    found.push_back(n_of(varied, position));
    EXPECT_EQ(n_of(varied, position + 1), found.back()) << "the seed is no dimension";
  }
  EXPECT_EQ(found, (std::vector<std::int64_t>{8, 16, 32, 16, 32, 64}));
  EXPECT_EQ(varied.value(2, 4), 4);
}

TEST_F(SweepDims, ZippedAndSeveralAxes) {
  const SweepPlan zipped =
      plan({"net.json"}, {{{"zip", {{{"dim", "batch"}, {"values", {1, 2}}}, {{"dim", "seq"}, {"values", {3, 5}}}}}}});
  ASSERT_EQ(zipped.product(), 2);
  EXPECT_EQ(n_of(zipped, 0), 3);
  EXPECT_EQ(n_of(zipped, 1), 10);
  EXPECT_EQ(zipped.spec().axes[0].values, (std::vector<json>{"net"}));
}

TEST_F(SweepDims, FaultsAreNamed) {
  const json batch = json::array({{{"dim", "batch"}, {"values", {1, 2}}}});
  expect_refused(json::array({kSmall}), batch, {"/workloads/0: a GEMM has no dimension 'batch'"});
  expect_refused(json::array({"net.json"}), json::array({{{"dim", "bach"}, {"values", {1, 2}}}}),
                 {"net.json has no open dimension 'bach' (nearest valid: 'batch'"});
  expect_refused(json::array({"net.json"}), json::array({{{"dim", "batch"}, {"values", {0, 2}}}}),
                 {"/axes/0: must be an integer from 1 to"});
  expect_refused(json::array({"net.json"}), json::array({{{"dim", "batch"}, {"values", {"x", "y"}}}}),
                 {"/axes/0: must be an integer from 1 to"});
  expect_refused(json::array({"net.json"}), json::array({{{"dim", "batch"}, {"option", "seed"}, {"values", {1}}}}),
                 {"/axes/0: needs one of 'parameter', 'option' and 'dim', not two"});
  expect_refused(json::array({{{"file", "net.json"}, {"dims", {{"batch", 2}}}}}), batch,
                 {"/workloads/0/dims/batch: 'batch' is varied by an axis"});
  expect_refused(json::array({{{"file", "net.json"}, {"dims", {{"batch", "2"}}}}}), json::array(),
                 {"/workloads/0/dims/batch: must be an integer"});
  expect_refused(json::array({{{"file", "net.json"}, {"dim", 1}}}), json::array(), {"unknown key 'dim'"});
  expect_refused({"net.json", "net.json"}, batch, {"a second workload is called 'net (seq=8)'"});
}

}  // namespace
}  // namespace sptc::sweep
