// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "sim/io/memory_guard.h"
#include "sim/io/tensor_file.h"
#include "sim/io/text_file.h"
#include "sim/run/check.h"
#include "sim/run/im2col.h"
#include "sim/run/run_parts.h"

#include <Eigen/Core>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sptc::run {
namespace {

using numerics::Word;

/// The tensors of one layer in one chain.
struct LayerWeights {
  const io::Tensor* weight = nullptr;  ///< [batch * m, k]
  std::vector<double> bias;            ///< [batch * m]
  bool sparse_kernel = false;
};

std::string place(const workload::NetworkData& network, const std::string& tensor) {
  return fmt::format("{}: tensor '{}'", network.file.string(), tensor);
}

LayerWeights layer_weights(const workload::NetworkData& network, const io::TensorFile& file,
                           const workload::Operation& op, bool sparse_chain) {
  const workload::LayerTensors& names = *op.tensors;
  const bool fine_tuned = sparse_chain && !names.sparse_weight.empty();
  const std::string& weight = fine_tuned ? names.sparse_weight : names.weight;
  const std::string& bias = fine_tuned ? names.sparse_bias : names.bias;
  LayerWeights result;
  result.weight = &file.tensor(weight);
  result.sparse_kernel = fine_tuned && op.prunable;
  const auto expected =
      static_cast<double>(op.batch) * static_cast<double>(op.shape.m) * static_cast<double>(op.shape.k);
  if (static_cast<double>(result.weight->elements()) != expected) {
    io::refuse("{} has {} elements where layer '{}' needs {} x {} x {}", place(network, weight),
               result.weight->elements(), op.name, op.batch, op.shape.m, op.shape.k);
  }
  const std::int64_t rows = op.batch * op.shape.m;
  result.bias.assign(static_cast<std::size_t>(rows), 0.0);
  if (!bias.empty()) {
    const io::Tensor& tensor = file.tensor(bias);
    if (tensor.elements() != rows) {
      io::refuse("{} has {} elements where layer '{}' needs {}", place(network, bias), tensor.elements(), op.name,
                 rows);
    }
    result.bias = io::as_doubles(tensor);
  }
  return result;
}

template <typename T>
base::Matrix<T> group_of(const std::vector<T>& all, const workload::Operation& op, std::int64_t group) {
  base::Matrix<T> result(static_cast<std::size_t>(op.shape.m), static_cast<std::size_t>(op.shape.k));
  const auto first = all.begin() + group * op.shape.m * op.shape.k;
  std::copy(first, first + op.shape.m * op.shape.k, result.data());
  return result;
}

/// Values between layers: [samples, features], flat; the features of a convolution are (h, w, c).
template <typename T>
using Activations = std::vector<T>;

/// The columns of B of one group: [n, k].
template <typename T>
base::Matrix<T> layer_input(const Activations<T>& values, const workload::Operation& op, std::int64_t group) {
  const auto size = static_cast<std::int64_t>(values.size());
  if (op.conv) {
    const workload::ConvGeometry& conv = *op.conv;
    if (size != conv.n * conv.h * conv.w * conv.c) {
      io::refuse(
          "layer '{}': the input has {} values where it needs {} x {} x "
          "{} x {} (n, h, w, c)",
          op.name, size, conv.n, conv.h, conv.w, conv.c);
    }
    return im2col(values, conv, group);
  }
  if (op.batch != 1 || size != op.shape.n * op.shape.k) {
    io::refuse("layer '{}': the input has {} values where it needs n x k = {} x {}, batch 1", op.name, size, op.shape.n,
               op.shape.k);
  }
  base::Matrix<T> columns(static_cast<std::size_t>(op.shape.n), static_cast<std::size_t>(op.shape.k));
  std::copy(values.begin(), values.end(), columns.data());
  return columns;
}

/// Adds bias, applies the activation and stores D [m, n] of one group as [n, groups * m]: NHWC, and
/// the layout that a following fully connected layer reads.
template <typename T, typename Element>
void store_output(const workload::Operation& op, std::int64_t group, const std::vector<double>& bias,
                  const Element& element, Activations<T>& output) {
  const std::int64_t features = op.batch * op.shape.m;
  for (std::int64_t i = 0; i < op.shape.m; ++i) {
    const std::int64_t feature = group * op.shape.m + i;
    const T shift = static_cast<T>(bias[static_cast<std::size_t>(feature)]);
    for (std::int64_t j = 0; j < op.shape.n; ++j) {
      T value = static_cast<T>(element(i, j)) + shift;
      if (op.activation == workload::Activation::kRelu && value < 0) {
        value = 0;
      }
      output[static_cast<std::size_t>(j * features + feature)] = value;
    }
  }
}

std::size_t output_size(const workload::Operation& op) {
  return static_cast<std::size_t>(op.batch * op.shape.m * op.shape.n);
}

Activations<double> forward(const workload::Operation& op, const LayerWeights& weights,
                            const Activations<double>& input) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const std::vector<double> all = io::as_doubles(*weights.weight);
  Activations<double> output(output_size(op));
  for (std::int64_t group = 0; group < op.batch; ++group) {
    const base::Matrix<double> a = group_of(all, op, group);
    const base::Matrix<double> b = layer_input(input, op, group);
    const Eigen::Map<const RowMajor> a_map(a.data(), op.shape.m, op.shape.k);
    const Eigen::Map<const RowMajor> b_map(b.data(), op.shape.n, op.shape.k);
    const RowMajor d = a_map * b_map.transpose();
    store_output(
        op, group, weights.bias, [&](std::int64_t i, std::int64_t j) { return d(i, j); }, output);
  }
  return output;
}

kernels::GemmOperands operands_of(const workload::NetworkData& network, const workload::Operation& op,
                                  const LayerWeights& weights, const std::vector<Word>& all,
                                  const Activations<float>& input, std::int64_t group) {
  kernels::GemmOperands operands;
  const base::Matrix<float> columns = layer_input(input, op, group);
  operands.b_columns = base::Matrix<Word>(columns.rows(), columns.cols());
  std::transform(columns.data(), columns.data() + columns.size(), operands.b_columns.data(),
                 [&](float value) { return numerics::from_double(value, op.dtype); });
  operands.a = group_of(all, op, group);
  if (weights.sparse_kernel) {
    try {
      operands.compressed_a = sparsity::compress(operands.a, op.dtype);
    } catch (const base::InputError& error) {
      io::refuse("{} of layer '{}': {}", place(network, weights.weight->name), op.name, error.what());
    }
    operands.a = base::Matrix<Word>();
  }
  return operands;
}

struct SimulatedChain {
  const workload::NetworkData& network;
  const gpu::GpuSpec& gpu;
  const SimulationOptions& options;
  KernelRunner& kernels;

  /// One layer; the figures go where its kernel belongs: `dense` or `sparse` of `result`.
  Activations<float> run(const workload::Operation& op, const LayerWeights& weights, const Activations<float>& input,
                         OperationResult& result) {
    const base::Matrix<Word> words = io::as_matrix(*weights.weight, op.dtype);
    const std::vector<Word> all(words.data(), words.data() + words.size());
    std::vector<kernels::GemmOperands> operands;
    for (std::int64_t group = 0; group < op.batch; ++group) {
      operands.push_back(operands_of(network, op, weights, all, input, group));
    }
    KernelRunner::ValueRun run = kernels.compute(op, weights.sparse_kernel, operands);
    std::optional<VariantResult>& slot = weights.sparse_kernel ? result.sparse : result.dense;
    if (options.check_mode() != CheckMode::kNone) {
      // A layer that stays dense runs in both chains: one set of figures, both D checked.
      run.result.check = check_entries(operands, run.d, {gpu, op.dtype, weights.sparse_kernel}, options,
                                       slot && slot->check ? *slot->check : CheckResult{});
    }
    slot = std::move(run.result);

    Activations<float> output(output_size(op));
    for (std::int64_t group = 0; group < op.batch; ++group) {
      const base::Matrix<Word>& d = run.d[static_cast<std::size_t>(group)];
      store_output(
          op, group, weights.bias,
          [&](std::int64_t i, std::int64_t j) {
            return numerics::to_double(d(static_cast<std::size_t>(i), static_cast<std::size_t>(j)),
                                       numerics::DataType::kF32);
          },
          output);
    }
    return output;
  }
};

/// The class with the largest score of each sample, the first of equals. `scores` is [samples,
/// features].
template <typename T>
std::vector<std::int64_t> classify(const Activations<T>& scores, std::int64_t samples, std::int64_t classes) {
  const std::size_t features = scores.size() / static_cast<std::size_t>(samples);
  std::vector<std::int64_t> result;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const auto first = scores.begin() + sample * static_cast<std::int64_t>(features);
    result.push_back(std::max_element(first, first + classes) - first);
  }
  return result;
}

ChainAccuracy judge(const std::vector<std::int64_t>& simulated, const std::vector<std::int64_t>& float64,
                    const std::vector<double>& labels) {
  ChainAccuracy outcome;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    outcome.simulated += static_cast<double>(simulated[i]) == labels[i] ? 1 : 0;
    outcome.float64 += static_cast<double>(float64[i]) == labels[i] ? 1 : 0;
    outcome.disagreements += simulated[i] != float64[i] ? 1 : 0;
  }
  outcome.simulated /= static_cast<double>(labels.size());
  outcome.float64 /= static_cast<double>(labels.size());
  return outcome;
}

void require_tensors_and_memory(const workload::NetworkData& network,
                                const std::vector<workload::Operation>& operations) {
  for (const workload::Operation& op : operations) {
    if (!op.tensors) {
      io::refuse(
          "layer '{}' has no tensors, but the workload is a network with "
          "values in {}",
          op.name, network.file.string());
    }
    if (!numerics::info(op.dtype).is_float()) {
      io::refuse(
          "layer '{}': the real values of a network need a floating-point type, not {}; use "
          "--data to replace them",
          op.name, numerics::name(op.dtype));
    }
    const double b = static_cast<double>(op.shape.n) * static_cast<double>(op.shape.k);
    const double d = static_cast<double>(op.shape.n) * static_cast<double>(op.shape.m);
    // B as words, f32 and double; D and the values between the layers.
    io::require_memory(static_cast<std::uint64_t>(std::min(static_cast<double>(op.batch) * (16 * b + 24 * d), 1e18)),
                       "the operands of '" + op.name + "'");
  }
}

}  // namespace

AccuracyResult run_network(const workload::NetworkData& network, const std::vector<workload::Operation>& operations,
                           const gpu::GpuSpec& gpu, const SimulationOptions& options, KernelRunner& kernels,
                           const std::function<void(std::size_t)>& progress, std::vector<OperationResult>& results) {
  require_tensors_and_memory(network, operations);
  const io::TensorFile file = io::TensorFile::open(network.file);
  const std::vector<double> input = io::as_doubles(file.tensor(network.input));
  const std::vector<double> labels = io::as_doubles(file.tensor(network.labels));
  const workload::Operation& last = operations.back();
  const auto samples = static_cast<std::int64_t>(labels.size());
  if (samples == 0 || last.shape.n != samples || last.batch != 1 || network.classes > last.shape.m) {
    io::refuse("{}: {} labels and {} classes do not fit the last layer '{}' with m = {}, n = {}",
               place(network, network.labels), samples, network.classes, last.name, last.shape.m, last.shape.n);
  }

  AccuracyResult accuracy;
  accuracy.samples = samples;
  SimulatedChain simulated{network, gpu, options, kernels};
  struct Chain {
    bool sparse;
    std::optional<ChainAccuracy>& outcome;
    Activations<float> single;
    Activations<double> exact;
  };
  std::vector<Chain> chains;
  if (options.variants != Variants::kSparse) {
    chains.push_back({false, accuracy.dense, {input.begin(), input.end()}, input});
  }
  if (options.variants != Variants::kDense) {
    chains.push_back({true, accuracy.sparse, {input.begin(), input.end()}, input});
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    progress(i);
    for (Chain& chain : chains) {
      const LayerWeights weights = layer_weights(network, file, operations[i], chain.sparse);
      chain.single = simulated.run(operations[i], weights, chain.single, results[i]);
      chain.exact = forward(operations[i], weights, chain.exact);
    }
  }
  for (const Chain& chain : chains) {
    chain.outcome = judge(classify(chain.single, samples, network.classes),
                          classify(chain.exact, samples, network.classes), labels);
  }
  return accuracy;
}

}  // namespace sptc::run
