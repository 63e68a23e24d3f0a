// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sptc::report {

/// Exit codes of the program, beside 0 (done and right) and 1 (a comparison failed).
constexpr int kBadInput = 2;
constexpr int kInternalError = 3;
constexpr int kInterrupted = 130;

/// `text` of several lines as a terminal shows it and obeys none of it: base::escaped() but for tabs and the ends of
/// lines. What is JSON, CSV or HTML stays that.
std::string printed(std::string_view text);

/// Writes printed(text) to stderr: it may quote what a file has. Where stderr is closed or full the text is lost and
/// nothing else changes: a message has no say in the exit code.
void write_message(std::string_view text);
/// The same, as it is: with escape sequences that the terminal obeys, and nothing of a file.
void write_to_terminal(std::string_view text);

/// Whether `stream` (STDOUT_FILENO or STDERR_FILENO) is a terminal that knows escape sequences.
bool is_terminal(int stream);

/// Whether text on `stream` may have colour: it goes to such a terminal, and NO_COLOR is not set (no-color.org).
bool has_color(int stream);

/// Says on stderr why the exception that is being handled ends the program, and returns its exit code.
int report_exception();

}  // namespace sptc::report
