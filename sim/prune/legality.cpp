// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/legality.h"

#include "models/base/shape.h"
#include "models/base/text.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/prune/checkpoint_layer.h"
#include "sim/prune/layer_choice.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

namespace sptc::prune {
namespace {

using numerics::DataType;
using Json = nlohmann::ordered_json;

constexpr std::string_view kTorch =
    "torch/sparse/semi_structured.py of PyTorch, _DTYPE_SHAPE_CONSTRAINTS; weights contiguous";
constexpr std::string_view kCusparselt =
    "what PyTorch asks for cuSPARSELt (torch/sparse/semi_structured.py; float32 in its first versions); 8 bits: k of "
    "both operands contiguous (NVIDIA/CUDALibrarySamples, issue 219)";
constexpr std::string_view kScaled =
    "aten/src/ATen/native/cuda/Blas.cpp of PyTorch, checks of _scaled_mm (pull request 108308)";
constexpr std::string_view kCutlass =
    "tools/util/include/cutlass/util/host_reorder.h of CUTLASS: blocks of rows, pairs of elements";
constexpr std::string_view kCutlass2 =
    "include/cutlass/gemm/kernel/sparse_gemm.h of CUTLASS, can_implement(): k of whole tiles, of which 64 x 2 bytes is "
    "the smallest; operands of 16 bytes; 8 and 4 bits k-contiguous";
constexpr std::string_view kSm90 =
    "include/cutlass/gemm/collective/builders/sm90_sparse_config.inl of CUTLASS, TensorAAlignmentK of k-contiguous A; "
    "metadata is padded; PTX ISA, wgmma: only 16 bits may be [k, m]";
constexpr std::string_view kSm100 =
    "include/cutlass/gemm/collective/builders/sm1xx_sparse_config.inl of CUTLASS, TensorAAlignmentK of k-contiguous A; "
    "metadata is padded";
constexpr std::string_view kTensorRt =
    "apex/contrib/sparsity/asp.py: what ASP prunes for TensorRT, which publishes no multiples";
constexpr std::string_view kMarlin = "torchao/sparsity/marlin/utils.py of torchao: blocks of 64 rows";
constexpr std::string_view kPtx = "PTX ISA, mma.sp.m16n8k*: shape of the deepest instruction";

/// Library, type, 2:4, least sm, multiples of m, k and n, pads n, source, k contiguous, most sm.
constexpr LibraryRule kRules[] = {
    {"cuSPARSELt", DataType::kF16, true, 80, 16, 16, 8, false, kCusparselt},
    {"cuSPARSELt", DataType::kBf16, true, 80, 16, 16, 8, false, kCusparselt},
    {"cuSPARSELt", DataType::kTf32, true, 80, 8, 8, 4, false, kCusparselt},
    {"cuSPARSELt", DataType::kS8, true, 80, 32, 32, 16, false, kCusparselt, true},
    {"cuSPARSELt", DataType::kE4m3, true, 89, 32, 32, 16, false, kCusparselt, true},
    {"PyTorch, cuSPARSELt", DataType::kF16, true, 80, 16, 16, 8, true, kTorch, true},
    {"PyTorch, cuSPARSELt", DataType::kBf16, true, 80, 16, 16, 8, true, kTorch, true},
    {"PyTorch, cuSPARSELt", DataType::kS8, true, 80, 32, 32, 16, true, kTorch, true},
    {"PyTorch, cuSPARSELt", DataType::kE4m3, true, 89, 32, 32, 16, true, kTorch, true},
    {"PyTorch, CUTLASS", DataType::kF16, true, 80, 32, 64, 8, true, kTorch, true},
    {"PyTorch, CUTLASS", DataType::kBf16, true, 80, 32, 64, 8, true, kTorch, true},
    {"PyTorch, CUTLASS", DataType::kS8, true, 80, 16, 128, 16, true, kTorch, true},
    {"PyTorch, CUTLASS", DataType::kTf32, true, 80, 32, 32, 4, true, kTorch, true},
    {"PyTorch _scaled_mm, cuBLASLt", DataType::kE4m3, false, 89, 16, 16, 1, false, kScaled},
    {"PyTorch _scaled_mm, cuBLASLt", DataType::kE5m2, false, 89, 16, 16, 1, false, kScaled},
    {"CUTLASS 2.x, SparseGemm", DataType::kF16, true, 80, 32, 64, 8, false, kCutlass2},
    {"CUTLASS 2.x, SparseGemm", DataType::kBf16, true, 80, 32, 64, 8, false, kCutlass2},
    {"CUTLASS 2.x, SparseGemm", DataType::kTf32, true, 80, 32, 32, 4, false, kCutlass2},
    {"CUTLASS 2.x, SparseGemm", DataType::kS8, true, 80, 16, 128, 16, false, kCutlass2, true},
    {"CUTLASS 2.x, SparseGemm", DataType::kS4, true, 80, 16, 256, 32, false, kCutlass2, true},
    {"CUTLASS 2.x, metadata", DataType::kF16, true, 80, 32, 32, 1, false, kCutlass},
    {"CUTLASS 2.x, metadata", DataType::kBf16, true, 80, 32, 32, 1, false, kCutlass},
    {"CUTLASS 2.x, metadata", DataType::kTf32, true, 80, 32, 16, 1, false, kCutlass},
    {"CUTLASS 2.x, metadata", DataType::kS8, true, 80, 16, 64, 1, false, kCutlass},
    {"CUTLASS 2.x, metadata", DataType::kS4, true, 80, 16, 128, 1, false, kCutlass},
    {"CUTLASS 3.x, sm90", DataType::kF16, true, 90, 1, 16, 1, false, kSm90, false, 90},
    {"CUTLASS 3.x, sm90", DataType::kBf16, true, 90, 1, 16, 1, false, kSm90, false, 90},
    {"CUTLASS 3.x, sm90", DataType::kTf32, true, 90, 1, 8, 1, false, kSm90, true, 90},
    {"CUTLASS 3.x, sm90", DataType::kS8, true, 90, 1, 32, 1, false, kSm90, true, 90},
    {"CUTLASS 3.x, sm90", DataType::kE4m3, true, 90, 1, 32, 1, false, kSm90, true, 90},
    {"CUTLASS 3.x, sm90", DataType::kE5m2, true, 90, 1, 32, 1, false, kSm90, true, 90},
    {"CUTLASS 3.x, sm100", DataType::kF16, true, 100, 1, 16, 1, false, kSm100, false, 109},
    {"CUTLASS 3.x, sm100", DataType::kBf16, true, 100, 1, 16, 1, false, kSm100, false, 109},
    {"CUTLASS 3.x, sm100", DataType::kTf32, true, 100, 1, 8, 1, false, kSm100, false, 109},
    {"CUTLASS 3.x, sm100", DataType::kS8, true, 100, 1, 32, 1, false, kSm100, false, 109},
    {"CUTLASS 3.x, sm100", DataType::kE4m3, true, 100, 1, 32, 1, false, kSm100, false, 109},
    {"CUTLASS 3.x, sm100", DataType::kE5m2, true, 100, 1, 32, 1, false, kSm100, false, 109},
    {"TensorRT", DataType::kF16, true, 80, 8, 16, 1, false, kTensorRt},
    {"TensorRT", DataType::kS8, true, 80, 8, 16, 1, false, kTensorRt},
    {"Sparse-Marlin, metadata", DataType::kF16, true, 80, 64, 32, 1, false, kMarlin},
    {"mma.sp", DataType::kF16, true, 80, 16, 32, 8, false, kPtx},
    {"mma.sp", DataType::kBf16, true, 80, 16, 32, 8, false, kPtx},
    {"mma.sp", DataType::kTf32, true, 80, 16, 16, 8, false, kPtx},
    {"mma.sp", DataType::kS8, true, 80, 16, 64, 8, false, kPtx},
    {"mma.sp", DataType::kS4, true, 80, 16, 128, 8, false, kPtx},
    {"mma.sp", DataType::kE4m3, true, 89, 16, 64, 8, false, kPtx},
    {"mma.sp", DataType::kE5m2, true, 89, 16, 64, 8, false, kPtx},
};

std::string extents(const ProductShape& shape) {
  return shape.n > 0 ? fmt::format("{} x {} x {}", shape.m, shape.n, shape.k)
                     : fmt::format("{} x {}", shape.m, shape.k);
}

Legality judged(const LibraryRule& rule, const ProductShape& shape, int sm) {
  Legality result{&rule, {}, shape};
  result.nearest.m = base::round_up(shape.m, rule.m);
  result.nearest.k = base::round_up(shape.k, rule.k);
  if (!rule.pads_n && shape.n > 0) {
    result.nearest.n = base::round_up(shape.n, rule.n);
  }
  const auto refuse = [&](const std::string& reason) { result.reason += (result.reason.empty() ? "" : "; ") + reason; };
  if (sm < rule.least_sm) {
    refuse(fmt::format("needs sm_{}", rule.least_sm));
  } else if (rule.most_sm > 0 && sm > rule.most_sm) {
    refuse(fmt::format("its instructions are those of sm_{}", rule.least_sm));
  }
  if (rule.k_contiguous && shape.k_first) {
    refuse("weights are stored [k, m], and it takes [m, k]");
  }
  const auto check = [&](char name, std::int64_t given, std::int64_t legal, std::int64_t multiple) {
    if (given != legal) {
      refuse(fmt::format("{} = {} is no multiple of {}", name, given, multiple));
    }
  };
  check('m', shape.m, result.nearest.m, rule.m);
  check('n', shape.n, result.nearest.n, rule.n);
  check('k', shape.k, result.nearest.k, rule.k);
  return result;
}

}  // namespace

std::vector<Legality> legality_of(const ProductShape& shape, int sm) {
  std::vector<Legality> result;
  for (const LibraryRule& rule : kRules) {
    if (rule.type == shape.type) {
      result.push_back(judged(rule, shape, sm));
    }
  }
  return result;
}

std::vector<ProductShape> shapes_of_model(const std::filesystem::path& model, std::optional<DataType> type) {
  const auto file = ModelFile::open(model);
  std::map<std::size_t, CompressedForm> stored;  // by the tensor with the values
  for (const CheckpointWeight& weight : checkpoint_weights(*file).weights) {
    stored.emplace(weight.parts.front(), weight.form);
  }
  std::vector<ProductShape> shapes;
  for (const ChosenLayer& layer : find_layers(*file, {}).layers) {
    const LayerLayout& layout = layer.layout;
    const DataType executed = type.value_or(layer.type == DataType::kF32 ? DataType::kTf32 : layer.type);
    if (const auto form = stored.find(layer.tensor); form != stored.end()) {
      const CompressedForm& matrix = form->second;
      const DataType codes = matrix.type == DataType::kS8 && matrix.bits == 4 ? DataType::kS4 : matrix.type;
      shapes.push_back({layer.name, matrix.rows, 0, matrix.k, type.value_or(codes), layer.skipped});
    } else if (layer.packed && layer.sparse && layout.rows > 0 && layout.k > 0) {
      shapes.push_back({layer.name, layout.rows, 0, layout.k, executed, layer.skipped});
    } else if (!layer.packed && !layer.by_name && layout.matrix_rows() * layout.k > 0) {
      const bool k_first = layout.stacked ? layout.k_axis == 1 : layout.k_first;
      shapes.push_back({layer.name, layout.stacked ? layout.taps : layout.rows, 0,
                        layout.stacked ? layout.k : layout.k * layout.taps, executed, "", k_first});
    }
  }
  if (shapes.empty()) {
    choose_layers(*file, {});  // says why
    io::refuse("{}: the extents of its weights are not known", file->shown());
  }
  return shapes;
}

std::string legality_text(const std::vector<ProductShape>& shapes, const mma::Target& target) {
  constexpr std::size_t kNameBytes = 48;
  std::string text;
  std::set<std::string_view> sources;
  for (const ProductShape& shape : shapes) {
    const std::string name = io::printable(base::shortened(shape.name, kNameBytes));
    text += fmt::format("{}{}{}, {} on {}{}{}{}\n", name, name.empty() ? "" : ": ", extents(shape),
                        numerics::name(shape.type), target.name, shape.stored.empty() ? "" : "; ", shape.stored,
                        shape.k_first ? "; stored [k, m]" : "");
    const std::vector<Legality> rules = legality_of(shape, target.compute_capability());
    text += rules.empty() ? "  no library of this table takes its type\n" : "";
    for (const Legality& legality : rules) {
      const LibraryRule& rule = *legality.rule;
      text += fmt::format("  {:<29} {:<5} {}", rule.library, rule.sparse ? "2:4" : "dense",
                          legality.accepts() ? "yes" : "no: " + legality.reason);
      if (extents(legality.nearest) != extents(shape)) {
        text += "; takes " + extents(legality.nearest);
      }
      text += rule.pads_n && shape.n % rule.n != 0 ? fmt::format("; pads n to {}\n", base::round_up(shape.n, rule.n))
                                                   : "\n";
      sources.insert(rule.source);
    }
  }
  text += "sources:\n";
  for (const std::string_view source : sources) {
    text += fmt::format("  {}\n", source);
  }
  return text;
}

std::string legality_json(const std::vector<ProductShape>& shapes, const mma::Target& target) {
  Json list = Json::array();
  for (const ProductShape& shape : shapes) {
    Json libraries = Json::array();
    for (const Legality& legality : legality_of(shape, target.compute_capability())) {
      libraries.push_back(
          {{"library", legality.rule->library},
           {"sparse", legality.rule->sparse},
           {"accepts", legality.accepts()},
           {"reason", legality.reason},
           {"pads_n", legality.rule->pads_n},
           {"k_contiguous", legality.rule->k_contiguous},
           {"nearest", {{"m", legality.nearest.m}, {"n", legality.nearest.n}, {"k", legality.nearest.k}}},
           {"source", legality.rule->source}});
    }
    list.push_back({{"name", shape.name},
                    {"m", shape.m},
                    {"n", shape.n},
                    {"k", shape.k},
                    {"dtype", numerics::name(shape.type)},
                    {"k_first", shape.k_first},
                    {"libraries", libraries}});
    if (!shape.stored.empty()) {
      list.back()["stored"] = shape.stored;
    }
  }
  const Json root{{"schema", "sptcsim-legal/0.1"}, {"target", target.name}, {"shapes", list}};
  return io::json_text(root, 2) + "\n";
}

}  // namespace sptc::prune
