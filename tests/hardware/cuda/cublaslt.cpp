// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt, opened at run time. The declarations below are those of cublasLt.h 11 to 13 as far as
// they are used; handles and descriptors are opaque pointers.
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/dynamic_library.h"
#include "tests/hardware/cuda/library_gemm.h"
#include "tests/hardware/cuda/library_status.h"

#include <array>
#include <limits>
#include <vector>

namespace sptc::hardware {
namespace {

// cublas_api.h, library_types.h, cublasLt.h.
constexpr int kCompute32F = 68, kCompute32I = 72;
constexpr int kDescTransA = 3, kPreferenceWorkspace = 1, kAlgoConfigId = 0;
constexpr int kTransposed = 1;
constexpr std::size_t kWorkspaceBytes = 64 << 20;

using Handle = void*;
struct Algorithm {
  std::uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

struct Api {
  DynamicLibrary library{{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"}};
  int (*create)(Handle*) = nullptr;
  int (*desc_create)(Handle*, int, int) = nullptr;
  int (*desc_set)(Handle, int, const void*, std::size_t) = nullptr;
  int (*desc_destroy)(Handle) = nullptr;
  int (*layout_create)(Handle*, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*layout_destroy)(Handle) = nullptr;
  int (*preference_create)(Handle*) = nullptr;
  int (*preference_set)(Handle, int, const void*, std::size_t) = nullptr;
  int (*preference_destroy)(Handle) = nullptr;
  int (*heuristic)(Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, HeuristicResult*, int*) = nullptr;
  int (*algorithm_get)(const Algorithm*, int, void*, std::size_t, std::size_t*) = nullptr;
  int (*matmul)(Handle, Handle, const void*, const void*, Handle, const void*, Handle, const void*, const void*, Handle,
                void*, Handle, const Algorithm*, void*, std::size_t, cudaStream_t) = nullptr;
  Handle handle = nullptr;
  std::string problem = open();

  std::string open() {
    if (!library.is_open()) {
      return library.problem();
    }
    const bool all = library.find("cublasLtCreate", create) && library.find("cublasLtMatmulDescCreate", desc_create) &&
                     library.find("cublasLtMatmulDescSetAttribute", desc_set) &&
                     library.find("cublasLtMatmulDescDestroy", desc_destroy) &&
                     library.find("cublasLtMatrixLayoutCreate", layout_create) &&
                     library.find("cublasLtMatrixLayoutDestroy", layout_destroy) &&
                     library.find("cublasLtMatmulPreferenceCreate", preference_create) &&
                     library.find("cublasLtMatmulPreferenceSetAttribute", preference_set) &&
                     library.find("cublasLtMatmulPreferenceDestroy", preference_destroy) &&
                     library.find("cublasLtMatmulAlgoGetHeuristic", heuristic) &&
                     library.find("cublasLtMatmulAlgoConfigGetAttribute", algorithm_get) &&
                     library.find("cublasLtMatmul", matmul);
    if (!all) {
      return library.name() + " lacks a function";
    }
    const int status = create(&handle);
    return status == kLibrarySuccess ? "" : "cublasLtCreate returned " + std::to_string(status);
  }
};

/// A descriptor that destroys itself.
class Descriptor {
 public:
  explicit Descriptor(int (*destroy)(Handle)) : destroy_(destroy) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (handle != nullptr) {
      destroy_(handle);
    }
  }
  Handle handle = nullptr;

 private:
  int (*destroy_)(Handle);
};

class CublasLt final : public LibraryGemm {
 public:
  explicit CublasLt(const LibraryProblem& problem) : problem_(problem), workspace_(kWorkspaceBytes) {
    const bool integer = problem.dtype == "s8";
    if (problem_.d_dtype.empty()) {
      problem_.d_dtype = integer ? "s32" : "f32";
    }
    require_success(api_.desc_create(&operation_.handle, integer ? kCompute32I : kCompute32F,
                                     has_integer_scale() ? kReal32I : kReal32F),
                    "cublasLtMatmulDescCreate");
    require_success(api_.desc_set(operation_.handle, kDescTransA, &kTransposed, sizeof(kTransposed)),
                    "cublasLtMatmulDescSetAttribute");
    // Column-major in its words: A is [k, m] and transposed, B is [k, n], D is [m, n].
    const int type = library_type(problem.dtype);
    layout(a_, type, problem.k, problem.m);
    layout(b_, type, problem.k, problem.n);
    layout(d_, library_type(problem_.d_dtype), problem.m, problem.n);
    layout(c_, library_type(has_other_c() ? "bf16" : problem_.d_dtype), problem.m, problem.n);
    find_algorithms();
  }

  std::string d_type() const override { return problem_.d_dtype; }
  std::string kernel() const override {
    int id = -1;
    std::size_t written = 0;
    require_success(api_.algorithm_get(&algorithms_[chosen_], kAlgoConfigId, &id, sizeof(id), &written),
                    "cublasLtMatmulAlgoConfigGetAttribute");
    return api_.library.name() + ", algorithm " + std::to_string(id);
  }
  std::size_t prepared_bytes() const override {
    return static_cast<std::size_t>(problem_.m) * static_cast<std::size_t>(problem_.k) *
           (problem_.dtype == "f16" || problem_.dtype == "bf16" ? 2 : 1);
  }
  void prepare(const void* dense_a, void* prepared) override {
    SPTC_CUDA(cudaMemcpy(prepared, dense_a, prepared_bytes(), cudaMemcpyDeviceToDevice));
  }
  void run(const void* prepared_a, const void* b, void* d, cudaStream_t stream) override {
    require_success(run_algorithm(chosen_, prepared_a, b, d, stream), "cublasLtMatmul");
  }
  void use_best(const void* prepared_a, const void* b, void* d) override {
    constexpr int kLaunches = 10;
    const Event start;
    const Event stop;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < algorithms_.size(); ++i) {
      if (run_algorithm(i, prepared_a, b, d, nullptr) != kLibrarySuccess) {
        continue;  // the heuristic may offer what does not run
      }
      start.record();
      for (int launch = 0; launch < kLaunches; ++launch) {
        run_algorithm(i, prepared_a, b, d, nullptr);
      }
      stop.record();
      const double us = start.microseconds_to(stop);
      if (us < least) {
        least = us;
        chosen_ = i;
      }
    }
  }

 private:
  bool has_integer_scale() const { return problem_.d_dtype == "s32"; }
  /// The addend, which is never read, must not be e4m3.
  bool has_other_c() const { return problem_.d_dtype == "e4m3"; }

  void layout(Descriptor& to, int element, int rows, int cols) {
    require_success(api_.layout_create(&to.handle, element, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(cols), rows),
                    "cublasLtMatrixLayoutCreate");
  }

  void find_algorithms() {
    constexpr int kMost = 16;
    Descriptor preference(api_.preference_destroy);
    require_success(api_.preference_create(&preference.handle), "cublasLtMatmulPreferenceCreate");
    require_success(
        api_.preference_set(preference.handle, kPreferenceWorkspace, &kWorkspaceBytes, sizeof(kWorkspaceBytes)),
        "cublasLtMatmulPreferenceSetAttribute");
    std::array<HeuristicResult, kMost> results{};
    int found = 0;
    const int status = api_.heuristic(api_.handle, operation_.handle, a_.handle, b_.handle, c_.handle, d_.handle,
                                      preference.handle, kMost, results.data(), &found);
    for (int i = 0; status == kLibrarySuccess && i < found; ++i) {
      const HeuristicResult& result = results[static_cast<std::size_t>(i)];
      if (result.state == kLibrarySuccess) {
        algorithms_.push_back(result.algorithm);
      }
    }
    if (algorithms_.empty()) {
      throw AbsentError("cuBLASLt has no kernel for " + problem_.dtype + " and results of " + problem_.d_dtype +
                        " (status " + std::to_string(status) + ")");
    }
  }

  int run_algorithm(std::size_t index, const void* prepared_a, const void* b, void* d, cudaStream_t stream) {
    const float scale = problem_.d_dtype == "s8" ? problem_.s8_scale : 1.0F;
    const float zero = 0.0F;
    const std::int32_t one_integer = 1;
    const std::int32_t zero_integer = 0;
    const bool integer = has_integer_scale();
    return api_.matmul(api_.handle, operation_.handle, integer ? static_cast<const void*>(&one_integer) : &scale,
                       prepared_a, a_.handle, b, b_.handle, integer ? static_cast<const void*>(&zero_integer) : &zero,
                       has_other_c() ? nullptr : d, c_.handle, d, d_.handle, &algorithms_[index], workspace_.get(),
                       kWorkspaceBytes, stream);
  }

  const Api& api_ = opened_library<Api>();
  LibraryProblem problem_;
  DeviceArray<char> workspace_;
  Descriptor operation_{api_.desc_destroy};
  Descriptor a_{api_.layout_destroy}, b_{api_.layout_destroy}, c_{api_.layout_destroy}, d_{api_.layout_destroy};
  std::vector<Algorithm> algorithms_;  ///< in the order of the heuristic
  std::size_t chosen_ = 0;
};

}  // namespace

std::unique_ptr<LibraryGemm> make_cublaslt_gemm(const LibraryProblem& problem) {
  return std::make_unique<CublasLt>(problem);
}

}  // namespace sptc::hardware
