// SPDX-License-Identifier: Apache-2.0
//
// Sets that cannot be read or understood are errors.
#include "sim/check/vectors/vector_set.h"

#include "sim/check/vectors/verify.h"
#include "sim/io/text_file.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::check::vectors {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(SPTC_SOURCE_DIR) / "tests/golden/numerics";

/// A copy of one set that a test may spoil.
class VectorSetFile : public testing::Test {
 protected:
  const support::TemporaryDirectory temporary;
  const fs::path directory = (temporary.path() / "set");
  const std::string stem = "mma.m16n8k32.f32.e4m3.e4m3.f32";

  void SetUp() override {
    fs::create_directories(directory);
    for (const auto& entry : fs::directory_iterator(kGolden / "RTXBlackwell")) {
      if (entry.path().filename().string().starts_with(stem)) {
        fs::copy(entry.path(), directory);
      }
    }
  }

  fs::path array(const std::string& name) const { return directory / (stem + "." + name + ".npy"); }

  /// Replaces text in the json.
  void edit(const std::string& from, const std::string& to) const {
    const fs::path file = directory / (stem + ".json");
    std::string text = io::read_text_file(file, 1 << 20);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    io::write_file(file, text.replace(at, from.size(), to));
  }

  void expect_refused(std::initializer_list<std::string_view> parts) const {
    support::expect_input_error([&] { verify(directory, mma::Profile::kHardware); }, parts);
  }
};

TEST(VectorSetMarks, ContestedElementsAreBitsFromTheLowestOn) {
  VectorSet set;
  set.operands.a = make_bit_array({2, 3, 1}, 2);
  set.operands.b = make_bit_array({2, 1, 3}, 2);
  set.contested = make_bit_array({2, 2}, 1);  // nine bits in two bytes for each case
  set.contested->bits = {0b10, 0, 0, 1};
  for (std::size_t i = 0; i < 18; ++i) {
    EXPECT_EQ(set.is_contested(i / 9, i % 9 / 3, i % 3), i == 1 || i == 17) << i;
  }
}

TEST_F(VectorSetFile, IsReadWithItsCategories) {
  const VectorSet set = read_vector_set(directory / (stem + ".json"), directory);
  EXPECT_EQ(set.file, stem + ".json");
  EXPECT_EQ(set.family, "mma");
  ASSERT_EQ(set.outputs.size(), 1U);
  EXPECT_EQ(set.outputs[0].target.name, "sm_120");
  EXPECT_EQ(set.category(0), "finite_uniform_bits");
  EXPECT_EQ(verify(directory, mma::Profile::kMmaSim).mismatches(), 0U);
}

/// What is wrong with a set, and parts of the sentence that it is refused with.
struct Spoiled {
  std::function<void()> spoil;
  std::vector<std::string_view> parts;
};

TEST_F(VectorSetFile, ThatIsSpoiledIsRefused) {
  const auto changed = [&](const char* from, const char* to) { return [=, this] { edit(from, to); }; };
  const Spoiled cases[] = {
      {[&] { fs::remove(array("B")); }, {"B.npy is missing"}},
      {[&] { fs::remove(array("D")); }, {"D.npy is missing"}},
      {[&] { fs::copy(array("D"), array("E")); }, {"'E' is not understood"}},
      {[&] { fs::remove(directory / (stem + ".json")); }, {".json is missing"}},
      {[&] { fs::resize_file(array("A"), 200); }, {"A.npy"}},
      {[&] { fs::copy(array("A"), directory / "other.A.npy"); },
       {"other.A.npy: belongs to no array set", "other.json is missing"}},
      {[&] {
         write_bit_array(array("C"), make_bit_array({12, 8, 4}, 4));
       },
       {"C must be"}},
      {[&] {
         write_bit_array(array("contested"), make_bit_array({12, 7}, 1));
       },
       {"contested must hold 8 bytes per case"}},
      {[&] { write_bit_array(array("cat"), make_bit_array({11}, 1)); },  // 12 cases
       {"cat must hold one element per case"}},
      {changed("RTX Blackwell", "RTX Blackwel"), {"/arch", "nearest valid: 'RTX Blackwell'"}},
      {changed("RTX Blackwell", "Ampere"), {"sm_80 has no", "m16n8k32"}},
      {changed("\"k\": 32", "\"k\": 16"), {"not those of the qualifier"}},
      {changed("\"mma\"", "\"mna\""), {"/family", "nearest valid: 'mma'"}},
      {changed("\"cases\": 12", "\"cases\": 13"), {"D must be [13"}},
      {changed("\"m\": 8", "\"m\": 0"), {"/m", "0"}},
      {changed("\"m\": 8", "\"m\": 16"), {"/m", "16", "8 rows of A"}},
      {changed("\"n\": 8", "\"n\": -3"), {"/n", "-3"}},
      {changed("\"n\": 8", "\"n\": 7"), {"/n", "7", "8 columns of B"}},
      {changed("\"c\": \"f32\"", "\"c\": \"f16\""), {"not those of the qualifier"}},
      {changed("\"d\": \"f32\"", "\"d\": \"s8\""), {"not those of the qualifier"}},
  };
  for (const Spoiled& spoiled : cases) {
    fs::remove_all(directory);
    SetUp();
    spoiled.spoil();
    const std::string error = support::input_error_of([&] { verify(directory, mma::Profile::kHardware); });
    for (const std::string_view part : spoiled.parts) {
      EXPECT_NE(error.find(part), std::string::npos) << error;
    }
  }
}

TEST_F(VectorSetFile, WhoseMaskLeavesNothingToCompareIsRefused) {
  BitArray mask = make_bit_array({12, 8}, 1);
  std::fill(mask.bits.begin(), mask.bits.end(), 0xFF);
  write_bit_array(array("contested"), mask);
  expect_refused({"nothing is compared", "all 768 words are contested", "--profile mma-sim"});
  EXPECT_EQ(verify(directory, mma::Profile::kMmaSim).sets.front().elements, 768U);
  mask.bits[5] = 0xEF;  // one word of case 0
  write_bit_array(array("contested"), mask);
  const VerifyResult result = verify(directory, mma::Profile::kHardware);
  EXPECT_EQ(result.sets.front().elements, 1U);
  EXPECT_EQ(result.sets.front().contested, 767U);
}

TEST(FindVectorSets, RefusesDirectoriesWithoutSets) {
  const support::TemporaryDirectory temporary;
  support::expect_input_error([&] { find_vector_sets((temporary.path() / "none")); }, {"no such directory"});
  fs::create_directories((temporary.path() / "empty"));
  io::write_file((temporary.path() / "empty") / "README.md", "x");
  io::write_file((temporary.path() / "empty") / "probes.json", "{}");
  support::expect_input_error([&] { find_vector_sets((temporary.path() / "empty")); }, {"holds no array set"});
}

}  // namespace
}  // namespace sptc::check::vectors
