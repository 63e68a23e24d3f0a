// SPDX-License-Identifier: Apache-2.0
//
// Published and derived words of every generation, through the reader and the comparison of
// `sptcsim verify`.
#include "sim/check/vectors/verify.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace sptc::golden {
namespace {

namespace fs = std::filesystem;
using mma::Profile;

const fs::path kVectors = fs::path(SPTC_SOURCE_DIR) / "tests/golden/numerics";

TEST(VectorsOfEveryGeneration, AreEqualBitForBitInTheHardwareProfile) {
  const check::vectors::VerifyResult result = check::vectors::verify(kVectors, Profile::kHardware);
  std::set<std::string> families;
  for (const check::vectors::VerifiedSet& set : result.sets) {
    families.insert(set.family);
    EXPECT_EQ(set.mismatches, 0U) << check::vectors::verify_text(result);
    EXPECT_GT(set.elements, 0U) << set.file;
    // Only what the models disagree about may be left out.
    EXPECT_LT(set.contested * 10, set.elements) << set.file;
  }
  EXPECT_EQ(result.sets.size(), 70U);
  EXPECT_EQ(families, (std::set<std::string>{"hw", "mma", "mma_fp8_lowered", "mmasp", "tcgen05mma", "wgmma"}));
}

TEST(VectorsOfEveryGeneration, AreEqualBitForBitInTheProfileOfMmaSimWithoutException) {
  const check::vectors::VerifyResult result = check::vectors::verify(kVectors, Profile::kMmaSim);
  std::size_t elements = 0;
  for (const check::vectors::VerifiedSet& set : result.sets) {
    EXPECT_EQ(set.mismatches, 0U) << set.file;
    EXPECT_EQ(set.contested, 0U) << set.file;
    elements += set.elements;
  }
  EXPECT_EQ(elements, 141960U);
}

/// An f64 set of a model, one NaN of whose words has another payload.
class CorrectedVectors : public testing::TestWithParam<Profile> {
 protected:
  const support::TemporaryDirectory temporary;

  check::vectors::VerifyResult verified(std::uint64_t word, bool only_nan) const {
    const std::string stem = "mma.m8n8k4.f64.f64.f64.f64";
    for (const auto& entry : fs::directory_iterator(kVectors / "Ampere")) {
      if (entry.path().filename().string().starts_with(stem)) {
        fs::copy(entry.path(), temporary.path(), fs::copy_options::overwrite_existing);
      }
    }
    std::fstream stream(temporary.path() / (stem + ".D.npy"), std::ios::in | std::ios::out | std::ios::binary);
    constexpr std::streamoff kHeader = 128;
    std::uint64_t old = 0;
    for (std::streamoff at = kHeader; stream.seekg(at), stream.read(reinterpret_cast<char*>(&old), 8); at += 8) {
      if (std::isnan(std::bit_cast<double>(old)) == only_nan) {
        stream.seekp(at);
        stream.write(reinterpret_cast<const char*>(&word), 8);
        break;
      }
    }
    stream.close();
    return check::vectors::verify(temporary.path(), GetParam());
  }
};

TEST_P(CorrectedVectors, WithBitsOfANanOfF64OfTheModelAreSaidToBe) {
  const auto result = verified(0x7FF8'0000'0000'1234, true);
  EXPECT_EQ(result.mismatches(), 0U);
  EXPECT_EQ(result.sets.front().corrected, 1U);
  const std::string text = check::vectors::verify_text(result);
  EXPECT_NE(text.find("1 words left out differ in the bits of a NaN of f64 alone"), std::string::npos) << text;
  EXPECT_NE(text.find("DEVIATIONS.md"), std::string::npos);
}

TEST_P(CorrectedVectors, WithANumberInThePlaceOfANanOrTheOtherWayRoundDiffer) {
  for (const bool only_nan : {true, false}) {
    const auto result = verified(only_nan ? 0x3FF0'0000'0000'0000 : 0x7FF8'0000'0000'0000, only_nan);
    EXPECT_EQ(result.mismatches(), 1U);
    EXPECT_EQ(result.sets.front().corrected, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(BothProfiles, CorrectedVectors, testing::Values(Profile::kHardware, Profile::kMmaSim));

class TamperedVectors : public testing::Test {
 protected:
  const support::TemporaryDirectory temporary;
  const fs::path directory = temporary.path() / "vectors";

  void SetUp() override { fs::copy(kVectors, directory, fs::copy_options::recursive); }

  /// Flips the lowest bit of the last element of a file.
  static void flip(const fs::path& file, std::streamoff element_bytes) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(-element_bytes, std::ios::end);
    const int byte = stream.get();
    stream.seekp(-element_bytes, std::ios::end);
    stream.put(static_cast<char>(byte ^ 1));
  }
};

TEST_F(TamperedVectors, AreCaughtInEveryResultArray) {
  std::size_t results = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kVectors)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".D") != std::string::npos && entry.path().extension() == ".npy") {
      const bool is_f64 = name.find("f64") != std::string::npos;
      const bool is_f16 = name.find(".D_f16") != std::string::npos || name.find("k16.f16.") != std::string::npos ||
                          name.find("k32.f16.") != std::string::npos || name.find("k8.f16.") != std::string::npos;
      flip(directory / fs::relative(entry.path(), kVectors), is_f64 ? 8 : is_f16 ? 2 : 4);
      ++results;
    }
  }
  const check::vectors::VerifyResult result = check::vectors::verify(directory, Profile::kMmaSim);
  EXPECT_EQ(result.mismatches(), results);
  for (const check::vectors::VerifiedSet& set : result.sets) {
    ASSERT_TRUE(set.first) << set.file;
    EXPECT_FALSE(set.first->diagnosis.step.empty()) << set.file;
    EXPECT_FALSE(set.first->diagnosis.trace.empty()) << set.file;
    EXPECT_NE(set.first->expected, set.first->computed);
  }
}

}  // namespace
}  // namespace sptc::golden
