// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/pruning_options.h"

namespace sptc::cli {

void add_activations(CLI::App& command, std::string& activations) {
  command
      .add_option("--activations", activations,
                  "inputs of the layers for calibration: tensors '<layer>' [samples.., k]")
      ->type_name("FILE");
}

void add_criterion(CLI::App& command, std::string& criterion) {
  command.add_option("--criterion", criterion, "what stays; all but the first need --activations")
      ->type_name("magnitude|wanda|sparsegpt")
      ->capture_default_str();
}

void add_report(CLI::App& command, std::string& report, std::string& format) {
  command.add_option("--report", report, "write the report to FILE instead of stdout")
      ->type_name("FILE");
  command.add_option("--format", format, "of the report")
      ->type_name("text|json")
      ->capture_default_str();
}

void add_axes(CLI::App& command, prune::PruneOptions& options) {
  command.add_option("--transposed", options.transposed, "tensors that are [k, rows]")
      ->type_name("REGEX");
  command
      .add_option("--k-axis", options.k_axis,
                  "k of tensors of three axes: last, of experts [experts, rows, k], or 1, of "
                  "[experts, k, rows] and filters (default: as names and extents say)")
      ->type_name("last|1");
}

void add_include(CLI::App& command, prune::PruneOptions& options) {
  command
      .add_option("--include", options.include,
                  "tensors to prune, too, that stay dense by name: heads, embeddings, routers, "
                  "state matrices")
      ->type_name("REGEX");
}

}  // namespace sptc::cli
