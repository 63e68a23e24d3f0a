// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/input_stream.h"

#include "tests/support/expect_input_error.h"
#include "tests/support/packed.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace sptc::workload::input {
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

constexpr std::pair<const char*, std::string (*)(const std::string&)> kPackers[] = {
    {"gzip", support::gzipped}, {"xz", support::xz_packed}, {"zstd", support::zstd_packed}};

TEST(InputStream, CompressedFilesAreUnpackedWholeAlsoOfSeveralMembers) {
  for (const auto& [name, packed] : kPackers) {
    SCOPED_TRACE(name);
    EXPECT_EQ(all_of(packed(long_text())), long_text());
    EXPECT_EQ(all_of(packed("ab") + packed("cd")), "abcd");
    EXPECT_EQ(all_of(packed("")), "");
  }
}

TEST(InputStream, HeadIsReadAgainByTheStream) {
  InputStream input(support::gzipped("abc"), "x");
  EXPECT_EQ(input.head(), "abc");
  EXPECT_EQ(input.rest(kMany), "abc");
}

TEST(InputStream, WhatUnpacksToMoreThanAnyRecordingIsRefused) {
  const std::string blank(std::size_t{80} << 20, '\n');
  for (const auto& [name, packed] : kPackers) {
    SCOPED_TRACE(name);
    support::expect_input_error([&] { InputStream(packed(blank), "x").rest(std::size_t{1} << 30); },
                                {"x: unpacks to more than 500 times its size"});
  }
}

TEST(InputStream, LinesAreReadWithoutTheirEndsAndBlankOnesAreCounted) {
  const std::string across(300 << 10, 'a');  // longer than a window
  InputStream input("one\n\r\n\ntwo\r\n" + across + "\nlast", "x");
  const std::pair<std::string, int> lines[] = {{"one", 1}, {"two\r", 4}, {across, 5}, {"last", 6}};
  for (const auto& [text, number] : lines) {
    EXPECT_EQ(input.line(kMany), text);
    EXPECT_EQ(input.place(), "x:" + std::to_string(number));
  }
  EXPECT_EQ(input.line(kMany), std::nullopt);
  InputStream long_line("one\nfour", "x");
  EXPECT_EQ(long_line.line(3), "one");
  support::expect_input_error([&] { long_line.line(3); }, {"x:2: a line of more than 3 bytes"});
}

TEST(InputStream, CompressedFilesThatAreCutOffAreRefused) {
  for (const auto& [name, pack] : kPackers) {
    SCOPED_TRACE(name);
    const std::string packed = pack(long_text());
    for (const std::size_t size : {packed.size() / 2, packed.size() - 1}) {
      support::expect_input_error([&] { all_of(packed.substr(0, size)); }, {"x: ", "cut off"});
    }
  }
}

TEST(InputStream, CompressedFilesThatAreDamagedAreRefused) {
  for (const auto& [name, pack] : kPackers) {
    SCOPED_TRACE(name);
    std::string packed = pack(long_text());
    const auto middle = packed.begin() + static_cast<std::ptrdiff_t>(packed.size() / 2);
    if (std::string_view(name) == "gzip") {
      *middle ^= 0x10;  // it has a checksum
    } else {
      std::fill(middle, packed.end(), '\xFF');
    }
    support::expect_input_error([&] { all_of(packed); }, {"x: ", "damaged"});
  }
}

TEST(InputStream, TheLargestMemberOfATarIsReadOrTheOneThatIsNamed) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "x.tar.gz";
  support::put_file(file, support::gzipped(support::tar_of({{"a", "1"}, {"big", long_text()}, {"b", "22"}})));
  InputStream largest(file);
  EXPECT_EQ(largest.rest(kMany), long_text());
  EXPECT_TRUE(largest.name().ends_with("x.tar.gz:big"));
  EXPECT_NE(largest.choice().find("of 3 files in the tar the largest is read, big"), std::string::npos);
  EXPECT_EQ(InputStream(file.string() + ":b").choice(), "");
  EXPECT_EQ(InputStream(file.string() + ":b").rest(kMany), "22");
  support::expect_input_error([&] { InputStream(file.string() + ":c"); }, {"the tar holds no file 'c'"});
}

TEST(InputStream, ATarThatIsCutOffInAMemberIsRefused) {
  const std::string tar = support::tar_of({{"a", long_text()}});
  support::expect_input_error([&] { all_of(tar.substr(0, tar.size() / 2)); },
                              {"x: a: cannot be unpacked: it is cut off"});
}

TEST(InputStream, AMemberOfWhatIsNoTarIsRefused) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "plain.csv";
  support::put_file(file, "m,n,k\n");
  support::expect_input_error([&] { InputStream(file.string() + ":member"); },
                              {file.string() + ": is no tar, so it has no member 'member'"});
}

TEST(InputStream, MoreThanTheAllowedBytesAreRefused) {
  support::expect_input_error([] { InputStream("abcd", "x").rest(3); }, {"x: more than the 3 bytes"});
}

TEST(InputStream, OfADirectoryTheConfigurationIsRead) {
  const support::TemporaryDirectory directory;
  support::expect_input_error([&] { InputStream input(directory.path()); }, {"is a directory without config.json"});
  const std::filesystem::path file = directory.path() / "config.json";
  std::ofstream(file) << "{}";
  InputStream alone(directory.path());
  EXPECT_EQ(alone.rest(1000), "{}");
  EXPECT_EQ(alone.path(), file);
  EXPECT_EQ(alone.choice(), "");
  std::ofstream(directory.path() / "model.safetensors") << "x";
  EXPECT_NE(InputStream(directory.path()).choice().find("safetensors beside it are not read"), std::string::npos);
}

TEST(InputStream, ADirectoryThatCannotBeReadLacksNothing) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root reads every directory";
  }
  const support::TemporaryDirectory directory;
  const std::filesystem::path closed = directory.path() / "closed";
  std::filesystem::create_directory(closed);
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  support::expect_input_error([&] { InputStream input(closed); }, {"closed: this directory cannot be read"});
  std::filesystem::permissions(closed, std::filesystem::perms::owner_all);
}

TEST(InputStream, AFileThatIsNotThereIsNamed) {
  support::expect_input_error([] { InputStream("/no/such/file"); }, {"/no/such/file: no such file"});
}

}  // namespace
}  // namespace sptc::workload::input
