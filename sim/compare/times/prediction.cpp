// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/prediction.h"

#include "sim/run/worker_pool.h"

#include <map>
#include <utility>

namespace sptc::compare::times {
namespace {

/// Rows by the first one that has their launch.
struct DistinctLaunches {
  std::vector<std::size_t> first_rows;
  std::vector<std::size_t> launch_of_row;

  explicit DistinctLaunches(std::span<const Measurement> rows) {
    std::map<decltype(MeasuredLaunch().key()), std::size_t> index;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto [place, added] = index.try_emplace(rows[i].launch.key(), first_rows.size());
      if (added) {
        first_rows.push_back(i);
      }
      launch_of_row.push_back(place->second);
    }
  }
};

}  // namespace

std::vector<Prediction> predict_launches(
    std::span<const Measurement> rows, int jobs,
    const std::function<LaunchPredictor()>& make_predictor,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  const DistinctLaunches distinct(rows);
  const std::size_t count = distinct.first_rows.size();
  std::vector<Prediction> launches(count);
  LaunchPredictor predict;  // of this process or of each worker
  const auto prediction_of = [&](std::size_t launch) {
    if (!predict) {
      predict = make_predictor();
    }
    return predict(rows[distinct.first_rows[launch]]);
  };
  const auto report = [&](std::size_t done) {
    if (progress) {
      progress(done, count);
    }
  };
  report(0);
  if (jobs == 1) {
    for (std::size_t i = 0; i < count; ++i) {
      launches[i] = prediction_of(i);
      report(i + 1);
    }
  } else {
    std::size_t done = 0;
    run::for_each_in_workers(
        static_cast<std::size_t>(jobs), count,
        [&](std::size_t i) { return run::bytes_of<Prediction>({prediction_of(i)}); },
        [&](std::size_t i, run::WorkerPool::Event event) {
          launches[i] = run::rows_of<Prediction>(run::answer_of(std::move(event))).at(0);
          report(++done);
        });
  }
  std::vector<Prediction> of_rows;
  of_rows.reserve(rows.size());
  for (const std::size_t launch : distinct.launch_of_row) {
    of_rows.push_back(launches[launch]);
  }
  return of_rows;
}

}  // namespace sptc::compare::times
