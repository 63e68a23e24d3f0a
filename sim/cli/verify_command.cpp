// SPDX-License-Identifier: Apache-2.0
#include "models/mma/step_rules.h"
#include "sim/cli/commands.h"
#include "sim/cli/comparison_options.h"
#include "sim/cli/output.h"
#include "sim/compare/vectors/verify.h"

#include <memory>
#include <string>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string directory;
  ComparisonOptions common;
};

int run(const Arguments& arguments) {
  const ComparisonOptions& common = arguments.common;
  common.require_valid();
  const compare::vectors::VerifyResult result =
      compare::vectors::verify(arguments.directory, mma::parse_profile(common.profile));
  write_result(common.out, common.is_json() ? compare::vectors::verify_json(result)
                                            : compare::vectors::verify_text(result));
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
  arguments->common.add_to(*command);
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::cli
