// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input_stream.h"

#include "tests/support/expect_input_error.h"
#include "tests/support/packed.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace sptc::workload {
namespace {

constexpr std::size_t kMany = 1 << 24;

std::string all_of(std::string bytes) {
  return InputStream(std::move(bytes), "x").rest(kMany);
}

/// More than one window of the stream.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 200000; ++i) {
    text += std::to_string(i) + "\n";
  }
  return text;
}

TEST(InputStream, PlainBytesComeOutAsTheyAre) {
  EXPECT_EQ(all_of("abc"), "abc");
  EXPECT_EQ(all_of(""), "");
  EXPECT_EQ(all_of(long_text()), long_text());
}

TEST(InputStream, GzipIsUnpackedWholeAlsoOfSeveralMembers) {
  EXPECT_EQ(all_of(support::gzipped(long_text())), long_text());
  EXPECT_EQ(all_of(support::gzipped("ab") + support::gzipped("cd")), "abcd");
}

TEST(InputStream, HeadIsReadAgainByTheStream) {
  InputStream input(support::gzipped("abc"), "x");
  EXPECT_EQ(input.head(), "abc");
  EXPECT_EQ(input.rest(kMany), "abc");
}

TEST(InputStream, GzipThatIsCutOffIsRefused) {
  const std::string packed = support::gzipped(long_text());
  support::expect_input_error([&] { all_of(packed.substr(0, packed.size() / 2)); },
                              {"x: the gzip data end early: the file is cut off"});
}

TEST(InputStream, GzipThatIsDamagedIsRefused) {
  std::string packed = support::gzipped(long_text());
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  support::expect_input_error([&] { all_of(packed); }, {"x: the gzip data are damaged"});
}

TEST(InputStream, OtherCompressionsAreNamed) {
  support::expect_input_error([] { all_of("\x28\xB5\x2F\xFDxxxxxxx"); },
                              {"zstd", "unpack it first"});
  support::expect_input_error([] { all_of(std::string("\xFD") + "7zXZxxxxxxx"); },
                              {"xz", "unpack it first"});
}

TEST(InputStream, TheLargestMemberOfATarIsReadOrTheOneThatIsNamed) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "x.tar.gz";
  std::ofstream(file) << support::gzipped(support::tar_member("a", "1") +
                                          support::tar_member("big", long_text()) +
                                          support::tar_member("b", "22") + support::tar_end());
  InputStream largest(file);
  EXPECT_EQ(largest.rest(kMany), long_text());
  EXPECT_TRUE(largest.name().ends_with("x.tar.gz:big"));
  EXPECT_EQ(InputStream(file.string() + ":b").rest(kMany), "22");
  support::expect_input_error([&] { InputStream(file.string() + ":c"); },
                              {"the tar holds no file 'c'"});
}

TEST(InputStream, MoreThanTheAllowedBytesAreRefused) {
  support::expect_input_error([] { InputStream("abcd", "x").rest(3); },
                              {"x: more than the 3 bytes"});
}

TEST(InputStream, AFileThatIsNotThereIsNamed) {
  support::expect_input_error([] { InputStream("/no/such/file"); },
                              {"/no/such/file: no such file"});
}

}  // namespace
}  // namespace sptc::workload
