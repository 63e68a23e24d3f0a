// SPDX-License-Identifier: Apache-2.0
#include "sim/python/bindings.h"
#include "sim/sweep/coordinator.h"
#include "sim/sweep/emit.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/plan_summary.h"
#include "sim/sweep/resimulation.h"
#include "sim/sweep/simulation_point_runner.h"
#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_spec.h"
#include "sim/sweep/sweep_status.h"
#include "sim/sweep/sweep_store.h"

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
  void report(const sweep::SweepProgress& now) {
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
sweep::SweepPlan plan_of(const std::optional<std::string>& text, const std::string& file) {
  return sweep::checked_plan(text ? sweep::parse_sweep_spec(*text, file) : sweep::read_sweep_spec(file));
}

std::size_t processes(int jobs) {
  return jobs > 0 ? static_cast<std::size_t>(jobs) : std::max(1U, std::thread::hardware_concurrency());
}

/// Runs the points that `results` lacks, of part `index` of `count`. `again`: of a sweep in closed
/// form the points of the front that SystemC simulates once more; 0: none.
void sweep(const std::optional<std::string>& spec, const std::string& file, std::size_t again,
           const std::string& results, int jobs, std::uint64_t index, std::uint64_t count, const nb::object& progress) {
  Watch watch(progress);
  {
    const nb::gil_scoped_release unlocked;
    const sweep::SweepPlan plan = plan_of(spec, file);
    sweep::SimulationPointRunner runner;
    const sweep::SweepWork work{plan,
                                runner,
                                {plan.spec().timeout_s, plan.spec().memory_mb},
                                processes(jobs),
                                watch.stop(),
                                [&](const sweep::SweepProgress& now) { watch.report(now); }};
    if (again > 0) {
      sweep::as_timing(plan.spec());  // or says why not
    }
    sweep::SweepProgress last;
    {
      sweep::SweepStore store(results, plan, {});
      last = sweep::run_sweep(work, {index, count}, store);
      watch.report(last);
    }
    if (again > 0 && !last.interrupted) {
      sweep::simulate_again(work, results, again, {});
    }
  }
  watch.raise();
}

std::string sweep_plan(const std::optional<std::string>& spec, const std::string& file, std::uint64_t index,
                       std::uint64_t count, int jobs, std::size_t first) {
  const nb::gil_scoped_release unlocked;
  const sweep::SweepPlan plan = plan_of(spec, file);
  sweep::SimulationPointRunner runner;
  return sweep::plan_json(plan, sweep::summarize_plan(plan, runner, {index, count}, first), processes(jobs));
}

std::vector<std::filesystem::path> paths(const std::vector<std::string>& files) {
  return {files.begin(), files.end()};
}

std::string sweep_status(const std::vector<std::string>& files) {
  const nb::gil_scoped_release unlocked;
  return sweep::status_json(sweep::sweep_status(paths(files)));
}

std::size_t sweep_merge(const std::vector<std::string>& parts, const std::string& out, bool mixed_builds) {
  const nb::gil_scoped_release unlocked;
  return sweep::merge_sweeps(paths(parts), out, mixed_builds);
}

std::string sweep_report(const std::string& results, const std::string& format) {
  const nb::gil_scoped_release unlocked;
  return sweep::sweep_report(results, format);
}

std::string sweep_emit(const std::string& spec, bool slurm, const std::string& program, const std::string& results,
                       std::uint64_t shards, std::uint64_t jobs, const std::vector<std::string>& setup,
                       const std::tuple<std::string, std::string, std::string, std::string>& words, bool whole_node,
                       std::uint64_t at_once, const std::vector<std::string>& directives) {
  const nb::gil_scoped_release unlocked;
  const sweep::SweepPlan plan = plan_of(std::nullopt, spec);
  const sweep::EmitOptions options{program, spec, results, plan.spec().name, shards, jobs, setup};
  const auto& [time, memory, partition, account] = words;
  return slurm ? sweep::slurm_script(options, {time, memory, partition, account, whole_node, at_once, directives})
               : sweep::gnu_parallel_script(options);
}

}  // namespace

void bind_sweep(nb::module_& module) {
  module.def("sweep", sweep, nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none());
  module.def("sweep_plan", sweep_plan, nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
  module.def("sweep_status", sweep_status);
  module.def("sweep_merge", sweep_merge);
  module.def("sweep_report", sweep_report);
  module.def("sweep_emit", sweep_emit);
}

}  // namespace sptc::python
