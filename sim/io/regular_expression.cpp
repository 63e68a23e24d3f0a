// SPDX-License-Identifier: Apache-2.0
#include "sim/io/regular_expression.h"

#include "sim/io/text_file.h"

namespace sptc::io {

RegularExpression::RegularExpression(std::string_view option, const std::string& expression)
    : expression_(expression, RE2::Quiet) {
  if (!expression_.ok()) {
    std::string why = expression_.error();
    if (expression_.error_arg() == expression) {  // it stands in the sentence already
      why.resize(why.rfind(": " + expression));
    }
    refuse("{} '{}' is no regular expression: {}", option, printable(expression), printable(why));
  }
}

}  // namespace sptc::io
