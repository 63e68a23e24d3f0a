// SPDX-License-Identifier: Apache-2.0
#include "sim/crosscheck/capture_crosscheck.h"

#include "models/base/error.h"
#include "sim/config/json_reader.h"
#include "sim/config/text_file.h"
#include "sim/crosscheck/set_explanation.h"
#include "sim/verify/vector_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

namespace sptc::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxJsonBytes = 1 << 20;
// latency * throughput is warps * ilp * MACs by definition; published figures are rounded.
constexpr double kConsistent = 0.015;

// Bits --------------------------------------------------------------------------------------------

class BitsCheck {
 public:
  BitsCheck(mma::Profile profile, CaptureCrosscheck& result) : profile_(profile), result_(result) {}

  void check(const fs::path& directory) {
    for (const VerifiedSet& verified : verify(directory, profile_).sets) {
      add(verified, directory / verified.file);
    }
    std::ranges::stable_sort(result_.bits, {}, &BitsRow::undefined);
  }

 private:
  void add(const VerifiedSet& verified, const fs::path& json_file) {
    const std::string text = read_text_file(json_file, kMaxJsonBytes);
    const nlohmann::json json = parse_json(text, printable(json_file.string()));
    const JsonObject object(json, {printable(json_file.string()), ""});
    const bool undefined = object.text_or("case_set", "defined") == "undefined";
    auto row = std::ranges::find_if(result_.bits, [&](const BitsRow& candidate) {
      return candidate.instruction == verified.instruction && candidate.undefined == undefined;
    });
    if (row == result_.bits.end()) {
      result_.bits.push_back({verified.instruction, verified.evidence, undefined});
      row = std::prev(result_.bits.end());
    }
    ++row->sets;
    row->cases += verified.cases;
    row->elements += verified.elements;
    row->mismatches += verified.mismatches;
    if (object.has("measured")) {
      check_metadata(json_file, verified.file);
    }
    if (verified.first && !row->first) {
      row->first = verified.first;
      row->first_set = verified.file;
      row->explanations = explain(json_file, verified.first->output);
    }
  }

  void check_metadata(const fs::path& json_file, const std::string& shown) {
    const VectorSet set = read_vector_set(json_file, json_file.parent_path());
    for (const std::string& problem : inconsistent_metadata(json_file, set)) {
      result_.metadata_problems.push_back(shown + ": " + problem);
    }
  }

  std::vector<Explanation> explain(const fs::path& json_file, const std::string& name) const {
    const VectorSet set = read_vector_set(json_file, json_file.parent_path());
    for (const VectorOutput& output : set.outputs) {
      if (output.name == name) {
        return explain_set(
            set, output,
            mma::with_profile(
                mma::instruction_rules(output.target, output.instruction, output.grouping),
                profile_));
      }
    }
    return {};
  }

  mma::Profile profile_;
  CaptureCrosscheck& result_;
};

// Times -------------------------------------------------------------------------------------------

std::string point_of(const MicrobenchRow& row) {
  return fmt::format("warps {}, ilp {}{}{}", row.warps, row.ilp, row.data.empty() ? "" : ", ",
                     row.data);
}

class TimeCheck {
 public:
  TimeCheck(const TimeSimulation& simulation, CaptureCrosscheck& result)
      : simulation_(simulation), result_(result) {}

  void check() {
    for (const MicrobenchRow& row : result_.capture.microbench) {
      if (row.outcome.measured()) {
        check_instruction(row);
      }
    }
    for (const MemoryRow& row : result_.capture.memory) {
      if (row.outcome.measured()) {
        check_memory(row);
      }
    }
    for (std::size_t i = 0; i < result_.capture.gemm.size(); ++i) {
      const CaptureGemmRow& row = result_.capture.gemm[i];
      if (row.outcome.measured() && row.time_us) {
        check_gemm(row, i);
      }
    }
    auto findings = explain_times(result_.times);
    result_.time_findings.insert(result_.time_findings.end(), findings.begin(), findings.end());
  }

 private:
  /// Fills `simulated` or `reason`.
  template <typename Simulate>
  void simulate(TimedRow& row, bool possible, Simulate run) const {
    if (!possible) {
      row.reason = simulation_.reason.empty() ? "not simulated" : simulation_.reason;
      return;
    }
    try {
      const std::optional<double> figure = run();
      if (figure && std::isfinite(*figure) && *figure > 0) {
        row.simulated = figure;
      } else {
        row.reason = "the simulator gives no figure";
      }
    } catch (const InputError& error) {
      row.reason = error.what();
    }
  }

  /// The same case is simulated once.
  const MicrobenchResult& simulated(const std::string& instruction, int warps, int ilp) {
    const std::string key = fmt::format("{}|{}|{}", instruction, warps, ilp);
    auto known = known_.find(key);
    if (known == known_.end()) {
      const MicrobenchCase which{parse_bench_instruction(instruction), warps, ilp};
      known = known_.emplace(key, simulation_.microbench(which)).first;
    }
    return known->second;
  }

  void check_instruction(const MicrobenchRow& row) {
    const bool sparse = row.instruction.find(".sp") != std::string::npos;
    const bool possible = static_cast<bool>(simulation_.microbench);
    if (row.latency_cycles) {
      TimedRow latency{"latency", row.instruction, point_of(row),      "cycles",
                       sparse,    false,           *row.latency_cycles};
      simulate(latency, possible, [&]() -> std::optional<double> {
        return simulated(row.instruction, row.warps, row.ilp).latency_cycles;
      });
      result_.times.push_back(std::move(latency));
    }
    if (row.fma_per_clk_per_sm) {
      TimedRow rate{"throughput", row.instruction,        point_of(row), "FMA/clk/SM", sparse,
                    true,         *row.fma_per_clk_per_sm};
      simulate(rate, possible,
               [&] { return simulated(row.instruction, row.warps, row.ilp).fma_per_clk_per_sm; });
      result_.times.push_back(std::move(rate));
    }
    if (row.latency_cycles && row.fma_per_clk_per_sm) {
      require_consistent(row);
    }
  }

  /// Both figures of a row are one measurement.
  void require_consistent(const MicrobenchRow& row) {
    mma::MmaInstruction instruction;
    try {
      instruction = mma::parse_instruction(row.instruction);
    } catch (const InputError&) {
      return;  // "wgmma... rs"
    }
    // One instruction is one warp's, but for wgmma and the quarters of m8n8k4.
    const mma::MmaShape& shape = instruction.shape;
    if (instruction.family != mma::MmaFamily::kMma || shape.m < 16) {
      return;
    }
    const double product = *row.latency_cycles * *row.fma_per_clk_per_sm;
    const double macs = static_cast<double>(row.warps) * row.ilp * shape.m * shape.n * shape.k;
    if (std::fabs(product / macs - 1) > kConsistent) {
      result_.time_findings.push_back(
          {"inconsistent-row",
           fmt::format(
               "{}, {}: {:.6g} cycles and {:.6g} FMA/clk/SM contradict each other by {:+.1f} "
               "%: together they are {:.6g} FMA, but the round has {:.6g}",
               row.instruction, point_of(row), *row.latency_cycles, *row.fma_per_clk_per_sm,
               100 * (product / macs - 1), product, macs)});
    }
  }

  void check_memory(const MemoryRow& row) {
    std::string instruction;
    if (row.kind == "ldmatrix") {
      instruction = "ldmatrix." + row.key("variant");
    } else if (row.kind == "ld_shared") {
      instruction = "ld.shared.u32 " + row.key("conflict_ways") + "-way";
    }
    std::string point;
    for (const auto& [key, value] : row.keys) {
      point += fmt::format("{}{} {}", point.empty() ? "" : ", ", key, value);
    }
    const auto number = [&](std::string_view key) {
      const std::string text = row.key(key);
      int value = 1;
      std::from_chars(text.data(), text.data() + text.size(), value);
      return value;
    };
    for (const auto& [figure, measured] : row.figures) {
      const bool is_rate = figure == "bytes_per_clk_per_sm" || figure == "gb_per_s";
      TimedRow timed{instruction.empty() ? "memory" : "shared memory",
                     instruction.empty() ? row.kind : instruction,
                     point,
                     figure,
                     false,
                     is_rate,
                     measured};
      if (instruction.empty()) {
        timed.reason = "this command simulates shared memory only";
      } else {
        simulate(timed, static_cast<bool>(simulation_.microbench), [&]() -> std::optional<double> {
          const MicrobenchResult& result = simulated(instruction, number("warps"), number("ilp"));
          return is_rate ? result.bytes_per_clk_per_sm : result.latency_cycles;
        });
      }
      result_.times.push_back(std::move(timed));
    }
  }

  void check_gemm(const CaptureGemmRow& row, std::size_t index) {
    TimedRow timed{
        "gemm",
        fmt::format("{} {}, {}", row.dtype, row.sparse ? "sparse" : "dense", row.library),
        fmt::format("{} x {} x {}", row.m, row.n, row.k),
        "us",
        row.sparse,
        false,
        *row.time_us};
    const bool has_times = index < simulation_.gemm_times.size();
    simulate(timed, has_times, [&]() -> std::optional<double> {
      const GemmTime& time = simulation_.gemm_times[index];
      if (!time.time_us) {
        throw InputError(time.reason);
      }
      return time.time_us;
    });
    result_.times.push_back(std::move(timed));
  }

  const TimeSimulation& simulation_;
  CaptureCrosscheck& result_;
  std::map<std::string, MicrobenchResult> known_;
};

}  // namespace

std::size_t CaptureCrosscheck::mismatches() const {
  std::size_t sum = metadata_problems.size();
  for (const BitsRow& row : bits) {
    sum += row.undefined ? 0 : row.mismatches;
  }
  for (const CheckedKernel& kernel : kernels) {
    sum += kernel.diagnosis.comparison.mismatches;
  }
  for (const CaptureGemmRow& row : capture.gemm) {
    sum += row.check && row.check->mode != "none" ? row.check->mismatches : 0;
  }
  return sum;
}

CaptureCrosscheck crosscheck_capture(const Capture& capture, mma::Profile profile,
                                     const TimeSimulation& simulation, int threads) {
  CaptureCrosscheck result;
  result.capture = capture;
  result.architecture = simulation.architecture;
  BitsCheck bits(profile, result);
  for (const fs::path& directory : capture.bits) {
    bits.check(directory);
  }
  for (const fs::path& file : capture.kernels) {
    CheckedKernel checked{
        file.lexically_relative(capture.directory).generic_string(), read_kernel_file(file), {}};
    checked.diagnosis = crosscheck_kernel(checked.kernel.data, checked.kernel.declared,
                                          checked.kernel.target, threads);
    checked.kernel.data = {};  // the words are not needed any more
    result.kernels.push_back(std::move(checked));
  }
  TimeCheck(simulation, result).check();
  return result;
}

}  // namespace sptc::sim
