// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/python/bindings.h"
#include "sim/report/version.h"
#include "sim/sweep/checked_plan.h"
#include "sim/sweep/coordinator.h"
#include "sim/sweep/local_executor.h"
#include "sim/sweep/simulation_point_runner.h"
#include "sim/sweep/sweep_spec.h"
#include "sim/sweep/sweep_store.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>
#include <thread>

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

/// Runs the points that `results` lacks. `spec`: text, its paths relative to that of `file`;
/// nothing: `file` is read.
void sweep(const std::optional<std::string>& spec, const std::string& file,
           const std::string& results, int jobs, const nb::object& progress) {
  Watch watch(progress);
  {
    const nb::gil_scoped_release unlocked;
    const sweep::SweepPlan plan = sweep::checked_plan(
        spec ? sweep::parse_sweep_spec(*spec, file) : sweep::read_sweep_spec(file),
        std::string(report::program_version()));
    sweep::SimulationPointRunner runner;
    const sweep::PointLimits limits{plan.spec().timeout_s, plan.spec().memory_mb};
    sweep::SweepStore store(results, plan, {});
    const auto processors = std::max(1U, std::thread::hardware_concurrency());
    sweep::LocalExecutor executor(plan, runner, limits,
                                  jobs > 0 ? static_cast<std::size_t>(jobs) : processors);
    const sweep::SweepProgress last =
        sweep::run_sweep(plan, runner, limits, {}, store, executor, watch.stop(),
                         [&](const sweep::SweepProgress& now) { watch.report(now); });
    watch.report(last);
    if (!last.interrupted) {
      store.finish();
    }
  }
  watch.raise();
}

}  // namespace

void bind_sweep(nb::module_& module) {
  module.def("sweep", sweep, nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
}

}  // namespace sptc::python
