// SPDX-License-Identifier: Apache-2.0
// Workloads whose extents are expressions of named dimensions.
#include "sim/workload/workload_dims.h"

#include "sim/workload/dim_lists.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"

#include <fmt/format.h>

namespace sptc::workload {
namespace {

std::int64_t value(const std::string& text) {
  const NamedDims dims{{"batch", 6}, {"seq", 384}, {"x1_y", 5}};
  return evaluate_extent(text, [&](const std::string& name) { return dims.at(name); }, {"w.json", "/ops/0/n"});
}

TEST(ExtentExpression, BindsAsInArithmetic) {
  EXPECT_EQ(value("7"), 7);
  EXPECT_EQ(value("batch*seq"), 6 * 384);
  EXPECT_EQ(value(" 2 + 3*batch - 1 "), 19);
  EXPECT_EQ(value("(2+3)*(batch - 1)"), 25);
  EXPECT_EQ(value("100 - 10 - 1"), 89);
  EXPECT_EQ(value("seq/4/3*x1_y"), 160);
}

TEST(ExtentExpression, DividesExactlyOrRoundsUp) {
  EXPECT_EQ(value("seq/batch"), 64);
  EXPECT_EQ(value("ceil_div(seq, 5)"), 77);
  EXPECT_EQ(value("ceil_div(seq, 6)"), 64);
  EXPECT_EQ(value("min(seq, 2*batch) + max(batch, 7)"), 19);
  support::expect_input_error([] { value("seq/5"); },
                              {"w.json: /ops/0/n: the expression \"seq/5\" divides 384 by 5, which leaves a "
                               "remainder (ceil_div(a, b) rounds up)"});
  support::expect_input_error([] { value("seq/(batch - 6)"); }, {"divides by 0"});
  support::expect_input_error([] { value("ceil_div(1, batch - 6)"); }, {"divides by 0"});
}

TEST(ExtentExpression, RefusesWhatIsNone) {
  for (const char* text : {"", "batch*", "*2", "batch seq", "(batch", "batch)", "2batch", "-1", "min(1)",
                           "min(1, 2, 3)", "batch**2", "1.5", "_a"}) {
    support::expect_input_error([&] { value(text); },
                                {fmt::format("w.json: /ops/0/n: the expression \"{}\" needs ", text)});
  }
  support::expect_input_error([] { value("ceil(1, 2)"); }, {"unknown function 'ceil' (nearest valid: 'ceil_div'"});
  support::expect_input_error([] { value(std::string(33, '(') + "1" + std::string(33, ')')); },
                              {"nested deeper than 32 levels"});
  support::expect_input_error([] { value(std::string(1001, '1')); }, {"1001 characters"});
}

TEST(ExtentExpression, NoValueExceeds64Bits) {
  for (const char* text :
       {"9223372036854775807 + 1", "0 - 9223372036854775807 - 2", "4294967296*4294967296", "9223372036854775808"}) {
    support::expect_input_error([&] { value(text); }, {"exceeds 64 bits"});
  }
}

std::string workload(const std::string& dims, const std::string& op) {
  return fmt::format(R"({{"schema": "gemm-workload/0.2", "dims": {}, "ops": [{}]}})", dims, op);
}

Workload parse(const std::string& text, const NamedDims& dims = {}) {
  return parse_workload_json(text, "dir/w.json", dims);
}

constexpr const char* kGemm =
    R"({"name": "x", "m": 16, "n": "batch*seq", "k": 32, "batch": "2*batch", "count": "batch"})";
constexpr const char* kDims = R"({"batch": 2, "seq": 384, "context": "seq"})";

TEST(WorkloadDims, DefaultsAndGivenValuesFillTheExtents) {
  const Workload usual = parse(workload(kDims, kGemm));
  EXPECT_EQ(usual.operations.at(0).shape, (base::GemmShape{16, 768, 32}));
  EXPECT_EQ(usual.operations.at(0).batch, 4);
  EXPECT_EQ(usual.dims, (NamedDims{{"batch", 2}, {"seq", 384}, {"context", 384}}));
  EXPECT_EQ(title(usual), "w (batch=2, context=384, seq=384)");
  EXPECT_EQ(title(usual, {"batch", "context", "seq"}), "w");
  const Workload given = parse(workload(kDims, kGemm), {{"batch", 5}, {"seq", 7}});
  EXPECT_EQ(given.operations.at(0).shape.n, 5 * 7);
  EXPECT_EQ(given.operations.at(0).count, 5);
  EXPECT_EQ(given.dims.at("context"), 7);
}

TEST(WorkloadDims, ContextAloneDecodesOneTokenOfEachSequence) {
  const Workload decode = parse(workload(kDims, kGemm), {{"context", 7}});
  EXPECT_EQ(decode.dims, (NamedDims{{"batch", 2}, {"seq", 1}, {"context", 7}}));
  ASSERT_EQ(decode.notes.size(), 1U);
  EXPECT_NE(decode.notes[0].find("decode: one token of each sequence"), std::string::npos);
  EXPECT_EQ(parse(workload(kDims, kGemm), {{"seq", 3}, {"context", 7}}).dims.at("seq"), 3);
  support::expect_input_error(
      [] {
        parse(workload(kDims, kGemm), {{"seq", 10}, {"context", 5}});
      },
      {"--dim context=5 is below seq=10"});
  // Where context is no name of seq, nothing is known of it.
  EXPECT_EQ(parse(workload(R"({"batch": 1, "seq": 4, "context": 9})", kGemm), {{"context", 7}}).dims.at("seq"), 4);
}

TEST(WorkloadDims, ConvolutionsHaveExpressionsToo) {
  const std::string conv = R"({"name": "c", "conv": {"N": "batch", "C": 16, "H": "image", "W":
    "image/2", "K": 8, "R": 3, "S": 3, "stride": [2, "2"], "pad": ["1 - 1", 1]}})";
  const Workload read = parse(workload(R"({"batch": 2, "image": 18})", conv));
  EXPECT_EQ(read.operations.at(0).shape, (base::GemmShape{8, 2 * 8 * 5, 144}));
  support::expect_input_error([&] { parse(workload(R"({"batch": 2, "image": 19})", conv)); },
                              {"dir/w.json: /ops/0/conv/W: the expression \"image/2\" divides 19 by 2"});
}

TEST(WorkloadDims, ADimensionWithoutADefaultMustBeGiven) {
  const std::string text = workload(R"({"batch": null, "seq": 8})", kGemm);
  support::expect_input_error([&] { parse(text); }, {"dir/w.json: the dimension 'batch' is open", "--dim batch=8"});
  EXPECT_EQ(parse(text, {{"batch", 3}}).operations.at(0).shape.n, 24);
}

TEST(WorkloadDims, FaultsAreNamedWithTheirPlace) {
  const auto refused = [](const std::string& text, std::initializer_list<std::string_view> parts,
                          const NamedDims& dims = {}) {
    support::expect_input_error([&] { parse(text, dims); }, parts);
  };
  refused(workload(kDims, R"({"name": "x", "m": 1, "n": "batch*sec", "k": 1})"),
          {"dir/w.json: /ops/0/n: unknown dimension 'sec' (nearest valid: 'seq'"});
  refused(workload(kDims, R"({"name": "x", "m": 1, "n": "seq - 384", "k": 1})"),
          {"/ops/0/n: \"seq - 384\" is 0, but must be from 1 to 2147483647"});
  refused(workload(kDims, R"({"name": "x", "m": 1, "n": "batch*seq", "k": 1})"),
          {"/ops/0/n: \"batch*seq\" is 824633720448, but must be from 1 to 2147483647"}, {{"batch", 2147483647}});
  refused(workload(kDims, kGemm), {"dir/w.json has no open dimension 'bach' (nearest valid: 'batch'"}, {{"bach", 1}});
  refused(workload(kDims, kGemm), {"--dim batch: must be an integer from 1 to 2147483647, not '0'"}, {{"batch", 0}});
  refused(workload(R"({"a": "b + 1", "b": "a"})", kGemm), {"the dimension depends on itself"});
  refused(workload(R"({"a": 0})", kGemm), {"/dims/a: must be an integer from 1 to"});
  refused(workload(R"({"a": true})", kGemm), {"/dims/a: must be an integer"});
  refused(workload(R"({"a b": 1})", kGemm), {"/dims/a b: a dimension is called by a letter"});
  refused(workload("[1]", kGemm), {"/dims: must be an object"});
  std::string many = "{";
  for (int i = 0; i < 65; ++i) {
    many += fmt::format("{}\"d{}\": 1", i == 0 ? "" : ", ", i);
  }
  refused(workload(many + "}", kGemm), {"/dims: 65 dimensions are more than 64"});
}

TEST(WorkloadDims, AnEarlierSchemaHasNone) {
  const auto earlier = [](std::string text) { return text.replace(text.find("0.2"), 3, "0.1"); };
  support::expect_input_error([&] { parse(earlier(workload(kDims, kGemm))); },
                              {"/dims: needs the schema \"gemm-workload/0.2\""});
  const std::string plain = R"({"schema": "gemm-workload/0.1", "ops": [{"name": "x", "m": 1, "n": 1,
                              "k": "2"}]})";
  const std::string whole = R"({"schema": "gemm-workload/0.1", "ops": [{"name": "x", "m": 1, "n": 1, "k": 2}]})";
  support::expect_input_error([&] { parse(plain); }, {"/ops/0/k: must be an integer"});
  support::expect_input_error([&] { parse(whole, {{"batch", 1}}); }, {"dir/w.json has no open dimension 'batch'"});
}

TEST(DimLists, AreReadFromOptions) {
  const DimLists lists = parse_dim_lists({"batch=1,8,64,seq=384", "context=5"});
  ASSERT_EQ(lists.size(), 3);
  EXPECT_EQ(lists[0].second, (std::vector<std::int64_t>{1, 8, 64}));
  EXPECT_EQ(lists[1], (std::pair<std::string, std::vector<std::int64_t>>{"seq", {384}}));
  EXPECT_EQ(single_values(parse_dim_lists({"batch=8,seq=384"})), (NamedDims{{"batch", 8}, {"seq", 384}}));
  support::expect_input_error([&] { single_values(lists); }, {"--dim batch: one value is taken here, not 3"});
  for (const auto& [given, message] : std::vector<std::pair<std::string, std::string>>{
           {"8", "--dim must be NAME=V"},
           {"=8", "--dim must be NAME=V"},
           {"", "--dim must be NAME=V"},
           {"batch=", "--dim batch: must be an integer from 1 to 2147483647, not ''"},
           {"batch=0", "not '0'"},
           {"batch=1,", "not ''"},
           {"batch=2147483648", "not '2147483648'"},
           {"batch=1,1", "--dim batch: 1 stands twice"},
           {"batch=1,batch=2", "--dim: batch is given twice"}}) {
    support::expect_input_error([&, &text = given] { parse_dim_lists({text}); }, {message});
  }
}

TEST(DimLists, CombinationsHaveTheLastDimensionFastest) {
  const std::vector<NamedDims> all = combinations(parse_dim_lists({"b=1,2", "a=3,4"}));
  EXPECT_EQ(all, (std::vector<NamedDims>{
                     {{"b", 1}, {"a", 3}}, {{"b", 1}, {"a", 4}}, {{"b", 2}, {"a", 3}}, {{"b", 2}, {"a", 4}}}));
  EXPECT_EQ(combinations({}), std::vector<NamedDims>{{}});
  DimLists wide(2, {"x", {}});
  for (std::int64_t i = 1; i <= 101; ++i) {
    wide[0].second.push_back(i);
    wide[1].second.push_back(i);
  }
  support::expect_input_error([&] { combinations(wide); }, {"more than 10000 combinations"});
}

}  // namespace
}  // namespace sptc::workload
