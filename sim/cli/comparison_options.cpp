// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/comparison_options.h"

#include "models/mma/step_rules.h"
#include "sim/cli/output.h"

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
  mma::parse_profile(profile);
  require_format(format, {"text", "json"});
  require_writable_text("--out", out);
}

}  // namespace sptc::cli
