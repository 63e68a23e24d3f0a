// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/condition.h"

#include "tests/support/expect_input_error.h"

#include <nlohmann/json.hpp>

namespace sptc::sweep {
namespace {

const std::vector<std::string> kAxes = {"sms", "dtype", "flag"};
const io::JsonPlace kPlace{"spec.json", "/where"};

bool holds(std::string_view text, int sms = 54) {
  const std::vector<nlohmann::json> values = {sms, "f16", true};
  return Condition(text, kAxes, kPlace).holds([&](std::size_t axis) -> const nlohmann::json& {
    return values[axis];
  });
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

TEST(Condition, RefusesWhatIsNoExpressionAndSaysWhere) {
  const auto refused = [](std::string_view text, std::string_view part) {
    support::expect_input_error([&] { holds(text); }, {"spec.json: /where: ", part});
  };
  refused("", "an operand is missing");
  refused("smss > 3", "unknown axis 'smss'");
  refused("sms >", "an operand is missing");
  refused("not", "in 'not': an operand is missing at the end");
  refused("1 + -", "in '1 + -': an operand is missing at the end");
  refused("(sms > 3", "a ')' is missing");
  refused("sms > 3)", "')' is not expected");
  refused("sms ? 3", "is not expected");
  refused("dtype == 'f16", "does not end");
  refused("dtype > 3", "is compared with a number");
  refused("dtype", "is a word where a number belongs");
  refused("sms == 1e999", "is no number");
  refused(std::string(5000, '1'), "at most 4096");
  refused(std::string(200, '(') + "1" + std::string(200, ')'), "nested deeper");
}

TEST(Condition, RefusesArithmeticWithoutAFiniteResultAndSaysWhere) {
  const auto refused = [](std::string_view text, std::string_view problem) {
    EXPECT_EQ(support::input_error_of([&] { holds(text); }),
              std::string("spec.json: /where: in '").append(text).append("': ").append(problem));
  };
  refused("1/0 == 1", "1 / 0 is no finite number");
  refused("0/0 != 0", "0 / 0 is no finite number");
  refused("sms % (sms - 54) == 0", "54 % 0 is no finite number");
  refused("1e308 * 10 > 1", "1e+308 * 10 is no finite number");
  refused("1e308 + 1e308 > 1", "1e+308 + 1e+308 is no finite number");
  EXPECT_FALSE(holds("sms != 54 and 1 / (sms - 54) > 0")) << "what `and` guards is not computed";
}

}  // namespace
}  // namespace sptc::sweep
