// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/input_stream.h"

#include "tests/support/expect_input_error.h"
#include "tests/support/packed.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
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

/// A tar of one member with a name of `name`, as written behind a header of another type.
std::string long_named(char type, const std::string& header_bytes, const std::string& bytes) {
  std::string header = support::tar_member("header", header_bytes);
  header[156] = type;
  return header + support::tar_member("short", bytes) + support::tar_member("other", "x") +
         support::tar_end();
}

TEST(InputStream, LongNamesOfATarAreRead) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "x.tar";
  const std::string name = std::string(120, 'd') + "/trace.json";
  const std::string record = " path=" + name + "\n";
  const std::string pax = std::to_string(record.size() + 3) + record;
  const std::pair<char, std::string> kinds[] = {{'L', name + std::string(1, '\0')}, {'x', pax}};
  for (const auto& [type, header] : kinds) {
    std::ofstream(file, std::ios::binary) << long_named(type, header, "12345");
    InputStream largest(file);
    EXPECT_EQ(largest.rest(100), "12345") << type;
    EXPECT_TRUE(largest.name().ends_with("trace.json")) << largest.name();
    EXPECT_EQ(InputStream(file.string() + ":" + name).rest(100), "12345");
    EXPECT_EQ(InputStream(file.string() + ":other").rest(100), "x");
  }
  std::string member = support::tar_member("trace.json", "12345");
  const std::string_view posix(
      "ustar\0"
      "00",
      8);
  std::copy(posix.begin(), posix.end(), member.begin() + 257);
  const std::string_view prefix = "a/b";
  std::copy(prefix.begin(), prefix.end(), member.begin() + 345);
  std::ofstream(file, std::ios::binary) << member + support::tar_end();
  EXPECT_EQ(InputStream(file.string() + ":a/b/trace.json").rest(100), "12345");
}

TEST(InputStream, PlainBytesComeOutAsTheyAre) {
  EXPECT_EQ(all_of("abc"), "abc");
  EXPECT_EQ(all_of(""), "");
  EXPECT_EQ(all_of(long_text()), long_text());
}

constexpr std::pair<const char*, std::string (*)(std::string_view)> kPackers[] = {
    {"gzip", support::gzipped}, {"xz", support::xz_packed}, {"zstd", support::zstd_packed}};

TEST(InputStream, CompressedFilesAreUnpackedWholeAlsoOfSeveralMembers) {
  for (const auto& [name, packed] : kPackers) {
    SCOPED_TRACE(name);
    EXPECT_EQ(all_of(packed(long_text())), long_text());
    EXPECT_EQ(all_of(packed("ab") + packed("cd")), "abcd");
    EXPECT_EQ(all_of(packed("")), "");
  }
}

TEST(InputStream, WhatFollowsTheLastMemberOfAGzipIsPadding) {
  EXPECT_EQ(all_of(support::gzipped("abc") + std::string(512, '\0')), "abc");
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
    support::expect_input_error(
        [&] {
          InputStream input(packed(blank), "x");
          while (input.line(kMany)) {
          }
        },
        {"x: the compressed data unpack to more than 500 times their size"});
  }
  const std::string small(std::size_t{60} << 20, '\n');
  InputStream input(support::zstd_packed(small + "end"), "x");
  EXPECT_EQ(input.line(kMany), "end");
  EXPECT_EQ(input.place(), "x:" + std::to_string(small.size() + 1));
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
      support::expect_input_error([&] { all_of(packed.substr(0, size)); },
                                  {"x: the compressed data end early: the file is cut off"});
    }
  }
}

TEST(InputStream, CompressedFilesThatAreDamagedAreRefused) {
  for (const auto& [name, pack] : kPackers) {
    SCOPED_TRACE(name);
    std::string packed = pack(long_text());
    packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
    support::expect_input_error(
        [&] { all_of(packed); },
        {std::string_view("x: the "), std::string_view(name), " data are damaged"});
  }
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
  EXPECT_NE(largest.choice().find("of 3 files in the tar the largest is read, big"),
            std::string::npos);
  EXPECT_EQ(InputStream(file.string() + ":b").choice(), "");
  EXPECT_EQ(InputStream(file.string() + ":b").rest(kMany), "22");
  support::expect_input_error([&] { InputStream(file.string() + ":c"); },
                              {"the tar holds no file 'c'"});
}

TEST(InputStream, ASizeInATarMayBeBinary) {
  const std::string text = long_text().substr(0, 513);
  std::string member = support::tar_member("a", text);
  // 513 is 2 * 256 + 1, big-endian in 12 bytes of which the first is a mark.
  const std::string_view size("\x80\0\0\0\0\0\0\0\0\0\2\1", 12);
  std::copy(size.begin(), size.end(), member.begin() + 124);
  EXPECT_EQ(all_of(member + support::tar_end()), text);
}

TEST(InputStream, AMemberOfWhatIsNoTarIsRefused) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "plain.csv";
  support::put_file(file, "m,n,k\n");
  support::expect_input_error([&] { InputStream(file.string() + ":member"); },
                              {file.string() + ": is no tar, so it has no member 'member'"});
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
}  // namespace sptc::workload::input
