// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/profile/events.h"

#include <string>
#include <vector>

namespace sptc::workload::profile {

/// Says of each kernel of `events` which process launched it, where its recording does not: ids of
/// operations and calls are those of a process, and files of several ranks repeat them. `notes`
/// gets that processes are counted together, and where the order alone tells them apart.
void assign_processes(ProfileEvents& events, std::vector<std::string>& notes);

}  // namespace sptc::workload::profile
