// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/prune_model.h"

#include "sim/io/tensor_file.h"
#include "sim/io/text_file.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

namespace sptc::prune {
namespace {

/// A model of one weight [4, 8].
class PruneModel : public testing::Test {
 protected:
  const support::TemporaryDirectory temporary;
  const std::filesystem::path model = temporary.path() / "model.safetensors";
  const std::filesystem::path out = temporary.path() / "o.safetensors";

  void SetUp() override {
    const base::Matrix<numerics::Word> weights(4, 8, 0x3C00);
    io::write_safetensors(model, std::vector{io::make_tensor("a", weights, numerics::DataType::kF16)});
  }
  /// Why masks are not written to `masks`, beside pruned weights in `out`.
  std::string refusal(const std::filesystem::path& masks) const {
    const auto files = [&] { return std::distance(std::filesystem::directory_iterator(temporary.path()), {}); };
    const auto before = files();
    const std::string message = support::input_error_of([&] { prune_model(model, out, masks, PruneOptions()); });
    EXPECT_EQ(files(), before) << "it wrote a file";
    return message;
  }
};

TEST_F(PruneModel, MasksAreWrittenInTwoFormats) {
  const std::string text = (temporary.path() / "m.txt").string();
  EXPECT_EQ(refusal(text), "--masks " + text + ": its ending must be .safetensors or .npz");
}

TEST_F(PruneModel, MasksDoNotTakeThePlaceOfTheModel) {
  const std::string bytes = io::read_text_file(model, 1 << 20);
  const std::filesystem::path link = temporary.path() / "link.safetensors";
  std::filesystem::create_hard_link(model, link);
  for (const std::filesystem::path& masks : {model, link}) {
    EXPECT_EQ(refusal(masks), "--masks " + masks.string() + ": this file is read, so it is not written over");
  }
  EXPECT_EQ(io::read_text_file(model, 1 << 20), bytes);
}

TEST_F(PruneModel, MasksDoNotTakeThePlaceOfTheWeights) {
  for (const std::filesystem::path& masks :
       {out, temporary.path() / "." / "o.safetensors", std::filesystem::relative(out)}) {
    EXPECT_EQ(refusal(masks), "--masks and --out name the same file") << masks;
  }
}

}  // namespace
}  // namespace sptc::prune
