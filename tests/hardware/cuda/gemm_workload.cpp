// SPDX-License-Identifier: Apache-2.0
//
// GEMMs of the own kernels and of the libraries in the memory of the GPU: launched, checked, timed.
#include "tests/hardware/cuda/gemm_workload.h"

#include "models/base/error.h"
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/clock_probe.h"
#include "tests/hardware/cuda/conditioned_launches.h"
#include "tests/hardware/cuda/gemm.h"
#include "tests/hardware/cuda/gemm_reference.h"
#include "tests/hardware/cuda/hold_stream.h"
#include "tests/hardware/cuda/library_gemm.h"
#include "tests/hardware/cuda/nvml.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sptc::hardware {
namespace {

constexpr int kSampledLines = 32;
constexpr std::size_t kMostBytesOfD = 4;  // of one element

using Buffer = std::unique_ptr<DeviceArray<std::uint8_t>>;

Buffer buffer_of(const std::vector<std::uint8_t>& host) {
  return std::make_unique<DeviceArray<std::uint8_t>>(host.data(), host.size());
}

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
    if (const std::optional<double> clock = clock_beside(kLeast, once)) {
      result.clock_mhz = clock;
    }
    return result;
  }

  SustainedRun sustain(double seconds) override {
    constexpr std::size_t kBatch = 16;
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
      for (std::size_t i = 0; i < kBatch; ++i) {
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
    if (const std::optional<double> clock = clock_beside(kBatch, [&] { launch(); })) {
      run.clock_mhz = clock;
    }
    return run;
  }

  GemmCheck check_on_device() override {
    poison_and_launch();
    if (!dense_a_) {
      dense_a_ = buffer_of(data_.dense_a());
    }
    if (!dense_b_) {
      dense_b_ = buffer_of(data_.dense_b());
    }
    ComputedGemm gemm{dense_a_->get(), dense_b_->get(),           d_->get(), data_.shape().m, data_.shape().n,
                      data_.shape().k, data_.instruction().a_type};
    gemm.s8_scale = data_.s8_scale();
    describe_d(gemm);
    return hardware::check_on_device(gemm);
  }

  TimedLaunches time_under(const kernels::LaunchConditions& conditions,
                           const kernels::Repetition& repetition) override {
    while (a_.size() < static_cast<std::size_t>(conditions.l2.weights)) {
      a_.push_back(std::make_unique<DeviceArray<std::uint8_t>>(a_.front()->count()));
      SPTC_CUDA(cudaMemcpy(a_.back()->get(), a_.front()->get(), a_.front()->count(), cudaMemcpyDeviceToDevice));
    }
    return time_launches(
        [this](std::size_t weight, cudaStream_t stream) { queue(a_[weight]->get(), b_.front()->get(), stream); },
        conditions, repetition);
  }

 protected:
  explicit CudaWorkload(const GemmData& data) : data_(data) {}

  void launch() {
    const std::size_t copy = next_++ % copies_;
    queue(a_[copy]->get(), b_[copy]->get(), nullptr);
  }
  void poison_and_launch() {
    d_->fill(0xFF);  // NaN, or -1
    launch();
    SPTC_CUDA(cudaDeviceSynchronize());
  }
  /// As many as are needed for the operands to be twice L2, at most 8.
  void set_copies(std::size_t bytes_of_one) {
    int device = 0;
    int l2 = 0;
    SPTC_CUDA(cudaGetDevice(&device));
    SPTC_CUDA(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
    copies_ = std::clamp<std::size_t>(2 * static_cast<std::size_t>(l2) / bytes_of_one + 1, 2, 8);
  }
  /// Of `count` more launches, while the board is still hot.
  template <class Once>
  std::optional<double> clock_beside(std::size_t count, Once once) {
    const ClockProbe probe;
    for (std::size_t i = 0; i < count; ++i) {
      once();  // the host was away for a moment: the clock falls again
    }
    probe.begin(nullptr);
    for (std::size_t i = 0; i < count; ++i) {
      once();
    }
    probe.end(nullptr);
    return probe.mhz();
  }
  virtual void queue(const std::uint8_t* a, const std::uint8_t* b, cudaStream_t stream) = 0;
  /// Type and layout of D.
  virtual void describe_d(ComputedGemm& gemm) const = 0;

  const GemmData& data_;
  std::size_t copies_ = 1;
  std::vector<Buffer> a_, b_;  ///< copies_ of each, and more weights where asked for
  Buffer d_;
  Buffer dense_a_, dense_b_;  ///< where they have been needed

 private:
  std::size_t next_ = 0;
};

std::vector<Buffer> copies_of(const std::vector<std::uint8_t>& host, std::size_t count) {
  std::vector<Buffer> list;
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back(buffer_of(host));
  }
  return list;
}

class OwnWorkload final : public CudaWorkload {
 public:
  OwnWorkload(OwnKernel kernel, const GemmData& data, const mma::Target& target)
      : CudaWorkload(data), kernel_(std::move(kernel)), target_(target), d_type_(data.instruction().accumulator) {
    const std::vector<std::uint8_t> a = data.pack_a();
    const std::vector<std::uint8_t> b = data.pack_b();
    set_copies(a.size() + b.size());
    a_ = copies_of(a, copies_);
    b_ = copies_of(b, copies_);
    if (kernel_.sparse) {
      const std::vector<std::uint32_t> words = data.pack_metadata();
      metadata_ = std::make_unique<DeviceArray<std::uint32_t>>(words.data(), words.size());
    }
    d_ = std::make_unique<DeviceArray<std::uint8_t>>(static_cast<std::size_t>(data.padded_m()) *
                                                     static_cast<std::size_t>(data.padded_n()) * kMostBytesOfD);
  }

  std::string kernel() const override { return kernel_.description; }

  GemmCheck check() override {
    poison_and_launch();
    const std::vector<int> rows = sample_lines(data_.shape().m, kSampledLines);
    const std::vector<int> columns = sample_lines(data_.shape().n, kSampledLines);
    std::vector<std::uint32_t> line(static_cast<std::size_t>(data_.padded_n()));
    std::vector<std::uint32_t> d;
    for (const int row : rows) {
      const std::size_t bytes = line.size() * sizeof(std::uint32_t);
      SPTC_CUDA(
          cudaMemcpy(line.data(), d_->get() + static_cast<std::size_t>(row) * bytes, bytes, cudaMemcpyDeviceToHost));
      for (const int column : columns) {
        d.push_back(line[static_cast<std::size_t>(column)]);
      }
    }
    try {
      return check_bits(data_, target_, rows, columns, d);
    } catch (const base::InputError&) {
      return {.mode = "none"};  // nobody knows the arithmetic
    }
  }

  void choose(numerics::DataType d_dtype, kernels::Algorithm algorithm) override {
    if (algorithm == kernels::Algorithm::kBest) {
      throw AbsentError("an own kernel is the only one of its kind: there is none to choose");
    }
    d_type_ = d_dtype;
  }

 private:
  void queue(const std::uint8_t* a, const std::uint8_t* b, cudaStream_t stream) override {
    kernel_.launch({a, b, metadata_ ? metadata_->get() : nullptr, d_->get(), data_.padded_m(), data_.padded_n(),
                    data_.steps(), d_type_, data_.s8_scale()},
                   stream);
  }
  void describe_d(ComputedGemm& gemm) const override {
    gemm.d_type = d_type_;
    gemm.row_step = static_cast<std::size_t>(data_.padded_n());
    gemm.column_step = 1;
  }

  OwnKernel kernel_;
  mma::Target target_;
  numerics::DataType d_type_;
  std::unique_ptr<DeviceArray<std::uint32_t>> metadata_;
};

using MakeLibraryGemm = std::unique_ptr<LibraryGemm> (*)(const LibraryProblem&);

class LibraryWorkload final : public CudaWorkload {
 public:
  LibraryWorkload(MakeLibraryGemm make, const LibraryProblem& problem, const GemmData& data)
      : CudaWorkload(data), make_(make), problem_(problem), gemm_(make(problem)) {
    dense_a_ = buffer_of(data.dense_a());
    const std::vector<std::uint8_t> b = data.dense_b();
    set_copies(gemm_->prepared_bytes() + b.size());
    prepare();
    b_ = copies_of(b, copies_);
    d_ = std::make_unique<DeviceArray<std::uint8_t>>(static_cast<std::size_t>(data.shape().m) *
                                                     static_cast<std::size_t>(data.shape().n) * kMostBytesOfD);
  }

  std::string kernel() const override { return gemm_->kernel(); }

  GemmCheck check() override {
    poison_and_launch();
    const std::vector<int> rows = sample_lines(data_.shape().m, kSampledLines);
    const std::vector<int> columns = sample_lines(data_.shape().n, kSampledLines);
    // D is column-major: whole columns come over, rows are picked here.
    const auto m = static_cast<std::size_t>(data_.shape().m);
    std::vector<std::uint8_t> column_bytes(m * d_bytes());
    std::vector<double> d(rows.size() * columns.size());
    for (std::size_t j = 0; j < columns.size(); ++j) {
      SPTC_CUDA(cudaMemcpy(column_bytes.data(), d_->get() + static_cast<std::size_t>(columns[j]) * column_bytes.size(),
                           column_bytes.size(), cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        d[i * columns.size() + j] = value(column_bytes, static_cast<std::size_t>(rows[i]));
      }
    }
    return check_bound(data_, rows, columns, d, gemm_->d_type());
  }

  void choose(numerics::DataType d_dtype, kernels::Algorithm algorithm) override {
    problem_.d_dtype = numerics::name(d_dtype);
    gemm_ = make_(problem_);
    a_.clear();
    prepare();
    if (algorithm == kernels::Algorithm::kBest) {
      gemm_->use_best(a_.front()->get(), b_.front()->get(), d_->get());
    }
  }

 private:
  void prepare() {
    while (a_.size() < copies_) {
      a_.push_back(std::make_unique<DeviceArray<std::uint8_t>>(gemm_->prepared_bytes()));
      gemm_->prepare(dense_a_->get(), a_.back()->get());
    }
  }
  numerics::DataType d_type() const { return *numerics::parse_data_type(gemm_->d_type()); }
  std::size_t d_bytes() const { return static_cast<std::size_t>(numerics::storage_bits(d_type())) / 8; }
  double value(const std::vector<std::uint8_t>& bytes, std::size_t index) const {
    numerics::Word word = 0;
    for (std::size_t i = 0; i < d_bytes(); ++i) {
      word |= static_cast<numerics::Word>(bytes[index * d_bytes() + i]) << (8 * i);
    }
    return numerics::to_double(word, d_type());
  }
  void queue(const std::uint8_t* a, const std::uint8_t* b, cudaStream_t stream) override {
    gemm_->run(a, b, d_->get(), stream);
  }
  void describe_d(ComputedGemm& gemm) const override {
    gemm.d_type = d_type();
    gemm.row_step = 1;
    gemm.column_step = static_cast<std::size_t>(data_.shape().m);
  }

  MakeLibraryGemm make_;
  LibraryProblem problem_;
  std::unique_ptr<LibraryGemm> gemm_;
};

std::optional<OwnKernel> own_kernel(const GemmChoice& choice, int arch) {
  for (const OwnKernel& kernel : choice.library == "wgmma" ? wgmma_kernels() : mma_kernels()) {
    if (kernel.dtype == choice.dtype && kernel.sparse == choice.sparse && kernel.first_arch <= arch &&
        arch <= kernel.last_arch) {
      return kernel;
    }
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<GemmWorkload> make_gemm_workload(const GemmChoice& choice, const GemmData& data,
                                                 const mma::Target& target) {
  if (choice.library == "own" || choice.library == "wgmma") {
    const int arch = std::stoi(std::string(target.name.substr(std::string_view("sm_").size())));
    const auto kernel = own_kernel(choice, arch);
    if (!kernel) {
      throw AbsentError(std::string(target.name) + " has no own kernel for " + choice.dtype);
    }
    return std::make_unique<OwnWorkload>(*kernel, data, target);
  }
  LibraryProblem problem{data.shape().m, data.shape().n, data.shape().k, choice.dtype, ""};
  problem.s8_scale = data.s8_scale();
  return std::make_unique<LibraryWorkload>(choice.sparse ? make_cusparselt_gemm : make_cublaslt_gemm, problem, data);
}

}  // namespace sptc::hardware
