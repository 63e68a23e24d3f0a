// SPDX-License-Identifier: Apache-2.0
//
// cuSPARSELt 0.6 and later, opened at run time. Handles, descriptors and plans are structures that
// the caller provides; their sizes changed between versions (512 to 11024 bytes), so each gets 16
// KiB.
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/dynamic_library.h"
#include "tests/hardware/cuda/library_gemm.h"
#include "tests/hardware/cuda/library_status.h"

#include <algorithm>
#include <array>
#include <vector>

namespace sptc::hardware {
namespace {

constexpr int kOldestVersion = 600;  // 0.6.0
constexpr int kColumnMajor = 1, kNotTransposed = 0, kTransposed = 1, kHalfSparse = 0;
constexpr unsigned kAlignment = 16;

struct alignas(64) Opaque {
  std::array<std::byte, 16384> data{};
};

struct Api {
  DynamicLibrary library{{"libcusparseLt.so.0", "libcusparseLt.so"}};
  int (*init)(Opaque*) = nullptr;
  int (*version)(const Opaque*, int*) = nullptr;
  int (*structured)(const Opaque*, Opaque*, std::int64_t, std::int64_t, std::int64_t, unsigned, int, int,
                    int) = nullptr;
  int (*dense)(const Opaque*, Opaque*, std::int64_t, std::int64_t, std::int64_t, unsigned, int, int) = nullptr;
  int (*matmul_init)(const Opaque*, Opaque*, int, int, const Opaque*, const Opaque*, const Opaque*, const Opaque*,
                     int) = nullptr;
  int (*selection)(const Opaque*, Opaque*, const Opaque*, int) = nullptr;
  int (*plan_init)(const Opaque*, Opaque*, const Opaque*, const Opaque*) = nullptr;
  int (*plan_destroy)(const Opaque*) = nullptr;
  int (*workspace)(const Opaque*, const Opaque*, std::size_t*) = nullptr;
  int (*compressed_size)(const Opaque*, const Opaque*, std::size_t*, std::size_t*) = nullptr;
  int (*compress)(const Opaque*, const Opaque*, const void*, void*, void*, cudaStream_t) = nullptr;
  int (*matmul)(const Opaque*, const Opaque*, const void*, const void*, const void*, const void*, const void*, void*,
                void*, cudaStream_t*, int) = nullptr;
  int (*search)(const Opaque*, Opaque*, const void*, const void*, const void*, const void*, const void*, void*, void*,
                cudaStream_t*, int) = nullptr;
  Opaque handle;
  int version_number = 0;
  std::string problem = open();

  std::string open() {
    if (!library.is_open()) {
      return library.problem();
    }
    const bool all = library.find("cusparseLtInit", init) && library.find("cusparseLtGetVersion", version) &&
                     library.find("cusparseLtStructuredDescriptorInit", structured) &&
                     library.find("cusparseLtDenseDescriptorInit", dense) &&
                     library.find("cusparseLtMatmulDescriptorInit", matmul_init) &&
                     library.find("cusparseLtMatmulAlgSelectionInit", selection) &&
                     library.find("cusparseLtMatmulPlanInit", plan_init) &&
                     library.find("cusparseLtMatmulPlanDestroy", plan_destroy) &&
                     library.find("cusparseLtMatmulGetWorkspace", workspace) &&
                     library.find("cusparseLtSpMMACompressedSize", compressed_size) &&
                     library.find("cusparseLtSpMMACompress", compress) && library.find("cusparseLtMatmul", matmul) &&
                     library.find("cusparseLtMatmulSearch", search);
    if (!all) {
      return library.name() + " lacks a function";
    }
    if (const int status = init(&handle); status != kLibrarySuccess) {
      return "cusparseLtInit returned " + std::to_string(status);
    }
    if (version(&handle, &version_number) != kLibrarySuccess || version_number < kOldestVersion) {
      return "cuSPARSELt " + std::to_string(version_number) + " is older than 0.6.0";
    }
    return "";
  }
};

/// Types of results in the order in which they are tried.
std::vector<std::string> results_of(const LibraryProblem& problem) {
  if (!problem.d_dtype.empty()) {
    return {problem.d_dtype};
  }
  if (problem.dtype == "s8") {
    return {"s32"};
  }
  return problem.dtype == "e4m3" ? std::vector<std::string>{"f32", "f16", "bf16"}
                                 : std::vector<std::string>{problem.dtype};
}

class CusparseLt final : public LibraryGemm {
 public:
  explicit CusparseLt(const LibraryProblem& problem) : problem_(problem) {
    // COMPUTE_16F must not be taken for COMPUTE_32F with f16: with bf16 only the latter exists.
    int first = 0;
    if (problem.dtype == "f16") {
      if (!set_up(kReal16BF, "bf16", 0)) {
        throw AbsentError("cuSPARSELt has no kernel for bf16, which tells its compute types apart: " + last_problem_);
      }
      first = compute_type_;
      release_plan();
    }
    const std::vector<std::string> results = results_of(problem);
    for (const std::string& d_type : results) {
      if (set_up(library_type(problem.dtype), d_type, first)) {
        d_type_ = d_type;
        return;
      }
    }
    throw AbsentError("cuSPARSELt " + std::to_string(api_.version_number) + " has no kernel for " + problem.dtype +
                      " and results of " + results.back() + ": " + last_problem_);
  }
  ~CusparseLt() override { release_plan(); }

  std::string d_type() const override { return d_type_; }
  std::string kernel() const override {
    return "cuSPARSELt " + std::to_string(api_.version_number) +
           (searched_ ? ", algorithm of its search" : ", default algorithm") + ", compute type " +
           std::to_string(compute_type_);
  }
  std::size_t prepared_bytes() const override { return compressed_bytes_; }
  void prepare(const void* dense_a, void* prepared) override {
    DeviceArray<char> buffer(buffer_bytes_);
    require_success(api_.compress(&api_.handle, &plan_, dense_a, prepared, buffer.get(), nullptr),
                    "cusparseLtSpMMACompress");
    SPTC_CUDA(cudaDeviceSynchronize());
  }
  void run(const void* prepared_a, const void* b, void* d, cudaStream_t stream) override {
    const float zero = 0.0F;
    const float scale = alpha();
    require_success(
        api_.matmul(&api_.handle, &plan_, &scale, prepared_a, b, &zero, d, d, workspace_->get(), &stream, 1),
        "cusparseLtMatmul");
  }
  void use_best(const void* prepared_a, const void* b, void* d) override {
    const float zero = 0.0F;
    const float scale = alpha();
    require_success(api_.search(&api_.handle, &plan_, &scale, prepared_a, b, &zero, d, d, nullptr, nullptr, 0),
                    "cusparseLtMatmulSearch");
    SPTC_CUDA(cudaDeviceSynchronize());
    searched_ = true;
    make_workspace();
  }

 private:
  void release_plan() {
    if (has_plan_) {
      api_.plan_destroy(&plan_);
      has_plan_ = false;
    }
  }

  float alpha() const { return d_type_ == "s8" ? problem_.s8_scale : 1.0F; }

  void make_workspace() {
    std::size_t bytes = 0;
    require_success(api_.workspace(&api_.handle, &plan_, &bytes), "cusparseLtMatmulGetWorkspace");
    workspace_ = std::make_unique<DeviceArray<char>>(bytes);
  }

  bool note(int status, const char* call) {
    if (status != kLibrarySuccess) {
      last_problem_ = std::string(call) + " returned " + std::to_string(status);
    }
    return status == kLibrarySuccess;
  }

  /// Column-major in its words: A is [k, m] and transposed, B is [k, n], D is [m, n]. The numbers
  /// of the compute types differ between versions and the header is not required: of those from
  /// `first` on, the first that the library takes for these types.
  bool set_up(int type, const std::string& result, int first) {
    const int d_type = library_type(result);
    const int c_type = result == "e4m3" ? kReal16BF : d_type;  // the addend, which is never read
    const std::int64_t m = problem_.m;
    const std::int64_t n = problem_.n;
    const std::int64_t k = problem_.k;
    if (!note(api_.structured(&api_.handle, &a_, k, m, k, kAlignment, type, kColumnMajor, kHalfSparse),
              "cusparseLtStructuredDescriptorInit") ||
        !note(api_.dense(&api_.handle, &b_, k, n, k, kAlignment, type, kColumnMajor),
              "cusparseLtDenseDescriptorInit of B") ||
        !note(api_.dense(&api_.handle, &c_, m, n, m, kAlignment, c_type, kColumnMajor),
              "cusparseLtDenseDescriptorInit of C") ||
        !note(api_.dense(&api_.handle, &d_, m, n, m, kAlignment, d_type, kColumnMajor),
              "cusparseLtDenseDescriptorInit of D")) {
      return false;
    }
    constexpr int kComputeTypes = 3;
    for (int compute = first; compute < kComputeTypes; ++compute) {
      operation_ = selection_ = plan_ = Opaque();
      if (note(api_.matmul_init(&api_.handle, &operation_, kTransposed, kNotTransposed, &a_, &b_, &c_, &d_, compute),
               "cusparseLtMatmulDescriptorInit") &&
          note(api_.selection(&api_.handle, &selection_, &operation_, 0), "cusparseLtMatmulAlgSelectionInit") &&
          note(api_.plan_init(&api_.handle, &plan_, &operation_, &selection_), "cusparseLtMatmulPlanInit")) {
        has_plan_ = true;
        compute_type_ = compute;
        make_workspace();
        require_success(api_.compressed_size(&api_.handle, &plan_, &compressed_bytes_, &buffer_bytes_),
                        "cusparseLtSpMMACompressedSize");
        return true;
      }
    }
    return false;
  }

  const Api& api_ = opened_library<Api>();
  LibraryProblem problem_;
  Opaque a_, b_, c_, d_, operation_, selection_, plan_;
  bool has_plan_ = false;
  bool searched_ = false;
  std::string d_type_;
  int compute_type_ = -1;
  std::size_t compressed_bytes_ = 0, buffer_bytes_ = 0;
  std::unique_ptr<DeviceArray<char>> workspace_;
  std::string last_problem_;
};

}  // namespace

std::unique_ptr<LibraryGemm> make_cusparselt_gemm(const LibraryProblem& problem) {
  return std::make_unique<CusparseLt>(problem);
}

}  // namespace sptc::hardware
