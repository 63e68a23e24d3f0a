// SPDX-License-Identifier: Apache-2.0
#include "tests/support/onnx_file.h"
#include "tests/unit/sim/cli/program.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

constexpr std::size_t kChannels = 16;

/// Weights of a graph by name, and the graph's bytes.
struct Weights {
  std::map<std::string, std::vector<float>> values;
  std::string bytes;

  void add(const std::string& name, std::initializer_list<std::int64_t> dims) {
    std::size_t count = 1;
    for (const std::int64_t extent : dims) {
      count *= static_cast<std::size_t>(extent);
    }
    std::vector<float>& own = values[name];
    for (std::size_t i = 0; i < count; ++i) {  // no two tensors have a value in common
      own.push_back(static_cast<float>(values.size() * 10000 + i));
    }
    put(name, dims);
  }
  /// [rows, channels, 1, 1] or [channels, rows]: channels below 8 have large weights.
  void add_consumer(const std::string& name, std::initializer_list<std::int64_t> dims, std::size_t rows, bool k_first) {
    std::vector<float>& own = values[name];
    for (std::size_t i = 0; i < rows * kChannels; ++i) {
      const std::size_t channel = k_first ? i / rows : i % kChannels;
      own.push_back((channel < 8 ? 100.0F : 1.0F) + static_cast<float>(i * 7 % 61) / 64 +
                    static_cast<float>(values.size()) / 4096);
    }
    put(name, dims);
  }

 private:
  void put(const std::string& name, std::initializer_list<std::int64_t> dims) {
    const std::vector<float>& own = values[name];
    const std::string raw(reinterpret_cast<const char*>(own.data()), own.size() * 4);
    bytes += onnx::bytes(5, onnx::tensor(name, 1, dims, onnx::bytes(9, raw)));
  }
};

class PruneChannels : public JsonProgram {
 protected:
  nlohmann::json prune(const std::string& graph) const {
    std::ofstream(path("c.onnx"), std::ios::binary) << onnx::model(graph);
    nlohmann::json report =
        json_of("prune " + path("c.onnx") + " --out " + path("p.onnx") + " --permute auto --format json");
    EXPECT_FALSE(report.at("layers").empty());
    return report;
  }
  void expect_unpermuted(const std::string& graph) const {
    const nlohmann::json report = prune(graph);
    for (const auto& layer : report.at("layers")) {
      EXPECT_TRUE(layer.value("permutation", nlohmann::json()).is_null()) << layer;
    }
  }
  /// The values in p.onnx of what c.onnx has as `own`.
  std::vector<float> after(const std::vector<float>& own) const {
    const std::string before = read(path("c.onnx")), pruned = read(path("p.onnx"));
    const std::string raw(reinterpret_cast<const char*>(own.data()), own.size() * 4);
    EXPECT_EQ(before.size(), pruned.size());
    std::vector<float> found(own.size());
    std::memcpy(found.data(), pruned.data() + before.find(raw), raw.size());
    return found;
  }

  std::map<std::string, std::vector<float>> after_;
};

/// A block of a mobile network: a convolution, batch normalisation, filters of single channels, and
/// a gate for each channel; then a convolution and a classifier see the channels.
Weights block() {
  Weights weights;
  weights.add("c1", {16, 8, 3, 3});
  weights.add("b1", {16});
  weights.add("s1", {16, 1, 1});
  for (const char* const name : {"scale", "shift", "mean", "variance"}) {
    weights.add(name, {16});
  }
  weights.add("d", {16, 1, 3, 3});
  weights.add_consumer("e1", {8, 16, 1, 1}, 8, false);
  weights.add("e2", {16, 8, 1, 1});
  weights.add_consumer("c2", {12, 16, 1, 1}, 12, false);
  weights.add_consumer("w3", {16, 5}, 5, true);
  return weights;
}

std::string block_nodes() {
  const std::string pads = onnx::ints("pads", {1, 1, 1, 1});
  return onnx::input("x", 1, {1, 8, 4, 4}) + onnx::node("Conv", {"x", "c1", "b1"}, "h", pads) +
         onnx::node("Mul", {"h", "s1"}, "hs") +
         onnx::node("BatchNormalization", {"hs", "scale", "shift", "mean", "variance"}, "n") +
         onnx::node("HardSwish", {"n"}, "r") + onnx::node("Conv", {"r", "d"}, "a", pads + onnx::integer("group", 16)) +
         onnx::node("GlobalAveragePool", {"a"}, "p") + onnx::node("Conv", {"p", "e1"}, "q") +
         onnx::node("Relu", {"q"}, "qr") + onnx::node("Conv", {"qr", "e2"}, "g") +
         onnx::node("HardSigmoid", {"g"}, "gate") + onnx::node("Mul", {"gate", "a"}, "m") +
         onnx::node("Conv", {"m", "c2"}, "y") + onnx::node("GlobalMaxPool", {"m"}, "t") +
         onnx::node("Flatten", {"t"}, "f") + onnx::node("Gemm", {"f", "w3"}, "z");
}

const std::string kOutputs = onnx::output("y") + onnx::output("z");

TEST_F(PruneChannels, AreInOneOrderThroughNormalisationFiltersAndGates) {
  const Weights weights = block();
  const nlohmann::json report = prune(weights.bytes + block_nodes() + kOutputs);
  std::map<std::string, bool> applied;
  for (const auto& layer : report.at("layers")) {
    const nlohmann::json permutation = layer.value("permutation", nlohmann::json());
    applied[layer.at("name")] = permutation.is_object() && permutation.at("applied");
  }
  EXPECT_FALSE(applied.at("c1"));  // its k is the input of the graph
  for (const char* const consumer : {"c2", "e1", "w3"}) {
    EXPECT_TRUE(applied.at(consumer)) << consumer;
  }
  const std::vector<float>& b1 = weights.values.at("b1");
  std::vector<std::size_t> order;
  for (const float bias : after(b1)) {
    order.push_back(static_cast<std::size_t>(bias - b1[0]));
  }
  ASSERT_NE(after(b1), b1);
  for (const char* const name : {"c1", "s1", "scale", "shift", "mean", "variance", "d"}) {
    const std::vector<float>& own = weights.values.at(name);
    const std::vector<float> found = after(own);
    const std::size_t size = own.size() / kChannels;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const float expected = own[order[i / size] * size + i % size];
      EXPECT_TRUE(found[i] == expected || (name == std::string("c1") && found[i] == 0)) << name << " " << i;
    }
  }
  const auto in_order = [&](const std::string& name, std::size_t at, std::size_t from) {
    const float found = after_.at(name)[at];
    return found == 0 || found == weights.values.at(name)[from];
  };
  for (const char* const name : {"c2", "e1", "e2", "w3"}) {
    after_[name] = after(weights.values.at(name));
  }
  for (std::size_t row = 0; row < 12; ++row) {
    for (std::size_t c = 0; c < kChannels; ++c) {
      EXPECT_TRUE(in_order("c2", row * kChannels + c, row * kChannels + order[c])) << row << c;
      EXPECT_TRUE(row >= 5 || in_order("w3", c * 5 + row, order[c] * 5 + row)) << row << c;
    }
  }
  // Between the convolutions of the gate there are channels of their own.
  for (std::size_t row = 0; row < 8; ++row) {
    std::vector<std::size_t> origins;
    for (std::size_t from = 0; from < 8; ++from) {
      bool same = true;
      for (std::size_t c = 0; c < kChannels; ++c) {
        same = same && in_order("e1", row * kChannels + c, from * kChannels + order[c]) &&
               in_order("e2", c * 8 + row, order[c] * 8 + from);
      }
      if (same) {
        origins.push_back(from);
      }
    }
    EXPECT_EQ(origins.size(), 1U) << row;
  }
}

TEST_F(PruneChannels, StayWhereAVectorLiesAlongAnotherAxis) {
  Weights weights = block();
  weights.add("v", {16});  // beside [.., 16, 4, 16] it goes along the last axis
  expect_unpermuted(weights.bytes + onnx::input("x", 1, {1, 8, 4, 16}) + onnx::node("Conv", {"x", "c1"}, "h") +
                    onnx::node("Add", {"h", "v"}, "s") + onnx::node("Conv", {"s", "c2"}, "y") + onnx::output("y"));
}

TEST_F(PruneChannels, StayWhereTheGraphGivesThemAway) {
  const Weights weights = block();
  expect_unpermuted(weights.bytes + onnx::input("x", 1, {1, 8, 4, 4}) + onnx::node("Conv", {"x", "c1"}, "h") +
                    onnx::node("Conv", {"h", "c2"}, "y") + onnx::output("h") + onnx::output("y"));
}

TEST_F(PruneChannels, StayWhereAConvolutionHasGroups) {
  Weights weights = block();
  weights.add("grouped", {16, 8, 1, 1});
  expect_unpermuted(weights.bytes + onnx::input("x", 1, {1, 8, 4, 4}) + onnx::node("Conv", {"x", "c1"}, "h") +
                    onnx::node("Conv", {"h", "grouped"}, "s", onnx::integer("group", 2)) +
                    onnx::node("Conv", {"s", "c2"}, "y") + onnx::output("y"));
}

}  // namespace
}  // namespace sptc::cli
