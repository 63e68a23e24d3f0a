// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace sptc::base {
namespace {

constexpr std::array<std::string_view, 4> kNames{"f16", "bf16", "tf32", "s8"};

TEST(NearestName, IsTheOneWithTheFewestEdits) {
  EXPECT_EQ(nearest_name("tf23", kNames), "tf32");
  EXPECT_EQ(nearest_name("b16", kNames), "bf16");  // one edit as to f16, but of a longer name
  EXPECT_EQ(nearest_name("bfloat16", kNames), "bf16");
  EXPECT_EQ(nearest_name("s8", kNames), "s8");
}

TEST(NearestName, IsTheShortestThatTheWordBegins) {
  constexpr std::array<std::string_view, 3> kCards{"a40", "a100-sxm4-mig", "a100-sxm4"};
  EXPECT_EQ(nearest_name("a100", kCards), "a100-sxm4");
  EXPECT_EQ(nearest_name("A100", kCards), "a100-sxm4");
  constexpr std::array<std::string_view, 2> kTypes{"BF16", "F8_E4M3"};
  EXPECT_EQ(nearest_name("f8", kTypes), "F8_E4M3");
}

TEST(NearestName, BeginsLikeTheWordBeforeItIsShort) {
  constexpr std::array<std::string_view, 6> kCards{"a100-sxm4-80gb", "a40",     "h100-pcie",
                                                   "l40s",           "rtx4090", "v100-sxm2-16gb"};
  EXPECT_EQ(nearest_name("a1000", kCards), "a100-sxm4-80gb");
  EXPECT_EQ(nearest_name("a100-80gb", kCards), "a100-sxm4-80gb");
  EXPECT_EQ(nearest_name("h100-pci3", kCards), "h100-pcie");
  EXPECT_EQ(nearest_name("a10o", kCards), "a100-sxm4-80gb");  // more of "a40" is wrong
  EXPECT_EQ(nearest_name("v10", kCards), "v100-sxm2-16gb");
  EXPECT_EQ(nearest_name("v1000", kCards), "v100-sxm2-16gb");
  EXPECT_EQ(nearest_name("a4", kCards), "a40");
  EXPECT_EQ(nearest_name("a400", kCards), "a40");
  EXPECT_EQ(nearest_name("l4o", kCards), "l40s");
  EXPECT_EQ(nearest_name("40s", kCards), "l40s");
  EXPECT_EQ(nearest_name("rtx-4090", kCards), "rtx4090");
  EXPECT_EQ(nearest_name("4090", kCards), "rtx4090");
}

TEST(NearestName, TakesAnEmptyWord) {
  EXPECT_EQ(nearest_name("", kNames), "s8");
}

TEST(UnknownName, QuotesTheWordTheNearestAndAllAllowed) {
  EXPECT_EQ(unknown_name("f61", kNames), "'f61' (nearest valid: 'f16'; allowed: f16, bf16, tf32, s8)");
}

TEST(UnknownName, QuotesTheNearestThreeWhereManyAreAllowed) {
  std::vector<std::string> names;
  for (int i = 10; i < 70; ++i) {
    names.push_back("/memory/number_" + std::to_string(i));
  }
  const std::vector<std::string_view> many(names.begin(), names.end());
  EXPECT_EQ(unknown_name("/memory/number_7", many),
            "'/memory/number_7' (nearest valid: '/memory/number_17', '/memory/number_27', "
            "'/memory/number_37'; 60 are allowed)");
  EXPECT_EQ(unknown_name("seven", many, "'/memory/number_17'"),
            "'seven' (that is '/memory/number_17'; 60 are allowed)");
}

TEST(UnknownName, SaysWhereThereIsNothingToChooseFrom) {
  EXPECT_EQ(unknown_name("f61", {}), "'f61' (none is known)");
}

TEST(UnknownName, QuotesOnlyTheBeginningOfAHugeWord) {
  const std::string text = unknown_name(std::string(1'000'000, 'x'), kNames);
  EXPECT_LT(text.size(), 200U);
  EXPECT_NE(text.find("xxx...'"), std::string::npos);
}

TEST(Escaped, LeavesWhatIsPrintedAndWritesTheRestAsBytes) {
  const std::string all = "a \\ ' \u00a0 \u00e9 \u20ac \ud7ff \ue000 \U00010000 \U0010ffff";
  EXPECT_EQ(escaped(all), all);
  EXPECT_EQ(escaped(std::string_view("\0\n\t\x1b[2J\x7f", 8)), "\\x00\\x0a\\x09\\x1b[2J\\u007f");
  EXPECT_EQ(escaped("\u009b2J"), "\\u009b2J") << "as ESC [";
}

TEST(Escaped, KnowsWhatIsNoUtf8) {
  EXPECT_EQ(escaped("\x93NUMPY"), "\\x93NUMPY");
  EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf") << "a longer form of '/'";
  EXPECT_EQ(escaped("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(escaped("\xff\xe2\x82"), "\\xff\\xe2\\x82") << "a character without its end";
  EXPECT_EQ(escaped("\xe2\x82z"), "\\xe2\\x82z");
}

TEST(Escaped, WhatTurnsTextAroundOrHasNoWidthIsSeen) {
  EXPECT_EQ(escaped("\u202e"), "\\u202e");
  for (const char* const seen : {"\u200b", "\u200f", "\u2028", "\u202a", "\u2066", "\u2069"}) {
    EXPECT_EQ(escaped(seen).substr(0, 4), "\\u20");
  }
  for (const char* const plain : {"\u200a", "\u2010", "\u2027", "\u202f", "\u2065", "\u206a"}) {
    EXPECT_EQ(escaped(plain), plain);
  }
}

TEST(BoundedMessage, IsEscapedButForItsLines) {
  EXPECT_EQ(bounded_message("'\x93'\n\x1b"), "'\\x93'\n\\x1b");
  EXPECT_EQ(bounded_message(std::string(400, '\x80')).size(), 383U);
}

TEST(BoundedMessage, HasLinesThatCanBeRead) {
  EXPECT_EQ(bounded_message("one\ntwo"), "one\ntwo");
  const std::string line(384, 'x');
  EXPECT_EQ(bounded_message(line), line);
  const std::string half(190, 'a'), end(190, 'b');
  EXPECT_EQ(bounded_message(half + std::string(1'000'000, 'x') + end + "\n" + line), half + "..." + end + "\n" + line);
  EXPECT_EQ(bounded_message(half.substr(1) + "\u00e4" + line + "\u00e4" + end.substr(1)),
            half.substr(1) + "..." + end.substr(1));
}

TEST(BoundedMessage, CountsWhatIsBeyondAHundredLines) {
  std::string hundred;
  for (int i = 0; i < 100; ++i) {
    hundred += std::to_string(i) + "\n";
  }
  EXPECT_EQ(bounded_message(hundred + "x\ny\nz"), hundred + "and 3 more");
  EXPECT_EQ(bounded_message(hundred.substr(0, hundred.size() - 1)), hundred.substr(0, hundred.size() - 1));
}

}  // namespace
}  // namespace sptc::base
