// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/kernel_file.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/sparsity/pattern.h"
#include "sim/config/board_names.h"
#include "sim/io/json_reader.h"
#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::compare::kernel {
namespace {

using mma::MmaInstruction;
using numerics::DataType;
using numerics::Word;

constexpr std::string_view kSchema = "sptcsim-kernel/0.1";
constexpr std::uint64_t kMaxJsonBytes = 1 << 20;
constexpr int kMaxSlices = 1024;
constexpr std::int64_t kMaxGranule = 1 << 20;

/// The index of the text at `key` among `names`; 0 where the key is absent.
template <std::size_t kCount>
std::size_t choice(const io::JsonObject& object, std::string_view key,
                   const std::array<std::string_view, kCount>& names) {
  if (!object.has(key)) {
    return 0;
  }
  const std::string word = object.text(key);
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    (object.place() / key).fail("must be one of " + base::unknown_name(io::printable(word), names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

/// What `find` makes of the text at `key`; its error names the place.
template <typename Find>
auto at_key(const io::JsonObject& object, std::string_view key, Find find) {
  const std::string text = object.text(key);
  try {
    return find(text);
  } catch (const base::InputError& error) {
    (object.place() / key).fail(error.what());
  }
}

DataType type_at(const io::JsonObject& object, std::string_view key,
                 const std::vector<DataType>& allowed) {
  std::vector<std::string_view> names;
  names.reserve(allowed.size());
  for (const DataType type : allowed) {
    names.push_back(numerics::name(type));
  }
  const std::string word = object.text(key);
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    (object.place() / key).fail("unknown type " + base::unknown_name(io::printable(word), names));
  }
  return allowed[static_cast<std::size_t>(found - names.begin())];
}

/// Whether an element called `stored` in a tensor file can hold the bits of `type`.
bool holds(std::string_view stored, DataType type) {
  const io::ElementType* const row = io::find_element_type(stored);
  const int bytes = std::max(1, numerics::storage_bits(type) / 8);
  if (row == nullptr || row->bytes != bytes) {
    return false;
  }
  const bool is_float = stored.starts_with("F") || stored.starts_with("BF");
  return !is_float || (stored == "F16" && type == DataType::kF16) ||
         (stored == "BF16" && type == DataType::kBf16) ||
         (stored == "F32" && (type == DataType::kF32 || type == DataType::kTf32));
}

class KernelReader {
 public:
  KernelReader(const io::JsonObject& object, std::filesystem::path directory)
      : object_(object), directory_(std::move(directory)) {}

  KernelCase read() {
    object_.allow_only(std::array<std::string_view, 12>{"schema", "name", "architecture",
                                                        "instruction", "types", "sparse", "a",
                                                        "metadata", "b", "c", "d", "k_order"});
    if (const std::string schema = object_.text("schema"); schema != kSchema) {
      (object_.place() / "schema")
          .fail(fmt::format("must be \"{}\", not '{}'", kSchema, io::printable(schema)));
    }
    result_.file = object_.place().file;
    result_.name = object_.text_or("name", "kernel");
    result_.target = object_.has("architecture")
                         ? at_key(object_, "architecture", config::target_of)
                         : mma::find_target("sm_80");
    read_instruction();
    read_matrices();
    if (object_.has("k_order")) {
      read_k_order(object_.object("k_order"));
    }
    return std::move(result_);
  }

 private:
  MmaInstruction& instruction() { return result_.declared.instruction; }

  void read_instruction() {
    if (object_.has("instruction") == object_.has("types")) {
      object_.place().fail("give either \"instruction\" or \"types\"");
    }
    if (object_.has("instruction")) {
      if (object_.has("sparse")) {
        (object_.place() / "sparse").fail("the instruction says whether it is sparse");
      }
      instruction() = at_key(object_, "instruction",
                             [](const std::string& text) { return mma::parse_instruction(text); });
    } else {
      instruction() = deepest(object_.object("types"), object_.boolean_or("sparse", false));
    }
    const DataType a = instruction().a_type;
    if (a == DataType::kF64 || a == DataType::kB1 || instruction().block_scaled) {
      object_.place().fail(
          "kernels over f64, b1 and block-scaled operands are not cross-checked; sptcsim mma "
          "executes their instructions");
    }
    try {
      result_.declared.rules = mma::instruction_rules(result_.target, instruction());
    } catch (const base::InputError& error) {
      (object_.place() / (object_.has("instruction") ? "instruction" : "types")).fail(error.what());
    }
  }

  MmaInstruction deepest(const io::JsonObject& types, bool sparse) const {
    types.allow_only(std::array<std::string_view, 3>{"a", "b", "accumulator"});
    using enum DataType;
    const std::vector<DataType> operand{kF16,  kBf16, kTf32, kE4m3, kE5m2, kE3m2,
                                        kE2m3, kE2m1, kS8,   kU8,   kS4,   kU4};
    const DataType a = type_at(types, "a", operand);
    const DataType b = types.has("b") ? type_at(types, "b", operand) : a;
    const DataType accumulator = types.has("accumulator")
                                     ? type_at(types, "accumulator", {kF32, kF16, kS32})
                                     : numerics::accumulator_type(a);
    std::optional<MmaInstruction> found;
    for (const mma::CatalogueEntry& entry : mma::instructions(result_.target)) {
      const MmaInstruction& candidate = entry.instruction;
      const bool fits = candidate.family == mma::MmaFamily::kMma && candidate.a_type == a &&
                        candidate.b_type == b && candidate.accumulator == accumulator &&
                        candidate.sparse == sparse && !candidate.satfinite && !entry.is_software &&
                        !candidate.addend && !candidate.block_scaled;
      if (fits && (!found || candidate.shape.k > found->shape.k)) {
        found = candidate;
      }
    }
    if (!found) {
      types.place().fail(fmt::format("{} has no {} instruction over {} and {} to {}",
                                     result_.target.name, sparse ? "sparse" : "dense",
                                     numerics::name(a), numerics::name(b),
                                     numerics::name(accumulator)));
    }
    return *found;
  }

  // Tensors --------------------------------------------------------------------------------------

  io::Tensor tensor(const io::JsonObject& entry) const {
    const std::filesystem::path path = directory_ / entry.text("file");
    const io::TensorFile file = io::TensorFile::open(path);
    if (!entry.has("tensor")) {
      if (file.tensors().size() != 1) {
        entry.place().fail("the file holds several tensors: \"tensor\" names one of them");
      }
      return file.tensors().front();
    }
    try {
      return file.tensor(entry.text("tensor"));
    } catch (const base::InputError& error) {
      (entry.place() / "tensor").fail(error.what());
    }
  }

  /// "type", or what the elements in the file are called where `allowed` has that; else `usual`.
  DataType result_type(const io::JsonObject& entry, const std::vector<DataType>& allowed,
                       DataType usual) const {
    if (entry.has("type")) {
      return type_at(entry, "type", allowed);
    }
    const std::string stored = base::lower_case(tensor(entry).dtype);
    const auto found = std::ranges::find(
        allowed, stored, [](DataType type) { return std::string(numerics::name(type)); });
    return found == allowed.end() ? usual : *found;
  }

  /// A matrix as words of `type`; "order" "column": the file holds the transpose.
  StoredMatrix matrix(const io::JsonObject& entry, DataType type) const {
    const io::Tensor stored = tensor(entry);
    const auto shown = [&] { return io::printable(entry.text("file")); };
    if (stored.shape.size() != 2 || stored.shape[0] == 0 || stored.shape[1] == 0) {
      entry.place().fail(fmt::format("{}: must have two axes that are not empty, not [{}]", shown(),
                                     fmt::join(stored.shape, ", ")));
    }
    if (!holds(stored.dtype, type)) {
      entry.place().fail(fmt::format("{}: elements are {}, which cannot be the bits of {}", shown(),
                                     stored.dtype, numerics::name(type)));
    }
    StoredMatrix result;
    result.column_major =
        choice(entry, "order", std::array<std::string_view, 2>{"row", "column"}) == 1;
    result.rows = static_cast<std::size_t>(stored.shape[result.column_major ? 1 : 0]);
    result.cols = static_cast<std::size_t>(stored.shape[result.column_major ? 0 : 1]);
    const std::size_t count = result.rows * result.cols;
    const std::size_t bytes = stored.bytes.size() / count;
    result.words.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      // The low bytes come first on a little-endian machine.
      std::memcpy(&result.words[i], stored.bytes.data() + i * bytes, bytes);
    }
    return result;
  }

  void read_matrices() {
    using enum DataType;
    KernelData& data = result_.data;
    const io::JsonObject a = object_.object("a");
    a.allow_only(std::array<std::string_view, 4>{"file", "tensor", "order", "prune"});
    data.a = matrix(a, instruction().a_type);
    const io::JsonObject b = object_.object("b");
    b.allow_only(std::array<std::string_view, 3>{"file", "tensor", "order"});
    data.b = matrix(b, instruction().b_type);
    const io::JsonObject d = object_.object("d");
    d.allow_only(std::array<std::string_view, 4>{"file", "tensor", "order", "type"});
    const bool integer = instruction().accumulator == kS32;
    const std::vector<DataType> result_types =
        integer ? std::vector{kS32} : std::vector{kF32, kF16, kBf16};
    data.d_type = result_type(d, result_types, instruction().accumulator);
    data.d = matrix(d, data.d_type);
    data.c_type = instruction().c_type();
    if (object_.has("c")) {
      const io::JsonObject c = object_.object("c");
      c.allow_only(std::array<std::string_view, 4>{"file", "tensor", "order", "type"});
      data.c_type = result_type(c, result_types, instruction().c_type());
      data.c = matrix(c, data.c_type);
    }
    data.m = data.a.rows;
    data.n = data.b.cols;
    data.k = data.b.rows;
    if (object_.has("metadata")) {
      read_metadata(object_.object("metadata"));
    }
    read_pruning(a);
    set_reading();
    require_extents();
  }

  void read_metadata(const io::JsonObject& entry) {
    entry.allow_only(std::array<std::string_view, 4>{"file", "tensor", "layout", "selector"});
    if (!instruction().sparse) {
      entry.place().fail("a dense instruction takes no metadata");
    }
    const io::Tensor stored = tensor(entry);
    const io::ElementType* const type = io::find_element_type(stored.dtype);
    base::ensure(type != nullptr, "tensor of an element type without a row");
    if (stored.dtype.starts_with("F") || stored.dtype.starts_with("BF")) {
      entry.place().fail("metadata must be integers, not " + stored.dtype);
    }
    vectors::MetadataInput input;
    input.layout =
        entry.has("layout")
            ? at_key(entry, "layout",
                     [](const std::string& text) { return vectors::parse_metadata_layout(text); })
            : vectors::MetadataLayout::kCanonical;
    input.selector = static_cast<int>(entry.integer_or("selector", 0, 0, 3));
    if (entry.has("selector") && input.layout != vectors::MetadataLayout::kLanes) {
      (entry.place() / "selector").fail("only the layout \"lanes\" has a selector");
    }
    const auto count = static_cast<std::size_t>(stored.elements());
    input.array = vectors::make_bit_array({1, count}, static_cast<int>(type->bytes));
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&input.array.bits[i],
                  stored.bytes.data() + i * static_cast<std::size_t>(type->bytes),
                  static_cast<std::size_t>(type->bytes));
    }
    if (input.layout == vectors::MetadataLayout::kIndices && count != result_.data.a.words.size()) {
      entry.place().fail(
          fmt::format("there must be an index for each of the {} elements of A, not {}",
                      result_.data.a.words.size(), count));
    }
    result_.data.metadata = std::move(input);
  }

  void read_pruning(const io::JsonObject& a) {
    if (!a.has("prune")) {
      return;
    }
    if (!instruction().sparse || result_.data.is_compressed()) {
      (a.place() / "prune").fail("only a dense A under a sparse instruction is pruned");
    }
    constexpr std::array<std::string_view, 2> kNames{"none", "magnitude"};
    result_.declared.reading.pruning =
        choice(a, "prune", kNames) == 1 ? Pruning::kMagnitude : Pruning::kGiven;
  }

  void set_reading() {
    Reading& reading = result_.declared.reading;
    const KernelData& data = result_.data;
    reading.a_column_major = data.a.column_major;
    reading.b_column_major = data.b.column_major;
    reading.d_column_major = data.d.column_major;
    reading.c_column_major = data.c && data.c->column_major;
    if (data.metadata) {
      reading.layout = data.metadata->layout;
      reading.selector = data.metadata->selector;
    }
  }

  void require_extents() {
    const KernelData& data = result_.data;
    const auto pattern = sparsity::hardware_pattern(instruction().a_type);
    const auto group = static_cast<std::size_t>(pattern.group);
    const std::size_t a_cols =
        data.is_compressed() ? data.k / group * static_cast<std::size_t>(pattern.kept) : data.k;
    const auto require = [&](const char* what, const StoredMatrix& matrix, std::size_t rows,
                             std::size_t cols) {
      if (matrix.rows != rows || matrix.cols != cols) {
        object_.place().fail(fmt::format(
            "{} must be [{}, {}], not [{}, {}] (m = {} from A, n = {} and k = {} from B)", what,
            rows, cols, matrix.rows, matrix.cols, data.m, data.n, data.k));
      }
    };
    if (instruction().sparse && data.k % group != 0) {
      object_.place().fail(
          fmt::format("k = {} is no multiple of {}, a group of {}", data.k, group, pattern.name()));
    }
    require("A", data.a, data.m, a_cols);
    require("D", data.d, data.m, data.n);
    if (data.c) {
      require("C", *data.c, data.m, data.n);
    }
    // Throws what the metadata or the pattern of A lack, before any work.
    try {
      arrange(data, result_.declared, Selection::all(data));
    } catch (const base::InputError& error) {
      object_.place().fail(error.what());
    }
  }

  void read_k_order(const io::JsonObject& entry) {
    entry.allow_only(
        std::array<std::string_view, 5>{"split_k", "reduction", "c", "tile_k", "slices"});
    KOrder& order = result_.declared.order;
    order.slices = static_cast<int>(entry.integer_or("split_k", 1, 1, kMaxSlices));
    order.granule = static_cast<int>(entry.integer_or("tile_k", 0, 0, kMaxGranule));
    constexpr std::array<std::string_view, 5> kReductions{"serial", "serial-reversed", "parallel",
                                                          "parallel-reversed", "tree"};
    order.reduction = static_cast<Reduction>(choice(entry, "reduction", kReductions));
    order.c_in_epilogue =
        choice(entry, "c", std::array<std::string_view, 2>{"accumulator", "epilogue"}) == 1;
    order.interleaved =
        choice(entry, "slices", std::array<std::string_view, 2>{"contiguous", "interleaved"}) == 1;
    if (order.slices == 1 && (entry.has("reduction") || entry.has("slices"))) {
      entry.place().fail("one slice has no reduction: \"split_k\" is 1");
    }
  }

  const io::JsonObject& object_;
  std::filesystem::path directory_;
  KernelCase result_;
};

}  // namespace

KernelCase parse_kernel_file(std::string_view text, const std::string& file,
                             const std::filesystem::path& directory) {
  const nlohmann::json json = io::parse_json(text, file);
  const io::JsonObject object(json, {file, ""});
  return KernelReader(object, directory).read();
}

KernelCase read_kernel_file(const std::filesystem::path& path) {
  return parse_kernel_file(io::read_text_file(path, kMaxJsonBytes), io::printable(path.string()),
                           path.parent_path());
}

}  // namespace sptc::compare::kernel
