// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/prediction.h"

#include "sim/run/separate_process.h"

#include <algorithm>
#include <map>

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
  const auto step = std::min<std::size_t>(static_cast<std::size_t>(jobs), count);
  const auto predict_every = [&](std::size_t first, const auto& report) {
    const LaunchPredictor predict = make_predictor();
    std::vector<Prediction> launches;
    for (std::size_t i = first; i < count; i += step) {
      report(i);
      launches.push_back(predict(rows[distinct.first_rows[i]]));
    }
    report(count);
    return launches;
  };
  std::vector<run::SeparateProcess> workers;
  for (std::size_t job = 1; job < step; ++job) {
    workers.emplace_back(
        [&, job] { return run::bytes_of(predict_every(job, [](std::size_t) {})); });
  }
  std::vector<Prediction> launches(count);
  const auto scatter = [&](std::size_t job, const std::vector<Prediction>& of_job) {
    for (std::size_t i = 0; i < of_job.size(); ++i) {
      launches[job + i * step] = of_job[i];
    }
  };
  scatter(0, predict_every(0, [&](std::size_t done) {
            if (progress) {
              progress(done, count);
            }
          }));
  for (std::size_t job = 1; job < step; ++job) {
    scatter(job, run::rows_of<Prediction>(workers[job - 1].result()));
  }
  std::vector<Prediction> of_rows;
  of_rows.reserve(rows.size());
  for (const std::size_t launch : distinct.launch_of_row) {
    of_rows.push_back(launches[launch]);
  }
  return of_rows;
}

}  // namespace sptc::compare::times
