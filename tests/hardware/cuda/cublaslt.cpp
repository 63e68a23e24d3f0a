// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt, opened at run time. The declarations below are those of cublasLt.h 11 to 13 as far as
// they are used; handles and descriptors are opaque pointers.
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/dynamic_library.h"
#include "tests/hardware/cuda/library_gemm.h"
#include "tests/hardware/cuda/library_status.h"

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
  DynamicLibrary library{
      {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"}};
  int (*create)(Handle*) = nullptr;
  int (*desc_create)(Handle*, int, int) = nullptr;
  int (*desc_set)(Handle, int, const void*, std::size_t) = nullptr;
  int (*desc_destroy)(Handle) = nullptr;
  int (*layout_create)(Handle*, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*layout_destroy)(Handle) = nullptr;
  int (*preference_create)(Handle*) = nullptr;
  int (*preference_set)(Handle, int, const void*, std::size_t) = nullptr;
  int (*preference_destroy)(Handle) = nullptr;
  int (*heuristic)(Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, HeuristicResult*,
                   int*) = nullptr;
  int (*algorithm_get)(const Algorithm*, int, void*, std::size_t, std::size_t*) = nullptr;
  int (*matmul)(Handle, Handle, const void*, const void*, Handle, const void*, Handle, const void*,
                const void*, Handle, void*, Handle, const Algorithm*, void*, std::size_t,
                cudaStream_t) = nullptr;
  Handle handle = nullptr;
  std::string problem = open();

  std::string open() {
    if (!library.is_open()) {
      return library.problem();
    }
    const bool all = library.find("cublasLtCreate", create) &&
                     library.find("cublasLtMatmulDescCreate", desc_create) &&
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
  explicit CublasLt(const LibraryProblem& problem)
      : problem_(problem), workspace_(kWorkspaceBytes) {
    const bool integer = problem.dtype == "s8";
    const int type = integer                   ? kReal8I
                     : problem.dtype == "f16"  ? kReal16F
                     : problem.dtype == "bf16" ? kReal16BF
                                               : kRealE4m3;
    const int d_type = integer ? kReal32I : kReal32F;
    require_success(
        api_.desc_create(&operation_.handle, integer ? kCompute32I : kCompute32F, d_type),
        "cublasLtMatmulDescCreate");
    require_success(
        api_.desc_set(operation_.handle, kDescTransA, &kTransposed, sizeof(kTransposed)),
        "cublasLtMatmulDescSetAttribute");
    // Column-major in its words: A is [k, m] and transposed, B is [k, n], D is [m, n].
    const auto layout = [&](Descriptor& to, int element, int rows, int cols) {
      require_success(api_.layout_create(&to.handle, element, static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(cols), rows),
                      "cublasLtMatrixLayoutCreate");
    };
    layout(a_, type, problem.k, problem.m);
    layout(b_, type, problem.k, problem.n);
    layout(d_, d_type, problem.m, problem.n);
    Descriptor preference(api_.preference_destroy);
    require_success(api_.preference_create(&preference.handle), "cublasLtMatmulPreferenceCreate");
    require_success(api_.preference_set(preference.handle, kPreferenceWorkspace, &kWorkspaceBytes,
                                        sizeof(kWorkspaceBytes)),
                    "cublasLtMatmulPreferenceSetAttribute");
    HeuristicResult result{};
    int found = 0;
    const int status = api_.heuristic(api_.handle, operation_.handle, a_.handle, b_.handle,
                                      d_.handle, d_.handle, preference.handle, 1, &result, &found);
    if (status != kLibrarySuccess || found == 0 || result.state != kLibrarySuccess) {
      throw AbsentError("cuBLASLt has no kernel for " + problem.dtype + " (status " +
                        std::to_string(status) + ")");
    }
    algorithm_ = result.algorithm;
  }

  std::string d_type() const override { return problem_.dtype == "s8" ? "s32" : "f32"; }
  std::string kernel() const override {
    int id = -1;
    std::size_t written = 0;
    require_success(api_.algorithm_get(&algorithm_, kAlgoConfigId, &id, sizeof(id), &written),
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
  void run(const void* prepared_a, const void* b, void* d) override {
    const float one = 1.0F;
    const float zero = 0.0F;
    const std::int32_t one_integer = 1;
    const std::int32_t zero_integer = 0;
    const bool integer = problem_.dtype == "s8";
    require_success(
        api_.matmul(api_.handle, operation_.handle,
                    integer ? static_cast<const void*>(&one_integer) : &one, prepared_a, a_.handle,
                    b, b_.handle, integer ? static_cast<const void*>(&zero_integer) : &zero, d,
                    d_.handle, d, d_.handle, &algorithm_, workspace_.get(), kWorkspaceBytes,
                    nullptr),
        "cublasLtMatmul");
  }

 private:
  const Api& api_ = opened_library<Api>();
  LibraryProblem problem_;
  DeviceArray<char> workspace_;
  Descriptor operation_{api_.desc_destroy};
  Descriptor a_{api_.layout_destroy}, b_{api_.layout_destroy}, d_{api_.layout_destroy};
  Algorithm algorithm_{};
};

}  // namespace

std::unique_ptr<LibraryGemm> make_cublaslt_gemm(const LibraryProblem& problem) {
  return std::make_unique<CublasLt>(problem);
}

}  // namespace sptc::hardware
