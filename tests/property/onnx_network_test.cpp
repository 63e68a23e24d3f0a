// SPDX-License-Identifier: Apache-2.0
// A BERT that was exported to ONNX takes as long as the one that is shipped.
#include "sim/config/architecture.h"
#include "sim/run/simulate.h"
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"
#include "sim/workload/workload_text.h"
#include "tests/support/onnx_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace sptc::property {
namespace {

using namespace sptc::onnx;

constexpr std::int64_t kHalf = 10;
constexpr std::int64_t kLayers = 12, kHidden = 768, kFfn = 3072, kHeads = 12, kDepth = 64;

/// The layers of BERT-Base as PyTorch's exporter writes them.
class ExportedBert {
 public:
  ExportedBert(std::int64_t batch, std::int64_t seq) {
    graph_ = input("x0", kHalf, {batch, seq, kHidden}) + input("mask", kHalf, {batch, 1, 1, seq});
    graph_ += weight("eight", kHalf, {}) + weight("root", kHalf, {}) + weight("one", kHalf, {});
    graph_ += shape("heads", {batch, seq, kHeads, kDepth}) + shape("whole", {batch, seq, kHidden});
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      prefix_ = "l" + std::to_string(layer) + ".";
      add_layer("x" + std::to_string(layer), "x" + std::to_string(layer + 1));
    }
  }
  std::string text() const { return model(graph_); }

 private:
  /// x W + b, under the name `y`.
  void linear(const std::string& x, const std::string& y, std::int64_t in, std::int64_t out) {
    const std::string name = prefix_ + y;
    graph_ += weight(name + ".w", kHalf, {in, out}) + weight(name + ".b", kHalf, {out}) +
              node("MatMul", {x, name + ".w"}, name + ".product") + node("Add", {name + ".b", name + ".product"}, name);
  }
  void heads(const std::string& x, std::initializer_list<std::int64_t> axes) {
    const std::string name = prefix_ + x;
    graph_ += node("Reshape", {name, "heads"}, name + ".heads") +
              node("Transpose", {name + ".heads"}, name + ".turned", ints("perm", axes));
  }
  void residual_and_norm(const std::string& x, const std::string& skip, const std::string& y) {
    graph_ += weight(y + ".gamma", kHalf, {kHidden}) + weight(y + ".beta", kHalf, {kHidden}) +
              node("Add", {prefix_ + x, skip}, y + ".sum") +
              node("LayerNormalization", {y + ".sum", y + ".gamma", y + ".beta"}, y);
  }

  void add_layer(const std::string& x, const std::string& y) {
    const std::string& p = prefix_;
    for (const char* name : {"q", "k", "v"}) {
      linear(x, name, kHidden, kHidden);
    }
    heads("q", {0, 2, 1, 3});
    heads("k", {0, 2, 3, 1});
    heads("v", {0, 2, 1, 3});
    graph_ += node("MatMul", {p + "q.turned", p + "k.turned"}, p + "scores") +
              node("Div", {p + "scores", "eight"}, p + "scaled") + node("Add", {p + "scaled", "mask"}, p + "masked") +
              node("Softmax", {p + "masked"}, p + "shares") +
              node("MatMul", {p + "shares", p + "v.turned"}, p + "context") +
              node("Transpose", {p + "context"}, p + "merged", ints("perm", {0, 2, 1, 3})) +
              node("Reshape", {p + "merged", "whole"}, p + "joined");
    linear(p + "joined", "output", kHidden, kHidden);
    residual_and_norm("output", x, p + "norm");
    linear(p + "norm", "inner", kHidden, kFfn);
    graph_ += node("Div", {p + "inner", "root"}, p + "g1") + node("Erf", {p + "g1"}, p + "g2") +
              node("Add", {p + "g2", "one"}, p + "g3") + node("Mul", {p + "inner", p + "g3"}, p + "g4") +
              node("Mul", {p + "g4", "one"}, p + "g5");
    linear(p + "g5", "outer", kFfn, kHidden);
    residual_and_norm("outer", p + "norm", y);
  }

  std::string graph_, prefix_;
};

double latency_us(const workload::Workload& workload, const std::string& engine) {
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  options.check = run::CheckMode::kNone;
  options.what_ifs = false;
  options.engine = engine;
  return run::simulate(workload, config::load_architecture("a100-sxm4-40gb"), options).inference->dense->latency_us;
}

TEST(OnnxNetwork, AnExportedBertTakesAsLongAsTheShippedOne) {
  for (const std::int64_t batch : {1, 32}) {
    workload::input::InputStream stream(ExportedBert(batch, 128).text(), "bert.onnx");
    const workload::Workload exported = workload::importer::read_recording(stream).workload;
    const workload::Workload shipped = workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/bert_base.json",
                                                               {{"batch", batch}, {"seq", 128}});
    const double ratio = latency_us(exported, "tensorrt") / latency_us(shipped, "tensorrt");
    std::printf("batch %d: exported / shipped = %.4f\n", static_cast<int>(batch), ratio);
    EXPECT_NEAR(ratio, 1, 0.03) << "batch " << batch;
  }
}

TEST(OnnxNetwork, WrittenAsAWorkloadItIsTheSame) {
  workload::input::InputStream stream(ExportedBert(4, 128).text(), "bert.onnx");
  const workload::Recording recording = workload::importer::read_recording(stream);
  const workload::Workload again = workload::parse_workload_json(workload::workload_json(recording), "again.json");
  EXPECT_EQ(again.vectors.size(), recording.workload.vectors.size());
  EXPECT_DOUBLE_EQ(latency_us(again, "tensorrt"), latency_us(recording.workload, "tensorrt"));
}

}  // namespace
}  // namespace sptc::property
