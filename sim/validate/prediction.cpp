// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/prediction.h"

#include "models/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>

namespace sptc::sim {
namespace {

// What a process writes to its pipe: its times as doubles, or a negative number and a message.
constexpr double kRefused = -1;

std::vector<double> predict_every(std::span<const GemmShape> shapes, std::size_t first,
                                  std::size_t step,
                                  const std::function<TimePredictor()>& make_predictor,
                                  const std::function<void(std::size_t, std::size_t)>& progress) {
  const TimePredictor predict = make_predictor();
  std::vector<double> times;
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

void write_all(int file, const void* data, std::size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(file, bytes, size);
    if (written <= 0) {
      ::_exit(3);
    }
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

std::string read_all(int file) {
  std::string bytes;
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got <= 0) {
      return bytes;
    }
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

struct Worker {
  pid_t process = -1;
  int output = -1;
};

Worker start_worker(const std::function<std::vector<double>()>& work) {
  std::array<int, 2> ends{};
  ensure(::pipe(ends.data()) == 0, "no pipe for a process");
  const pid_t process = ::fork();
  ensure(process >= 0, "no process could be started");
  if (process > 0) {
    ::close(ends[1]);
    return {process, ends[0]};
  }
  ::close(ends[0]);
  try {
    const std::vector<double> times = work();
    write_all(ends[1], times.data(), times.size() * sizeof(double));
  } catch (const InputError& error) {
    write_all(ends[1], &kRefused, sizeof kRefused);
    write_all(ends[1], error.what(), std::strlen(error.what()));
  } catch (const std::exception&) {
    ::_exit(3);
  }
  ::_exit(0);
}

/// Waits for the process; throws what it threw.
std::vector<double> finish(const Worker& worker, std::size_t expected) {
  const std::string bytes = read_all(worker.output);
  ::close(worker.output);
  int status = 0;
  ::waitpid(worker.process, &status, 0);
  double first = 0;
  if (bytes.size() >= sizeof first) {
    std::memcpy(&first, bytes.data(), sizeof first);
  }
  if (first == kRefused) {
    throw InputError(bytes.substr(sizeof first));
  }
  ensure(WIFEXITED(status) && WEXITSTATUS(status) == 0 && bytes.size() == expected * sizeof(double),
         "a process that simulates GEMMs ended before its work was done");
  std::vector<double> times(expected);
  std::memcpy(times.data(), bytes.data(), bytes.size());
  return times;
}

}  // namespace

std::vector<double> predict_times(std::span<const Measurement> rows, int jobs,
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
  std::vector<Worker> workers;
  for (std::size_t job = 1; job < step; ++job) {
    workers.push_back(
        start_worker([&, job] { return predict_every(shapes, job, step, make_predictor, {}); }));
  }
  std::vector<double> times(shapes.size());
  const auto scatter = [&](std::size_t job, const std::vector<double>& of_job) {
    for (std::size_t i = 0; i < of_job.size(); ++i) {
      times[job + i * step] = of_job[i];
    }
  };
  scatter(0, predict_every(shapes, 0, step, make_predictor, progress));
  for (std::size_t job = 1; job < step; ++job) {
    scatter(job, finish(workers[job - 1], (shapes.size() - job + step - 1) / step));
  }
  std::vector<double> of_rows;
  for (const std::size_t shape : shape_of_row) {
    of_rows.push_back(times[shape]);
  }
  return of_rows;
}

}  // namespace sptc::sim
