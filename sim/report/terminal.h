// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::report {

/// Whether `stream` (STDOUT_FILENO or STDERR_FILENO) is a terminal that knows escape sequences.
bool is_terminal(int stream);

/// Whether text on `stream` may have colour: it goes to such a terminal, and NO_COLOR is not set
/// (no-color.org).
bool has_color(int stream);

}  // namespace sptc::report
