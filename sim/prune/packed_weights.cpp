// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/packed_weights.h"

#include "sim/workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

namespace sptc::prune {
namespace {

/// Where the extents of a weight stand.
enum class Extents {
  kUnknown,
  kStated,      ///< two integers in the last of the parts
  kHalfOfK,     ///< [rows, k / 2] of the first part: two elements in a byte, or half of them kept
  kPackedK,     ///< GPTQ: [k / n, rows]; k is the length of the group index, if there is one
  kPackedRows,  ///< AWQ: [k, rows / n]; rows are those of the scales
  kBlocks,      ///< [.., rows, blocks, bytes], two elements a byte
};

struct Format {
  std::string_view name;
  std::string_view dtype;  ///< of the first part; empty: any
  bool sparse;
  Extents extents;
  std::string_view endings;  ///< of names, with blanks between them; all of which are there

  std::vector<std::string_view> parts() const { return workload::parts_of(endings, ' '); }
};

/// Formats in the order in which they are tried: the more parts, the earlier. Sources: the compressors of
/// compressed-tensors (vLLM), AutoGPTQ, AutoAWQ, bitsandbytes, Model Optimizer, HQQ, AQLM, ExLlamaV2,
/// torch.sparse.SparseSemiStructuredTensor and the checkpoints of gpt-oss.
constexpr Format kFormats[] = {
    {"sparse-bitmask", "", false, Extents::kStated, ".compressed .bitmask .row_offsets .shape"},
    {"sparse-24-bitmask", "", true, Extents::kStated, ".compressed .bitmask .shape"},
    {"marlin-24", "", true, Extents::kUnknown, ".weight_packed .meta"},
    {"marlin-24", "", true, Extents::kUnknown, ".B_24 .B_meta"},
    {"marlin", "I32", false, Extents::kUnknown, ".B .s"},
    {"nvfp4-pack-quantized", "U8", false, Extents::kHalfOfK, ".weight_packed .weight_scale .weight_global_scale"},
    {"pack-quantized", "", false, Extents::kStated, ".weight_packed .weight_scale .weight_shape"},
    {"mxfp4-pack-quantized", "U8", false, Extents::kHalfOfK, ".weight_packed .weight_scale"},
    {"packed", "", false, Extents::kUnknown, ".weight_packed"},
    {"NVFP4 of Model Optimizer", "U8", false, Extents::kHalfOfK, ".weight .weight_scale .weight_scale_2"},
    {"MXFP4 blocks", "U8", false, Extents::kBlocks, "_blocks _scales"},
    {"GPTQ", "", false, Extents::kPackedK, ".qweight .qzeros .scales .g_idx"},
    {"AWQ", "", false, Extents::kPackedRows, ".qweight .qzeros .scales"},
    {"quantised", "", false, Extents::kUnknown, ".qweight"},
    {"bitsandbytes", "", false, Extents::kUnknown, ".weight .weight.absmax"},
    {"bitsandbytes", "", false, Extents::kUnknown, ".weight .weight.quant_map"},
    {"HQQ", "", false, Extents::kUnknown, ".W_q .scale"},
    {"AQLM", "", false, Extents::kUnknown, ".codes .codebooks"},
    {"QuIP#", "", false, Extents::kUnknown, ".Qidxs"},
    {"EXL2", "", false, Extents::kUnknown, ".q_weight .q_scale"},
    {"EXL3", "", false, Extents::kUnknown, ".trellis .suh"},
    {"optimum-quanto", "", false, Extents::kUnknown, ".weight._data .weight._scale"},
    {"torchao", "", false, Extents::kUnknown, "_weight_qdata _weight_scale"},
    {"SparseSemiStructuredTensor", "", true, Extents::kHalfOfK, ".packed .meta"},
    {"SparseSemiStructuredTensor", "", true, Extents::kHalfOfK, ".packed .packed_t"},
    {"values and metadata of sptcsim", "", true, Extents::kHalfOfK, ".values .metadata"},
};

class Finder {
 public:
  explicit Finder(const ModelFile& model) : model_(model) {}

  std::vector<PackedWeight> all() {
    std::map<std::size_t, PackedWeight> found;
    for (const Format& format : kFormats) {
      for (const auto& [name, tensor] : model_.places()) {
        if (const auto stem = stem_of(name, format); stem && !taken_.contains(tensor)) {
          found.emplace(tensor, weight_of(*stem, tensor, format));
        }
      }
    }
    const auto weights = std::views::values(found);
    return {weights.begin(), weights.end()};
  }

 private:
  /// The name of a part; one without a stem has no dot.
  static std::string part(const std::string& stem, std::string_view ending) {
    return stem + std::string(stem.empty() && ending[0] == '.' ? ending.substr(1) : ending);
  }
  const io::TensorEntry* entry(const std::string& name) const {
    const auto place = model_.place_of(name);
    return place ? &model_.tensors()[*place].entry : nullptr;
  }

  /// What comes before the ending of the first part, where the others are there, too.
  std::optional<std::string> stem_of(const std::string& name, const Format& format) const {
    const std::string_view first = format.endings.substr(0, format.endings.find(' '));
    if (!format.dtype.empty() && entry(name)->dtype != format.dtype) {
      return std::nullopt;
    }
    if (!name.ends_with(first) && name != part("", first)) {
      return std::nullopt;
    }
    std::string stem = name.substr(0, name.size() - std::min(name.size(), first.size()));
    const std::vector<std::string_view> parts = format.parts();
    const bool all =
        std::all_of(parts.begin() + 1, parts.end(), [&](auto ending) { return entry(part(stem, ending)) != nullptr; });
    return all ? std::optional(std::move(stem)) : std::nullopt;
  }

  PackedWeight weight_of(const std::string& stem, std::size_t tensor, const Format& format) {
    PackedWeight weight;
    weight.name = stem.empty() ? model_.tensors()[tensor].entry.name : stem;
    weight.format = format.name;
    weight.sparse = format.sparse;
    weight.tensor = tensor;
    for (const std::string_view ending : format.parts()) {
      weight.parts.insert(model_.places().at(part(stem, ending)));
    }
    if (!stem.empty()) {  // zero points, shapes, scales of inputs, ..
      model_.for_each_below(stem + format.endings[0], [&](auto, std::size_t part) { weight.parts.insert(part); });
    }
    taken_.insert(weight.parts.begin(), weight.parts.end());
    set_extents(stem, format, weight);
    for (std::int64_t* const extent : {&weight.rows, &weight.k}) {
      *extent = *extent > kMostK ? 0 : *extent;
    }
    return weight;
  }

  void set_extents(const std::string& stem, const Format& format, PackedWeight& weight) const {
    const io::TensorEntry& values = model_.tensors()[weight.tensor].entry;
    const std::vector<std::int64_t>& shape = values.shape;
    if (format.extents == Extents::kStated) {
      set_stated(model_.places().at(part(stem, format.parts().back())), weight);
    } else if (shape.size() == 2 && format.extents == Extents::kHalfOfK) {
      weight.rows = shape[0];
      weight.k = 2 * std::min(shape[1], kMostK);
    } else if (format.extents == Extents::kBlocks && shape.size() >= 3) {
      weight.rows = shape[shape.size() - 3];
      weight.k = 2 * std::min(shape[shape.size() - 2], kMostK) * std::min(shape[shape.size() - 1], kMostK);
    } else if (shape.size() == 2 && (format.extents == Extents::kPackedK || format.extents == Extents::kPackedRows)) {
      set_packed(*entry(part(stem, ".scales")), shape, entry(part(stem, ".g_idx")), format, weight);
    }
  }

  /// The extents of the scales tell GPTQ from AWQ where there is no group index.
  static void set_packed(const io::TensorEntry& scales, const std::vector<std::int64_t>& shape,
                         const io::TensorEntry* index, const Format& format, PackedWeight& weight) {
    const bool same_rows = scales.shape.size() == 2 && scales.shape[1] == shape[1];
    if (format.extents == Extents::kPackedK) {
      weight.rows = shape[1];
      weight.k = index->shape.size() == 1 ? index->shape[0] : 0;
    } else if (same_rows) {
      weight.format = "GPTQ";
      weight.rows = shape[1];
    } else if (scales.shape.size() == 2) {
      weight.rows = scales.shape[1];
      weight.k = shape[0];
    }
  }

  void set_stated(std::size_t tensor, PackedWeight& weight) const {
    const io::TensorEntry& entry = model_.tensors()[tensor].entry;
    const std::size_t size = entry.dtype == "I64" ? 8 : entry.dtype == "I32" ? 4 : 0;
    if (size == 0 || entry.bytes != 2 * size) {
      return;
    }
    const std::vector<std::byte> bytes = model_.read(tensor);
    std::int64_t extents[2] = {0, 0};
    std::memcpy(&extents[0], bytes.data(), size);
    std::memcpy(&extents[1], bytes.data() + size, size);
    if (std::min(extents[0], extents[1]) > 0 && std::max(extents[0], extents[1]) <= kMostK) {
      weight.rows = extents[0];
      weight.k = extents[1];
    }
  }

  static constexpr std::int64_t kMostK = std::int64_t{1} << 30;
  const ModelFile& model_;
  std::set<std::size_t> taken_;
};

}  // namespace

std::string PackedWeight::reason() const {
  return sparse ? fmt::format("2:4 already, as {}", format)
                : fmt::format("packed as {}, which is not pruned here", format);
}

std::vector<PackedWeight> packed_weights(const ModelFile& model) {
  return Finder(model).all();
}

}  // namespace sptc::prune
