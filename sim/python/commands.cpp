// SPDX-License-Identifier: Apache-2.0
//
// Commands of the program whose result is the JSON that they print.
#include "sim/check/capture/capture_crosscheck.h"
#include "sim/check/times/validate.h"
#include "sim/check/vectors/verify.h"
#include "sim/compare/comparison.h"
#include "sim/config/architecture.h"
#include "sim/config/board_names.h"
#include "sim/config/energy.h"
#include "sim/io/text_file.h"
#include "sim/prune/legality.h"
#include "sim/prune/plan/plan_model.h"
#include "sim/prune/prune_options.h"
#include "sim/python/bindings.h"
#include "sim/python/callbacks.h"
#include "sim/report/energy_tables.h"
#include "sim/report/show/element_view.h"
#include "sim/report/version.h"
#include "sim/run/microbench/microbench.h"
#include "sim/run/option_values.h"
#include "sim/run/run_options.h"
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/recording.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace sptc::python {
namespace {

using TextLists = std::map<std::string, std::vector<std::string>>;
using NamedLists = std::map<std::string, std::vector<std::int64_t>>;

run::SimulationOptions options_of(const OptionTexts& given) {
  const run::SimulationOptions options = simulation_options(given);
  run::require_consistent(options);
  return options;
}

std::string show(const std::string& instruction, const std::string& arch, int row, int col, int selector,
                 const std::string& data, std::uint64_t seed) {
  return in_worker([&] {
    return report::show::element_json(report::show::show_instruction(
        instruction, arch,
        [&](const mma::MmaInstruction& which) { return report::show::generated_operands(which, data, seed); },
        {row, col, selector}));
  });
}

std::string compare(const std::string& file, const std::vector<config::Architecture>& boards, const NamedLists& dims,
                    const TextLists& ways, const OptionTexts& given, int jobs, const nb::object& progress) {
  run::SimulationOptions options = options_of(given);
  const workload::DimLists lists(dims.begin(), dims.end());
  std::optional<compare::TriedWays> tried;
  if (!ways.empty()) {
    tried = compare::parse_ways({ways.at("types"), ways.at("sparsity"), ways.at("tp"), ways.at("ep")}, options);
  }
  return in_worker(
      [&](const run::ProgressCallback& report) {
        const auto workloads = compare::compared_workloads(file, lists);
        const auto show = [&](std::size_t begun, std::size_t total) {
          const std::size_t of_board = total / workloads.size() / boards.size();
          report(begun, total, begun < total ? boards[begun / of_board % boards.size()].gpu.name : std::string());
        };
        return compare::comparison_json(tried ? compare::compare_types(workloads, boards, options, *tried, jobs, show)
                                              : compare::compare(workloads, boards, options, jobs, show));
      },
      progress);
}

std::string compare_saved(const std::vector<std::string>& files) {
  const nb::gil_scoped_release unlocked;
  return compare::comparison_json(compare::compare_saved({files.begin(), files.end()}));
}

std::string validate(const std::string& file, const std::string& arch, const std::string& dtype, bool sparse,
                     const std::string& data, const OptionTexts& given, int jobs, const nb::object& progress) {
  check::times::ValidationJob job;
  job.file = file;
  job.arch = arch;
  job.options = options_of(given);
  job.fidelity_given = given.contains("fidelity");
  job.defaults = check::times::parse_defaults(dtype, sparse ? "sparse" : "dense", data, job.options);
  job.jobs = jobs;
  return in_worker(
      [&](const run::ProgressCallback& report) {
        job.progress = [&](std::size_t done, std::size_t total) { report(done, total, ""); };
        return check::times::validation_json(check::times::validate(job));
      },
      progress);
}

/// `words`, `numbers`: by the names of plan_model() in Python; what is left out is the default.
prune::plan::PlanOptions plan_options(OptionTexts words, const std::map<std::string, double>& numbers,
                                      const OptionTexts& given) {
  const auto number = [&](const char* name) {
    const auto found = numbers.find(name);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  };
  prune::plan::PlanOptions options;
  options.simulation = options_of(given);
  options.pruning = pruning_options(words);
  options.workload = words["workload"];
  options.evaluation.command = words["evaluate"];
  options.evaluation.lower_is_better = prune::plan::is_lower_better("metric", words["metric"]);
  options.evaluation.timeout_s = number("timeout").value_or(options.evaluation.timeout_s);
  options.max_loss = number("max_loss");
  options.max_time_us = number("max_time");
  options.min_gain = number("min_gain");
  return options;
}

std::string plan_model(const std::string& model, const LoadedArchitecture& architecture, const OptionTexts& words,
                       const std::map<std::string, double>& numbers, const workload::NamedDims& dims,
                       const NamedLists& inputs, int jobs, const OptionTexts& given, const nb::object& progress) {
  prune::plan::PlanOptions options = plan_options(words, numbers, given);
  options.import.dims = dims;
  options.import.inputs = inputs;
  options.evaluation.jobs = jobs;
  return in_worker(
      [&](const run::ProgressCallback& report) {
        options.progress = [&](std::size_t done, std::size_t total) { report(done, total, ""); };
        const prune::plan::PlanResult result = prune::plan::plan_model(model, architecture, options);
        if (const auto out = words.find("out"); out != words.end()) {
          io::write_file(out->second, prune::plan::plan_list(result));
        }
        return prune::plan::plan_json(result);
      },
      progress);
}

/// The workload's JSON, and what was taken of it.
std::pair<std::string, std::string> load_workload(const std::string& file, const workload::NamedDims& dims,
                                                  const NamedLists& inputs, const std::string& convention, bool tf32,
                                                  bool strict) {
  const nb::gil_scoped_release unlocked;
  workload::ImportOptions options;
  options.dims = dims;
  options.inputs = inputs;
  options.tf32 = tf32;
  options.convention = workload::parse_convention(convention);
  const workload::Recording recording = workload::importer::read_recording(file, options);
  if (strict) {
    workload::importer::require_all_taken(recording);
  }
  return {workload::workload_json(recording), workload::importer::account_text(recording)};
}

std::string verify(const std::string& directory, const std::string& profile) {
  const nb::gil_scoped_release unlocked;
  return check::vectors::verify_json(check::vectors::verify(directory, mma::parse_profile(profile)));
}

std::string microbench(const config::Architecture& architecture, const std::string& instruction,
                       std::optional<int> warps, std::optional<int> ilp) {
  return in_worker([&] {
    return run::microbench::rows_json(
        architecture.gpu,
        run::microbench::run_cases(architecture.gpu,
                                   run::microbench::asked_cases(architecture.gpu, instruction, warps, ilp)),
        report::program_version());
  });
}

std::string crosscheck_capture(const std::string& directory, const std::string& arch, const std::string& fidelity,
                               const std::string& profile, int threads) {
  const check::capture::CaptureOptions options{arch, run::parse_word<run::Fidelity>(fidelity),
                                               mma::parse_profile(profile), threads};
  return in_worker(
      [&] { return check::capture::capture_json(check::capture::crosscheck_capture(directory, options)); });
}

std::string legal(const std::string& model, std::int64_t m, std::int64_t n, std::int64_t k, const std::string& arch,
                  const std::string& dtype) {
  const nb::gil_scoped_release unlocked;
  std::optional<numerics::DataType> type;
  if (!dtype.empty()) {
    type = prune::parse_executed_type(dtype);
  }
  const numerics::DataType of_shape = type.value_or(numerics::DataType::kF16);
  return prune::legality_json(
      model.empty() ? std::vector<prune::ProductShape>{{"", m, n, k, of_shape}} : prune::shapes_of_model(model, type),
      config::target_of(arch));
}

std::string energy(const std::string& name) {
  return report::energy_numbers_json(run::load_energies(name));
}

std::string energy_area(const config::Architecture& architecture) {
  return report::area_json(run::estimate_area(architecture));
}

}  // namespace

void bind_commands(nb::module_& module) {
  module.attr("MOST_WARPS") = run::microbench::kMaxWarps;
  module.attr("MOST_ILP") = run::microbench::kMaxIlp;
  module.def("show", show);
  module.def("compare", compare, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("compare_saved", compare_saved);
  module.def("validate", validate, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none());
  module.def("plan_model", plan_model, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg().none());
  module.def("load_workload", load_workload);
  module.def("verify", verify);
  module.def("microbench", microbench, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  module.def("crosscheck_capture", crosscheck_capture);
  module.def("legal", legal);
  module.def("energy", energy);
  module.def("energy_area", energy_area);
  module.def("energy_names", config::energy_names);
}

}  // namespace sptc::python
