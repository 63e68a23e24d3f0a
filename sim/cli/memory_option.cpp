// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/memory_option.h"

#include "sim/io/memory_guard.h"
#include "sim/run/option_values.h"

#include <string>

namespace sptc::cli {

void add_memory_limit(CLI::App& command) {
  constexpr const char* kName = "--memory-limit";
  command
      .add_option_function<std::string>(
          kName, [](const std::string& text) { io::limit_memory(run::parse_bytes(kName, text)); },
          "memory that each process of the program may take, as 4G: what needs more is refused")
      ->type_name("BYTES");
}

}  // namespace sptc::cli
