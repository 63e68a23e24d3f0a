// SPDX-License-Identifier: Apache-2.0
//
// pairs.csv: times of dense and 2:4 GEMMs of one shape, side by side, under every condition.
#include "tests/hardware/capture/pair_programme.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/io/text_file.h"
#include "tests/hardware/capture/gemm_data.h"
#include "tests/hardware/capture/timing_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <optional>

namespace sptc::hardware {
namespace {

using Json = nlohmann::ordered_json;
using numerics::DataType;

constexpr std::size_t kQuickShapes = 5;
constexpr const char* kFile = "pairs.csv";

/// What computes the dense and the 2:4 GEMM of a pair.
struct Family {
  const char* name;
  std::array<const char*, 2> libraries;  ///< dense, 2:4
};
constexpr Family kOwn{"own", {"own", "own"}};
constexpr Family kWgmma{"wgmma", {"wgmma", "wgmma"}};
constexpr Family kLibraries{"libraries", {"cublaslt", "cusparselt"}};

/// One of the two GEMMs of a pair, made when it is first needed; what is absent stays absent.
class Side {
 public:
  Side(GemmChoice choice, const GemmShape& shape, std::uint64_t seed)
      : choice_(std::move(choice)), shape_(shape), seed_(seed) {}

  const char* sparsity() const { return choice_.sparse ? "2:4" : "dense"; }
  const std::string& library() const { return choice_.library; }
  GemmWorkload& workload() const { return *workload_; }

  /// Throws AbsentError where the device has no such GEMM, and std::runtime_error where it is
  /// wrong.
  void prepare(TimingDevice& timing, const PairPoint& point) {
    if (!why_absent_.empty()) {
      throw AbsentError(why_absent_);
    }
    try {
      if (!workload_) {
        data_.emplace(instruction_of(choice_), shape_, true, seed_);
        workload_ = timing.gemm(choice_, *data_);
      }
    } catch (const AbsentError& error) {
      why_absent_ = error.what();
      throw;
    }
    const std::pair wanted(point.d_dtype, point.conditions.algorithm);
    if (chosen_ == wanted) {
      return;
    }
    chosen_.reset();
    workload_->choose(point.d_dtype, point.conditions.algorithm);
    const GemmCheck check = workload_->check_on_device();
    if (check.mismatches > 0) {
      throw std::runtime_error(fmt::format("{} of {} elements of {} {} with results of {} are wrong", check.mismatches,
                                           check.elements, library(), sparsity(), numerics::name(point.d_dtype)));
    }
    chosen_ = wanted;
  }

 private:
  GemmChoice choice_;
  GemmShape shape_;
  std::uint64_t seed_;
  std::optional<GemmData> data_;
  std::unique_ptr<GemmWorkload> workload_;
  std::string why_absent_;
  std::optional<std::pair<DataType, kernels::Algorithm>> chosen_;
};

std::string text_of(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "";
}

class PairItem {
 public:
  PairItem(const PairProgramme& programme, const std::filesystem::path& file, Device& device)
      : programme_(programme), file_(file), device_(device), shapes_(shapes_of(programme)) {}

  void time(const Family& family, RowTable& table) {
    for (const GemmShape& shape : shapes_) {
      for (const DataType dtype : programme_.dtypes) {
        const std::string name(numerics::name(dtype));
        std::array<Side, 2> pair{Side({family.libraries[0], false, name}, shape, programme_.seed),
                                 Side({family.libraries[1], true, name}, shape, programme_.seed)};
        for (const PairPoint& point : pair_points(programme_, dtype)) {
          table.row(key(shape, name, point), [&](Json&) { time_pair(pair, shape, name, point); });
        }
      }
    }
  }

 private:
  static std::vector<GemmShape> shapes_of(const PairProgramme& programme) {
    std::vector<GemmShape> shapes = read_gemm_shapes(programme.shapes);
    if (programme.quick && shapes.size() > kQuickShapes) {
      shapes.resize(kQuickShapes);
    }
    return shapes;
  }

  static Json key(const GemmShape& shape, const std::string& dtype, const PairPoint& point) {
    return {{"m", shape.m},
            {"n", shape.n},
            {"k", shape.k},
            {"dtype", dtype},
            {"d_dtype", numerics::name(point.d_dtype)},
            {"l2", point.conditions.l2.name()},
            {"launch", kernels::name(point.conditions.launch)},
            {"algorithm", kernels::name(point.conditions.algorithm)}};
  }

  /// Both lines, or that of the side that is there. Throws AbsentError where neither is.
  void time_pair(std::array<Side, 2>& pair, const GemmShape& shape, const std::string& dtype, const PairPoint& point) {
    std::string lines;
    std::string why_absent;
    for (Side& side : pair) {
      try {
        side.prepare(*device_.timing(), point);
      } catch (const AbsentError& error) {
        why_absent = why_absent.empty() ? error.what() : why_absent + "; " + error.what();
        continue;
      }
      lines += line(side, shape, dtype, point);
    }
    if (lines.empty()) {
      throw AbsentError(why_absent);
    }
    append(lines);
  }

  std::string line(const Side& side, const GemmShape& shape, const std::string& dtype, const PairPoint& point) const {
    TimedLaunches launches = side.workload().time_under(point.conditions, programme_.repetition);
    base::ensure(!launches.us.empty(), "launches took no time");
    std::sort(launches.us.begin(), launches.us.end());
    std::string source = side.library() + ": " + side.workload().kernel() + "; " + device_.info().name;
    std::replace(source.begin(), source.end(), ',', ';');
    return fmt::format("{},{},{},{},{},{},{:.3f},{},{},{},{},{},{},{},{},{}\n", shape.m, shape.n, shape.k, dtype,
                       side.sparsity(), numerics::name(point.d_dtype), launches.us[launches.us.size() / 2],
                       text_of(launches.power_w, 1), text_of(device_.info().power_limit_w, 0),
                       text_of(launches.clock_mhz, 0), point.conditions.l2.name(),
                       kernels::name(point.conditions.launch), kernels::name(point.conditions.algorithm),
                       programme_.repetition.warmup, programme_.repetition.repeat, source);
  }

  /// At once, so that a process that dies later takes nothing with it.
  void append(const std::string& lines) const {
    const bool is_new = !std::filesystem::exists(file_);
    std::ofstream file(file_, std::ios::app);
    file << (is_new ? std::string(kPairColumns) + "\n" : "") << lines << std::flush;
    if (!file) {
      throw base::InputError(io::printable(file_.string()) + ": cannot be written");
    }
  }

  const PairProgramme& programme_;
  std::filesystem::path file_;
  Device& device_;
  std::vector<GemmShape> shapes_;
};

}  // namespace

mma::MmaInstruction instruction_of(const GemmChoice& choice) {
  const DataType dtype = *numerics::parse_data_type(choice.dtype);
  const mma::MmaInstruction instruction = mma::gemm_instruction(dtype, choice.sparse);
  if (choice.library != "wgmma") {
    return instruction;
  }
  const std::string_view type = numerics::name(dtype);
  return mma::parse_instruction(fmt::format("wgmma.mma_async{}.m64n128k{}.{}.{}.{}", choice.sparse ? ".sp" : "",
                                            instruction.shape.k, numerics::name(instruction.accumulator), type, type));
}

std::vector<DataType> result_types(DataType dtype) {
  switch (dtype) {
    case DataType::kF16:
    case DataType::kBf16:
      return {dtype, DataType::kF32};
    case DataType::kE4m3:
      return {dtype, DataType::kF16, DataType::kBf16, DataType::kF32};
    case DataType::kS8:
      return {DataType::kS32, dtype};
    default:
      throw base::InternalError("no pairs are timed of this type");
  }
}

std::vector<PairPoint> pair_points(const PairProgramme& programme, DataType dtype) {
  std::vector<DataType> results = result_types(dtype);
  if (!programme.d_dtypes.empty()) {
    std::erase_if(results, [&](DataType type) {
      return std::find(programme.d_dtypes.begin(), programme.d_dtypes.end(), type) == programme.d_dtypes.end();
    });
  }
  std::vector<PairPoint> points;
  for (const DataType d_dtype : results) {
    for (const kernels::Algorithm algorithm : programme.algorithms) {
      for (const kernels::L2State& l2 : programme.l2) {
        for (const kernels::LaunchMode launch : programme.launches) {
          const int unusual = (d_dtype != results.front()) + (algorithm != programme.algorithms.front()) +
                              (l2 != programme.l2.front()) + (launch != programme.launches.front());
          if (!programme.quick || unusual <= 1) {
            points.push_back({d_dtype, {l2, launch, algorithm, {}, std::nullopt}});
          }
        }
      }
    }
  }
  return points;
}

void capture_pairs(CaptureWriter& writer, const PairProgramme& programme, Device& device) {
  using Clock = std::chrono::steady_clock;
  TimingDevice& timing = *device.timing();
  std::vector<Family> families{kLibraries, kOwn};
  if (!timing.timed_wgmma().empty()) {
    families.insert(families.begin() + 1, kWgmma);
  }
  const auto time = std::chrono::duration_cast<Clock::duration>(programme.time / static_cast<double>(families.size()));
  const auto limit = std::chrono::duration_cast<std::chrono::seconds>(time) + kItemLimit;
  const std::filesystem::path file = writer.directory() / kFile;
  for (const Family& family : families) {
    writer.item(std::string("pairs/") + family.name, limit, [&] {
      RowTable table(Clock::now() + time, [&] { return device.usable(); });
      PairItem(programme, file, device).time(family, table);
      if (table.all_absent()) {
        throw AbsentError(table.rows().front()["reason"].get<std::string>());
      }
      return table.outcome(std::filesystem::exists(file) ? kFile : "");
    });
  }
}

}  // namespace sptc::hardware
