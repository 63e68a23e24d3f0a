// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/step_rules.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/config/text_file.h"
#include "sim/verify/verify.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace sptc::sim {
namespace {

struct Arguments {
  std::string directory;
  std::string profile = "hardware";
  std::string format = "text";
  std::string out;
};

int run(const Arguments& arguments) {
  constexpr std::array<std::string_view, 2> kFormats{"text", "json"};
  const mma::Profile profile = mma::parse_profile(arguments.profile);
  const bool is_json = arguments.format == kFormats[1];
  if (!is_json && arguments.format != kFormats[0]) {
    throw InputError("unknown format " + unknown_name(printable(arguments.format), kFormats));
  }
  if (!arguments.out.empty()) {
    require_writable("--out", arguments.out);
  }
  const VerifyResult result = verify(arguments.directory, profile);
  write_result(arguments.out, is_json ? verify_json(result) : verify_text(result));
  return result.mismatches() == 0 ? 0 : 1;
}

}  // namespace

void add_verify_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "verify", "compute test vectors of matrix instructions and compare every bit");
  command->add_option("DIR", arguments->directory, "array sets, in any subdirectory")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--profile", arguments->profile,
                   "hardware: the models tuned against GPUs; mma-sim: MMA-Sim, word for word")
      ->type_name("hardware|mma-sim")
      ->capture_default_str();
  command->add_option("--format", arguments->format, "of the report")
      ->type_name("text|json")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write the report to FILE instead of stdout")
      ->type_name("FILE");
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::sim
