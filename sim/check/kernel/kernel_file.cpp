// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_file.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/numerics/codec.h"
#include "models/sparsity/pattern.h"
#include "sim/check/kernel/kernel_tensors.h"
#include "sim/config/board_names.h"
#include "sim/io/json_reader.h"
#include "sim/io/npz.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

using mma::MmaInstruction;
using numerics::DataType;
using numerics::Word;

constexpr std::string_view kSchema = "sptcsim-kernel/0.1";
constexpr std::uint64_t kMaxJsonBytes = 1 << 20;
constexpr int kMaxSlices = 1024;
constexpr std::int64_t kMaxGranule = 1 << 20;

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

/// The object of "split_k=3,reduction=tree". Throws InputError.
nlohmann::json k_order_of(const std::string& text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_' || c == '-';
  };
  nlohmann::json order = nlohmann::json::object();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t mark = std::min(part.find('='), part.size());
    const std::string key(part.substr(0, mark));
    const std::string value(part.substr(std::min(mark + 1, part.size())));
    if (key.empty() || value.empty() || !std::ranges::all_of(key + value, is_plain)) {
      throw base::InputError(
          fmt::format("--k-order must be KEY=VALUE,..., not '{}'", io::printable(text)));
    }
    constexpr std::size_t kMostDigits = 9;
    if (std::ranges::all_of(value, is_digit) && value.size() <= kMostDigits) {
      order[key] = std::stoi(value);
    } else {
      order[key] = value;
    }
  }
  return order;
}

class KernelReader {
 public:
  /// What `choice` says is in the place of what the file does.
  KernelReader(const io::JsonObject& object, KernelTensors tensors, KernelChoice choice)
      : object_(object), tensors_(std::move(tensors)), choice_(std::move(choice)) {}

  KernelCase read() {
    object_.allow_only(std::array<std::string_view, 14>{
        "schema", "name", "architecture", "instruction", "types", "sparse", "a", "metadata", "b",
        "c", "d", "k_order", "epilogue", "entry"});
    object_.require_schema(kSchema);
    result_.name = object_.text_or("name", "kernel");
    result_.target = !choice_.arch.empty() ? config::target_of(choice_.arch)
                     : object_.has("architecture")
                         ? object_.parsed("architecture", config::target_of)
                         : mma::find_target("sm_80");
    tensors_.choose_entry(object_);
    read_instruction();
    read_matrices();
    if (object_.has("epilogue")) {
      read_epilogue(object_.object("epilogue"));
    }
    if (!choice_.k_order.empty()) {
      const nlohmann::json order = k_order_of(choice_.k_order);
      read_k_order(io::JsonObject(order, {"--k-order", ""}));
    } else if (object_.has("k_order")) {
      read_k_order(object_.object("k_order"));
    }
    return std::move(result_);
  }

 private:
  MmaInstruction& instruction() { return result_.declared.instruction; }

  void read_instruction() {
    if (!choice_.instruction.empty()) {
      try {
        instruction() = mma::parse_instruction(choice_.instruction);
        result_.declared.rules = mma::instruction_rules(result_.target, instruction());
      } catch (const base::InputError& error) {
        throw base::InputError(std::string("--instruction: ") + error.what());
      }
      return require_supported();
    }
    if (object_.has("instruction") == object_.has("types")) {
      object_.place().fail("give either \"instruction\" or \"types\"");
    }
    if (object_.has("instruction")) {
      if (object_.has("sparse")) {
        (object_.place() / "sparse").fail("the instruction says whether it is sparse");
      }
      instruction() = object_.parsed("instruction", mma::parse_instruction);
    } else {
      instruction() = deepest(object_.object("types"), object_.boolean_or("sparse", false));
    }
    require_supported();
    try {
      result_.declared.rules = mma::instruction_rules(result_.target, instruction());
    } catch (const base::InputError& error) {
      (object_.place() / (object_.has("instruction") ? "instruction" : "types")).fail(error.what());
    }
  }

  void require_supported() {
    const DataType a = instruction().a_type;
    if (a == DataType::kF64 || a == DataType::kB1 || instruction().scales) {
      object_.place().fail(
          "kernels over f64, b1 and block-scaled operands are not cross-checked; sptcsim mma "
          "executes their instructions");
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
                        !candidate.addend && !candidate.scales;
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

  /// "type", or what the elements in the file are called where `allowed` has that; else `usual`.
  DataType result_type(const io::JsonObject& entry, const std::vector<DataType>& allowed,
                       DataType usual, bool is_d) const {
    if (entry.has("type")) {
      return type_at(entry, "type", allowed);
    }
    const std::string stored = base::lower_case(tensors_.tensor(entry, is_d).dtype);
    const auto found = std::ranges::find(
        allowed, stored, [](DataType type) { return std::string(numerics::name(type)); });
    return found == allowed.end() ? usual : *found;
  }

  void read_matrices() {
    using enum DataType;
    KernelData& data = result_.data;
    const io::JsonObject a = object_.object("a");
    a.allow_only(std::array<std::string_view, 4>{"file", "tensor", "order", "prune"});
    data.a = tensors_.matrix(a, instruction().a_type);
    const io::JsonObject b = object_.object("b");
    b.allow_only(std::array<std::string_view, 3>{"file", "tensor", "order"});
    data.b = tensors_.matrix(b, instruction().b_type);
    const io::JsonObject d = object_.object("d");
    d.allow_only(std::array<std::string_view, 4>{"file", "tensor", "order", "type"});
    const bool integer = instruction().accumulator == kS32;
    const std::vector<DataType> result_types =
        integer ? std::vector{kS32} : std::vector{kF32, kF16, kBf16};
    data.d_type = result_type(d, result_types, instruction().accumulator, true);
    data.d = tensors_.matrix(d, data.d_type, true);
    data.c_type = instruction().c_type();
    if (object_.has("c")) {
      const io::JsonObject c = object_.object("c");
      c.allow_only(std::array<std::string_view, 4>{"file", "tensor", "order", "type"});
      data.c_type = result_type(c, result_types, instruction().c_type(), false);
      data.c = tensors_.matrix(c, data.c_type);
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
    const io::Tensor stored = tensors_.metadata(entry);
    const io::ElementType* const type = io::find_element_type(stored.dtype);
    if (type == nullptr || stored.dtype.starts_with("F") || stored.dtype.starts_with("BF")) {
      entry.place().fail("metadata must be integers, not " + io::printable(stored.dtype));
    }
    vectors::MetadataInput input;
    input.layout = entry.has("layout") ? entry.parsed("layout", vectors::parse_metadata_layout)
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
        a.choice("prune", kNames) == 1 ? Pruning::kMagnitude : Pruning::kGiven;
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

  static float number(const io::JsonObject& entry, std::string_view key) {
    if (!entry.has(key)) {
      return 1;
    }
    const nlohmann::json& value = entry.require(key);
    if (!value.is_number() || !std::isfinite(value.get<float>())) {
      (entry.place() / key)
          .fail(fmt::format("must be a number of f32, not {}", io::describe(value)));
    }
    return value.get<float>();
  }

  void read_epilogue(const io::JsonObject& entry) {
    entry.allow_only(std::array<std::string_view, 7>{"alpha", "beta", "bias", "activation",
                                                     "scale_a", "scale_b", "scale_d"});
    if (instruction().accumulator == DataType::kS32) {
      entry.place().fail("D of integers is their sum: there is no epilogue");
    }
    Epilogue& epilogue = result_.declared.epilogue;
    epilogue.alpha = number(entry, "alpha");
    epilogue.beta = number(entry, "beta");
    epilogue.scale_a = number(entry, "scale_a");
    epilogue.scale_b = number(entry, "scale_b");
    epilogue.scale_d = number(entry, "scale_d");
    epilogue.activation = static_cast<Activation>(
        entry.choice("activation", std::array<std::string_view, 2>{"none", "relu"}));
    if (entry.has("bias")) {
      read_bias(entry.object("bias"));
    }
    // An accumulator that starts from C would be scaled with it.
    result_.declared.order.c_in_epilogue =
        epilogue.alpha != 1 || epilogue.beta != 1 || epilogue.scale_a != 1 || epilogue.scale_b != 1;
  }

  void read_bias(const io::JsonObject& entry) {
    entry.allow_only(std::array<std::string_view, 4>{"file", "tensor", "type", "along"});
    const io::Tensor stored = tensors_.tensor(entry);
    using enum DataType;
    const DataType type = entry.has("type") ? type_at(entry, "type", {kF32, kF16, kBf16}) : kF32;
    KernelData& data = result_.data;
    const bool of_columns = entry.choice("along", std::array<std::string_view, 2>{"m", "n"}) == 1;
    const std::size_t count = of_columns ? data.n : data.m;
    if (!holds(stored.dtype, type) || static_cast<std::size_t>(stored.elements()) != count) {
      entry.place().fail(fmt::format("must hold {} elements of {}, not {} of {}", count,
                                     numerics::name(type), stored.elements(), stored.dtype));
    }
    const std::size_t bytes = stored.bytes.size() / count;
    for (std::size_t i = 0; i < count; ++i) {
      Word word = 0;
      std::memcpy(&word, stored.bytes.data() + i * bytes, bytes);
      data.bias.push_back(static_cast<float>(numerics::to_double(word, type)));
    }
    result_.declared.epilogue.bias_of_columns = of_columns;
  }

  void read_k_order(const io::JsonObject& entry) {
    entry.allow_only(
        std::array<std::string_view, 5>{"split_k", "reduction", "c", "tile_k", "slices"});
    KOrder& order = result_.declared.order;
    order.slices = static_cast<int>(entry.integer_or("split_k", 1, 1, kMaxSlices));
    order.granule = static_cast<int>(entry.integer_or("tile_k", 0, 0, kMaxGranule));
    order.reduction = static_cast<Reduction>(entry.choice("reduction", kReductions));
    const bool in_epilogue =
        entry.choice("c", std::array<std::string_view, 2>{"accumulator", "epilogue"}) == 1;
    if (order.c_in_epilogue && entry.has("c") && !in_epilogue) {
      (entry.place() / "c").fail("with alpha, beta or a scale C is added in the epilogue");
    }
    order.c_in_epilogue = order.c_in_epilogue || in_epilogue;
    order.interleaved =
        entry.choice("slices", std::array<std::string_view, 2>{"contiguous", "interleaved"}) == 1;
    if (order.slices == 1 && (entry.has("reduction") || entry.has("slices"))) {
      entry.place().fail("one slice has no reduction: \"split_k\" is 1");
    }
  }

  const io::JsonObject& object_;
  KernelTensors tensors_;
  KernelChoice choice_;
  KernelCase result_;
};

KernelCase parsed(std::string_view text, const std::string& file, KernelTensors tensors,
                  const KernelChoice& choice) {
  const nlohmann::json json = io::parse_json(text, file);
  const io::JsonObject object(json, {file, ""});
  return KernelReader(object, std::move(tensors), choice).read();
}

/// One of the launches that a file of `--save-operands` holds.
KernelCase read_saved(const std::filesystem::path& path, const KernelChoice& choice) {
  constexpr std::string_view kEnding = ".kernel";
  const std::vector<io::Tensor> tensors = io::read_npz(path);
  const std::string shown = io::printable(path.string());
  std::vector<std::string_view> launches;
  const io::Tensor* found = nullptr;
  for (const io::Tensor& tensor : tensors) {
    if (std::string_view name = tensor.name; name.ends_with(kEnding)) {
      name.remove_suffix(kEnding.size());
      launches.push_back(name);
      found = choice.launch.empty() || name == choice.launch ? &tensor : found;
    }
  }
  if (launches.empty()) {
    throw base::InputError(shown + ": no array '<launch>.kernel' says what a kernel of it is");
  }
  if (choice.launch.empty() && launches.size() > 1) {
    throw base::InputError(
        fmt::format("{}: --launch names one of {}", shown, fmt::join(launches, ", ")));
  }
  if (found == nullptr) {
    throw base::InputError(shown + ": unknown launch " +
                           base::unknown_name(io::printable(choice.launch), launches));
  }
  const std::string text(reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size());
  return parsed(text, shown + ": " + io::printable(found->name),
                KernelTensors(path.parent_path(), choice, &tensors), choice);
}

}  // namespace

KernelCase parse_kernel_file(std::string_view text, const std::string& file,
                             const std::filesystem::path& directory, const KernelChoice& choice) {
  return parsed(text, file, KernelTensors(directory, choice), choice);
}

KernelCase read_kernel_file(const std::filesystem::path& path, const KernelChoice& choice) {
  if (path.extension() == ".npz") {
    return read_saved(path, choice);
  }
  if (!choice.launch.empty()) {
    throw base::InputError("--launch names a launch of a .npz file of --save-operands");
  }
  return parse_kernel_file(io::read_text_file(path, kMaxJsonBytes), io::printable(path.string()),
                           path.parent_path(), choice);
}

}  // namespace sptc::check::kernel
