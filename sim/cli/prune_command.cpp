// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/pruning_options.h"
#include "sim/io/file_use.h"
#include "sim/prune/prune_model.h"
#include "sim/prune/prune_report.h"
#include "sim/report/prune_page.h"

#include <memory>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string model, out, masks, report, html;
  std::string format = "text";
  std::string criterion = "magnitude";
  std::string pattern, dtype, layout = "dense";
  std::string activations;
  prune::PruneOptions options;
};

int run(Arguments arguments) {
  require_format(arguments.format, {"text", "json"});
  prune::PruneOptions& options = arguments.options;
  options.criterion = sparsity::parse_criterion(arguments.criterion);
  options.layout = prune::parse_weight_layout(arguments.layout);
  options.activations = arguments.activations;
  if (!arguments.pattern.empty()) {
    options.pattern = sparsity::parse_weight_pattern(arguments.pattern);
  }
  if (!arguments.dtype.empty()) {
    options.dtype = prune::parse_executed_type(arguments.dtype);
  }
  io::announce_input(arguments.model);
  if (!arguments.activations.empty()) {
    io::announce_input(arguments.activations);
  }
  if (!arguments.out.empty()) {
    io::announce_output("--out", arguments.out);
  }
  if (!arguments.masks.empty()) {
    io::announce_output("--masks", arguments.masks);
  }
  require_writable_text("--report", arguments.report);
  require_writable_text("--html", arguments.html);
  const prune::PruneReport report =
      prune::prune_model(arguments.model, arguments.out, arguments.masks, options);
  if (!arguments.html.empty()) {
    write_result(arguments.html, report::prune_page(report, command_line()));
  }
  write_result(arguments.report,
               arguments.format == "json" ? prune::prune_json(report) : prune::prune_text(report));
  return 0;
}

void add_files(CLI::App& command, Arguments& arguments) {
  command
      .add_option("MODEL", arguments.model,
                  ".safetensors, .safetensors.index.json or its directory, .npz, .npy or .onnx")
      ->type_name("MODEL")
      ->required();
  command
      .add_option("--out", arguments.out,
                  "the pruned model: .safetensors, .npz, .npy, .onnx (of ONNX), or a new directory "
                  "for shards; without it nothing but the report is made")
      ->type_name("FILE");
  command.add_option("--masks", arguments.masks, "masks for fine-tuning, BOOL: .safetensors, .npz")
      ->type_name("FILE");
  add_activations(command, arguments.activations);
  add_report(command, arguments.report, arguments.format);
  command.add_option("--html", arguments.html, "write one page, which needs no network")
      ->type_name("FILE");
}

void add_choices(CLI::App& command, Arguments& arguments) {
  command
      .add_option("--pattern", arguments.pattern,
                  "of the weights (default: what mma.sp of --dtype executes, else 2:4)")
      ->type_name("N:M|V:N:M");
  add_criterion(command, arguments.criterion);
  command
      .add_option(
          "--dtype", arguments.dtype,
          "type that tensor cores will execute: of --layout, and for tf32 1:2, for s4 pairs")
      ->type_name("f16|bf16|tf32|e4m3|e5m2|s8|s4");
  command
      .add_option("--layout", arguments.layout,
                  "dense with zeros, or values and metadata in this layout")
      ->type_name("dense|canonical|ptx|cutlass|pytorch|pytorch-old|marlin")
      ->capture_default_str();
  prune::PruneOptions& options = arguments.options;
  command
      .add_option(
          "--layers", options.layers,
          "tensors to prune, or a list of them as 'plan --out' writes it (default: of ONNX the "
          "weights of products and convolutions, else those of two or more axes, without heads, "
          "embeddings, routers, state matrices and norms)")
      ->type_name("REGEX|@FILE");
  add_include(command, options);
  command.add_option("--exclude", options.exclude, "tensors to leave as they are")
      ->type_name("REGEX");
  command
      .add_option(
          "--permute", options.permute,
          "channels along k: report what it would gain, auto (of ONNX graphs), or a rule of "
          "tensors whose rows and whose k go together (once for each rule)")
      ->allow_extra_args(false)  // once for each rule
      ->type_name("report|auto|PRODUCERS=CONSUMERS");
  command.add_option("--seed", options.seed, "of the search for permutations")
      ->type_name("N")
      ->capture_default_str();
  add_axes(command, options);
}

}  // namespace

void add_prune_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("prune", "weights of a model to 2:4 and other patterns; what they lose");
  add_files(*command, *arguments);
  add_choices(*command, *arguments);
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::cli
