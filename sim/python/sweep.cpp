// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/python/bindings.h"
#include "sim/report/version.h"
#include "sim/sweep/execution/coordinator.h"
#include "sim/sweep/execution/emit.h"
#include "sim/sweep/execution/plan_summary.h"
#include "sim/sweep/execution/resimulation.h"
#include "sim/sweep/execution/sweep_status.h"
#include "sim/sweep/executors/local_executor.h"
#include "sim/sweep/point/simulation_point_runner.h"
#include "sim/sweep/reports/sweep_report.h"
#include "sim/sweep/space/plan.h"
#include "sim/sweep/space/sweep_spec.h"
#include "sim/sweep/store/sweep_store.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace sptc::python {
namespace {

/// What the progress of a sweep calls, and what ends the sweep.
class Watch {
 public:
  explicit Watch(const nb::object& callback) : callback_(callback) {}

  /// What Python raises, Ctrl-C included, ends the sweep when the points at work are stored.
  void report(const sweep::execution::SweepProgress& now) {
    const nb::gil_scoped_acquire locked;
    if (failure_) {
      return;
    }
    try {
      if (PyErr_CheckSignals() != 0) {
        throw nb::python_error();
      }
      if (!callback_.is_none()) {
        callback_(now.reused + now.done, now.total, now.failures);
      }
    } catch (...) {
      failure_ = std::current_exception();
      stop_ = true;
    }
  }

  const std::atomic<bool>& stop() const { return stop_; }
  void raise() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  const nb::object& callback_;
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_;
};

/// `text`: of a spec, its paths relative to that of `file`; nothing: `file` is read.
sweep::space::SweepPlan plan_of(const std::optional<std::string>& text, const std::string& file) {
  sweep::space::SweepSpec spec =
      text ? sweep::space::parse_sweep_spec(*text, file) : sweep::space::read_sweep_spec(file);
  return sweep::space::checked_plan(std::move(spec), std::string(report::program_version()));
}

std::size_t processes(int jobs) {
  return jobs > 0 ? static_cast<std::size_t>(jobs)
                  : std::max(1U, std::thread::hardware_concurrency());
}

/// Runs the points that `results` lacks, of part `index` of `count`. `again`: of a sweep in closed
/// form the points of the front that SystemC simulates once more; 0: none.
void sweep(const std::optional<std::string>& spec, const std::string& file, std::size_t again,
           const std::string& results, int jobs, std::uint64_t index, std::uint64_t count,
           const nb::object& progress) {
  Watch watch(progress);
  {
    const nb::gil_scoped_release unlocked;
    const sweep::space::SweepPlan plan = plan_of(spec, file);
    sweep::point::SimulationPointRunner runner;
    const sweep::executors::PointLimits limits{plan.spec().timeout_s, plan.spec().memory_mb};
    if (again > 0) {
      sweep::execution::as_timing(plan.spec());  // or says why not
    }
    const auto report = [&](const sweep::execution::SweepProgress& now) { watch.report(now); };
    const sweep::execution::SweepShard shard{index, count};
    sweep::execution::SweepProgress last;
    {
      sweep::store::SweepStore store(results, plan, {});
      sweep::executors::LocalExecutor executor(plan, runner, limits, processes(jobs));
      sweep::execution::RunMarker mark(results, shard);
      last = sweep::execution::run_sweep(plan, runner, limits, shard, store, executor, watch.stop(),
                                         [&](const sweep::execution::SweepProgress& now) {
                                           mark.update(now);
                                           watch.report(now);
                                         });
      watch.report(last);
      if (!last.interrupted) {
        sweep::execution::finish(store);
      }
    }
    if (again > 0 && !last.interrupted) {
      sweep::execution::simulate_again(plan, runner, limits, results, again, processes(jobs), {},
                                       watch.stop(), report);
    }
  }
  watch.raise();
}

std::string sweep_plan(const std::optional<std::string>& spec, const std::string& file,
                       std::uint64_t index, std::uint64_t count, int jobs, std::size_t first) {
  const nb::gil_scoped_release unlocked;
  const sweep::space::SweepPlan plan = plan_of(spec, file);
  sweep::point::SimulationPointRunner runner;
  return sweep::execution::plan_json(
      plan, sweep::execution::summarize_plan(plan, runner, {index, count}, first), processes(jobs));
}

std::vector<std::filesystem::path> paths(const std::vector<std::string>& files) {
  return {files.begin(), files.end()};
}

std::string sweep_status(const std::vector<std::string>& files) {
  const nb::gil_scoped_release unlocked;
  return sweep::execution::status_json(sweep::execution::sweep_status(paths(files)));
}

std::size_t sweep_merge(const std::vector<std::string>& parts, const std::string& out,
                        bool mixed_builds) {
  const nb::gil_scoped_release unlocked;
  return sweep::store::merge_sweeps(paths(parts), out, mixed_builds);
}

std::string sweep_report(const std::string& results, const std::string& format) {
  const nb::gil_scoped_release unlocked;
  return sweep::reports::sweep_report(results, sweep::reports::parse_sweep_report_format(format));
}

std::string sweep_emit(const std::string& spec, bool slurm, const std::string& program,
                       const std::string& results, std::uint64_t shards, std::uint64_t jobs,
                       const std::vector<std::string>& setup,
                       const std::tuple<std::string, std::string, std::string, std::string>& words,
                       bool whole_node, std::uint64_t at_once,
                       const std::vector<std::string>& directives) {
  const nb::gil_scoped_release unlocked;
  const sweep::space::SweepPlan plan = plan_of(std::nullopt, spec);
  const sweep::execution::EmitOptions options{program, spec, results, plan.spec().name,
                                              shards,  jobs, setup};
  const auto& [time, memory, partition, account] = words;
  return slurm ? sweep::execution::slurm_script(
                     options, {time, memory, partition, account, whole_node, at_once, directives})
               : sweep::execution::gnu_parallel_script(options);
}

}  // namespace

void bind_sweep(nb::module_& module) {
  module.def("sweep", sweep, nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg(), nb::arg().none());
  module.def("sweep_plan", sweep_plan, nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg());
  module.def("sweep_status", sweep_status);
  module.def("sweep_merge", sweep_merge);
  module.def("sweep_report", sweep_report);
  module.def("sweep_emit", sweep_emit);
}

}  // namespace sptc::python
