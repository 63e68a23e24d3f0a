// SPDX-License-Identifier: Apache-2.0
#include "sim/io/regular_expression.h"

#include "models/base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::io {
namespace {

std::string refusal(const std::string& expression) {
  try {
    const RegularExpression taken("--layers", expression);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "taken";
}

TEST(RegularExpression, IsFoundAnywhereOrMatchesAll) {
  const RegularExpression expression("--layers", R"(layer\.\d+\.(key|query)$)");
  EXPECT_TRUE(expression.found_in("encoder.layer.11.query"));
  EXPECT_FALSE(expression.found_in("encoder.layer.11.query.bias"));
  EXPECT_TRUE(expression.matches("layer.11.key"));
  EXPECT_FALSE(expression.matches("encoder.layer.11.key"));
}

TEST(RegularExpression, OfAnyDepthIsRefusedOrTaken) {
  const std::string open(30'000, '(');
  const std::string close(30'000, ')');
  EXPECT_LT(refusal(open + "a" + close).size(), 400U) << "none crashes";
  EXPECT_LT(refusal(open).size(), 400U);
  EXPECT_NE(refusal(open), "taken");
  EXPECT_NE(refusal("((a{1,300}){1,300}){1,300}"), "taken");
  EXPECT_EQ(refusal("("), "--layers '(' is no regular expression: missing )");
  EXPECT_EQ(refusal("a(?!b)"), "--layers 'a(?!b)' is no regular expression: invalid perl operator: (?!");
}

TEST(RegularExpression, TakesTimeLinearInTheText) {
  const std::string text(100'000, 'a');
  EXPECT_FALSE(RegularExpression("", "(a+)+b").found_in(text));
  EXPECT_FALSE(RegularExpression("", "(a|aa)*b").found_in(text));
  EXPECT_TRUE(RegularExpression("", "(a?){200}a{200}$").found_in(text));
}

}  // namespace
}  // namespace sptc::io
