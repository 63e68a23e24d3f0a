// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/config/board_names.h"
#include "sim/io/file_use.h"
#include "sim/io/text_file.h"
#include "sim/prune/conversion.h"
#include "sim/prune/legality.h"
#include "sim/prune/prune_model.h"
#include "sim/prune/prune_options.h"

#include <optional>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

constexpr const char* kPrunedLayouts =
    "dense|canonical|ptx|cutlass|cutlass-sm90|cutlass-sm90-k64|cutlass-sm100|pytorch|pytorch-old|marlin|"
    "sparse-24-bitmask";
constexpr const char* kOtherLayouts =
    "|marlin-24|pack-quantized|int-quantized|float-quantized|nvfp4-pack-quantized|modelopt-nvfp4";
constexpr const char* kTypes = "f16|bf16|tf32|e4m3|e5m2|s8|s4";

struct Arguments {
  std::string model, out, masks, report, html;
  std::string format = "text";
  std::string criterion = "magnitude";
  std::string pattern, dtype, layout = "dense";
  std::string activations;
  prune::PruneOptions options;
};

prune::PruneOptions options_of(const Arguments& arguments) {
  prune::PruneOptions options = arguments.options;
  options.criterion = sparsity::parse_criterion(arguments.criterion);
  options.layout = prune::parse_weight_layout(arguments.layout);
  options.activations = arguments.activations;
  if (!arguments.pattern.empty()) {
    options.pattern = sparsity::parse_weight_pattern(arguments.pattern);
  }
  if (!arguments.dtype.empty()) {
    options.dtype = prune::parse_executed_type(arguments.dtype);
  }
  return options;
}

int run(const Arguments& arguments) {
  const bool json = is_json(arguments.format);
  const prune::PruneOptions options = options_of(arguments);
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
  const prune::PruneReport report = prune::prune_model(arguments.model, arguments.out, arguments.masks, options);
  write_if_asked(arguments.html, [&] { return prune::prune_page(report, command_line()); });
  write_result(arguments.report, json ? prune::prune_json(report) : prune::prune_text(report));
  return 0;
}

void add_files(CLI::App& command, Arguments& arguments) {
  declare(command, {{"MODEL", arguments.model, "MODEL",
                     ".safetensors, .safetensors.index.json or its directory, .npz, .npy or .onnx", true},
                    {"--out", arguments.out, "FILE",
                     "the pruned model: .safetensors, .npz, .npy, .onnx (of ONNX), or a directory of a directory, "
                     "which a second run completes; without it nothing but the report is made"},
                    {"--masks", arguments.masks, "FILE", "masks for fine-tuning, BOOL: .safetensors, .npz"}});
  add_activations(command, arguments.activations);
  add_report(command, arguments.report, arguments.format);
  declare(command, {{"--html", arguments.html, "FILE", "write one page, which needs no network"}});
}

void add_choices(CLI::App& command, Arguments& arguments) {
  prune::PruneOptions& options = arguments.options;
  declare(command, {{"--pattern", arguments.pattern, "N:M|V:N:M",
                     "pattern of the weights (default: what mma.sp of --dtype executes, else 2:4)"}});
  add_criterion(command, arguments.criterion);
  declare(command, {{"--dtype", arguments.dtype, kTypes,
                     "type that tensor cores will execute: of --layout, and for tf32 1:2, for s4 pairs"},
                    {"--layout", arguments.layout, kPrunedLayouts,
                     "dense with zeros, values and metadata in this layout, or as compressed-tensors has them"},
                    {"--layers", options.layers, "REGEX|@FILE",
                     "tensors to prune, or a list of them as 'plan --out' writes it (default: of ONNX the weights of "
                     "products and convolutions, else those of two or more axes, without heads, embeddings, routers, "
                     "state matrices and norms)"}});
  add_include(command, options);
  declare(command, {{"--exclude", options.exclude, "REGEX", "tensors to leave as they are"}});
  command
      .add_option("--permute", options.permute,
                  "channels along k: report what it would gain, auto (by a graph, or the names of a transformer), or a "
                  "rule of tensors whose rows and whose k go together (once for each)")
      ->allow_extra_args(false)  // once for each rule
      ->type_name("report|auto|PRODUCERS=CONSUMERS");
  command.add_option("--seed", options.seed, "seed of the search for permutations")
      ->type_name("N")
      ->capture_default_str();
  add_axes(command, options);
}

int convert(const Arguments& arguments) {
  const bool json = is_json(arguments.format);
  const prune::ConversionReport report = prune::convert_model(arguments.model, arguments.out, options_of(arguments));
  write_result({}, json ? prune::conversion_json(report) : prune::conversion_text(report));
  return 0;
}

struct LegalArguments {
  std::vector<std::string> words;
  std::string arch = "a100-sxm4-80gb";
  std::string dtype;
  std::string format = "text";
};

std::int64_t extent_of(const std::string& word) {
  constexpr std::int64_t kMost = 1 << 30;
  std::int64_t value = 0;
  if (!io::parse_whole(word, value) || value < 1 || value > kMost) {
    io::refuse("legal: '{}' is no extent; M, N and K are 1 to {}", io::printable(word), kMost);
  }
  return value;
}

int legal(const LegalArguments& arguments) {
  const bool json = is_json(arguments.format);
  std::optional<numerics::DataType> type;
  if (!arguments.dtype.empty()) {
    type = prune::parse_executed_type(arguments.dtype);
  }
  const mma::Target& target = config::target_of(arguments.arch);
  std::vector<prune::ProductShape> shapes;
  if (arguments.words.size() == 1) {
    shapes = prune::shapes_of_model(arguments.words[0], type);
  } else if (arguments.words.size() == 3) {
    shapes.push_back({"", extent_of(arguments.words[0]), extent_of(arguments.words[1]), extent_of(arguments.words[2]),
                      type.value_or(numerics::DataType::kF16)});
  } else {
    throw base::InputError("legal: give a model, or M N K");
  }
  write_result({}, json ? prune::legality_json(shapes, target) : prune::legality_text(shapes, target));
  return 0;
}

}  // namespace

void add_prune_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] = add_command(
      app, chosen, "prune", "prune the weights of a model to 2:4 or another pattern, and say what they lose", run);
  add_files(command, arguments);
  add_choices(command, arguments);
}

void add_convert_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] = add_command(
      app, chosen, "convert", "convert 2:4 weights between dense, compressed and the layouts of metadata", convert);
  arguments.layout.clear();  // without a default
  const std::string layouts = std::string(kPrunedLayouts) + kOtherLayouts;
  declare(command,
          {{"MODEL", arguments.model, "MODEL",
            "a file of 'prune --layout', a checkpoint of compressed-tensors, or a model whose weights have the pattern",
            true},
           {"--out", arguments.out, "FILE", ".safetensors, .npz, or a directory of a directory", true},
           {"--layout", arguments.layout, layouts.c_str(), "layout of the result", true},
           {"--dtype", arguments.dtype, kTypes, "type in which dense weights will be executed"},
           {"--layers", arguments.options.layers, "REGEX", "tensors to compress, where weights are dense"},
           {"--exclude", arguments.options.exclude, "REGEX", "tensors to leave as they are"}});
  add_include(command, arguments.options);
  add_axes(command, arguments.options);
  declare(command, {{"--format", arguments.format, "text|json", "format of the report"}});
}

void add_legal_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] = add_command(
      app, chosen, "legal", "which shapes libraries take for 2:4 weights, and the nearest that they do", legal);
  command.add_option("WHAT", arguments.words, "a model, or M N K (weights are M x K)")
      ->type_name("MODEL|M N K")
      ->required()
      ->expected(1, 3);
  declare(command,
          {{"--arch", arguments.arch, "NAME", "a board, or a target of matrix instructions"},
           {"--dtype", arguments.dtype, kTypes, "type that is executed (default: that of each tensor; of M N K f16)"},
           {"--format", arguments.format, "text|json", "format of the result"}});
}

}  // namespace sptc::cli
