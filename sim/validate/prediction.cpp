// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/prediction.h"

#include "sim/run/separate_process.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

namespace sptc::sim {
namespace {

std::vector<Prediction> predict_every(
    std::span<const GemmShape> shapes, std::size_t first, std::size_t step,
    const std::function<TimePredictor()>& make_predictor,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  const TimePredictor predict = make_predictor();
  std::vector<Prediction> times;
  for (std::size_t i = first; i < shapes.size(); i += step) {
    if (progress) {
      progress(i, shapes.size());
    }
    times.push_back(predict(shapes[i]));
  }
  if (progress) {
    progress(shapes.size(), shapes.size());
  }
  return times;
}

}  // namespace

Prediction Prediction::at_clock(double to_mhz) const {
  Prediction result = *this;
  result.clock_mhz = to_mhz;
  result.time_us = outside_us + (time_us - outside_us) * scaling.stretch(clock_mhz, to_mhz);
  return result;
}

std::vector<Prediction> predict_times(
    std::span<const Measurement> rows, int jobs,
    const std::function<TimePredictor()>& make_predictor,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t> index;
  std::vector<GemmShape> shapes;
  std::vector<std::size_t> shape_of_row;
  for (const Measurement& row : rows) {
    const auto [place, added] =
        index.try_emplace({row.shape.m, row.shape.n, row.shape.k}, shapes.size());
    if (added) {
      shapes.push_back(row.shape);
    }
    shape_of_row.push_back(place->second);
  }
  const auto step = std::min<std::size_t>(static_cast<std::size_t>(jobs), shapes.size());
  std::vector<SeparateProcess> workers;
  for (std::size_t job = 1; job < step; ++job) {
    workers.emplace_back(
        [&, job] { return bytes_of(predict_every(shapes, job, step, make_predictor, {})); });
  }
  std::vector<Prediction> times(shapes.size());
  const auto scatter = [&](std::size_t job, const std::vector<Prediction>& of_job) {
    for (std::size_t i = 0; i < of_job.size(); ++i) {
      times[job + i * step] = of_job[i];
    }
  };
  scatter(0, predict_every(shapes, 0, step, make_predictor, progress));
  for (std::size_t job = 1; job < step; ++job) {
    scatter(job, rows_of<Prediction>(workers[job - 1].result()));
  }
  std::vector<Prediction> of_rows;
  of_rows.reserve(shape_of_row.size());
  for (const std::size_t shape : shape_of_row) {
    of_rows.push_back(times[shape]);
  }
  return of_rows;
}

}  // namespace sptc::sim
