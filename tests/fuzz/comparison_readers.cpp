// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/check/capture/capture.h"
#include "sim/check/kernel/error_bounds.h"
#include "sim/check/kernel/kernel_file.h"
#include "sim/check/times/evidence.h"
#include "sim/check/times/measurements.h"
#include "sim/check/vectors/bit_array.h"
#include "sim/check/vectors/verify.h"
#include "sim/compare/comparison.h"
#include "sim/config/architecture.h"
#include "sim/io/npz.h"
#include "sim/io/tensor_file.h"
#include "tests/fuzz/readers.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::fuzz {
namespace {

void read_measurements(const std::string& bytes) {
  for (const check::times::Measurement& row : check::times::parse_measurements(bytes, "f")) {
    if (!(row.time_us > 0) || row.launch.shape.m <= 0 || row.launch.sparsity().empty()) {
      throw std::logic_error("a measurement that nobody can have made");
    }
  }
}

void read_evidence_distance(const std::string& bytes) {
  for (const std::optional<double>& error : check::times::parse_errors_by_distance(bytes, "f")) {
    if (error && !(*error >= 0)) {
      throw std::logic_error("an error that is none");
    }
  }
}

/// Beside it are the words of an f16 and of an f32 matrix.
void read_kernel_file(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  static const bool written = [] {
    const base::Matrix<numerics::Word> ones(16, 16, 0x3C00);
    io::write_npy(directory.path() / "h.npy", ones, numerics::DataType::kF16);
    io::write_npy(directory.path() / "f.npy", ones, numerics::DataType::kF32);
    return true;
  }();
  if (written) {
    check::kernel::parse_kernel_file(bytes, "f.json", directory.path());
  }
}

/// The value of `--k-order` beside a file that is right, and that of `--tolerance`.
void read_kernel_options(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  static const bool written = [] {
    const base::Matrix<numerics::Word> ones(16, 16, 0x3C00);
    io::write_npy(directory.path() / "h.npy", ones, numerics::DataType::kF16);
    return true;
  }();
  constexpr std::string_view kKernel =
      R"({"schema": "sptcsim-kernel/0.1", "types": {"a": "f16"}, "a": {"file": "h.npy"},
          "b": {"file": "h.npy"}, "d": {"file": "h.npy"}})";
  check::kernel::KernelChoice choice;
  choice.k_order = bytes;
  if (written && !bytes.empty() && bytes.find(':') == std::string::npos) {
    check::kernel::parse_kernel_file(kKernel, "f.json", directory.path(), choice);
  } else if (!check::kernel::parse_tolerance("--tolerance", bytes).is_given()) {
    throw std::logic_error("a tolerance of nothing");
  }
}

/// The text of a launch in a file of `--save-operands`; the file itself has the reader "npz".
void read_kernel_archive(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  const auto array = [](const char* name, const char* type, std::vector<std::int64_t> shape,
                        std::vector<std::byte> data) {
    return io::Tensor{name, type, std::move(shape), std::move(data)};
  };
  const auto text = std::as_bytes(std::span(bytes));
  const std::vector<io::Tensor> tensors = {
      array("gemm.a", "F16", {16, 16}, std::vector<std::byte>(512)),
      array("gemm.b", "F16", {16, 16}, std::vector<std::byte>(512)),
      array("gemm.d", "F32", {16, 16}, std::vector<std::byte>(1024)),
      array("gemm.kernel", "U8", {static_cast<std::int64_t>(text.size())}, {text.begin(), text.end()})};
  support::put_file(directory.path() / "f.npz", io::npz_bytes(tensors));
  check::kernel::read_kernel_file(directory.path() / "f.npz");
}

/// Beside one that is right, in each form.
void read_saved_result(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  static const std::filesystem::path right =
      std::filesystem::path(SPTC_SOURCE_DIR) / "tests/fuzz/corpus/saved_result/gemm.json";
  const std::filesystem::path file = directory.path() / "f.json";
  support::put_file(file, bytes);
  compare::is_saved_result(file);
  const compare::BoardComparison comparison = compare::compare_saved({right, file});
  compare::comparison_text(comparison);
  compare::comparison_json(comparison);
  compare::comparison_csv(comparison);
  compare::comparison_page(comparison, "sptcsim compare");
}

/// One of the files of a capture: what none of their readers takes is refused.
void read_capture(const std::string& bytes) {
  using namespace check::capture;
  std::optional<base::InputError> refused;
  bool taken = false;
  for (const auto parse : {parse_capture_json, parse_probes_json, parse_microbench_json, parse_memory_json,
                           parse_gemm_json, parse_power_json}) {
    Capture capture;
    try {
      parse(bytes, "f.json", capture);
      architecture_of(capture);
      taken = true;
    } catch (const base::InputError& error) {
      refused = error;
    }
  }
  if (!taken) {
    throw base::InputError(*refused);
  }
}

/// A directory with the arrays of one case, all zeros, for any description of them.
class ArraysOfASet {
 public:
  struct Zeros {
    std::string name;
    std::vector<std::size_t> shape;
    int element_bytes;
  };

  explicit ArraysOfASet(const std::vector<Zeros>& arrays) {
    for (const Zeros& zeros : arrays) {
      check::vectors::BitArray array = check::vectors::make_bit_array(zeros.shape, zeros.element_bytes);
      if (zeros.name == "idx") {  // the first two of every four
        for (std::size_t i = 0; i < array.bits.size(); ++i) {
          array.bits[i] = 4 * (i % 8 / 2) + i % 2;
        }
      }
      check::vectors::write_bit_array(directory_.path() / ("s." + zeros.name + ".npy"), array);
    }
  }

  void verify(const std::string& json) const {
    support::put_file(directory_.path() / "s.json", json);
    check::vectors::verify(directory_.path(), mma::Profile::kHardware);
  }

 private:
  support::TemporaryDirectory directory_;
};

/// One m16n8k16, dense or sparse, or one dot product of a GPU.
void read_vector_set(const std::string& bytes) {
  static const ArraysOfASet dense(
      {{"A", {1, 16, 16}, 2}, {"B", {1, 16, 8}, 2}, {"C", {1, 16, 8}, 4}, {"D", {1, 16, 8}, 4}});
  static const ArraysOfASet sparse({{"A", {1, 16, 8}, 2},
                                    {"B", {1, 16, 8}, 2},
                                    {"C", {1, 16, 8}, 4},
                                    {"idx", {1, 16, 8}, 1},
                                    {"D_H1", {1, 16, 8}, 4},
                                    {"D_H2", {1, 16, 8}, 4}});
  static const ArraysOfASet dot_product({{"A", {1, 16}, 2}, {"B", {1, 16}, 2}, {"C", {1}, 4}, {"D_f32", {1}, 4}});
  for (const ArraysOfASet* const arrays : {&dense, &sparse}) {
    try {
      arrays->verify(bytes);
      return;
    } catch (const base::InputError&) {  // perhaps of other arrays
    }
  }
  dot_product.verify(bytes);
}

constexpr Reader kReaders[] = {
    {"measurements", Content::kText, read_measurements},
    {"evidence_distance", Content::kJson, read_evidence_distance},
    {"kernel_file", Content::kJson, read_kernel_file},
    {"kernel_archive", Content::kJson, read_kernel_archive},
    {"kernel_options", Content::kText, read_kernel_options},
    {"saved_result", Content::kJson, read_saved_result, 1000},
    {"capture", Content::kJson, read_capture},
    {"vector_set", Content::kJson, read_vector_set, 200},
};

}  // namespace

std::span<const Reader> comparison_readers() {
  return kReaders;
}

}  // namespace sptc::fuzz
