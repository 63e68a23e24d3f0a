// SPDX-License-Identifier: Apache-2.0
//
// GEMMs of the own kernels and of the libraries in the memory of the GPU: launched, checked, timed.
#include "tests/hardware/cuda/gemm_workload.h"

#include "models/base/error.h"
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/gemm.h"
#include "tests/hardware/cuda/hold_stream.h"
#include "tests/hardware/cuda/library_gemm.h"
#include "tests/hardware/cuda/nvml.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

namespace sptc::hardware {
namespace {

constexpr int kSampledLines = 32;

/// Operands in as many copies as keep L2 from holding them, and the clock.
class CudaWorkload : public GemmWorkload {
 public:
  int copies() const override { return static_cast<int>(copies_); }

  TimedLaunches time(double seconds) override {
    constexpr std::size_t kLeast = 10;
    constexpr std::size_t kMost = 500;
    const Event start;
    const Event stop;
    const auto once = [&] {
      hold_stream();  // so that the host has queued all three when the first begins
      start.record();
      launch();
      stop.record();
      return start.microseconds_to(stop);
    };
    for (int i = 0; i < 3; ++i) {
      once();
    }
    PowerSampler sampler(std::chrono::milliseconds(10));
    TimedLaunches result;
    double total = 0;
    while (result.us.size() < kLeast || (total < seconds * 1e6 && result.us.size() < kMost)) {
      result.us.push_back(once());
      total += result.us.back();
    }
    const PowerMeans means = means_after(sampler.stop(), 0);
    result.power_w = means.power_w;
    result.clock_mhz = means.clock_mhz;
    return result;
  }

  SustainedRun sustain(double seconds) override {
    constexpr int kBatch = 16;
    // What NVML says is an average over up to a second, and the clock has to settle.
    const double unsettled_ms = std::min(1200.0, seconds * 500);
    const Nvml* const nvml = Nvml::get();
    const Event start;
    const Event stop;
    SustainedRun run;
    const std::optional<double> before = nvml != nullptr ? nvml->energy_j() : std::nullopt;
    PowerSampler sampler(std::chrono::milliseconds(20));
    while (run.duration_s < seconds) {
      start.record();
      for (int i = 0; i < kBatch; ++i) {
        launch();
      }
      stop.record();
      run.duration_s += start.microseconds_to(stop) * 1e-6;
      run.launches += kBatch;
    }
    run.samples = sampler.stop();
    const std::optional<double> after = nvml != nullptr ? nvml->energy_j() : std::nullopt;
    const PowerMeans means = means_after(run.samples, unsettled_ms);
    run.power_w = means.power_w;
    run.clock_mhz = means.clock_mhz;
    if (before && after) {
      run.energy_j = *after - *before;
    }
    return run;
  }

 protected:
  void launch() { launch_copy(next_++ % copies_); }
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

class OwnWorkload final : public CudaWorkload {
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

class LibraryWorkload final : public CudaWorkload {
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

std::optional<std::size_t> own_kernel(const GemmChoice& choice, int arch) {
  const std::vector<OwnKernel> kernels = own_kernels();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].dtype == choice.dtype && kernels[i].sparse == choice.sparse &&
        kernels[i].first_arch <= arch) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<GemmWorkload> make_gemm_workload(const GemmChoice& choice, const GemmData& data,
                                                 const mma::Target& target) {
  if (choice.library == "own") {
    const int arch = std::stoi(std::string(target.name.substr(std::string_view("sm_").size())));
    const auto index = own_kernel(choice, arch);
    if (!index) {
      throw AbsentError(std::string(target.name) + " has no own kernel for " + choice.dtype);
    }
    return std::make_unique<OwnWorkload>(*index, own_kernels()[*index], data, target);
  }
  const LibraryProblem problem{data.shape().m, data.shape().n, data.shape().k, choice.dtype};
  return std::make_unique<LibraryWorkload>(
      choice.sparse ? make_cusparselt_gemm(problem) : make_cublaslt_gemm(problem), data);
}

}  // namespace sptc::hardware
