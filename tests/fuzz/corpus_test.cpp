// SPDX-License-Identifier: Apache-2.0
// Whatever a file holds, a reader gives a value or throws InputError: nothing else leaves it, and
// it ends. The files of corpus/, and seeded mutations of them.
#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/readers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace sptc::fuzz {

std::ostream& operator<<(std::ostream& out, const Reader& reader) {
  return out << reader.name;
}

namespace {

const std::filesystem::path kCorpus = std::filesystem::path(SPTC_SOURCE_DIR) / "tests/fuzz/corpus";

class Corpus : public testing::TestWithParam<Reader> {
 protected:
  static std::vector<std::filesystem::path> files() {
    std::vector<std::filesystem::path> result;
    for (const auto& entry : std::filesystem::directory_iterator(kCorpus / GetParam().name)) {
      result.push_back(entry.path());
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  static std::string bytes(const std::filesystem::path& file) { return io::read_text_file(file, 1 << 20); }

  /// Reads `input`, which `what` describes; false where the reader has a fault.
  bool read(const std::string& input, const std::string& what) {
    try {
      GetParam().read(input);
      ++taken;
    } catch (const base::InputError& error) {
      ++refused;
      reason = error.what();
      EXPECT_FALSE(reason.empty()) << what;
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << " made the reader throw: " << error.what();
      return false;
    }
    return true;
  }

  /// How many a run affords: $SPTC_MUTATIONS, or what the reader says.
  static std::uint64_t mutations() {
    const char* const wanted = std::getenv("SPTC_MUTATIONS");
    return wanted == nullptr ? static_cast<std::uint64_t>(GetParam().mutations) : std::strtoull(wanted, nullptr, 10);
  }

  std::uint64_t taken = 0;
  std::uint64_t refused = 0;
  std::string reason;  ///< of the last refusal
};

TEST_P(Corpus, IsReadOrRefused) {
  for (const std::filesystem::path& file : files()) {
    read(bytes(file), file.filename().string());
  }
  EXPECT_GT(taken, 0U) << "no file gets past the reader: " << reason;
}

TEST_P(Corpus, MutationsAreReadOrRefused) {
  const auto all = files();
  ASSERT_FALSE(all.empty());
  for (const std::filesystem::path& file : all) {
    const std::string text = bytes(file);
    const Mutator mutator(text, 20260101);
    for (std::uint64_t index = 0; index < mutations() / all.size(); ++index) {
      std::optional<std::string> input;
      if (GetParam().content == Content::kJson && index % 4 != 0) {
        input = mutate_json(text, index);
      }
      if (!read(input ? *input : mutator.mutation(index),
                file.filename().string() + ", mutation " + std::to_string(index))) {
        return;
      }
    }
  }
  if (mutations() >= static_cast<std::uint64_t>(GetParam().mutations)) {
    EXPECT_GT(refused, 0U);
    EXPECT_GT(taken, 0U) << "no mutation gets past the reader: " << reason;
  }
}

TEST(CorpusFolder, IsThereForEveryReaderAndForNothingElse) {
  std::set<std::string> names;
  for (const Reader& reader : readers()) {
    names.emplace(reader.name);
  }
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus)) {
    folders.insert(entry.path().filename().string());
  }
  EXPECT_EQ(folders, names);
}

INSTANTIATE_TEST_SUITE_P(Of, Corpus, testing::ValuesIn(readers()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace sptc::fuzz
