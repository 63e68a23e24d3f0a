// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/kernel_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

namespace sptc::workload::profile {
namespace {

using Unit = KernelName::Unit;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(mark);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

/// "128x64" as {128, 64}; empty where it is not numbers with crosses.
std::vector<int> extents(std::string_view text) {
  std::vector<int> values;
  for (const std::string_view part : split(text, 'x')) {
    int value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 0) {
      return {};
    }
    values.push_back(value);
  }
  return values;
}

/// The type that libraries call `word`; empty where it is none.
std::string_view type_of(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kTypes{
      {{"f16", "f16"},
       {"fp16", "f16"},
       {"bf16", "bf16"},
       {"tf32", "tf32"},
       {"f32", "f32"},
       {"fp32", "f32"},
       {"f64", "f64"},
       {"s8", "s8"},
       {"i8", "s8"},
       {"int8", "s8"},
       {"f8", "e4m3"},
       {"e4m3", "e4m3"},
       {"e5m2", "e5m2"},
       {"s32", "s32"},
       {"i32", "s32"},
       {"u8", "u8"}}};
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [word](const auto& row) { return row.first == word; });
  return found == kTypes.end() ? std::string_view() : found->second;
}

/// "bf16f32" as its two types.
std::optional<std::pair<std::string_view, std::string_view>> type_pair(std::string_view word) {
  for (std::size_t at = 2; at + 2 <= word.size(); ++at) {
    const auto first = type_of(word.substr(0, at));
    const auto second = type_of(word.substr(at));
    if (!first.empty() && !second.empty()) {
      return std::pair(first, second);
    }
  }
  return std::nullopt;
}

/// "16816" as 16x8x16, "64x256x32" as it stands.
base::GemmShape mma_shape(std::string_view digits) {
  static constexpr std::array<std::pair<std::string_view, base::GemmShape>, 9> kShapes{
      {{"884", {8, 8, 4}},
       {"1688", {16, 8, 8}},
       {"16816", {16, 8, 16}},
       {"16832", {16, 8, 32}},
       {"16864", {16, 8, 64}},
       {"8816", {8, 8, 16}},
       {"8832", {8, 8, 32}},
       {"161616", {16, 16, 16}},
       {"161632", {16, 16, 32}}}};
  for (const auto& [name, shape] : kShapes) {
    if (name == digits) {
      return shape;
    }
  }
  const std::vector<int> parts = extents(digits);
  return parts.size() == 3 ? base::GemmShape{parts[0], parts[1], parts[2]} : base::GemmShape{};
}

/// "s16816spgemm", "h884gemm", "sgemm", "s1688fprop".
bool read_operation(std::string_view word, KernelName& kernel) {
  static constexpr std::array<std::string_view, 6> kOperations{"spgemm", "gemm",  "fprop",
                                                               "dgrad",  "wgrad", "cudnn"};
  for (const std::string_view operation : kOperations) {
    if (!word.ends_with(operation)) {
      continue;
    }
    std::string_view front = word.substr(0, word.size() - operation.size());
    const std::size_t digits = front.find_first_of("0123456789");
    const std::string_view letters = front.substr(0, digits);
    if (letters.size() > 2 || (letters.empty() && digits == std::string_view::npos)) {
      return false;  // "gemm" alone says nothing of the units
    }
    kernel.sparse = kernel.sparse || operation == "spgemm";
    kernel.operation = operation == "spgemm" ? "gemm" : operation == "cudnn" ? "fprop" : operation;
    const char accumulator = letters.empty() ? ' ' : letters.back();
    kernel.accumulator = accumulator == 's'   ? "f32"
                         : accumulator == 'h' ? "f16"
                         : accumulator == 'i' ? "s32"
                         : accumulator == 'd' ? "f64"
                                              : "";
    if (digits == std::string_view::npos) {
      kernel.unit = Unit::kSimt;
      kernel.a_type = kernel.d_type = kernel.accumulator;
    } else {
      kernel.mma = mma_shape(front.substr(digits));
    }
    return true;
  }
  return false;
}

bool read_generation(std::string_view word, KernelName& kernel) {
  static constexpr std::array<std::string_view, 5> kFamilies{"volta", "turing", "ampere", "maxwell",
                                                             "hopper"};
  const bool family = std::find(kFamilies.begin(), kFamilies.end(), word) != kFamilies.end();
  const bool sm = word.starts_with("sm") && word.size() > 3 && std::isdigit(word[2]) != 0;
  if (family || sm) {
    kernel.generation = word;
  }
  return family || sm;
}

bool is_transposes(std::string_view word) {
  return word.size() >= 2 && word.size() <= 4 && std::all_of(word.begin(), word.end(), [](char c) {
           return c == 't' || c == 'n' || c == 'T' || c == 'N';
         });
}

/// "128x64", then "64x6": tile, then K and stages.
void read_extents(std::string_view word, KernelName& kernel) {
  const std::vector<int> values = extents(word);
  if (values.size() == 3 && kernel.tile.m == 0) {
    kernel.tile = {values[0], values[1], values[2]};
  } else if (values.size() == 3 && kernel.cluster_m == 0) {
    kernel.cluster_m = values[0];
    kernel.cluster_n = values[1];
  } else if (values.size() == 2 && kernel.tile.m == 0) {
    kernel.tile = {values[0], values[1], 0};
  } else if (values.size() == 2 && kernel.tile.k == 0) {
    kernel.tile.k = values[0];
    kernel.stages = values[1];
  } else if (values.size() == 2 && kernel.cluster_m == 0) {
    kernel.cluster_m = values[0];
    kernel.cluster_n = values[1];
  }
}

/// cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8,
/// ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_nn, volta_sgemm_128x64_tn.
std::optional<KernelName> decode_tiled(std::string_view name) {
  KernelName kernel;
  bool operation = false;
  std::vector<std::string_view> types;
  for (const std::string_view word : split(name, '_')) {
    if (word.starts_with("cutlass")) {
      kernel.library = "cutlass";
    } else if (word == "70" || word == "75" || word == "80" || word == "90") {
      kernel.generation = "sm" + std::string(word);
    } else if (word == "simt") {
      kernel.unit = Unit::kSimt;
    } else if (!operation && read_operation(word, kernel)) {
      operation = true;
    } else if (!type_of(word).empty()) {
      types.push_back(type_of(word));
    } else if (is_transposes(word) && kernel.transposes.empty()) {
      kernel.transposes = word;
    } else if (!read_generation(word, kernel)) {
      read_extents(word, kernel);
    }
    kernel.split_k = kernel.split_k || word == "splitK" || word == "splitk";
  }
  if (!operation) {
    return std::nullopt;
  }
  if (kernel.library.empty()) {
    kernel.library = contains(name, "cudnn")   ? "cudnn"
                     : name.starts_with("trt") ? "tensorrt"
                                               : "cublas";
  }
  if (kernel.unit == Unit::kTensorCore) {
    // s1688 and no type: f32 operands as tf32. One type: of the operands; more: D first, then A.
    const bool names_type = !types.empty();
    const bool cutlass3 = name.starts_with("cutlass3x") && types.size() >= 2;
    kernel.d_type = names_type ? std::string(cutlass3 ? types.back() : types.front()) : "f32";
    kernel.a_type = !names_type ? kernel.mma.k == 8 && kernel.accumulator == "f32" ? "tf32" : "f16"
                    : cutlass3  ? std::string(types.front())
                                : std::string(types.back());
    if (types.size() == 1) {
      kernel.d_type = kernel.a_type == "tf32" ? "f32" : "";
    }
  }
  return kernel;
}

/// sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_.._tilesize128x128x32_stage4_..
std::optional<KernelName> decode_xmma(std::string_view name) {
  KernelName kernel;
  kernel.library = "xmma";
  int pairs = 0;
  for (const std::string_view word : split(name, '_')) {
    if (word == "fprop" || word == "dgrad" || word == "wgrad") {
      kernel.operation = word;
    } else if (word == "sparse") {
      kernel.sparse = true;
    } else if (word == "simt" || word == "ffma") {
      kernel.unit = Unit::kSimt;
    } else if (word.starts_with("tilesize")) {
      read_extents(word.substr(8), kernel);
    } else if (word.starts_with("stage")) {
      const auto stages = extents(word.substr(5));
      kernel.stages = stages.size() == 1 ? stages[0] : 0;
    } else if (word.starts_with("tensor") || word.starts_with("sptensor")) {
      kernel.sparse = kernel.sparse || word.starts_with("sp");
      kernel.mma = mma_shape(word.substr(word.find('r') + 1));
    } else if (const auto pair = type_pair(word)) {
      if (pairs++ == 0) {
        kernel.a_type = pair->first;
        kernel.d_type = pair->second;
      } else {
        kernel.a_type = pair->first == "tf32" ? "tf32" : kernel.a_type;
        kernel.accumulator = pair->second;
      }
    } else if (is_transposes(word) && kernel.transposes.empty()) {
      kernel.transposes = word;
    } else {
      read_generation(word, kernel);
    }
    kernel.split_k = kernel.split_k || word == "splitK" || word == "splitKreduce";
  }
  return kernel;
}

/// nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN
std::optional<KernelName> decode_nvjet(std::string_view name) {
  constexpr std::string_view kLetters = "htsqrbid";
  static constexpr std::array<std::string_view, 8> kTypes{"f16",  "bf16", "f32", "e4m3",
                                                          "e5m2", "s8",   "s32", "f64"};
  KernelName kernel;
  kernel.library = "nvjet";
  const auto words = split(name, '_');
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (kernel.a_type.empty() && word.size() >= 3 && word.size() <= 6 &&
        word.find_first_not_of(kLetters) == std::string_view::npos) {
      kernel.a_type = kTypes[kLetters.find(word.front())];
      kernel.d_type = kTypes[kLetters.find(word.back())];
      kernel.accumulator = "f32";
    } else if (word == "splitK") {
      kernel.split_k = true;
    } else if (is_transposes(word) && i + 1 == words.size()) {
      kernel.transposes = word;
    } else if (kernel.tile.k > 0 && kernel.stages == 0 && extents(word).size() == 1) {
      kernel.stages = extents(word)[0];
    } else if (!read_generation(word, kernel)) {
      read_extents(word, kernel);
    }
  }
  return kernel;
}

/// Mangled: ..9GemmShapeILi128ELi128ELi32EE..10tfloat32_t..
std::optional<KernelName> decode_mangled(std::string_view name) {
  constexpr std::string_view kShape = "GemmShapeILi";
  const std::size_t at = name.find(kShape);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::vector<int> tile;
  std::string_view rest = name.substr(at + kShape.size());
  while (tile.size() < 3) {
    int value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc()) {
      return std::nullopt;
    }
    tile.push_back(value);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    rest.remove_prefix(std::min<std::size_t>(rest.size(), std::string_view("ELi").size()));
  }
  KernelName kernel;
  kernel.library = "cutlass";
  kernel.tile = {tile[0], tile[1], tile[2]};
  kernel.operation = contains(name, "Wgrad")   ? "wgrad"
                     : contains(name, "Dgrad") ? "dgrad"
                     : contains(name, "Fprop") ? "fprop"
                                               : "gemm";
  kernel.a_type = contains(name, "tfloat32_t")   ? "tf32"
                  : contains(name, "bfloat16_t") ? "bf16"
                  : contains(name, "half_t")     ? "f16"
                                                 : "";
  kernel.unit = contains(name, "TensorOp") ? Unit::kTensorCore : Unit::kSimt;
  return kernel;
}

/// Kernels without tile in the name.
std::optional<KernelName> decode_plain(std::string_view name) {
  struct Row {
    std::string_view part, library;
    Unit unit;
    std::string_view operation;
  };
  static constexpr std::array<Row, 15> kRows{
      {{"splitKreduce_kernel", "cublas", Unit::kHelper, "split-K reduction"},
       {"gemvx::kernel", "cublas", Unit::kGemv, "gemv"},
       {"gemv2N", "cublas", Unit::kGemv, "gemv"},
       {"gemv2T", "cublas", Unit::kGemv, "gemv"},
       {"gemvNSP", "cublas", Unit::kGemv, "gemv"},
       {"cublasGemvParams", "cublas", Unit::kGemv, "gemv"},
       {"gemmk1_kernel", "cublas", Unit::kSimt, "gemm"},
       {"dot_kernel", "cublas", Unit::kGemv, "dot"},
       {"reduce_1Block_kernel", "cublas", Unit::kHelper, "reduction"},
       {"gemmSN_", "cublas", Unit::kSimt, "gemm"},
       {"magma_sgemm", "magma", Unit::kSimt, "gemm"},
       {"sgemm_largek", "cublas", Unit::kSimt, "gemm"},
       {"reduce_wgrad", "cudnn", Unit::kHelper, "reduction"},
       {"implicit_convolve_sgemm", "cudnn", Unit::kSimt, "fprop"},
       {"convolve_common_engine_float", "cudnn", Unit::kSimt, "fprop"}}};
  for (const Row& row : kRows) {
    if (contains(name, row.part)) {
      KernelName kernel;
      kernel.library = row.library;
      kernel.unit = row.unit;
      kernel.operation = row.operation;
      if (row.unit == Unit::kSimt) {
        kernel.a_type = kernel.d_type = kernel.accumulator = "f32";
      }
      return kernel;
    }
  }
  return std::nullopt;
}

/// Of "void cutlass::Kernel<NAME>(NAME::Params)" the NAME.
std::string_view bare_name(std::string_view name) {
  const std::size_t kernel = name.find("Kernel");
  const std::size_t open = name.find('<');
  if (kernel != std::string_view::npos && open != std::string_view::npos && open < kernel + 8) {
    const std::size_t end = name.find_first_of(">,(", open + 1);
    return name.substr(open + 1, end == std::string_view::npos ? end : end - open - 1);
  }
  return name.substr(0, name.find_first_of("<( "));
}

}  // namespace

std::string KernelName::summary() const {
  std::string text = library;
  const auto add = [&text](const std::string& part) { text += part.empty() ? "" : " " + part; };
  add(generation);
  add(unit == Unit::kSimt ? "SIMT" : "");
  add(a_type);
  add(sparse ? "2:4" : "");
  add(operation);
  if (tile.m > 0) {
    add(fmt::format("{}x{}{}", tile.m, tile.n, tile.k > 0 ? fmt::format("x{}", tile.k) : ""));
  }
  text += stages > 0 ? fmt::format(", {} stages", stages) : "";
  text += cluster_m > 0 ? fmt::format(", cluster {}x{}", cluster_m, cluster_n) : "";
  return text + (split_k ? ", split-k" : "");
}

std::optional<KernelName> decode_kernel_name(std::string_view name) {
  if (auto plain = decode_plain(name)) {
    return plain;
  }
  if (name.starts_with("_Z")) {
    return decode_mangled(name);
  }
  const std::string_view bare = bare_name(name);
  if (bare.starts_with("nvjet")) {
    return decode_nvjet(bare);
  }
  return contains(bare, "xmma") ? decode_xmma(bare) : decode_tiled(bare);
}

}  // namespace sptc::workload::profile
