// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/layer_list.h"

#include "tests/support/expect_input_error.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace sptc::workload {
namespace {

Operation operation(const std::string& name, std::int64_t count, bool prunable) {
  Operation op;
  op.name = name;
  op.count = count;
  op.prunable = prunable;
  return op;
}

TEST(LayerList, ReadsWhatItWrites) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "list.txt";
  const std::vector<ListedLayer> layers{{"a b", {"x", "y[3]"}}, {"c", {}}};
  std::ofstream(file) << layer_list_text(layers, "one\ntwo") << "\r\n";
  const std::vector<ListedLayer> read = read_layer_list(file);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].tensor, "a b");
  EXPECT_EQ(read[0].operations, layers[0].operations);
  EXPECT_EQ(read[0].line, 3U);
  EXPECT_EQ(read[1].tensor, "c");
  EXPECT_TRUE(read[1].operations.empty());
}

TEST(LayerList, TheLayerOfAWeightIsItsNameWithoutTheEnding) {
  EXPECT_EQ(layer_of("a.fc.weight"), "a.fc");
  EXPECT_EQ(layer_of("weight"), "weight");
  EXPECT_EQ(layer_of("a.weight.b"), "a.weight.b");
}

TEST(LayerList, RefusesNamesThatNoLineHolds) {
  for (const std::string name : {"", "a\tb", "a\nb", "#a", "  "}) {
    const std::vector<ListedLayer> layers{{name, {}}};
    support::expect_input_error([&] { layer_list_text(layers, ""); }, {"a list of layers"});
  }
}

TEST(LayerList, RefusesANameThatIsEmptyOrStandsTwice) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "list.txt";
  const std::pair<std::string, std::string> faults[] = {{"# names\na\t\tb\n", ":2: a name is empty"},
                                                        {"a\t\n", ":1: a name is empty"},
                                                        {"\ta\n", ":1: a name is empty"},
                                                        {"a\nb\na\tc\n", ":3: 'a' stands on line 1, too"},
                                                        {"# names\n", ": no layer is listed; a line names one tensor"}};
  for (const auto& [text, fault] : faults) {
    support::put_file(file, text);
    support::expect_input_error([&] { read_layer_list(file); }, {file.string() + fault});
  }
}

TEST(LayerList, CutsOperationsOfWhichSomeLaunchesAreListed) {
  std::vector<Operation> operations{operation("one", 1, true), operation("six", 6, true), operation("w", 1, true)};
  std::vector<VectorOperation> vectors(3);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    vectors[i].after = i + 1;
  }
  const std::vector<ListedLayer> layers{{"p", {"six[1]"}}, {"q", {"six[1]", "six[5]"}}, {"w.weight", {}}};
  prune_only_listed(layers, "list", operations, vectors);
  ASSERT_EQ(operations.size(), 4U);
  EXPECT_FALSE(operations[0].prunable);
  EXPECT_EQ(operations[1].count, 2);
  EXPECT_TRUE(operations[1].prunable);
  EXPECT_EQ(operations[2].count, 4);
  EXPECT_FALSE(operations[2].prunable);
  EXPECT_TRUE(operations[3].prunable);
  EXPECT_EQ(vectors[0].after, 1U);
  EXPECT_EQ(vectors[1].after, 3U);
  EXPECT_EQ(vectors[2].after, 4U);
}

}  // namespace
}  // namespace sptc::workload
