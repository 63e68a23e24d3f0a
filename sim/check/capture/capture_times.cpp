// SPDX-License-Identifier: Apache-2.0
#include "sim/check/capture/capture_times.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace sptc::check::capture {
namespace {

constexpr std::int64_t kDefaultStride = 512;  // of published chases that do not name one
constexpr int kLanes = 32;

/// A figure of a GEMM that a capture and the simulator have.
struct GemmFigure {
  const char* group;
  const char* unit;
  std::optional<double> CapturedGemm::*measured;
  std::optional<double> PowerFigures::*simulated;
  bool of_sustained_run = true;
};
constexpr GemmFigure kOfLaunch{"gemm", "us", &CapturedGemm::time_us, &PowerFigures::time_us, false};
constexpr std::array kOfSustainedRun{
    GemmFigure{"sustained gemm", "us", &CapturedGemm::time_us, &PowerFigures::time_us},
    GemmFigure{"power", "W", &CapturedGemm::power_w, &PowerFigures::power_w},
    GemmFigure{"clock at the limit", "MHz", &CapturedGemm::clock_mhz, &PowerFigures::clock_mhz}};

std::string point_of(const MicrobenchRow& row) {
  return fmt::format("warps {}, ilp {}{}{}", row.warps, row.ilp, row.data.empty() ? "" : ", ", row.data);
}

/// The number at `key`; nothing where the row has none.
std::optional<std::int64_t> number_at(const MemoryRow& row, std::string_view key) {
  std::int64_t value = 0;
  return io::parse_whole(row.key(key), value) && value > 0 ? std::optional(value) : std::nullopt;
}

std::int64_t require_number(const MemoryRow& row, std::string_view key) {
  if (const auto number = number_at(row, key)) {
    return *number;
  }
  io::refuse("the row names no {}", key);
}

/// What stands in `values`, sorted, at `share` of the way.
double percentile(const std::vector<double>& values, double share) {
  return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
}

class TimeCheck {
 public:
  TimeCheck(const Capture& capture, const TimeSimulation& simulation) : capture_(capture), simulation_(simulation) {}

  CaptureTimes check() {
    each(capture_.microbench, "microbench.json",
         [&](const MicrobenchRow& row, std::size_t) { check_instruction(row); });
    each(capture_.memory, "memory.json", [&](const MemoryRow& row, std::size_t) { check_memory(row); });
    check_lines();
    each(capture_.gemm, "gemm.json", [&](const CapturedGemm& row, std::size_t index) {
      check_gemm(row, kOfLaunch, simulation_.gemms.times, index);
    });
    each(capture_.power, "power.json", [&](const CapturedGemm& row, std::size_t index) {
      for (const GemmFigure& figure : kOfSustainedRun) {
        check_gemm(row, figure, simulation_.gemms.powers, index);
      }
    });
    for (const auto& [what, count] : unmeasured_) {
      result_.unmeasured.push_back(fmt::format("{} rows of {}", count, what));
    }
    return std::move(result_);
  }

 private:
  template <typename Row, typename Check>
  void each(const std::vector<Row>& rows, const char* file, Check check) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].outcome.measured()) {
        check(rows[i], i);
      } else {
        ++unmeasured_[fmt::format("{} {}: {}", file, rows[i].outcome.status, rows[i].outcome.reason)];
      }
    }
  }

  /// Adds the row, with what `run` says or the reason why it says nothing.
  template <typename Simulate>
  void add(TimedRow row, bool possible, Simulate run) {
    if (!possible) {
      row.reason = simulation_.reason.empty() ? "not simulated" : simulation_.reason;
      result_.rows.push_back(std::move(row));
      return;
    }
    try {
      const std::optional<double> figure = run();
      if (figure && std::isfinite(*figure) && *figure > 0) {
        row.simulated = figure;
      } else {
        row.reason = "the simulator gives no figure";
      }
    } catch (const base::InputError& error) {
      row.reason = error.what();
    }
    result_.rows.push_back(std::move(row));
  }

  /// The same case is simulated once.
  const run::microbench::MicrobenchResult& simulated(const std::string& instruction, std::int64_t warps,
                                                     std::int64_t ilp) {
    const std::string key = fmt::format("{}|{}|{}", instruction, warps, ilp);
    auto known = known_.find(key);
    if (known == known_.end()) {
      const run::microbench::MicrobenchCase which{run::microbench::parse_bench_instruction(instruction),
                                                  static_cast<int>(warps), static_cast<int>(ilp)};
      known = known_.emplace(key, simulation_.microbench(which)).first;
    }
    return known->second;
  }

  void check_instruction(const MicrobenchRow& row) {
    const bool sparse = row.instruction.find(".sp") != std::string::npos;
    const bool possible = simulation_.microbench != nullptr;
    if (row.latency_cycles) {
      add({"latency", row.instruction, point_of(row), "cycles", sparse, *row.latency_cycles}, possible,
          [&]() -> std::optional<double> { return simulated(row.instruction, row.warps, row.ilp).latency_cycles; });
    }
    if (row.fma_per_clk_per_sm) {
      add({"throughput", row.instruction, point_of(row), "FMA/clk/SM", sparse, *row.fma_per_clk_per_sm}, possible,
          [&] { return simulated(row.instruction, row.warps, row.ilp).fma_per_clk_per_sm; });
    }
  }

  // Memory ----------------------------------------------------------------------------------------

  void check_memory(const MemoryRow& row) {
    if (row.kind == "ldmatrix") {
      check_sm(row, "shared memory", "ldmatrix." + row.key("variant"), "warps", "ilp", 1);
    } else if (row.kind == "ld_shared") {
      check_sm(row, "shared memory", "ld.shared.u32 " + row.key("conflict_ways") + "-way", "warps", "ilp", 1);
    } else if (row.kind == "cp_async") {
      check_sm(row, "cp.async", "cp.async " + row.key("bytes_per_thread"), "threads", "in_flight", kLanes);
    } else if (row.kind == "tma") {
      check_sm(row, "TMA", "cp.async.bulk " + row.key("bytes"), "warps", "in_flight", 1);
    } else if (row.kind == "pointer_chase") {
      check_figures(row, "pointer chase", row.kind, simulation_.chase_cycles != nullptr,
                    [&](bool) { return chase_of(row); });
    } else if (row.kind == "bandwidth") {
      check_figures(row, "bandwidth", "bandwidth " + row.key("operation"), simulation_.bandwidth_gb_per_s != nullptr,
                    [&](bool) { return bandwidth_of(row); });
    } else if (row.kind == "l2_line") {
      if (const auto found = row.figures.find("latency_cycles"); found != row.figures.end()) {
        line_cycles_.push_back(found->second);
      }
    } else {
      check_figures(row, "memory", row.kind, true,
                    [&](bool) -> double { throw base::InputError("not modelled: " + row.kind); });
    }
  }

  /// `simulate(is_rate)` for each figure of the row.
  template <typename Simulate>
  void check_figures(const MemoryRow& row, const char* group, const std::string& subject, bool possible,
                     Simulate simulate) {
    std::string point;
    for (const auto& [key, value] : row.keys) {
      point += fmt::format("{}{} {}", point.empty() ? "" : ", ", key, value);
    }
    for (const auto& [figure, measured] : row.figures) {
      add({group, subject, point, figure, false, measured}, possible,
          [&, is_rate = figure != "latency_cycles"]() -> std::optional<double> { return simulate(is_rate); });
    }
  }

  /// What one SM does; `warps_key` counts units of `per_warp`.
  void check_sm(const MemoryRow& row, const char* group, const std::string& instruction, std::string_view warps_key,
                std::string_view chains_key, std::int64_t per_warp) {
    check_figures(row, group, instruction, simulation_.microbench != nullptr, [&](bool is_rate) {
      const run::microbench::MicrobenchResult& figures = simulated(
          instruction, number_at(row, warps_key).value_or(1) / per_warp, number_at(row, chains_key).value_or(1));
      return is_rate ? figures.bytes_per_clk_per_sm.value_or(0) : figures.latency_cycles;
    });
  }

  double chase_of(const MemoryRow& row) const {
    const std::int64_t footprint = require_number(row, "footprint_bytes");
    if (row.key("cache") != "cg" && footprint <= simulation_.l1_reach_bytes) {
      throw base::InputError("not modelled: the L1, in which this footprint may lie");
    }
    return simulation_.chase_cycles(footprint, number_at(row, "stride_bytes").value_or(kDefaultStride));
  }

  double bandwidth_of(const MemoryRow& row) const {
    constexpr std::array<std::string_view, 3> kOperations{"read", "write", "copy"};  // by BandwidthOperation
    const std::string operation = row.key("operation");
    const auto found = std::ranges::find(kOperations, operation);
    if (found == kOperations.end()) {
      throw base::InputError("not modelled: bandwidth of '" + operation + "'");
    }
    return simulation_.bandwidth_gb_per_s(static_cast<run::microbench::BandwidthOperation>(found - kOperations.begin()),
                                          require_number(row, "footprint_bytes"));
  }

  /// Thousands of rows, one per SM and line, become the two ends of their distribution.
  void check_lines() {
    if (line_cycles_.empty()) {
      return;
    }
    constexpr double kEnd = 0.05;
    std::ranges::sort(line_cycles_);
    for (const bool far : {false, true}) {
      add({"L2 lines", far ? "l2_line, farthest 5 %" : "l2_line, nearest 5 %",
           fmt::format("{} pairs of SM and line", line_cycles_.size()), "cycles", false,
           percentile(line_cycles_, far ? 1 - kEnd : kEnd)},
          simulation_.line_cycles != nullptr, [&]() -> std::optional<double> { return simulation_.line_cycles(); });
    }
  }

  // GEMMs -----------------------------------------------------------------------------------------

  void check_gemm(const CapturedGemm& row, const GemmFigure& figure, const std::vector<PowerFigures>& simulated_rows,
                  std::size_t index) {
    const std::optional<double>& measured = row.*figure.measured;
    if (!measured) {
      return;
    }
    std::string point = fmt::format("{} x {} x {}", row.m, row.n, row.k);
    if (figure.of_sustained_run) {
      point += ", " + row.data;
      if (row.clock_mhz && figure.measured != &CapturedGemm::clock_mhz) {
        point += fmt::format(", {:.0f} MHz", *row.clock_mhz);
      }
    }
    add({figure.group, fmt::format("{} {}, {}", row.dtype, row.sparse ? "sparse" : "dense", row.library), point,
         figure.unit, row.sparse, *measured},
        index < simulated_rows.size(), [&]() -> std::optional<double> {
          const PowerFigures& figures = simulated_rows[index];
          if (!(figures.*figure.simulated)) {
            throw base::InputError(figures.reason);
          }
          return figures.*figure.simulated;
        });
  }

  const Capture& capture_;
  const TimeSimulation& simulation_;
  CaptureTimes result_;
  std::map<std::string, run::microbench::MicrobenchResult> known_;
  std::map<std::string, std::size_t> unmeasured_;
  std::vector<double> line_cycles_;  ///< that an SM waits for a line in the L2
};

}  // namespace

CaptureTimes compare_times(const Capture& capture, const TimeSimulation& simulation) {
  return TimeCheck(capture, simulation).check();
}

}  // namespace sptc::check::capture
