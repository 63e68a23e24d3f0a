// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <re2/re2.h>
#include <string>
#include <string_view>

namespace sptc::io {

/// A regular expression of a user, in the syntax of RE2: Perl's without back-references and looking
/// around. Whatever it says, matching takes time linear in the text and bounded memory.
class RegularExpression {
 public:
  /// @throws base::InputError, which names `option`, where `expression` is none.
  RegularExpression(std::string_view option, const std::string& expression);

  bool found_in(const std::string& text) const { return RE2::PartialMatch(text, expression_); }
  /// Whether all of `text` matches, from the first character to the last.
  bool matches(const std::string& text) const { return RE2::FullMatch(text, expression_); }

 private:
  RE2 expression_;
};

}  // namespace sptc::io
