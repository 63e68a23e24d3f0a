// SPDX-License-Identifier: Apache-2.0
// Small files that functions and branches multiply end in a sentence.
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/onnx_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace sptc::workload::onnx {
namespace {

using namespace sptc::onnx;
using sptc::onnx::input;  // hides the namespace

constexpr std::int64_t kHalf = 10;
constexpr const char* kTooMuch = "x: its functions and branches lead to more than 4194304 operators and values";

Recording read_model(const std::string& bytes) {
  input::InputStream stream(bytes, "x");
  return importer::read_recording(stream);
}

const std::string kProduct =
    input("x", kHalf, {16, 32}) + weight("w", kHalf, {32, 64}) + node("MatMul", {"x", "w"}, "y");

/// A call of the function `name`.
std::string call(const std::string& name) {
  return node_of(name, {"a"}, {"b"}, "", "own");
}

/// A function of (a) that gives b.
std::string function(const std::string& name, const std::string& nodes) {
  return bytes(25, bytes(1, name) + bytes(4, "a") + bytes(5, "b") + nodes + bytes(10, "own"));
}

/// A node of a graph as one of a function: field 7.
std::string inside(const std::string& node_of_graph) {
  return '\x3A' + node_of_graph.substr(1);
}

/// Functions F0 of `nodes`, F1, .. and F, which calls F0 2^`doublings` times.
std::string doubling(int doublings, const std::string& nodes) {
  std::string name = "F0";
  std::string functions = function(name, nodes);
  for (int i = 1; i <= doublings; ++i) {
    const std::string once = inside(call(name));
    name = i == doublings ? "F" : "F" + std::to_string(i);
    functions += function(name, once + once);
  }
  return functions;
}

TEST(Effort, BranchesThatAreNotTakenAreCounted) {
  std::string products;
  for (int i = 0; i < 1000; ++i) {
    products += node("MatMul", {"a", "a"}, "p");
  }
  const std::string branch = inside(node("Constant", {}, "no", integer("value_int", 0))) +
                             inside(node("If", {"no"}, "b", graph("then_branch", products)));
  const std::string loop = node("Loop", {}, "z", graph("body", call("F")));  // of open length
  for (const std::string& caller : {call("F"), loop}) {
    const auto branches = [&](int doublings) {
      return read_model(model(kProduct + caller) + doubling(doublings, branch));
    };
    EXPECT_EQ(branches(4).workload.operations.size(), 1U);
    support::expect_input_error([&] { branches(11); }, {kTooMuch});
  }
}

TEST(Effort, TensorsOfTooManyAxesAreRefused) {
  std::string dims;
  for (int i = 0; i < 17; ++i) {
    dims += number(1, 1);
  }
  const std::string what = "a tensor has more than 16 axes";
  support::expect_input_error([&] { read_model(model(kProduct + bytes(5, dims + number(2, kHalf) + bytes(8, "t")))); },
                              {"x: byte ", what});
  // What is only said of a value is not taken.
  support::expect_input_error(
      [&] {
        read_model(model(kProduct + input("t", kHalf, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})));
      },
      {"the shape of the input 't' is open"});
}

}  // namespace
}  // namespace sptc::workload::onnx
