// SPDX-License-Identifier: Apache-2.0
#include "sim/python/callbacks.h"

#include <nanobind/stl/string.h>
#include <string_view>

namespace nb = nanobind;

namespace sptc::python {

void raise_signals() {
  const nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) {
    throw nb::python_error();
  }
}

run::ProgressCallback progress_of(const nb::object& progress) {
  if (progress.is_none()) {
    return {};
  }
  return [&progress](std::size_t done, std::size_t total, const std::string& next) {
    const nb::gil_scoped_acquire locked;
    progress(done, total, next);
  };
}

std::string in_worker(const std::function<std::string(const run::ProgressCallback&)>& work,
                      const nb::object& callback) {
  const run::ProgressCallback progress = progress_of(callback);
  const run::Waiting waiting{run::received_progress(progress), raise_signals, {}};
  const nb::gil_scoped_release unlocked;
  run::WorkerPool pool(
      1, [&](std::string_view, const run::WorkerPool::Send& send) { return work(run::sent_progress(send)); });
  return run::answer_of(*run::request_of_one(pool, "", waiting));
}

std::string in_worker(const std::function<std::string()>& work) {
  return in_worker([&](const run::ProgressCallback&) { return work(); }, nb::none());
}

}  // namespace sptc::python
