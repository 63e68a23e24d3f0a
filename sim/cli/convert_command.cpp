// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/pruning_options.h"
#include "sim/prune/conversion.h"

#include <memory>
#include <string>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string model, out, layout, dtype;
  std::string format = "text";
  prune::PruneOptions options;
};

int run(Arguments arguments) {
  require_format(arguments.format, {"text", "json"});
  arguments.options.layout = prune::parse_weight_layout(arguments.layout);
  if (!arguments.dtype.empty()) {
    arguments.options.dtype = prune::parse_executed_type(arguments.dtype);
  }
  const prune::ConversionReport report =
      prune::convert_model(arguments.model, arguments.out, arguments.options);
  write_result({}, arguments.format == "json" ? prune::conversion_json(report)
                                              : prune::conversion_text(report));
  return 0;
}

}  // namespace

void add_convert_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "convert", "2:4 weights between dense, compressed and the layouts of metadata");
  command
      ->add_option("MODEL", arguments->model,
                   "a file of 'prune --layout', or a model whose weights have the pattern")
      ->type_name("MODEL")
      ->required();
  command->add_option("--out", arguments->out, ".safetensors, .npz")->type_name("FILE")->required();
  command->add_option("--layout", arguments->layout, "that of the result")
      ->type_name("dense|canonical|ptx|cutlass|pytorch|pytorch-old|marlin")
      ->required();
  command->add_option("--dtype", arguments->dtype, "of dense weights: type that is executed")
      ->type_name("f16|bf16|tf32|e4m3|e5m2|s8|s4");
  command
      ->add_option("--layers", arguments->options.layers, "of dense weights: tensors to compress")
      ->type_name("REGEX");
  command->add_option("--exclude", arguments->options.exclude, "tensors to leave as they are")
      ->type_name("REGEX");
  add_include(*command, arguments->options);
  add_axes(*command, arguments->options);
  command->add_option("--format", arguments->format, "of the report")
      ->type_name("text|json")
      ->capture_default_str();
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::cli
