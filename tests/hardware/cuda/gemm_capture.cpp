// SPDX-License-Identifier: Apache-2.0
//
// gemm.json and power.json: times of whole GEMMs, and power and clocks of sustained ones.
#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "tests/hardware/capture/gemm_data.h"
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/gemm.h"
#include "tests/hardware/cuda/library_gemm.h"
#include "tests/hardware/cuda/nvml.h"
#include "tests/hardware/cuda/timing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace sptc::hardware {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSampledLines = 32;

/// A GEMM on the GPU that can be launched over and over, operands rotating over several copies.
class Workload {
 public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  void launch() { launch_copy(next_++ % copies_); }
  int copies() const { return static_cast<int>(copies_); }
  virtual std::string kernel() const = 0;
  virtual GemmCheck check() = 0;

 protected:
  /// As many as are needed for the operands to be twice L2, at most 8.
  void set_copies(std::size_t bytes_of_one) {
    int device = 0;
    int l2 = 0;
    SPTC_CUDA(cudaGetDevice(&device));
    SPTC_CUDA(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
    copies_ = std::clamp<std::size_t>(2 * static_cast<std::size_t>(l2) / bytes_of_one + 1, 2, 8);
  }
  virtual void launch_copy(std::size_t copy) = 0;

  std::size_t copies_ = 1;

 private:
  std::size_t next_ = 0;
};

using Buffer = std::unique_ptr<DeviceArray<std::uint8_t>>;

std::vector<Buffer> copies_of(const std::vector<std::uint8_t>& host, std::size_t count) {
  std::vector<Buffer> list;
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back(std::make_unique<DeviceArray<std::uint8_t>>(host.data(), host.size()));
  }
  return list;
}

class OwnWorkload final : public Workload {
 public:
  OwnWorkload(std::size_t index, const OwnKernel& kernel, const GemmData& data,
              const mma::Target& target)
      : index_(index), kernel_(kernel), data_(data), target_(target) {
    const std::vector<std::uint8_t> a = data.pack_a();
    const std::vector<std::uint8_t> b = data.pack_b();
    set_copies(a.size() + b.size());
    a_ = copies_of(a, copies_);
    b_ = copies_of(b, copies_);
    if (kernel.sparse) {
      const std::vector<std::uint32_t> words = data.pack_metadata();
      metadata_ = std::make_unique<DeviceArray<std::uint32_t>>(words.data(), words.size());
    }
    const std::size_t elements =
        static_cast<std::size_t>(data.padded_m()) * static_cast<std::size_t>(data.padded_n());
    d_ = std::make_unique<DeviceArray<std::uint32_t>>(elements);
  }

  std::string kernel() const override { return kernel_.description; }

  GemmCheck check() override {
    d_->fill(0xFF);  // poison: NaN, or -1
    launch();
    SPTC_CUDA(cudaDeviceSynchronize());
    const std::vector<int> rows = sample_lines(data_.shape().m, kSampledLines);
    const std::vector<int> columns = sample_lines(data_.shape().n, kSampledLines);
    std::vector<std::uint32_t> line(static_cast<std::size_t>(data_.padded_n()));
    std::vector<std::uint32_t> d;
    for (const int row : rows) {
      SPTC_CUDA(cudaMemcpy(line.data(), d_->get() + static_cast<std::size_t>(row) * line.size(),
                           line.size() * sizeof(std::uint32_t), cudaMemcpyDeviceToHost));
      for (const int column : columns) {
        d.push_back(line[static_cast<std::size_t>(column)]);
      }
    }
    try {
      return check_bits(data_, target_, rows, columns, d);
    } catch (const InputError&) {
      return {.mode = "none"};  // nobody knows the arithmetic
    }
  }

 private:
  void launch_copy(std::size_t copy) override {
    launch_gemm(index_, {a_[copy]->get(), b_[copy]->get(), metadata_ ? metadata_->get() : nullptr,
                         d_->get(), data_.padded_m(), data_.padded_n(), data_.steps()});
  }

  std::size_t index_;
  OwnKernel kernel_;
  const GemmData& data_;
  mma::Target target_;
  std::vector<Buffer> a_, b_;
  std::unique_ptr<DeviceArray<std::uint32_t>> metadata_, d_;
};

class LibraryWorkload final : public Workload {
 public:
  LibraryWorkload(std::unique_ptr<LibraryGemm> gemm, const GemmData& data)
      : gemm_(std::move(gemm)), data_(data) {
    const std::vector<std::uint8_t> a = data.dense_a();
    const std::vector<std::uint8_t> b = data.dense_b();
    set_copies(gemm_->prepared_bytes() + b.size());
    const DeviceArray<std::uint8_t> dense(a.data(), a.size());
    for (std::size_t i = 0; i < copies_; ++i) {
      a_.push_back(std::make_unique<DeviceArray<std::uint8_t>>(gemm_->prepared_bytes()));
      gemm_->prepare(dense.get(), a_.back()->get());
    }
    b_ = copies_of(b, copies_);
    const std::size_t elements =
        static_cast<std::size_t>(data.shape().m) * static_cast<std::size_t>(data.shape().n);
    d_ = std::make_unique<DeviceArray<std::uint8_t>>(elements * d_bytes());
  }

  std::string kernel() const override { return gemm_->kernel(); }

  GemmCheck check() override {
    d_->fill(0xFF);
    launch();
    SPTC_CUDA(cudaDeviceSynchronize());
    const std::vector<int> rows = sample_lines(data_.shape().m, kSampledLines);
    const std::vector<int> columns = sample_lines(data_.shape().n, kSampledLines);
    // D is column-major: whole columns come over, rows are picked here.
    const auto m = static_cast<std::size_t>(data_.shape().m);
    std::vector<std::uint8_t> column_bytes(m * d_bytes());
    std::vector<double> d(rows.size() * columns.size());
    for (std::size_t j = 0; j < columns.size(); ++j) {
      SPTC_CUDA(cudaMemcpy(column_bytes.data(),
                           d_->get() + static_cast<std::size_t>(columns[j]) * column_bytes.size(),
                           column_bytes.size(), cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        d[i * columns.size() + j] = value(column_bytes, static_cast<std::size_t>(rows[i]));
      }
    }
    return check_bound(data_, rows, columns, d, gemm_->d_type());
  }

 private:
  std::size_t d_bytes() const {
    return gemm_->d_type() == "f16" || gemm_->d_type() == "bf16" ? 2 : 4;
  }
  double value(const std::vector<std::uint8_t>& bytes, std::size_t index) const {
    numerics::Word word = 0;
    for (std::size_t i = 0; i < d_bytes(); ++i) {
      word |= static_cast<numerics::Word>(bytes[index * d_bytes() + i]) << (8 * i);
    }
    if (gemm_->d_type() == "s32") {
      return static_cast<double>(std::bit_cast<std::int32_t>(word));
    }
    return numerics::to_double(word, *numerics::parse_data_type(gemm_->d_type()));
  }
  void launch_copy(std::size_t copy) override {
    gemm_->run(a_[copy]->get(), b_[copy]->get(), d_->get());
  }

  std::unique_ptr<LibraryGemm> gemm_;
  const GemmData& data_;
  std::vector<Buffer> a_, b_;
  Buffer d_;
};

/// The instruction of the own kernel for a type: it also decides the operands of the libraries.
struct Choice {
  std::string library;  ///< "own", "cublaslt", "cusparselt"
  bool sparse;
  std::string dtype;
};

std::optional<std::size_t> own_kernel(const Choice& choice, int arch) {
  const std::vector<OwnKernel> kernels = own_kernels();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].dtype == choice.dtype && kernels[i].sparse == choice.sparse &&
        kernels[i].first_arch <= arch) {
      return i;
    }
  }
  return std::nullopt;
}

class GemmProgramme {
 public:
  GemmProgramme(const TimingProgramme& programme, const Device& device)
      : programme_(programme),
        target_(mma::find_target(device.info().target)),
        arch_(std::stoi(std::string(target_.name.substr(3)))),
        shapes_(read_gemm_shapes(programme.shapes)) {}

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

  void power(RowTable& table) {
    const GemmShape& shape = shapes_.front();
    for (const char* const library : {"own", "cublaslt", "cusparselt"}) {
      for (const bool sparse : {false, true}) {
        if ((std::string(library) == "cublaslt" && sparse) ||
            (std::string(library) == "cusparselt" && !sparse)) {
          continue;
        }
        for (const bool random : {true, false}) {
          sustained_row(table, shape, {library, sparse, "f16"}, random);
        }
      }
    }
  }

 private:
  mma::MmaInstruction instruction_of(const Choice& choice) const {
    const auto type = *numerics::parse_data_type(choice.dtype);
    return mma::gemm_instruction(type, choice.sparse);
  }

  std::unique_ptr<Workload> make(const Choice& choice, const GemmData& data) const {
    if (choice.library == "own") {
      const auto index = own_kernel(choice, arch_);
      if (!index) {
        throw AbsentError(std::string(target_.name) + " has no own kernel for " + choice.dtype);
      }
      return std::make_unique<OwnWorkload>(*index, own_kernels()[*index], data, target_);
    }
    const LibraryProblem problem{data.shape().m, data.shape().n, data.shape().k, choice.dtype};
    return std::make_unique<LibraryWorkload>(
        choice.sparse ? make_cusparselt_gemm(problem) : make_cublaslt_gemm(problem), data);
  }

  static Json point(const GemmShape& shape, const Choice& choice, bool random) {
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

  void time_row(RowTable& table, const GemmShape& shape, const Choice& choice) {
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
      const std::unique_ptr<Workload> workload = make(choice, data);
      row["kernel"] = workload->kernel();
      const GemmCheck check = workload->check();
      row["check"] = {{"mode", check.mode},
                      {"elements", check.elements},
                      {"mismatches", check.mismatches},
                      {"worst_error", check.mode == "bound" ? Json(check.worst_error) : Json()},
                      {"bound", check.mode == "bound" ? Json(check.bound) : Json()}};
      time_launches(*workload, row);
      if (check.mismatches > 0) {
        throw std::runtime_error(std::to_string(check.mismatches) + " of " +
                                 std::to_string(check.elements) + " sampled elements are wrong");
      }
    });
  }

  /// Single launches between events, for about a third of a second.
  void time_launches(Workload& workload, Json& row) const {
    const Event start;
    const Event stop;
    const auto once = [&] {
      start.record();
      workload.launch();
      stop.record();
      return start.microseconds_to(stop);
    };
    for (int i = 0; i < 3; ++i) {
      once();
    }
    const double budget_us = programme_.quick ? 0.1e6 : 0.3e6;
    PowerSampler sampler(std::chrono::milliseconds(10));
    std::vector<double> times;
    double total = 0;
    while (times.size() < 10 || (total < budget_us && times.size() < 500)) {
      times.push_back(once());
      total += times.back();
    }
    const PowerMeans means = steady_means(sampler.stop());
    std::sort(times.begin(), times.end());
    row["time_us_median"] = times[times.size() / 2];
    row["time_us_min"] = times.front();
    row["launches"] = times.size();
    row["buffers"] = workload.copies();
    row["clock_mhz"] = json_or_null(means.clock_mhz);
    row["power_w"] = json_or_null(means.power_w);
  }

  void sustained_row(RowTable& table, const GemmShape& shape, const Choice& choice, bool random) {
    Json keys = point(shape, choice, random);
    keys.update({{"duration_s", nullptr},
                 {"launches", 0},
                 {"time_us_mean", nullptr},
                 {"power_w_mean", nullptr},
                 {"clock_mhz_mean", nullptr},
                 {"energy_j", nullptr},
                 {"samples", Json::array()}});
    table.row(keys, [&](Json& row) {
      if (Nvml::get() == nullptr) {
        throw AbsentError(Nvml::why_absent());
      }
      const GemmData data(instruction_of(choice), shape, random, programme_.seed);
      const std::unique_ptr<Workload> workload = make(choice, data);
      sustain(*workload, row);
    });
  }

  void sustain(Workload& workload, Json& row) const {
    constexpr int kBatch = 16;
    const double seconds = programme_.quick ? 1.0 : 3.0;
    const Nvml& nvml = *Nvml::get();
    const Event start;
    const Event stop;
    const std::optional<double> energy_before = nvml.energy_j();
    PowerSampler sampler(std::chrono::milliseconds(20));
    long long launches = 0;
    double total_us = 0;
    while (total_us < seconds * 1e6) {
      start.record();
      for (int i = 0; i < kBatch; ++i) {
        workload.launch();
      }
      stop.record();
      total_us += start.microseconds_to(stop);
      launches += kBatch;
    }
    const std::vector<PowerSample> samples = sampler.stop();
    const std::optional<double> energy_after = nvml.energy_j();
    const PowerMeans means = steady_means(samples);
    row["duration_s"] = total_us * 1e-6;
    row["launches"] = launches;
    row["time_us_mean"] = total_us / static_cast<double>(launches);
    row["power_w_mean"] = json_or_null(means.power_w);
    row["clock_mhz_mean"] = json_or_null(means.clock_mhz);
    if (energy_before && energy_after) {
      row["energy_j"] = *energy_after - *energy_before;
    }
    for (const PowerSample& sample : samples) {
      row["samples"].push_back({{"t_ms", std::round(sample.t_ms)},
                                {"power_w", json_or_null(sample.power_w)},
                                {"clock_mhz", json_or_null(sample.clock_mhz)},
                                {"memory_clock_mhz", json_or_null(sample.memory_clock_mhz)},
                                {"temperature_c", json_or_null(sample.temperature_c)}});
    }
  }

  const TimingProgramme& programme_;
  mma::Target target_;
  int arch_;
  std::vector<GemmShape> shapes_;
};

}  // namespace

void capture_gemm(CaptureWriter& writer, const TimingProgramme& programme, const Device& device) {
  // Power comes first in the plan of time: the tables of shapes take what is left.
  Json idle;
  if (const Nvml* const nvml = Nvml::get()) {
    idle = json_or_null(nvml->power_w());
  }
  writer.item("power", [&] {
    RowTable table(programme);
    GemmProgramme(programme, device).power(table);
    writer.write_json("power.json", {{"idle_w", idle}, {"rows", table.rows()}});
    return table.outcome("power.json");
  });
  Json rows = Json::array();
  for (const char* const library : {"own", "cublaslt", "cusparselt"}) {
    writer.item(std::string("gemm/") + library, [&] {
      RowTable table(programme);
      GemmProgramme(programme, device).time(library, table);
      for (const Json& row : table.rows()) {
        rows.push_back(row);
      }
      const ItemOutcome outcome = table.outcome("gemm.json");
      const bool all_absent =
          !table.rows().empty() &&
          std::all_of(table.rows().begin(), table.rows().end(),
                      [](const Json& row) { return row["status"] == name(ItemStatus::kAbsent); });
      if (all_absent) {
        throw AbsentError(table.rows().front()["reason"].get<std::string>());
      }
      return outcome;
    });
  }
  writer.write_json("gemm.json", {{"rows", rows}});
}

}  // namespace sptc::hardware
