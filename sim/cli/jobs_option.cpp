// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/jobs_option.h"

#include "sim/run/option_values.h"

#include <algorithm>
#include <thread>

namespace sptc::cli {

void add_jobs(CLI::App& command, std::string& text, const std::string& what) {
  command.add_option("--jobs", text, what + " (default: all processors)")->type_name("N");
}

int parse_jobs(const std::string& text) {
  constexpr std::int64_t kMostJobs = 1024;
  return text.empty() ? std::max(1, static_cast<int>(std::thread::hardware_concurrency()))
                      : static_cast<int>(run::parse_positive("--jobs", text, kMostJobs));
}

}  // namespace sptc::cli
