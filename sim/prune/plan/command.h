// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::prune::plan {

/// The words of a command: blanks part them; '..' and ".." hold blanks, and a backslash outside of '..' takes the next
/// character as it is. Nothing else has a meaning: no shell reads it. Throws InputError where a quote has no end, or
/// there is no word.
std::vector<std::string> command_words(std::string_view text);

/// What a program left when it ended.
struct CommandResult {
  int exit_code = 0;       ///< -1: ended by `signal`, or its time was up
  int signal = 0;          ///< 0: its time was up
  std::string last_line;   ///< of standard output, the last that is not blank
  std::string last_error;  ///< the same of standard error
};

/// Runs `words` with `variable` set in its environment, at most `timeout_s`. What it started ends with it, or with this
/// process. Called in a process of one thread. Throws InputError where there is no such program.
CommandResult run_command(const std::vector<std::string>& words, const std::pair<std::string, std::string>& variable,
                          double timeout_s);

}  // namespace sptc::prune::plan
