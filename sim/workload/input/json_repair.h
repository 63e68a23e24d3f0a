// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sptc::workload::input {

/// Mends what writers of traces get wrong and Chrome, Perfetto or Python's json take: control
/// characters, backslashes and bytes of no UTF-8 in strings, commas before a closing bracket, NaN
/// and Infinity (null then), and closing brackets that are missing behind the last whole event.
/// What is right passes as it is. Takes the text in pieces.
class JsonRepair {
 public:
  /// Appends `piece`, mended, to `mended`. What the next piece decides is kept back.
  void take(std::string_view piece, std::string& mended);
  /// The same at the end of the text.
  void finish(std::string& mended);
  /// What was mended, in one sentence; empty where nothing was.
  std::string text() const;

 private:
  void in_string(char c, std::string& mended);
  void behind_backslash(char c, std::string& mended);
  void in_sequence(char c, std::string& mended);
  void outside(char c, std::string& mended);
  void end_word(std::string& mended);
  void flush_space(std::string& mended);

  enum class State { kOutside, kString, kBackslash, kUnicode, kSequence };
  State state_ = State::kOutside;
  std::string held_;   ///< of an escape, a sequence of UTF-8 or a word
  std::string space_;  ///< behind a comma that may be one too many, with it
  std::string open_;   ///< brackets
  char last_ = 0;      ///< the last that is neither blank nor comma, outside of strings
  std::int64_t controls_ = 0, backslashes_ = 0, bytes_ = 0, commas_ = 0, words_ = 0, brackets_ = 0;
};

}  // namespace sptc::workload::input
