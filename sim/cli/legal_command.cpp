// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/config/board_names.h"
#include "sim/io/text_file.h"
#include "sim/prune/legality.h"
#include "sim/prune/prune_options.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

struct Arguments {
  std::vector<std::string> words;
  std::string arch = "a100-sxm4-80gb";
  std::string dtype = "f16";
  std::string format = "text";
};

std::int64_t extent_of(const std::string& word) {
  constexpr std::int64_t kMost = 1 << 30;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 1 || value > kMost) {
    throw base::InputError(fmt::format("legal: '{}' is no extent; M, N and K are 1 to {}",
                                       io::printable(word), kMost));
  }
  return value;
}

int run(const Arguments& arguments) {
  require_format(arguments.format, {"text", "json"});
  const numerics::DataType type = prune::parse_executed_type(arguments.dtype);
  const mma::Target& target = config::target_of(arguments.arch);
  std::vector<prune::ProductShape> shapes;
  if (arguments.words.size() == 1) {
    shapes = prune::shapes_of_model(arguments.words[0], type);
  } else if (arguments.words.size() == 3) {
    shapes.push_back({"", extent_of(arguments.words[0]), extent_of(arguments.words[1]),
                      extent_of(arguments.words[2]), type});
  } else {
    throw base::InputError("legal: give a model, or M N K");
  }
  write_result({}, arguments.format == "json" ? prune::legality_json(shapes, target)
                                              : prune::legality_text(shapes, target));
  return 0;
}

}  // namespace

void add_legal_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "legal", "which shapes libraries take for 2:4 weights, and the nearest that they do");
  command->add_option("WHAT", arguments->words, "a model, or M N K (weights are M x K)")
      ->type_name("MODEL|M N K")
      ->required()
      ->expected(1, 3);
  command->add_option("--arch", arguments->arch, "a board, or a target of matrix instructions")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--dtype", arguments->dtype, "type that is executed")
      ->type_name("f16|bf16|tf32|e4m3|e5m2|s8|s4")
      ->capture_default_str();
  command->add_option("--format", arguments->format, "of the result")
      ->type_name("text|json")
      ->capture_default_str();
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::cli
