// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/comparison_options.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/step_rules.h"
#include "sim/cli/output.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sptc::cli {

void ComparisonOptions::add_to(CLI::App& command) {
  command
      .add_option("--profile", profile,
                  "hardware: the models tuned against GPUs; mma-sim: MMA-Sim, word for word")
      ->type_name("hardware|mma-sim")
      ->capture_default_str();
  command.add_option("--format", format, "of the report")
      ->type_name("text|json")
      ->capture_default_str();
  command.add_option("--out", out, "write the report to FILE instead of stdout")->type_name("FILE");
}

void ComparisonOptions::require_valid() const {
  constexpr std::array<std::string_view, 2> kFormats{"text", "json"};
  mma::parse_profile(profile);
  if (std::find(kFormats.begin(), kFormats.end(), format) == kFormats.end()) {
    throw base::InputError("unknown format " + base::unknown_name(io::printable(format), kFormats));
  }
  if (!out.empty()) {
    require_writable("--out", out);
  }
}

}  // namespace sptc::cli
