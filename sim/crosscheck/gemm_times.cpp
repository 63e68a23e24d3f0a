// SPDX-License-Identifier: Apache-2.0
#include "sim/crosscheck/gemm_times.h"

#include "models/base/error.h"
#include "sim/config/text_file.h"
#include "sim/gpu/gemm_simulator.h"
#include "sim/run/kernel_runner.h"
#include "sim/trace/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <exception>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace sptc::sim {
namespace {

constexpr char kFailed = '!';

double time_of(KernelRunner& runner, const CaptureGemmRow& row) {
  const auto type = parse_operand_type(row.dtype);
  if (!type) {
    throw InputError(unknown_operand_type(row.dtype));
  }
  Operation op;
  op.name = row.name;
  op.shape = {row.m, row.n, row.k};
  op.dtype = *type;
  op.prunable = row.sparse;
  const VariantResult result = runner.time(op, row.sparse);
  return static_cast<double>(result.cycles) / row.clock_mhz.value_or(result.clock_mhz);
}

/// One line per row: the time, or '!' and the reason.
std::string simulate(const Architecture& architecture, const std::vector<CaptureGemmRow>& rows) {
  GemmSimulator simulator(architecture.gpu, GemmSimulator::Options{});
  RunOptions options;
  options.check = CheckMode::kNone;
  KernelRunner runner(architecture.gpu, options,
                      [&](const GemmProblem& problem, const KernelOverrides& overrides,
                          const std::vector<GemmOperands>* operands) {
                        return simulator.run(problem, overrides, operands);
                      });
  std::string lines;
  for (const CaptureGemmRow& row : rows) {
    try {
      lines += fmt::format("{}\n", time_of(runner, row));
    } catch (const InputError& error) {
      lines += fmt::format("{}{}\n", kFailed, printable(error.what()));
    }
  }
  return lines;
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return;
    }
    text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return text;
    }
  }
}

/// What `simulate` gives in a child process; throws InternalError where the child fails.
std::string simulate_apart(const Architecture& architecture,
                           const std::vector<CaptureGemmRow>& rows) {
  std::array<int, 2> ends{};
  ensure(::pipe(ends.data()) == 0, "no pipe to a child process");
  const pid_t child = ::fork();
  ensure(child >= 0, "no child process");
  if (child == 0) {
    ::close(ends[0]);
    int status = 0;
    try {
      write_all(ends[1], simulate(architecture, rows));
    } catch (const std::exception& error) {
      write_all(ends[1], error.what());
      status = 1;
    }
    ::_exit(status);  // the buffers of the parent are not the child's to flush
  }
  ::close(ends[1]);
  const std::string text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw InternalError("the process that simulates GEMMs failed: " + text);
  }
  return text;
}

}  // namespace

std::vector<GemmTime> simulate_gemm_times(const Architecture& architecture,
                                          const std::vector<CaptureGemmRow>& rows) {
  const std::string text = simulate_apart(architecture, rows);
  std::vector<GemmTime> times;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    GemmTime time;
    if (line.starts_with(kFailed)) {
      time.reason = line.substr(1);
    } else {
      double value = 0;
      const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
      ensure(error == std::errc(), "a simulated time is no number");
      time.time_us = value;
    }
    times.push_back(std::move(time));
  }
  ensure(times.size() == rows.size(), "not every GEMM has a simulated time");
  return times;
}

}  // namespace sptc::sim
