// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/recording.h"

#include <string>

namespace sptc::workload::importer {

/// What was taken, what was not and why, for a reader; of a workload of our own the notes alone.
/// Names, reasons and notes may be those of the recording: it is a bounded_message(), and ends with
/// its line.
std::string account_text(const Recording& recording);

/// Throws InputError where something was not taken.
void require_all_taken(const Recording& recording);

}  // namespace sptc::workload::importer
