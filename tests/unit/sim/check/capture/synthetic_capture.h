// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sparsity/compress.h"
#include "models/sparsity/metadata_register.h"
#include "sim/check/capture/capture_crosscheck.h"
#include "sim/check/vectors/mma_batch.h"
#include "sim/io/tensor_file.h"
#include "sim/io/text_file.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/sim/check/kernel/synthetic_kernel.h"

#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <string_view>

namespace sptc::check::capture {

/// Operands of one array set, and the metadata registers that a sparse one was executed with.
struct SyntheticSet {
  static constexpr std::size_t kCases = 20;

  mma::MmaInstruction instruction;
  vectors::MmaOperands operands;
  std::vector<base::Matrix<std::uint8_t>> nibbles;  ///< per case
  vectors::BitArray registers, selectors;

  explicit SyntheticSet(std::string_view name) : instruction(mma::parse_instruction(name)) {
    const auto m = static_cast<std::size_t>(instruction.shape.m);
    const auto n = static_cast<std::size_t>(instruction.shape.n);
    const auto k = static_cast<std::size_t>(instruction.shape.k);
    const auto stored_k = static_cast<std::size_t>(instruction.compressed_k());
    operands.a = words({kCases, m, stored_k}, instruction.a_type, "set a");
    operands.b = words({kCases, k, n}, instruction.b_type, "set b");
    operands.c = words({kCases, m, n}, instruction.accumulator, "set c");
    if (instruction.sparse) {
      add_metadata(m);
    }
  }

  static vectors::BitArray words(std::vector<std::size_t> shape, numerics::DataType type, std::string_view label) {
    vectors::BitArray array = vectors::make_bit_array(std::move(shape), vectors::element_bytes(type));
    const base::Matrix<numerics::Word> random = kernel::random_words(1, array.bits.size(), type, label);
    std::copy_n(random.data(), random.size(), array.bits.begin());
    return array;
  }

  void add_metadata(std::size_t rows) {
    constexpr std::array<std::uint8_t, 6> kValid{0x4, 0x8, 0x9, 0xC, 0xD, 0xE};
    const auto format = sparsity::metadata_register_format(instruction.a_type, instruction.shape.k);
    const base::RandomStream stream = base::RandomStream(8).fork("nibbles");
    registers = vectors::make_bit_array({kCases, 32}, 4);
    selectors = vectors::make_bit_array({kCases}, 1);
    for (std::size_t index = 0; index < kCases; ++index) {
      base::Matrix<std::uint8_t> own(rows, static_cast<std::size_t>(format.groups()));
      for (std::size_t i = 0; i < own.size(); ++i) {
        own.data()[i] = kValid[stream.below(index * own.size() + i, kValid.size())];
      }
      nibbles.push_back(own);
      selectors.bits[index] = index % static_cast<std::size_t>(format.selectors());
      const sparsity::LaneWords lanes =
          sparsity::gather_metadata(format, static_cast<int>(selectors.bits[index]), own, 0, 0);
      std::copy(lanes.begin(), lanes.end(), registers.bits.begin() + static_cast<std::ptrdiff_t>(index * 32));
    }
    operands.indices = indices();
  }

  /// Where `nibbles` send each stored element.
  vectors::BitArray indices() const {
    vectors::BitArray result = vectors::make_bit_array(operands.a.shape, 4);
    const sparsity::Pattern pattern = sparsity::hardware_pattern(instruction.a_type);
    const auto kept = static_cast<std::size_t>(pattern.kept);
    auto next = result.bits.begin();
    for (const base::Matrix<std::uint8_t>& own : nibbles) {
      for (std::size_t row = 0; row < own.rows(); ++row) {
        for (std::size_t t = 0; t < own.cols() * kept; ++t) {
          *next++ = t / kept * static_cast<std::size_t>(pattern.group) +
                    static_cast<std::size_t>(
                        sparsity::selected_position(own(row, t / kept), static_cast<int>(t % kept), pattern));
        }
      }
    }
    return result;
  }

  vectors::BitArray compute(std::string_view arch) const {
    return vectors::execute(operands, instruction, mma::instruction_rules(mma::find_target(arch), instruction));
  }
};

/// A capture directory that tests write, fault by fault.
class SyntheticCapture {
 public:
  SyntheticCapture() {
    std::filesystem::create_directories(path() / "bits");
    std::filesystem::create_directories(path() / "kernels");
    write("capture.json", {{"schema", "sptcsim-capture/0.1"},
                           {"origin", "simulated"},
                           {"source", "a test"},
                           {"gpu", {{"name", "NVIDIA A100-SXM4-80GB"}, {"target", "sm_80"}}},
                           {"items", nlohmann::json::array()}});
  }

  const std::filesystem::path& path() const { return temporary_.path(); }

  void write(const std::string& file, const nlohmann::json& json) const { io::write_file(path() / file, json.dump()); }

  /// bits/<stem>.*: `d` is what the GPU is to have returned.
  void write_set(const SyntheticSet& set, const vectors::BitArray& d, const std::string& case_set = "defined",
                 const std::string& arch = "sm_80") const {
    const mma::MmaInstruction& instruction = set.instruction;
    const std::string qualifier = instruction.ptx_name();
    const std::string stem = "bits/" + qualifier + "." + case_set;
    write(stem + ".json", {{"measured", true},
                           {"arch", arch},
                           {"family", instruction.sparse ? "mmasp" : "mma"},
                           {"qualifier", qualifier},
                           {"m", instruction.shape.m},
                           {"n", instruction.shape.n},
                           {"k", instruction.shape.k},
                           {"a", numerics::name(instruction.a_type)},
                           {"b", numerics::name(instruction.b_type)},
                           {"cases", SyntheticSet::kCases},
                           {"case_set", case_set}});
    const auto array = [&](const char* name, const vectors::BitArray& words) {
      vectors::write_bit_array(path() / (stem + "." + name + ".npy"), words);
    };
    array("A", set.operands.a);
    array("B", set.operands.b);
    array("C", set.operands.c);
    array("D", d);
    if (instruction.sparse) {
      array("idx", *set.operands.indices);
      array("E", set.registers);
      array("sel", set.selectors);
    }
  }

  /// kernels/gemm.json with its arrays; D as given.
  void write_kernel(const kernel::SyntheticKernel& kernel, const base::Matrix<numerics::Word>& d,
                    const nlohmann::json& k_order) const {
    using numerics::DataType;
    io::write_npy(path() / "kernels/a.npy", kernel.a, DataType::kF16);
    io::write_npy(path() / "kernels/b.npy", kernel.b_columns.transposed(), DataType::kF16);
    io::write_npy(path() / "kernels/d.npy", d, DataType::kF32);
    nlohmann::json json{{"schema", "sptcsim-kernel/0.1"},
                        {"architecture", "A100"},
                        {"instruction", kernel.declared.instruction.ptx_name()},
                        {"a", {{"file", "a.npy"}}},
                        {"b", {{"file", "b.npy"}}},
                        {"d", {{"file", "d.npy"}}}};
    if (!k_order.is_null()) {
      json["k_order"] = k_order;
    }
    write("kernels/gemm.json", json);
  }

  CaptureCrosscheck check(const TimeSimulation& simulation = {}) const {
    return crosscheck_capture(read_capture(path()), mma::Profile::kHardware, simulation, 1);
  }

 private:
  support::TemporaryDirectory temporary_;
};

}  // namespace sptc::check::capture
