// SPDX-License-Identifier: Apache-2.0
#include "sim/report/words.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::report {
namespace {

TEST(FittedLayer, FoldersLoseLettersFromTheLeftAndKeepNumbers) {
  const std::string onnx = "/bert/encoder/layer.10/output/dense/MatMul";
  EXPECT_EQ(fitted_layer(onnx, onnx.size()), onnx);
  EXPECT_EQ(fitted_layer(onnx, onnx.size() - 1), "/b/encoder/layer.10/output/dense/MatMul");
  EXPECT_EQ(fitted_layer(onnx, 24), "/b/e/l.10/o/dense/MatMul");
  EXPECT_EQ(fitted_layer(onnx, 16), "/b/e/l.10/o/d/..");
  EXPECT_EQ(fitted_layer("model.layers.7.mlp.down_proj", 20), "m.l.7.mlp.down_proj");
  EXPECT_EQ(fitted_layer("stage12//conv3.weight", 14), "s12//c3.weight");
  EXPECT_EQ(fitted_layer("/inception3a/branch1x1/conv/Conv", 23), "/i3a/b1x1/conv/Conv");
  EXPECT_EQ(fitted_layer("/Mixed_5b/branch1x1/conv/Conv", 28), "/M5b/branch1x1/conv/Conv");
}

TEST(FittedLayer, TheWordBeforeTheLastKeepsItsEnd) {
  const std::string query = "model.layers.7.attention.some_projection_query.weight";
  EXPECT_EQ(fitted_layer(query, 23), "m.l.7.a.s..query.weight");
  EXPECT_EQ(fitted_layer(query, 17), "m.l.7.a.s.weight");
  EXPECT_EQ(fitted_layer("a.zbc\xC3\xA4\xC3\xA4hre.weight", 16), "a.z..hre.weight");
}

TEST(FittedLayer, WordWithoutFoldersIsCutAtItsEnd) {
  EXPECT_EQ(fitted_layer("attention_output", 16), "attention_output");
  EXPECT_EQ(fitted_layer("attention_output", 10), "attentio..");
  EXPECT_EQ(fitted_layer("....", 2), "..");
  EXPECT_EQ(fitted_layer("1234/5678/9", 6), "1234..");
}

TEST(FittedLayer, OtherLettersAndEscapesAreNotCutInTwo) {
  EXPECT_EQ(fitted_layer("\xC3\xA4hre/weight", 8), "\xC3\xA4hre/..");
  EXPECT_EQ(fitted_layer("\x1b[2J/weight", 11), "\\x1b[2J/w..");
}

TEST(ScaledFigures, HaveThreeDigitsAndAUnitThatFits) {
  EXPECT_EQ(scaled_time(0), "0.00 us");
  EXPECT_EQ(scaled_time(0.0123), "12.3 ns");
  EXPECT_EQ(scaled_time(9.996), "10.0 us");
  EXPECT_EQ(scaled_time(99.96), "100 us");
  EXPECT_EQ(scaled_time(999.6), "1.00 ms");
  EXPECT_EQ(scaled_time(2.5e9), "2500 s");
  EXPECT_EQ(scaled_energy(447740.7), "448 mJ");
}

TEST(Wrapped, EveryLineIsIndentedAndFits) {
  EXPECT_EQ(wrapped("one two  three", 9, "  "), "  one two\n  three\n");
  EXPECT_EQ(wrapped("one two", 6), "one\ntwo\n");
  EXPECT_EQ(wrapped("", 6), "");
}

}  // namespace
}  // namespace sptc::report
