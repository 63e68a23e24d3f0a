// SPDX-License-Identifier: Apache-2.0
#include "sim/run/value_files.h"

#include "models/base/shape.h"
#include "models/batched/gemm.h"
#include "models/mma/catalogue.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/metadata_register.h"
#include "models/sparsity/pattern.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"
#include "sim/run/check.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

namespace sptc::run {
namespace {

using numerics::DataType;
using numerics::Word;

/// The element type of NumPy that holds words of `type`.
std::string_view stored_type(DataType type) {
  constexpr std::pair<DataType, std::string_view> kStored[] = {
      {DataType::kF16, "F16"}, {DataType::kBf16, "U16"}, {DataType::kTf32, "F32"}, {DataType::kF32, "F32"},
      {DataType::kS32, "I32"}, {DataType::kS8, "I8"},    {DataType::kS4, "I8"}};
  const auto* const found = std::ranges::find(kStored, type, [](const auto& row) { return row.first; });
  return found == std::end(kStored) ? "U8" : found->second;
}

/// The matrices of a batch as one array; `words` returns that of an entry.
template <typename Words>
io::Tensor array_of(const std::string& name, std::string_view dtype, std::size_t batch, Words words) {
  const auto bytes = static_cast<std::size_t>(io::find_element_type(dtype)->bytes);
  io::Tensor tensor{name, std::string(dtype), {}, {}};
  for (std::size_t entry = 0; entry < batch; ++entry) {
    const auto& matrix = words(entry);
    if (entry == 0) {
      tensor.shape = {static_cast<std::int64_t>(matrix.rows()), static_cast<std::int64_t>(matrix.cols())};
      tensor.bytes.reserve(batch * matrix.size() * bytes);
    }
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      const auto* const first = reinterpret_cast<const std::byte*>(&matrix.data()[i]);
      tensor.bytes.insert(tensor.bytes.end(), first, first + bytes);  // little-endian
    }
  }
  if (batch > 1) {
    tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(batch));
  }
  return tensor;
}

/// s4 is stored as the number that it is, all others as their bits.
base::Matrix<Word> as_stored_bits(base::Matrix<Word> words, DataType type) {
  for (std::size_t i = 0; type == DataType::kS4 && i < words.size(); ++i) {
    words.data()[i] = static_cast<Word>(numerics::to_integer(words.data()[i], type));
  }
  return words;
}

io::Tensor matrices(const std::string& name, DataType type, std::size_t batch, const auto& words) {
  return array_of(name, stored_type(type), batch,
                  [&](std::size_t entry) -> base::Matrix<Word> { return as_stored_bits(words(entry), type); });
}

template <typename T>
base::Matrix<T> widened(const base::Matrix<T>& from, std::size_t columns, T fill) {
  base::Matrix<T> result(from.rows(), columns, fill);
  for (std::size_t row = 0; row < from.rows(); ++row) {
    std::ranges::copy(from.row(row), result.row(row).begin());
  }
  return result;
}

/// Sparse operands with K padded to whole elements of metadata, which adds zeros to D.
std::vector<kernels::GemmOperands> with_whole_elements(const std::vector<kernels::GemmOperands>& operands,
                                                       DataType type) {
  const sparsity::Pattern pattern = sparsity::hardware_pattern(type);
  const std::int64_t groups = base::round_up(static_cast<std::int64_t>(operands.front().compressed_a.nibbles.cols()),
                                             sparsity::metadata_element_bits(type) / 4);
  const std::int64_t k = groups * pattern.group;
  std::vector<kernels::GemmOperands> result = operands;
  for (kernels::GemmOperands& entry : result) {
    sparsity::CompressedMatrix& a = entry.compressed_a;
    a.values = widened(a.values, static_cast<std::size_t>(groups * pattern.kept), Word{0});
    a.nibbles = widened(a.nibbles, static_cast<std::size_t>(groups), sparsity::kEmptyGroupNibble);
    a.logical_k = static_cast<std::size_t>(k);
    entry.b_columns = widened(entry.b_columns, static_cast<std::size_t>(k), Word{0});
  }
  return result;
}

std::vector<base::Matrix<Word>> computed(const LaunchValues& launch, const gpu::GpuSpec& gpu) {
  const mma::MmaInstruction& instruction = launch.kernel.instruction;
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<base::Matrix<Word>> d;
  for (const kernels::GemmOperands& operands : launch.operands) {
    batched::GemmOperands input;
    input.a = launch.sparse ? nullptr : &operands.a;
    input.compressed_a = launch.sparse ? &operands.compressed_a : nullptr;
    input.b_columns = &operands.b_columns;
    d.push_back(batched::gemm(instruction, gpu.step_rules(instruction), input,
                              {.threads = threads, .split_k = launch.kernel.split_k}));
  }
  return d;
}

void require_savable(const LaunchValues& launch, const SimulationOptions& options) {
  const std::string shown = io::printable(launch.op.name);
  if (launch.op.storage.block_scaled()) {
    io::refuse("'{}': values of block-scaled operands are not computed, so none are saved", shown);
  }
  if (launch.d == nullptr && launch.kernel.stream_k && !options.save_d.empty()) {
    io::refuse("--save-d: D of stream-K, by which '{}' runs, is not computed", shown);
  }
}

}  // namespace

ValueFiles::ValueFiles(const SimulationOptions& options, const gpu::GpuSpec& gpu) : options_(options), gpu_(gpu) {
  if (options.d_dtype && !options.save_d.empty() &&
      (*options.d_dtype == DataType::kE4m3 || *options.d_dtype == DataType::kS8)) {
    io::refuse("--save-d: D of {} needs a scale, which no option gives; save it as f32, f16, bf16 or s32",
               numerics::name(*options.d_dtype));
  }
  if (!options.save_operands.empty()) {
    operands_.emplace(options.save_operands);
  }
  if (!options.save_d.empty()) {
    d_.emplace(options.save_d);
  }
}

std::string ValueFiles::unique_name(const workload::Operation& op, bool sparse) {
  const std::string variant = sparse ? ".sparse" : "";
  std::string name = op.name;
  for (int copy = 2; !names_.insert(name + variant).second; ++copy) {
    name = fmt::format("{}#{}", op.name, copy);
  }
  return name;
}

void ValueFiles::add(const LaunchValues& launch) {
  require_savable(launch, options_);
  const std::string name = unique_name(launch.op, launch.sparse);
  if (operands_) {
    add_operands(launch, name);
  }
  if (d_) {
    add_d(launch, name + (launch.sparse ? ".sparse" : ""));
  }
}

void ValueFiles::add(const workload::Operation& op, bool sparse, const kernels::KernelResult& kernel,
                     const DataSource& data) {
  std::vector<kernels::GemmOperands> operands;
  require_savable({op, sparse, kernel, operands, nullptr}, options_);
  require_operand_memory(op);
  for (std::int64_t entry = 0; entry < op.batch; ++entry) {
    operands.push_back(make_operands(op, sparse, data, entry));
  }
  add({op, sparse, kernel, operands, nullptr});
}

void ValueFiles::add_operands(const LaunchValues& launch, const std::string& name) {
  const std::size_t batch = launch.operands.size();
  const DataType type = launch.op.dtype;
  const std::string own = name + (launch.sparse ? ".sparse" : "");
  const std::vector<kernels::GemmOperands> whole =
      launch.sparse ? with_whole_elements(launch.operands, type) : std::vector<kernels::GemmOperands>{};
  const auto entry = [&](std::size_t index) -> const kernels::GemmOperands& {
    return launch.sparse ? whole[index] : launch.operands[index];
  };
  if (launch.sparse) {
    operands_->add(matrices(own + ".a", type, batch, [&](std::size_t i) { return entry(i).compressed_a.values; }));
    const int bits = sparsity::metadata_element_bits(type);
    operands_->add(array_of(own + ".metadata", bits == 16 ? "U16" : "U32", batch, [&](std::size_t i) {
      return sparsity::pack_metadata(entry(i).compressed_a.nibbles, {.type = type});
    }));
    operands_->add(matrices(own + ".pruned_a", type, batch,
                            [&](std::size_t i) { return sparsity::decompress(entry(i).compressed_a); }));
  } else {
    operands_->add(matrices(own + ".a", type, batch, [&](std::size_t i) { return entry(i).a; }));
  }
  const bool padded = static_cast<std::int64_t>(entry(0).b_columns.cols()) != launch.op.shape.k;
  const std::string b_name = (padded ? own : name) + ".b";
  if (last_b_ != b_name) {
    operands_->add(matrices(b_name, type, batch, [&](std::size_t i) { return entry(i).b_columns.transposed(); }));
    last_b_ = b_name;
  }
  add_kernel(launch, own, b_name);
}

void ValueFiles::add_kernel(const LaunchValues& launch, const std::string& name, const std::string& b_name) {
  const mma::MmaInstruction& instruction = launch.kernel.instruction;
  const mma::Target& target = mma::target_of_gpu(gpu_.name, gpu_.instruction_set);
  const auto rules = mma::find_step_rules(target.architecture, instruction);
  if (gpu_.numerics != target.architecture || !rules ||
      gpu_.sm.tensor_core.accumulator_design() != mma::AccumulatorDesign{} || launch.kernel.stream_k) {
    return;
  }
  nlohmann::ordered_json kernel{{"schema", "sptcsim-kernel/0.1"},
                                {"name", name},
                                {"architecture", target.name},
                                {"instruction", instruction.ptx_name()},
                                {"a", {{"tensor", name + ".a"}}}};
  if (launch.sparse) {
    kernel["metadata"] = {{"tensor", name + ".metadata"}, {"layout", "canonical"}};
  }
  kernel["b"] = {{"tensor", b_name}};
  kernel["d"] = {{"tensor", name + ".d"}};
  if (options_.d_dtype) {  // else what a file holds
    kernel["d"]["type"] = numerics::name(*options_.d_dtype);
  }
  if (launch.kernel.split_k > 1) {
    kernel["k_order"] = {{"split_k", launch.kernel.split_k}, {"reduction", "parallel"}};
  }
  const std::string text = kernel.dump(2);
  io::Tensor tensor{name + ".kernel", "U8", {static_cast<std::int64_t>(text.size())}, {}};
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  tensor.bytes.assign(first, first + text.size());
  operands_->add(tensor);
}

void ValueFiles::add_d(const LaunchValues& launch, const std::string& name) {
  const DataType from = gpu_.step_rules(launch.kernel.instruction).output;
  const DataType to = options_.d_dtype.value_or(from);
  if ((from == DataType::kS32) != (to == DataType::kS32)) {
    io::refuse("--save-d: '{}' sums up in {}, which is not rounded to {}", io::printable(launch.op.name),
               numerics::name(from), numerics::name(to));
  }
  std::vector<base::Matrix<Word>> made;
  if (launch.d == nullptr) {
    made = computed(launch, gpu_);
  }
  const auto& d = launch.d == nullptr ? made : *launch.d;
  d_->add(matrices(name + ".d", to, d.size(), [&](std::size_t entry) {
    base::Matrix<Word> words = d[entry];
    for (std::size_t i = 0; from != to && i < words.size(); ++i) {
      words.data()[i] = numerics::from_double(numerics::to_double(words.data()[i], from), to);
    }
    return words;
  }));
}

void ValueFiles::commit() {
  if (operands_) {
    operands_->commit();
  }
  if (d_) {
    d_->commit();
  }
}

}  // namespace sptc::run
