// SPDX-License-Identifier: Apache-2.0
//
// gemm.json and power.json: times of whole GEMMs, and power and clocks of sustained ones.
#include "tests/hardware/capture/gemm_data.h"
#include "tests/hardware/capture/pair_programme.h"
#include "tests/hardware/capture/timing_device.h"
#include "tests/hardware/capture/timing_programme.h"

#include <algorithm>
#include <cmath>

namespace sptc::hardware {
namespace {

using Json = nlohmann::ordered_json;

// NVML averages power over as much as a second.
constexpr double kSustainedSeconds = 3;
constexpr double kQuickSeconds = 2.4;

class GemmProgramme {
 public:
  GemmProgramme(const TimingProgramme& programme, TimingDevice& timing)
      : programme_(programme), timing_(timing), shapes_(read_gemm_shapes(programme.shapes)) {}

  /// Every shape in f16, the first in the other types as well.
  void time(const std::string& library, RowTable& table) {
    for (const GemmShape& shape : shapes_) {
      const bool is_first = &shape == &shapes_.front();
      if (programme_.quick && &shape - shapes_.data() > 2) {
        break;
      }
      for (const char* const dtype : {"f16", "bf16", "s8", "e4m3"}) {
        if (!is_first && std::string(dtype) != "f16") {
          continue;
        }
        for (const bool sparse : {false, true}) {
          if ((library == "cublaslt" && sparse) || (library == "cusparselt" && !sparse)) {
            continue;
          }
          time_row(table, shape, {library, sparse, dtype});
        }
      }
    }
  }

  /// The libraries in every type, and the own kernels in f16: random operands against zeros.
  void power(RowTable& table) {
    const GemmShape& shape = shapes_.front();
    const char* const own = timing_.timed_wgmma().empty() ? "own" : "wgmma";
    for (const char* const dtype : {"f16", "s8", "e4m3"}) {
      for (const bool random : {true, false}) {
        sustained_row(table, shape, {"cublaslt", false, dtype}, random);
        sustained_row(table, shape, {"cusparselt", true, dtype}, random);
      }
    }
    for (const bool random : {true, false}) {
      sustained_row(table, shape, {own, false, "f16"}, random);
      sustained_row(table, shape, {own, true, "f16"}, random);
    }
  }

 private:
  static Json point(const GemmShape& shape, const GemmChoice& choice, bool random) {
    return {{"name", shape.name},
            {"m", shape.m},
            {"n", shape.n},
            {"k", shape.k},
            {"dtype", choice.dtype},
            {"accumulator", choice.dtype == "s8" ? "s32" : "f32"},
            {"data", random ? "random" : "zeros"},
            {"variant", choice.sparse ? "sparse" : "dense"},
            {"library", choice.library}};
  }

  void time_row(RowTable& table, const GemmShape& shape, const GemmChoice& choice) {
    Json keys = point(shape, choice, true);
    keys.update({{"kernel", nullptr},
                 {"time_us_median", nullptr},
                 {"time_us_min", nullptr},
                 {"launches", 0},
                 {"clock_mhz", nullptr},
                 {"power_w", nullptr},
                 {"check", nullptr}});
    table.row(keys, [&](Json& row) {
      const GemmData data(instruction_of(choice), shape, true, programme_.seed);
      const std::unique_ptr<GemmWorkload> workload = timing_.gemm(choice, data);
      row["kernel"] = workload->kernel();
      const GemmCheck check = workload->check();
      row["check"] = {{"mode", check.mode},
                      {"elements", check.elements},
                      {"mismatches", check.mismatches},
                      {"worst_error", check.mode == "bound" ? Json(check.worst_error) : Json()},
                      {"bound", check.mode == "bound" ? Json(check.bound) : Json()}};
      TimedLaunches launches = workload->time(programme_.quick ? 0.1 : 0.3);
      std::sort(launches.us.begin(), launches.us.end());
      row["time_us_median"] = launches.us[launches.us.size() / 2];
      row["time_us_min"] = launches.us.front();
      row["launches"] = launches.us.size();
      row["buffers"] = workload->copies();
      row["clock_mhz"] = json_or_null(launches.clock_mhz);
      row["power_w"] = json_or_null(launches.power_w);
      if (check.mismatches > 0) {
        throw std::runtime_error(std::to_string(check.mismatches) + " of " + std::to_string(check.elements) +
                                 " sampled elements are wrong");
      }
    });
  }

  void sustained_row(RowTable& table, const GemmShape& shape, const GemmChoice& choice, bool random) {
    Json keys = point(shape, choice, random);
    const numerics::DataType d_type = result_types(*numerics::parse_data_type(choice.dtype)).front();
    const bool is_library = choice.library == "cublaslt" || choice.library == "cusparselt";
    const auto algorithm = is_library ? kernels::Algorithm::kBest : kernels::Algorithm::kHeuristic;
    keys.update({{"d_dtype", numerics::name(d_type)},
                 {"algorithm", kernels::name(algorithm)},
                 {"duration_s", nullptr},
                 {"launches", 0},
                 {"time_us_mean", nullptr},
                 {"power_w_mean", nullptr},
                 {"clock_mhz_mean", nullptr},
                 {"energy_j", nullptr},
                 {"samples", Json::array()}});
    table.row(keys, [&](Json& row) {
      if (const std::string why = timing_.why_no_power(); !why.empty()) {
        throw AbsentError(why);
      }
      const GemmData data(instruction_of(choice), shape, random, programme_.seed);
      const std::unique_ptr<GemmWorkload> workload = timing_.gemm(choice, data);
      workload->choose(d_type, algorithm);
      add_run(workload->sustain(programme_.quick ? kQuickSeconds : kSustainedSeconds), row);
    });
  }

  static void add_run(const SustainedRun& run, Json& row) {
    row["duration_s"] = run.duration_s;
    row["launches"] = run.launches;
    row["time_us_mean"] = run.duration_s * 1e6 / static_cast<double>(run.launches);
    row["power_w_mean"] = json_or_null(run.power_w);
    row["clock_mhz_mean"] = json_or_null(run.clock_mhz);
    row["energy_j"] = json_or_null(run.energy_j);
    for (const PowerSample& sample : run.samples) {
      row["samples"].push_back({{"t_ms", std::round(sample.t_ms)},
                                {"power_w", json_or_null(sample.power_w)},
                                {"clock_mhz", json_or_null(sample.clock_mhz)},
                                {"memory_clock_mhz", json_or_null(sample.memory_clock_mhz)},
                                {"temperature_c", json_or_null(sample.temperature_c)}});
    }
  }

  const TimingProgramme& programme_;
  TimingDevice& timing_;
  std::vector<GemmShape> shapes_;
};

}  // namespace

void capture_gemm(CaptureWriter& writer, const TimingProgramme& programme, Device& device) {
  const std::chrono::seconds limit = programme.item_limit();
  TimingDevice& timing = *device.timing();
  const auto usable = [&] { return device.usable(); };
  // Power comes first in the plan of time: the tables of shapes take what is left.
  writer.item("power", limit, [&] {
    const Json idle = json_or_null(timing.idle_power_w());
    RowTable table(programme.deadline, usable);
    GemmProgramme(programme, timing).power(table);
    writer.write_json("power.json", {{"idle_w", idle}, {"rows", table.rows()}});
    return table.outcome("power.json");
  });
  for (const char* const library : {"own", "cublaslt", "cusparselt"}) {
    writer.item(std::string("gemm/") + library, limit, [&] {
      RowTable table(programme.deadline, usable);
      GemmProgramme(programme, timing).time(library, table);
      append_rows(writer, "gemm.json", {}, table.rows());
      if (table.all_absent()) {
        throw AbsentError(table.rows().front()["reason"].get<std::string>());
      }
      return table.outcome("gemm.json");
    });
  }
}

}  // namespace sptc::hardware
