// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/simulation_arguments.h"

#include "models/base/error.h"
#include "sim/cli/arguments.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/report/progress.h"
#include "sim/report/report.h"
#include "sim/run/run.h"
#include "sim/run/simulate.h"
#include "sim/trace/workload_text.h"

#include <string>
#include <string_view>

namespace sptc::sim {
namespace {

numerics::DataType parse_dtype(const std::string& word) {
  if (const auto type = parse_operand_type(word)) {
    return *type;
  }
  throw InputError("--dtype: " + unknown_operand_type(word));
}

/// "f16|bf16|..."
std::string operand_types() {
  std::string names;
  for (const std::string_view name : kernel_operand_types()) {
    names += (names.empty() ? "" : "|") + std::string(name);
  }
  return names;
}

}  // namespace

void SimulationArguments::add_to(CLI::App& command) {
  add_machine_and_values(command);
  energy.add_to(command);
  conditions.add_to(command);
  add_kernel(command);
  add_extent_of_simulation(command);
  add_report(command);
}

void SimulationArguments::add_machine_and_values(CLI::App& command) {
  command.add_option("--arch", arch, "architecture: a name of 'arch list', or a file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  command
      .add_option("--numerics", numerics,
                  "arithmetic of another generation on this architecture (step width and with it "
                  "the cycles change too; default: the architecture's own)")
      ->type_name("NAME");
  command
      .add_option("--fidelity", fidelity,
                  "datapath: operand bits travel through the SystemC stages; timing: cycles only; "
                  "analytic: closed forms")
      ->type_name("datapath|timing|analytic")
      ->capture_default_str();
  command
      .add_option("--variants", variants, "weights as given, at the hardware's pattern, or both")
      ->type_name("dense|sparse|both")
      ->capture_default_str();
  command
      .add_option("--dtype", dtype,
                  "replaces the operand type of every operation (default: the workload's, or f16)")
      ->type_name(operand_types());
  command
      .add_option(
          "--pattern", pattern,
          "of sparse weights (default: the hardware's, 2:4 for 16 and 8 bits): by a selector "
          "of that width where the architecture has one, within 2:4 or decomposed on it "
          "where that is possible")
      ->type_name("N:M|V:N:M");
  command
      .add_option("--data", data,
                  "operand values: random|integers|zeros|relu, or FILE.safetensors with tensors "
                  "'<operation>.a' [m,k] and '<operation>.b' [k,n] (default: the network's values "
                  "where the workload has them, else random)")
      ->type_name("KIND|FILE");
  command
      .add_option("--check", check,
                  "sample, eigen: against double precision; exact: bits against the plain "
                  "arithmetic (default: eigen in datapath, else sample)")
      ->type_name("none|sample|eigen|exact");
  command
      .add_option("--clock", clock,
                  "SM clock, or MHz; limited: the highest that the power limit allows, up to boost "
                  "(default: limited where the energies of the board are known, else boost)")
      ->type_name("boost|limited|MHZ");
}

void SimulationArguments::add_kernel(CLI::App& command) {
  command.add_option("--tile", tile, "CTA tile instead of the heuristic's")->type_name("MxNxK");
  command.add_option("--stages", stages, "pipeline stages instead of the heuristic's")
      ->type_name("N");
  command.add_option("--split-k", split_k, "slices of K instead of the heuristic's")
      ->type_name("N");
  command
      .add_option("--decomposition", decomposition,
                  "an output tile, or with --split-k a slice of one, for each CTA, or as many "
                  "k-tiles for each (default: the heuristic's)")
      ->type_name("data-parallel|stream-k");
}

void SimulationArguments::add_extent_of_simulation(CLI::App& command) {
  command.add_option("--seed", seed, "of generated operands and samples")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option(
          "--sms", sms,
          "all, or two to eight that stand for all (default: sampled in timing, all in datapath)")
      ->type_name("sampled|all");
  command.add_flag(
      "--no-extrapolate", no_extrapolate,
      "simulate every cycle instead of multiplying a detected period (datapath always does)");
}

void SimulationArguments::add_report(CLI::App& command) {
  command.add_option("--format", format, "of the report")
      ->type_name("text|json|csv")
      ->capture_default_str();
  command.add_option("--out", out, "write the report to FILE instead of stdout")->type_name("FILE");
  command
      .add_option("--vcd", vcd,
                  "write the waveform of the tensor cores of an SM to FILE; not in analytic")
      ->type_name("FILE");
  command.add_flag(
      "--explain", explain,
      "what the tensor cores wait for, what twice of each resource would gain, and where "
      "the joules go");
  command.add_flag("--quiet", quiet, "no progress bar");
}

SimulationOptions parsed(const SimulationArguments& given) {
  SimulationOptions options;
  options.fidelity = parse_fidelity(given.fidelity);
  options.variants = parse_variants(given.variants);
  if (!given.dtype.empty()) {
    options.dtype = parse_dtype(given.dtype);
  }
  if (!given.pattern.empty()) {
    options.pattern = sparsity::parse_weight_pattern(given.pattern);
  }
  options.numerics = given.numerics;
  options.data = given.data;
  if (!given.check.empty()) {
    options.check = parse_check_mode(given.check);
  }
  options.clock = parse_clock(given.clock);
  given.conditions.set(options);
  given.energy.set(options);
  if (!given.tile.empty()) {
    options.kernel.cta_tile = parse_tile(given.tile);
    options.kernel.tile_of_pair = true;
  }
  if (!given.stages.empty()) {
    options.kernel.stages = static_cast<int>(parse_positive("--stages", given.stages, kMaxStages));
  }
  if (!given.split_k.empty()) {
    options.kernel.split_k =
        static_cast<int>(parse_positive("--split-k", given.split_k, kMaxSplitK));
  }
  if (!given.decomposition.empty()) {
    options.kernel.decomposition = parse_decomposition(given.decomposition);
  }
  options.seed = parse_seed(given.seed);
  if (!given.sms.empty()) {
    options.sms = parse_sms(given.sms);
  }
  options.extrapolate = !given.no_extrapolate;
  require_consistent(options);
  return options;
}

int simulate_and_report(const SimulationArguments& given, const std::function<Workload()>& load,
                        const DataSource* operands) {
  const SimulationOptions options = parsed(given);
  const ReportFormat format = parse_report_format(given.format);
  if (given.explain && format == ReportFormat::kCsv) {
    throw InputError("--explain writes sentences: use --format text or json");
  }
  if (!given.out.empty()) {
    require_writable("--out", given.out);
  }
  if (!given.vcd.empty()) {
    if (options.fidelity == Fidelity::kAnalytic) {
      throw InputError("--vcd has no effect with --fidelity analytic: nothing is simulated");
    }
    require_writable("--vcd", given.vcd);
  }
  const Workload workload = load();
  PendingFile waveform(given.vcd, ".vcd");
  RunResult result;
  {
    ProgressBar bar(given.quiet);
    const Architecture architecture = load_architecture(given.arch);
    SimulationHooks hooks;
    hooks.progress = [&](std::size_t done, std::size_t total, const std::string& next) {
      bar.update(done, total, next);
    };
    hooks.operands = operands;
    hooks.waveform = waveform.stem();
    result = simulate(workload, architecture, options, hooks);
    result.assumed = assumptions(architecture);
  }
  result.explained = given.explain;
  write_result(given.out, report(result, format));
  waveform.keep("$comment end $end\n");
  return result.passed() ? 0 : 1;
}

}  // namespace sptc::sim
