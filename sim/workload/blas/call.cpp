// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/blas/call.h"

#include "sim/io/text_file.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace sptc::workload::blas {
namespace {

constexpr const char* kCusparseltMatmul = "cusparseLtMatmul";

/// Our name of a type; as logged where there is none.
std::string our_type(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"R_8I", "s8"},   {"R_32F", "f32"}, {"f64_r", "f64"},   {"R_8F_E4M3", "e4m3"},
      {"R_4I", "s4"},   {"R_64F", "f64"}, {"i32_r", "s32"},   {"R_8F_E5M2", "e5m2"},
      {"R_8U", "u8"},   {"R_32I", "s32"}, {"f8_r", "e4m3"},   {"R_6F_E2M3", "e2m3"},
      {"i8_r", "s8"},   {"f4_r", "e2m1"}, {"bf8_r", "e5m2"},  {"R_6F_E3M2", "e3m2"},
      {"s8_r", "s8"},   {"f16_r", "f16"}, {"R_16BF", "bf16"}, {"R_4F_E2M1", "e2m1"},
      {"R_16F", "f16"}, {"f32_r", "f32"}, {"bf16_r", "bf16"}, {"R_16F_PEDANTIC", "f16"}};
  constexpr std::string_view kCuda = "CUDA_";
  if (word.starts_with(kCuda)) {
    word.remove_prefix(kCuda.size());
  }
  const auto* const found = std::ranges::find_if(kTypes, [word](const auto& row) { return row.first == word; });
  return std::string(found == std::end(kTypes) ? word : found->second);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The value of `key` in "key=value key=[..] key={..}", without brackets; nothing where it is not
/// there.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::size_t equals = at + key.size();
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '[' || text[at - 1] == '{';
    if (!begins || equals >= text.size() || text[equals] != '=') {
      continue;
    }
    std::string_view rest = text.substr(equals + 1);
    if (!rest.empty() && (rest[0] == '[' || rest[0] == '{')) {
      int depth = 0;
      for (std::size_t i = 0; i < rest.size(); ++i) {
        depth += rest[i] == '[' || rest[i] == '{' ? 1 : rest[i] == ']' || rest[i] == '}' ? -1 : 0;
        if (depth == 0) {
          return rest.substr(1, i - 1);
        }
      }
      return rest.substr(1);
    }
    return rest.substr(0, rest.find_first_of(" ,]}\r"));
  }
  return std::nullopt;
}

bool is_fp8(std::string_view type) {
  return type == "e4m3" || type == "e5m2";
}

/// What emulates 32 or 64 bits by products of a smaller type; empty where `compute` says none.
std::string emulation(std::string_view compute) {
  constexpr std::string_view kMark = "EMULATED_";
  const std::size_t mark = compute.find(kMark);
  if (mark == std::string_view::npos) {
    return {};
  }
  const std::string_view how = compute.substr(mark + kMark.size());
  return how.starts_with("16BFX9")       ? "BF16x9 emulation on tensor cores"
         : how.starts_with("FIXEDPOINT") ? "fixed-point emulation on integer tensor cores"
                                         : "the emulation " + io::printable(how);
}

/// f32 operands run as TF32 or not on tensor cores at all.
void decide_f32(const BlasCall& call, RecordedLaunch& launch) {
  if (const std::string how = emulation(call.compute); !how.empty()) {
    launch.reason = how + " is not modelled";
    return;
  }
  if (launch.dtype != "f32") {
    return;
  }
  if (contains(call.compute, "TF32") || contains(call.compute, "xf32")) {
    launch.dtype = "tf32";
  } else if (contains(call.compute, "FAST_16")) {
    launch.reason = "f32 operands that the library converts to 16 bits";
  } else {
    launch.reason = "f32 on SIMT units, not on tensor cores";
  }
}

struct ScaleMode {
  std::string_view name;
  int block = 0;               ///< operands of blocks of so many elements of K, a kind of their own
  std::string_view type{};     ///< of these operands; empty: any of 8 bits
  bool costs_nothing = false;  ///< one scale for all of the operand
};

constexpr std::array<ScaleMode, 7> kScaleModes{{{"", 0, {}, true},
                                                {"SCALAR_32F", 0, {}, true},
                                                {"VEC16_UE4M3", 16, "e2m1"},
                                                {"VEC32_UE8M0", 32},
                                                {"OUTER_VEC_32F"},
                                                {"VEC128_32F"},
                                                {"BLK128x128_32F"}}};

const ScaleMode* find_scale_mode(std::string_view name) {
  const auto found = std::ranges::find(kScaleModes, name, &ScaleMode::name);
  return found == kScaleModes.end() ? nullptr : &*found;
}

/// Scales of blocks are part of the type, others stand beside it.
void read_scales(const BlasCall& call, RecordedLaunch& launch) {
  const ScaleMode* const a = find_scale_mode(call.a_scales);
  const ScaleMode* const b = find_scale_mode(call.b_scales);
  if (a == nullptr || b == nullptr) {
    launch.reason =
        fmt::format("its scale mode {} is not known", io::printable(a == nullptr ? call.a_scales : call.b_scales));
  } else if (a->block != b->block) {
    launch.reason = fmt::format("scales of A ({}) and B ({}) that differ are not modelled",
                                a->name.empty() ? "one" : a->name, b->name.empty() ? "one" : b->name);
  } else if (a->block == 0 && launch.dtype == "e2m1") {
    launch.reason = "e2m1 without scales of blocks is not modelled";
  } else if (a->block > 0 && (a->type.empty() ? !is_fp8(launch.dtype) : launch.dtype != a->type)) {
    launch.reason = fmt::format("{} with scales of {} elements ({}) is not modelled", launch.dtype, a->block, a->name);
  } else {
    launch.op.storage.scale_block = a->block;
  }
}

struct Layout {
  std::int64_t rows = 0, cols = 0, batch = 1;
  std::string type;
  bool row_major = false;
};

/// "Adesc=[type=R_16F rows=64 cols=16 ..]"; some versions write "A=[..]".
std::optional<Layout> read_layout(std::string_view body, const std::string& operand, const std::string& place) {
  auto text = value_of(body, operand + "desc");
  if (!text || text->empty() || !contains(*text, "rows=")) {
    text = value_of(body, operand);
  }
  if (!text || !contains(*text, "rows=")) {
    return std::nullopt;
  }
  const auto integer = [&](std::string_view key, std::int64_t absent) {
    const auto value = value_of(*text, key);
    return value ? recorded_integer(*value, place, operand + "desc " + std::string(key)) : absent;
  };
  Layout layout;
  layout.rows = integer("rows", 0);
  layout.cols = integer("cols", 0);
  layout.batch = integer("batchCount", 1);
  layout.type = value_of(*text, "type").value_or("");
  layout.row_major = value_of(*text, "order").value_or("") == "ORDER_ROW";
  return layout;
}

Layout required_layout(std::string_view body, const std::string& operand, const std::string& place) {
  const auto layout = read_layout(body, operand, place);
  if (!layout) {
    io::refuse("{}: this launch has no {}desc: the line is cut off", place, operand);
  }
  return *layout;
}

bool is_transposed(std::string_view descriptor, std::string_view low, std::string_view high) {
  const std::string_view op = value_of(descriptor, low).value_or(value_of(descriptor, high).value_or("OP_N"));
  return op == "OP_T" || op == "OP_C";
}

/// "algo 66, tile 128x128, stages 64x3, split-k 2" of "algoId=66 tile=MATMUL_TILE_128x128 ..".
std::string algorithm_text(std::string_view body) {
  const std::string_view algo = value_of(body, "algo").value_or("");
  std::string text;
  const auto add = [&](const char* what, std::string_view key, std::string_view prefix) {
    std::string_view value = value_of(algo, key).value_or("");
    value.remove_prefix(value.starts_with(prefix) ? prefix.size() : 0);
    if (!value.empty()) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, value);
    }
  };
  add("algo", "algoId", "");
  add("tile", "tile", "MATMUL_TILE_");
  add("stages", "stages", "MATMUL_STAGES_");
  add("cluster", "clusterShape", "CLUSTER_SHAPE_");
  add("split-k", "numSplitsK", "");
  return text;
}

/// "128x64" or "64x3" behind `prefix`; 0 for what is no number, as AUTO.
std::pair<int, int> logged_pair(std::string_view text, std::string_view prefix) {
  std::pair<int, int> pair;
  const std::size_t cross = text.find('x', prefix.size());
  if (!text.starts_with(prefix) || cross == std::string_view::npos) {
    return pair;
  }
  std::from_chars(text.data() + prefix.size(), text.data() + cross, pair.first);
  std::from_chars(text.data() + cross + 1, text.data() + text.size(), pair.second);
  return pair;
}

/// What the library chose: tile, stages, slices of K and epilogue.
Recorded logged_choice(std::string_view body, std::string_view compute) {
  const std::string_view algo = value_of(body, "algo").value_or("");
  const auto [m, n] = logged_pair(value_of(algo, "tile").value_or(""), "MATMUL_TILE_");
  const auto [k, stages] = logged_pair(value_of(algo, "stages").value_or(""), "MATMUL_STAGES_");
  const auto possible = [](int extent) { return extent > 0 && extent <= kMostTileExtent; };
  Recorded chosen;
  if (possible(m) && possible(n) && possible(k)) {
    chosen.tile = {m, n, k};
    chosen.stages = stages > 0 && stages <= kMostRecorded ? stages : 0;
  }
  const std::string_view slices = value_of(algo, "numSplitsK").value_or("");
  int split_k = 0;
  std::from_chars(slices.data(), slices.data() + slices.size(), split_k);
  chosen.split_k = split_k > 1 && split_k <= kMostRecorded ? split_k : 0;
  constexpr std::string_view kEpilogue = "EPILOGUE_";
  std::string_view epilogue = value_of(compute, "epilogue").value_or("");
  epilogue.remove_prefix(epilogue.starts_with(kEpilogue) ? kEpilogue.size() : 0);
  chosen.epilogue = io::printable(epilogue);
  const std::string_view beta = value_of(body, "beta").value_or("0");
  chosen.adds_c = beta != "0" && beta != "0.0" && beta != "?";
  return chosen;
}

/// The word behind `name`, which stands after one of `before` and before `mark`; `quotes` around it
/// are left out, and one of `ends` ends it.
std::optional<std::string_view> word_behind(std::string_view line, std::string_view name, std::string_view before,
                                            char mark, std::string_view quotes, std::string_view ends) {
  for (std::size_t at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (at > 0 && before.find(line[at - 1]) != std::string_view::npos && end < line.size() && line[end] == mark) {
      const std::size_t begin = line.find_first_not_of(quotes, end + 1);
      if (begin == std::string_view::npos) {
        return std::nullopt;
      }
      const std::size_t stop = line.find_first_of(ends, begin);
      return line.substr(begin, stop == std::string_view::npos ? stop : stop - begin);
    }
  }
  return std::nullopt;
}

/// The word behind "--name" or "-name" of a command line.
std::optional<std::string_view> option(std::string_view line, std::string_view name) {
  return word_behind(line, name, " ", ' ', " ", " \t\r");
}

/// The value behind "name:" of a YAML line, without quotes.
std::optional<std::string_view> yaml_value(std::string_view line, std::string_view name) {
  return word_behind(line, name, " {", ':', " '\"", ",}'\" ");
}

/// What a call of cusparseLtMatmulDescriptorInit was given: "opA[in]=.., matA[in]={format=..
/// rows=.. cols=..}, ..". Nothing where the line names its operands by pointer only.
std::optional<BlasCall> read_descriptor_inputs(std::string_view line, const std::string& place) {
  const std::string_view a = value_of(line, "matA[in]").value_or("");
  const std::string_view b = value_of(line, "matB[in]").value_or("");
  if (!value_of(a, "rows") || !value_of(b, "rows")) {
    return std::nullopt;
  }
  const auto extents = [&](std::string_view matrix, const char* op) {
    const std::int64_t rows = recorded_integer(*value_of(matrix, "rows"), place, "rows");
    const std::int64_t cols = recorded_integer(value_of(matrix, "cols").value_or(""), place, "cols");
    return value_of(line, op).value_or("") == "TRANSPOSE" ? std::pair(cols, rows) : std::pair(rows, cols);
  };
  const auto [m, k] = extents(a, "opA[in]");
  const auto [k_of_b, n] = extents(b, "opB[in]");
  if (k != k_of_b) {
    io::refuse("{}: the descriptors contradict each other: op(A) is {} x {}, op(B) {} x {}", place, m, k, k_of_b, n);
  }
  BlasCall call;
  call.function = kCusparseltMatmul;
  call.m = m;
  call.n = n;
  call.k = k;
  call.batch = recorded_integer(value_of(a, "batchSize").value_or("1"), place, "batchSize");
  call.a_type = value_of(a, "valuesType").value_or("");
  call.b_type = value_of(b, "valuesType").value_or("");
  call.d_type = value_of(value_of(line, "matD[in]").value_or(""), "valuesType").value_or("");
  call.a_sparse = contains(a, "format=Structured");
  call.b_sparse = !call.a_sparse;
  call.compute = call.a_type == "CUDA_R_32F" ? "TF32" : "";
  call.inputs_only = true;
  return call;
}

}  // namespace

BlasCall call_of_arguments(std::string_view function, const Argument& value, const ArgumentNames& names,
                           const std::string& place, std::string_view type) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {{"cublasS", "R_32F"},
                                                                             {"cublasH", "R_16F"},
                                                                             {"cublasD", "R_64F"},
                                                                             {"rocblas_sgemm", "R_32F"},
                                                                             {"rocblas_hgemm", "R_16F"}};
  for (const auto& [prefix, of_name] : kTypes) {
    type = function.starts_with(prefix) ? of_name : type;
  }
  const auto required = [&](std::string_view name) {
    const auto text = value(name);
    if (!text) {
      io::refuse("{}: this launch has no {}: the line is cut off", place, name);
    }
    return recorded_integer(*text, place, name);
  };
  BlasCall call;
  call.function = function;
  call.m = required(names.m);
  call.n = required(names.n);
  call.k = required(names.k);
  call.batch = recorded_integer(value(names.batch).value_or("1"), place, names.batch);
  call.a_type = value(names.a_type).value_or(type);
  call.b_type = value(names.b_type).value_or(type);
  call.d_type = value(names.d_type).value_or(type);
  call.compute = value(names.compute).value_or("");
  const std::string_view transpose_b = names.transpose_b.empty() ? "" : value(names.transpose_b).value_or("");
  call.transpose_b = !transpose_b.empty() && !transpose_b.ends_with("N");
  return call;
}

RecordedLaunch launch_of(const BlasCall& call) {
  RecordedLaunch launch;
  const bool swap = call.row_major != call.b_sparse;
  launch.op.name = call.function;
  launch.op.shape = swap ? base::GemmShape{call.n, call.m, call.k} : base::GemmShape{call.m, call.n, call.k};
  launch.op.batch = call.batch;
  launch.op.count = call.count;
  launch.op.recorded = call.chosen;
  if (swap) {
    std::swap(launch.op.recorded.tile.m, launch.op.recorded.tile.n);
  }
  launch.op.recorded.d_dtype = call.d_type.empty() ? "" : our_type(call.d_type);
  launch.op.recorded.kernel = call.kernel;
  launch.op.recorded.sparse = call.a_sparse || call.b_sparse;
  launch.weight = launch.op.recorded.sparse || (call.batch == 1 && !call.transpose_b);
  launch.dtype = our_type(call.a_type);
  const std::string other = call.b_type.empty() ? launch.dtype : our_type(call.b_type);
  const bool both_fp8 = is_fp8(launch.dtype) && is_fp8(other);  // gradients are e5m2
  if (other != launch.dtype && !both_fp8) {
    launch.dtype += " x " + other;
  }
  decide_f32(call, launch);
  if (launch.reason.empty()) {
    read_scales(call, launch);
  }
  if (call.failed) {
    launch.reason = "the call failed, as the log says behind it";
  }
  return launch;
}

bool has_unmodelled_scales(const BlasCall& call) {
  return std::ranges::any_of(std::array{&call.a_scales, &call.b_scales}, [](const std::string* scales) {
    const ScaleMode* const mode = find_scale_mode(*scales);
    return mode != nullptr && mode->block == 0 && !mode->costs_nothing;
  });
}

std::optional<BlasCall> read_lt_line(std::string_view line, const std::string& place) {
  const std::size_t trace = line.find("[Trace][");
  if (trace == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view body = line.substr(trace + std::string_view("[Trace][").size());
  const std::size_t close = body.find(']');
  const std::string_view function = body.substr(0, close);
  const bool cublas = function.starts_with("cublasLt") && function.ends_with("Matmul");
  if (close == std::string_view::npos || (!cublas && function != "rocblaslt_matmul")) {
    return std::nullopt;
  }
  body.remove_prefix(close + 1);
  const Layout a = required_layout(body, "A", place);
  const Layout b = required_layout(body, "B", place);
  auto d = read_layout(body, "D", place);
  d = d ? d : required_layout(body, "C", place);
  const std::string_view compute = value_of(body, "computeDesc").value_or("");
  const bool transpose_a = is_transposed(compute, "transa", "transA");
  BlasCall call;
  call.function = function;
  call.transpose_b = is_transposed(compute, "transb", "transB");
  call.m = d->rows;
  call.n = d->cols;
  call.k = transpose_a ? a.rows : a.cols;
  call.batch = std::max(d->batch, a.batch);
  call.a_type = a.type;
  call.b_type = b.type;
  call.d_type = d->type;
  call.compute = value_of(compute, "computeType").value_or("");
  call.a_scales = value_of(compute, "aScaleMode").value_or("");
  call.b_scales = value_of(compute, "bScaleMode").value_or("");
  call.row_major = d->row_major;
  call.kernel = algorithm_text(body);
  call.chosen = logged_choice(body, compute);
  const std::int64_t k_of_b = call.transpose_b ? b.cols : b.rows;
  const std::int64_t n_of_b = call.transpose_b ? b.rows : b.cols;
  const std::int64_t m_of_a = transpose_a ? a.cols : a.rows;
  if (k_of_b != call.k || n_of_b != call.n || m_of_a != call.m) {
    io::refuse("{}: the descriptors contradict each other: op(A) is {} x {}, op(B) {} x {}, D {} x {}", place, m_of_a,
               call.k, k_of_b, n_of_b, call.m, call.n);
  }
  return call;
}

std::optional<BlasCall> read_cusparselt_line(std::string_view line, const std::string& place) {
  const std::size_t descriptor = line.find("matmulDescr");
  if (!contains(line, "][CUSPARSELT][") || descriptor == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t open = line.find('{', descriptor);
  const std::string_view body = open == std::string_view::npos ? "" : line.substr(open + 1);
  if (!value_of(body, "m")) {
    return read_descriptor_inputs(line, place);
  }
  const auto value = [&](std::string_view key) {
    const auto found = value_of(body, key);
    return found && key.starts_with("mat") ? value_of(*found, "valuesType") : found;
  };
  const bool has_d = value_of(body, "matD").has_value();
  BlasCall call =
      call_of_arguments(kCusparseltMatmul, value,
                        {"m", "n", "k", "batchSize", "matA", "matB", has_d ? "matD" : "matC", "computeType"}, place);
  call.a_sparse = value_of(body, "is_A_sparse").value_or("") == "true" ||
                  contains(value_of(body, "matA").value_or(""), "format=Structured");
  call.b_sparse = !call.a_sparse;
  if (call.a_type == "CUDA_R_32F") {
    call.compute += "_TF32";  // sparse f32 operands have no other path
  }
  return call;
}

std::optional<BlasCall> read_bench_line(std::string_view line, const std::string& place) {
  const bool hip = contains(line, "hipblaslt-bench ");
  const bool roc = contains(line, "rocblas-bench ") && contains(option(line, "-f").value_or(""), "gemm");
  if (!hip && !roc) {
    return std::nullopt;
  }
  return call_of_arguments(
      hip ? "hipblaslt-bench" : "rocblas-bench", [&](std::string_view key) { return option(line, key); },
      {"-m", "-n", "-k", "--batch_count", "--a_type", "--b_type", "--d_type", "--compute_type",
       hip ? "--transB" : "--transposeB"},
      place, option(line, "-r").value_or(""));
}

std::optional<BlasCall> read_rocblas_line(std::string_view line, const std::string& place) {
  const std::string_view function = yaml_value(line, "rocblas_function").value_or("");
  if (!contains(function, "gemm")) {
    return std::nullopt;
  }
  BlasCall call = call_of_arguments(
      function, [&](std::string_view key) { return yaml_value(line, key); },
      {"M", "N", "K", "batch_count", "a_type", "b_type", "d_type", "compute_type", "transB"}, place);
  call.count = recorded_integer(yaml_value(line, "call_count").value_or("1"), place, "call_count");
  return call;
}

}  // namespace sptc::workload::blas
