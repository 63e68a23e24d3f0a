// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/simulation_arguments.h"
#include "sim/run/data_source.h"
#include "sim/run/option_values.h"
#include "sim/workload/workload.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string m, n, k;
  std::string batch = "1";
  std::string a_file, b_file;
  SimulationArguments simulation;
};

workload::Workload one_gemm(const Arguments& arguments) {
  workload::Operation op;
  op.name = "gemm";
  op.shape = {run::parse_positive("M", arguments.m, workload::kMaxExtent),
              run::parse_positive("N", arguments.n, workload::kMaxExtent),
              run::parse_positive("K", arguments.k, workload::kMaxExtent)};
  op.batch = run::parse_positive("--batch", arguments.batch, workload::kMaxExtent);
  // A is a weight, and what K lacks of a whole group is padded with zeros.
  op.prunable = true;
  workload::Workload workload;
  workload.name = fmt::format("gemm {} {} {}", op.shape.m, op.shape.n, op.shape.k);
  workload.operations.push_back(op);
  return workload;
}

int run(const Arguments& arguments) {
  workload::Workload workload = one_gemm(arguments);
  if (arguments.a_file.empty() != arguments.b_file.empty()) {
    throw base::InputError("--a and --b are given together or not at all");
  }
  std::unique_ptr<run::DataSource> files;
  if (!arguments.a_file.empty()) {
    if (!arguments.simulation.options.parsed().data.empty()) {
      throw base::InputError("--data and --a/--b both say where the operands come from: give one");
    }
    files = run::FileData::open(arguments.a_file, arguments.b_file);
  }
  return simulate_and_report(
      arguments.simulation, [&] { return workload; }, files.get());
}

}  // namespace

void add_gemm_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      add_command(app, chosen, "gemm", "simulate D[M,N] = A[M,K] B[K,N], A dense and pruned", run);
  declare(command, {{"M", arguments.m, "INT", "rows of A and D", true},
                    {"N", arguments.n, "INT", "columns of B and D", true},
                    {"K", arguments.k, "INT", "columns of A, rows of B", true},
                    {"--batch", arguments.batch, "N", "independent GEMMs in one launch"},
                    {"--a", arguments.a_file, "FILE", "A [m,k] from a .npy file"},
                    {"--b", arguments.b_file, "FILE", "B [k,n] from a .npy file"}});
  arguments.simulation.add_to(command);
}

}  // namespace sptc::cli
