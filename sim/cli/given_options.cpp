// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/given_options.h"

#include "models/base/error.h"

#include <algorithm>
#include <string>
#include <vector>

namespace sptc::cli {

void check_given_options(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (std::any_of(values.begin(), values.end(),
                    [](const auto& value) { return value.empty(); })) {
      throw base::InputError(option->get_name() + ": the value is empty");
    }
  }
  if (!app.get_subcommands().empty()) {
    check_given_options(*app.get_subcommands().front());
  }
}

}  // namespace sptc::cli
