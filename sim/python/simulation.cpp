// SPDX-License-Identifier: Apache-2.0
#include "sim/python/bindings.h"
#include "sim/python/callbacks.h"
#include "sim/report/complete_report.h"
#include "sim/report/figures.h"
#include "sim/run/energy.h"
#include "sim/run/option_table.h"
#include "sim/run/run.h"
#include "sim/run/simulate.h"
#include "sim/run/simulator.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

namespace nb = nanobind;

namespace sptc::python {
namespace {

using config::Architecture;
using run::SimulationOptions;
using workload::Workload;

/// What analytic runs have in common. Only one of them runs at a time.
class AnalyticRuns {
 public:
  run::RunResult run(const Workload& workload, const Architecture& architecture, const SimulationOptions& options,
                     run::SimulationHooks hooks) {
    const std::lock_guard turn(mutex_);
    const char* const directory = std::getenv("SPTCSIM_CONFIG_DIR");
    if (const std::string now = directory == nullptr ? "" : directory; !caches_ || now != directory_) {
      caches_ = std::make_unique<run::SimulationCaches>();
      directory_ = now;
    }
    hooks.caches = caches_.get();
    return run::simulate(workload, architecture, options, hooks);
  }

  void add_what_ifs(const Workload& workload, const Architecture& architecture, const SimulationOptions& options,
                    run::RunResult& result) {
    const std::lock_guard turn(mutex_);
    run::add_what_ifs(workload, architecture, options, result);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<run::SimulationCaches> caches_;
  std::string directory_;
};

AnalyticRuns& analytic_runs() {
  static AnalyticRuns runs;
  return runs;
}

/// The simulator of all runs with SystemC. It is never destroyed: a thread may still be in a call
/// when the interpreter ends, and workers end with the process.
run::Simulator& simulator() {
  static auto* const instance =
      new run::Simulator(std::max(1U, std::thread::hardware_concurrency()), report::complete_json_report);
  return *instance;
}

/// A workload, and as another process reads it again.
struct GivenWorkload {
  explicit GivenWorkload(workload::WorkloadText read) : value(workload::to_workload(read)), text(std::move(read)) {}
  explicit GivenWorkload(Workload made) : value(std::move(made)) {}

  workload::WorkloadText as_text() const {
    return text ? *text : workload::gemms_as_text(value.name, value.operations);
  }

  Workload value;
  std::optional<workload::WorkloadText> text;  ///< of one that was read
};

nb::object object_of(const report::FigureValue& value) {
  if (const auto* const number = std::get_if<double>(&value)) {
    return std::isfinite(*number) ? nb::object(nb::float_(*number)) : nb::object(nb::none());
  }
  return std::visit([](auto other) { return nb::cast(other); }, value);
}

/// A result. What takes time beside the simulation is made when somebody asks for it: what bounds
/// each launch, and the JSON.
class Run {
 public:
  Run(run::RunResult result, Workload workload, SimulationOptions options, bool with_what_ifs)
      : result_(std::move(result)),
        workload_(std::move(workload)),
        options_(std::move(options)),
        wants_what_ifs_(with_what_ifs) {}
  /// Holds the result of another process.
  explicit Run(std::string json) : json_(std::move(json)) {}

  const std::string& json(const Architecture& architecture) {
    if (json_.empty()) {
      const nb::gil_scoped_release unlocked;
      if (wants_what_ifs_) {
        analytic_runs().add_what_ifs(workload_, architecture, options_, result_);
      }
      json_ = report::complete_json_report(result_, workload_, architecture, options_);
    }
    return json_;
  }

  /// What the JSON says of a variant of the first operation, without what bounds it; None where it
  /// was not simulated, and an empty dict where only the JSON is known.
  nb::object figures(bool sparse) const {
    if (result_.operations.empty()) {
      return nb::dict();
    }
    const run::OperationResult& operation = result_.operations.front();
    const auto& variant = sparse ? operation.sparse : operation.dense;
    if (!variant) {
      return nb::none();
    }
    nb::dict result;
    for (const auto& figure : report::variant_figures(false)) {
      if (const auto value = figure.group.empty() ? figure.value(*variant) : std::nullopt) {
        result[nb::cast(figure.key)] = object_of(*value);
      }
    }
    return result;
  }

  /// Speed-up of the first operation; None where it has none or only the JSON is known.
  nb::object speedup() const {
    const auto ratio = result_.operations.empty() ? std::nullopt : result_.operations.front().speedup();
    return ratio ? nb::object(nb::float_(*ratio)) : nb::object(nb::none());
  }

 private:
  run::RunResult result_;
  Workload workload_;
  SimulationOptions options_;
  bool wants_what_ifs_ = false;
  std::string json_;
};

GivenWorkload one_gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
  workload::Operation op;
  op.name = "gemm";
  op.shape = {m, n, k};
  op.batch = batch;
  op.prunable = true;
  Workload workload;
  workload.name = fmt::format("gemm {} {} {}", m, n, k);
  workload.operations.push_back(std::move(op));
  return GivenWorkload(std::move(workload));
}

Run simulated(const GivenWorkload& workload, const LoadedArchitecture& architecture, const OptionTexts& given,
              bool explain, bool what_ifs, const nb::object& callback) {
  SimulationOptions options = simulation_options(given);
  run::require_link_used(options);
  const bool wants_what_ifs = what_ifs || explain;
  const run::ProgressCallback progress = progress_of(callback);
  const nb::gil_scoped_release unlocked;
  if (options.fidelity != run::Fidelity::kAnalytic) {
    return Run(simulator().simulate({workload.as_text(), architecture.text, given, wants_what_ifs, explain}, progress,
                                    raise_signals));
  }
  run::SimulationHooks hooks;
  hooks.progress = progress;
  hooks.cancelled = [] {
    raise_signals();
    return false;
  };
  options.what_ifs = false;
  run::RunResult result = analytic_runs().run(workload.value, architecture, options, hooks);
  result.explained = explain;
  return Run(std::move(result), workload.value, std::move(options), wants_what_ifs);
}

nb::list options_table() {
  nb::list rows;
  for (const run::SimulationOption& option : run::simulation_options()) {
    nb::dict row;
    row["name"] = std::string(option.name);
    row["type"] = std::string(option.type);
    row["help"] = std::string(option.help);
    row["affects"] = std::string(option.affects);
    row["default"] = std::string(option.usual);
    rows.append(row);
  }
  return rows;
}

template <typename Result>
void append_rows(const report::Figures<Result>& figures, const char* of, nb::list& rows) {
  for (const report::Figure<Result>& figure : figures) {
    nb::dict row;
    row["name"] = figure.path();
    row["of"] = of;
    row["unit"] = std::string(figure.unit);
    row["meaning"] = std::string(figure.meaning);
    rows.append(row);
  }
}

nb::list figures_table() {
  nb::list rows;
  append_rows(report::operation_figures(true), "operation", rows);
  append_rows(report::variant_figures(true), "variant", rows);
  return rows;
}

}  // namespace

SimulationOptions simulation_options(const OptionTexts& given) {
  SimulationOptions options;
  for (const auto& [name, value] : given) {
    run::set_option(options, name, value);
  }
  return options;
}

void bind_simulation(nb::module_& module) {
  nb::class_<GivenWorkload>(module, "Workload");
  module.attr("MOST_EXTENT") = workload::kMaxExtent;
  module.def("one_gemm", one_gemm);
  module.def("read_workload", [](const std::string& path, const workload::NamedDims& dims) {
    return GivenWorkload(workload::read_workload_text(path, dims));
  });
  module.def("parse_workload", [](const std::string& text, const workload::NamedDims& dims) {
    return GivenWorkload(workload::WorkloadText{text, "workload", dims});
  });
  nb::class_<Run>(module, "Run").def("json", &Run::json).def("figures", &Run::figures).def("speedup", &Run::speedup);
  module.def("simulate", simulated, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("options", options_table);
  module.def("figures", figures_table);
}

}  // namespace sptc::python
