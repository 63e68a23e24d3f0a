// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/condition.h"

#include "tests/support/expect_input_error.h"

#include <nlohmann/json.hpp>

namespace sptc::sweep {
namespace {

const std::vector<std::string> kAxes = {"sms", "dtype", "flag", "check"};
const io::JsonPlace kPlace{"spec.json", "/where"};

bool holds(std::string_view text, int sms = 54) {
  const std::vector<nlohmann::json> values = {sms, "f16", true, 1};
  return Condition(text, kAxes, kPlace).holds([&](std::size_t axis) -> const nlohmann::json& {
    return values[axis];
  });
}

void refused(std::string_view text, std::string_view part) {
  support::expect_input_error([&] { holds(text); }, {"spec.json: /where: ", part});
}

TEST(Condition, BindsLikeArithmeticAndLogicDo) {
  EXPECT_TRUE(holds("2 + 3 * 4 == 14"));
  EXPECT_TRUE(holds("(2 + 3) * 4 == 20"));
  EXPECT_TRUE(holds("10 - 3 - 2 == 5"));
  EXPECT_TRUE(holds("sms % 4 == 2 and sms / 2 == 27"));
  EXPECT_TRUE(holds("1 == 1 or 1 == 2 and 1 == 3"));
  EXPECT_TRUE(holds("not sms > 60"));
  EXPECT_FALSE(holds("not (sms <= 60)"));
  EXPECT_TRUE(holds("-sms < 0 and sms != 55"));
  EXPECT_TRUE(holds("dtype == 'f16' and flag and flag == true and not false"));
  EXPECT_TRUE(holds("sms >= 108", 108));
  EXPECT_FALSE(holds("sms > 108", 108));
}

TEST(Condition, IsAnExpressionOfSqlite) {
  EXPECT_TRUE(holds("sms in (27, 54) and dtype like 'F%' and max(sms, 60) = 60"));
  EXPECT_TRUE(holds("sms between 50 and 60 -- a comment"));
  EXPECT_TRUE(holds("[sms] == 54 and `sms` == 54 and 'sms' != '[sms'"));
  EXPECT_TRUE(holds("\"sms\" / 4 == 13.5")) << "numbers of axes are doubles";
  EXPECT_FALSE(holds("sms == 'f16'")) << "a number is no word";
  EXPECT_TRUE(holds("check == 1 and 'check' == 'check'")) << "an axis called as a keyword is";
}

TEST(Condition, RefusesWhatIsNoExpressionAndSaysWhere) {
  refused("", "an operand is missing");
  refused("smss > 3", "unknown axis 'smss' (nearest valid: 'sms'");
  refused("\"smss\" > 3", "unknown axis 'smss'");
  refused("sms >", "an operand is missing");
  refused("not", "in 'not': an operand is missing at the end");
  refused("1 + -", "in '1 + -': an operand is missing at the end");
  refused("(sms > 3", "a ')' is missing");
  refused("sms > 3)", "syntax error");
  refused("sms ! 3", "unrecognized token");
  refused("dtype == 'f16", "does not end");
  refused("dtype", "a word stands where a number belongs");
  refused(std::string(5000, '1'), "at most 4096");
  refused(std::string(2000, '(') + "1" + std::string(2000, ')'), "in '");
}

TEST(Condition, RefusesWhatIsMoreThanAnExpressionOverThePoint) {
  refused("sms > ?", "more than one expression");
  refused("sms > :x", "more than one expression");
  refused("1) FROM point; DROP TABLE point; --", "more than one expression");
  refused("1, 2", "");
  refused("length(zeroblob(1000000000)) > 0", "it holds no SELECT, reads only the axes");
  refused("random() > 0", "it holds no SELECT, reads only the axes");
  refused("(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)",
          "it holds no SELECT, reads only the axes");
  for (const std::string_view text :
       {"(select 1)", "exists(select 1)", "sms in (select 54)", "sms in (values (54))",
        "(with t(x) as (values (0), (1)) select max(a.x) from t a, t b) > 0"}) {
    refused(text, "it holds no SELECT, reads only the axes");
  }
  refused(std::string_view("1\0", 2), "NUL");
}

TEST(Condition, RefusesArithmeticWithoutAResultAndSaysWhere) {
  for (const std::string text : {"1/0 == 1", "0/0 != 0", "sms % (sms - 54) == 0"}) {
    refused(text, "in '" + text + "': gives no number at a point (a division by 0?)");
  }
  EXPECT_FALSE(holds("sms != 54 and 1 / (sms - 54) > 0")) << "what `and` guards does not count";
}

}  // namespace
}  // namespace sptc::sweep
