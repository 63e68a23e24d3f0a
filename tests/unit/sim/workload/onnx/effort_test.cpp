// SPDX-License-Identifier: Apache-2.0
// Small files that functions, branches, constants or names multiply end in a sentence.
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/onnx_file.h"
#include "tests/support/sanitizers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace sptc::workload::onnx {
namespace {

using namespace sptc::onnx;
using sptc::onnx::input;  // hides the namespace

constexpr std::int64_t kHalf = 10, kInt64 = 7;
constexpr const char* kTooMuch =
    "x: its operators, functions, branches, constants and names take more than the 67108864 steps "
    "in "
    "which a model is followed";

Recording read_model(const std::string& bytes) {
  input::InputStream stream(bytes, "x");
  return importer::read_recording(stream);
}

const std::string kProduct =
    input("x", kHalf, {16, 32}) + weight("w", kHalf, {32, 64}) + node("MatMul", {"x", "w"}, "y");

/// A call of the function `name` with attributes.
std::string call(const std::string& name, const std::string& attributes = "") {
  return node_of(name, {"a"}, {"b"}, attributes, "own");
}

/// A function of (a) that gives b.
std::string function(const std::string& name, const std::string& nodes) {
  return bytes(25, bytes(1, name) + bytes(4, "a") + bytes(5, "b") + nodes + bytes(10, "own"));
}

/// A node of a graph as one of a function: field 7.
std::string inside(const std::string& node_of_graph) {
  return '\x3A' + node_of_graph.substr(1);
}

/// An attribute that stands for that of the call.
std::string reference(const std::string& name) {
  return bytes(5, bytes(1, name) + bytes(21, name));
}

/// Functions F0 of `nodes`, F1, .. and F, which calls F0 2^`doublings` times.
std::string doubling(int doublings, const std::string& nodes, const std::string& attributes = "") {
  std::string name = "F0";
  std::string functions = function(name, nodes);
  for (int i = 1; i <= doublings; ++i) {
    const std::string once = inside(call(name, attributes));
    name = i == doublings ? "F" : "F" + std::to_string(i);
    functions += function(name, once + once);
  }
  return functions;
}

const std::string kNumbers =
    bytes(5, tensor("a", kInt64, {4096}, bytes(9, std::string(4096 * 8, '\1'))));

/// KiB by which the memory of this process grows at most; nothing where Linux does not say, or
/// where AddressSanitizer keeps what is freed.
template <typename Function>
std::optional<std::int64_t> growth_kib(Function function) {
  const auto peak = [] {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      std::int64_t kib = 0;
      if (word == "VmHWM:" && status >> kib) {
        return kib;
      }
    }
    return std::int64_t{0};
  };
  std::ofstream reset("/proc/self/clear_refs");
  const bool counts = !support::kAddressSanitizer && reset << "5" << std::flush;
  const std::int64_t before = peak();
  function();
  return counts ? std::optional(peak() - before) : std::nullopt;
}

TEST(Effort, StepsKeepNoNumbersOfTheirOperands) {
  // 4096 sums of an activation and 4096 integers, which are 128 MiB where each keeps a copy.
  std::string nodes = kProduct + kNumbers + input("v", kHalf, {2, 4096});
  for (int i = 0; i < 4096; ++i) {
    nodes += node("Add", {"v", "a"}, "s");
  }
  const auto growth =
      growth_kib([&] { EXPECT_EQ(read_model(model(nodes)).workload.vectors.size(), 4096U); });
  EXPECT_LT(growth.value_or(0), 64 * 1024);
}

TEST(Effort, CopiesOfNodesShareTheirGraphs) {
  // 2^10 copies of a graph of 1000 Relu, which are hundreds of MiB where each has its own.
  std::string relus;
  for (int i = 0; i < 1000; ++i) {
    relus += node("Relu", {"a"}, "p");
  }
  const std::string bytes =
      model(kProduct + kNumbers + call("F", graph("unused", relus))) +
      doubling(10, inside(node("Relu", {"a"}, "b", reference("unused"))), reference("unused"));
  const auto growth =
      growth_kib([&] { EXPECT_EQ(read_model(bytes).workload.operations.size(), 1U); });
  EXPECT_LT(growth.value_or(0), 64 * 1024);
}

TEST(Effort, ConstantsThatFunctionsCopyAreCounted) {
  const auto sums = [](int doublings) {
    return read_model(model(kProduct + kNumbers + call("F")) +
                      doubling(doublings, inside(node("Add", {"a", "a"}, "b"))));
  };
  EXPECT_EQ(sums(8).workload.operations.size(), 1U);
  support::expect_input_error([&] { sums(14); }, {kTooMuch});
}

TEST(Effort, NamesThatFunctionsPrefixAreCounted) {
  std::string products;
  for (int i = 0; i < 100; ++i) {
    products += inside(node("MatMul", {"a", "a"}, "p" + std::to_string(i)));
  }
  const auto named = [&](std::size_t letters) {
    return read_model(model(kProduct + call("F", bytes(3, std::string(letters, 'n')))) +
                      function("F", products));
  };
  EXPECT_EQ(named(1000).workload.not_taken.size(), 100U);
  support::expect_input_error([&] { named(1 << 20); }, {kTooMuch});
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
  support::expect_input_error(
      [&] { read_model(model(kProduct + bytes(5, dims + number(2, kHalf) + bytes(8, "t")))); },
      {"x: byte ", what});
  // What is only said of a value is not taken.
  support::expect_input_error(
      [&] {
        read_model(model(kProduct +
                         input("t", kHalf, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})));
      },
      {"the shape of the input 't' is open"});
}

}  // namespace
}  // namespace sptc::workload::onnx
