// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_file.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/numerics/codec.h"
#include "sim/check/kernel/kernel_extents.h"
#include "sim/config/board_names.h"
#include "sim/io/json_reader.h"
#include "sim/io/npz.h"
#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <map>
#include <utility>

namespace sptc::check::kernel {
namespace {

using enum numerics::DataType;
using mma::MmaInstruction;
using numerics::DataType;
using numerics::Word;
using Names = std::initializer_list<std::string_view>;

void allow_only(const io::JsonObject& object, Names keys) {
  object.allow_only({keys.begin(), keys.size()});
}

std::size_t choice_of(const io::JsonObject& object, std::string_view key, Names words) {
  return object.choice(key, {words.begin(), words.size()});
}

DataType type_at(const io::JsonObject& object, std::string_view key, const std::vector<DataType>& allowed) {
  std::vector<std::string_view> names;
  std::ranges::transform(allowed, std::back_inserter(names), [](DataType type) { return numerics::name(type); });
  const std::string word = object.text(key);
  const auto found = std::ranges::find(names, word);
  if (found == names.end()) {
    (object.place() / key).fail("unknown type " + base::unknown_name(io::printable(word), names));
  }
  return allowed[static_cast<std::size_t>(found - names.begin())];
}

/// The object of "split_k=3,reduction=tree". Throws InputError.
nlohmann::json k_order_of(const std::string& text) {
  constexpr std::size_t kMostDigits = 9;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_plain = [&](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_' || c == '-'; };
  nlohmann::json order = nlohmann::json::object();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t mark = std::min(part.find('='), part.size());
    const std::string key(part.substr(0, mark)), value(part.substr(std::min(mark + 1, part.size())));
    if (key.empty() || value.empty() || !std::ranges::all_of(key + value, is_plain)) {
      throw base::InputError(fmt::format("--k-order must be KEY=VALUE,..., not '{}'", io::printable(text)));
    }
    const bool is_number = std::ranges::all_of(value, is_digit) && value.size() <= kMostDigits;
    if (order.contains(key)) {
      throw base::InputError(fmt::format("--k-order: '{}' stands there twice", key));
    }
    order[key] = is_number ? nlohmann::json(std::stoi(value)) : nlohmann::json(value);
  }
  return order;
}

// Tensors -----------------------------------------------------------------------------------------

/// The bits of the first `count` elements of `stored`, zero-extended.
template <typename Integer>
std::vector<Integer> bits_of(const io::Tensor& stored, std::size_t count) {
  const std::size_t bytes = stored.bytes.size() / count;
  std::vector<Integer> bits(count);
  for (std::size_t i = 0; i < count; ++i) {
    // The low bytes come first on a little-endian machine.
    std::memcpy(&bits[i], stored.bytes.data() + i * bytes, bytes);
  }
  return bits;
}

/// Whether an element called `stored` in a tensor file can hold the bits of `type`.
bool holds(std::string_view stored, DataType type) {
  constexpr std::array<std::pair<std::string_view, DataType>, 6> kFloats{
      {{"F16", kF16}, {"BF16", kBf16}, {"F32", kF32}, {"F32", kTf32}, {"F8_E4M3", kE4m3}, {"F8_E5M2", kE5m2}}};
  const io::ElementType* const row = io::find_element_type(stored);
  const bool is_float = stored.starts_with("F") || stored.starts_with("BF");
  return row != nullptr && row->bytes == std::max(1, numerics::storage_bits(type) / 8) &&
         (!is_float || std::ranges::find(kFloats, std::pair(stored, type)) != kFloats.end());
}

/// The tensors that the objects of a kernel file name: {"file": "a.npy", "tensor": "a"}. Everything throws InputError
/// at the place of the object.
class KernelTensors {
 public:
  /// Files are looked for in `directory`. `own`: tensors that need no file.
  KernelTensors(std::filesystem::path directory, const KernelChoice& choice, const std::vector<io::Tensor>* own)
      : directory_(std::move(directory)), d_(choice.d), own_(own) {}

  std::int64_t chosen = 0;  ///< entry of a batch
  bool is_batch() const { return is_batch_; }

  io::Tensor tensor(const io::JsonObject& entry, bool is_d = false) {
    const bool is_other_d = is_d && !d_.empty();
    const bool is_own = own_ != nullptr && !is_other_d && !entry.has("file");
    const std::vector<io::Tensor>& tensors =
        is_own ? *own_ : tensors_of(is_other_d ? d_ : directory_ / entry.text("file"));
    if (tensors.size() == 1 && (is_other_d || !entry.has("tensor"))) {
      return tensors.front();
    }
    if (!entry.has("tensor")) {
      entry.place().fail("the file holds several tensors: \"tensor\" names one of them");
    }
    const std::string name = entry.text("tensor");
    const auto found = std::ranges::find(tensors, name, &io::Tensor::name);
    if (found != tensors.end()) {
      return *found;
    }
    if (is_d && is_own) {
      entry.place().fail("D is not in this file: --d names the file with the D of your kernel");
    }
    std::vector<std::string_view> names;
    std::ranges::transform(tensors, std::back_inserter(names), &io::Tensor::name);
    (entry.place() / "tensor").fail("unknown tensor " + base::unknown_name(io::printable(name), names));
  }

  /// The same, of a batch the chosen entry. Call it after matrix() told whether there is a batch.
  io::Tensor metadata(const io::JsonObject& entry) {
    io::Tensor stored = tensor(entry);
    if (is_batch_) {
      take_entry(stored, entry);
    }
    return stored;
  }

  /// A matrix as words of `type`; "order" "column": the file holds the transpose.
  StoredMatrix matrix(const io::JsonObject& entry, DataType type, bool is_d = false) {
    io::Tensor stored = tensor(entry, is_d);
    is_batch_ = take_entry(stored, entry) || is_batch_;
    const std::string shown = io::printable(entry.text_or("file", stored.name));
    if (stored.shape.size() != 2 || stored.shape[0] == 0 || stored.shape[1] == 0) {
      entry.place().fail(
          fmt::format("{}: must have two axes that are not empty, not [{}]", shown, fmt::join(stored.shape, ", ")));
    }
    if (!holds(stored.dtype, type)) {
      entry.place().fail(fmt::format("{}: elements are {}, which cannot be the bits of {}", shown, stored.dtype,
                                     numerics::name(type)));
    }
    StoredMatrix result;
    result.column_major = choice_of(entry, "order", {"row", "column"}) == 1;
    result.rows = static_cast<std::size_t>(stored.shape[result.column_major ? 1 : 0]);
    result.cols = static_cast<std::size_t>(stored.shape[result.column_major ? 0 : 1]);
    result.words = bits_of<Word>(stored, result.rows * result.cols);
    for (Word& word : result.words) {
      word &= numerics::storage_bits(type) < 8 ? (Word{1} << numerics::storage_bits(type)) - 1 : ~Word{0};
    }
    return result;
  }

 private:
  const std::vector<io::Tensor>& tensors_of(const std::filesystem::path& path) {
    const auto [found, is_new] = files_.try_emplace(path);
    if (is_new) {
      found->second = path.extension() == ".npz" ? io::read_npz(path) : io::TensorFile::open(path).tensors();
    }
    return found->second;
  }

  /// Makes of a batch its chosen matrix; whether it was one.
  bool take_entry(io::Tensor& tensor, const io::JsonObject& object) const {
    if (tensor.shape.size() != 3 || tensor.shape.front() <= 0) {
      return false;
    }
    const std::int64_t count = tensor.shape.front();
    if (chosen >= count) {
      object.place().fail(fmt::format("there is no entry {} in a batch of {}", chosen, count));
    }
    const std::size_t bytes = tensor.bytes.size() / static_cast<std::size_t>(count);
    const auto first = tensor.bytes.begin() + static_cast<std::ptrdiff_t>(bytes) * chosen;
    tensor.bytes = {first, first + static_cast<std::ptrdiff_t>(bytes)};
    tensor.shape.erase(tensor.shape.begin());
    return true;
  }

  std::filesystem::path directory_, d_;
  const std::vector<io::Tensor>* own_;
  bool is_batch_ = false;
  std::map<std::filesystem::path, std::vector<io::Tensor>> files_;
};

// The file ----------------------------------------------------------------------------------------

class KernelReader {
 public:
  /// What `choice` says is in the place of what the file does.
  KernelReader(const io::JsonObject& object, KernelTensors tensors, const KernelChoice& choice)
      : object_(object), tensors_(std::move(tensors)), choice_(choice) {}

  KernelCase read() {
    constexpr std::int64_t kMostEntries = 1 << 24;
    allow_only(object_, {"schema", "name", "architecture", "instruction", "types", "sparse", "a", "metadata", "b", "c",
                         "d", "k_order", "epilogue", "entry"});
    object_.require_schema("sptcsim-kernel/0.1");
    result_.name = object_.text_or("name", "kernel");
    if (!choice_.tolerance.empty()) {
      result_.tolerance = parse_tolerance("--tolerance", choice_.tolerance);
    }
    result_.target = !choice_.arch.empty()         ? config::target_of(choice_.arch)
                     : object_.has("architecture") ? object_.parsed("architecture", config::target_of)
                                                   : mma::find_target("sm_80");
    tensors_.chosen = choice_.entry ? *choice_.entry : object_.integer_or("entry", 0, 0, kMostEntries);
    read_instruction();
    read_matrices();
    if (choice_.entry && !tensors_.is_batch()) {
      throw base::InputError("--entry: no operand is a batch, that is of shape [entries, rows, columns]");
    }
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
  void read_instruction() {
    MmaInstruction& instruction = result_.declared.instruction;
    const bool is_chosen = !choice_.instruction.empty();
    if (!is_chosen && object_.has("instruction") == object_.has("types")) {
      object_.place().fail("give either \"instruction\" or \"types\"");
    }
    if (!is_chosen && object_.has("instruction") && object_.has("sparse")) {
      (object_.place() / "sparse").fail("the instruction says whether it is sparse");
    }
    if (!is_chosen) {
      instruction = object_.has("instruction") ? object_.parsed("instruction", mma::parse_instruction)
                                               : deepest(object_.object("types"), object_.boolean_or("sparse", false));
    }
    try {
      instruction = is_chosen ? mma::parse_instruction(choice_.instruction) : instruction;
      result_.declared.rules = mma::instruction_rules(result_.target, instruction);
    } catch (const base::InputError& error) {
      if (is_chosen) {
        throw base::InputError(std::string("--instruction: ") + error.what());
      }
      (object_.place() / (object_.has("instruction") ? "instruction" : "types")).fail(error.what());
    }
    if (instruction.a_type == kF64 || instruction.a_type == kB1 || instruction.scales) {
      object_.place().fail(
          "kernels over f64, b1 and block-scaled operands are not cross-checked; sptcsim mma executes "
          "their instructions");
    }
  }

  MmaInstruction deepest(const io::JsonObject& types, bool sparse) const {
    allow_only(types, {"a", "b", "accumulator"});
    const std::vector<DataType> operand{kF16, kBf16, kTf32, kE4m3, kE5m2, kE3m2, kE2m3, kE2m1, kS8, kU8, kS4, kU4};
    const DataType a = type_at(types, "a", operand);
    const DataType b = types.has("b") ? type_at(types, "b", operand) : a;
    const DataType accumulator =
        types.has("accumulator") ? type_at(types, "accumulator", {kF32, kF16, kS32}) : numerics::accumulator_type(a);
    const auto deepest_of = [&](bool asynchronous) {
      std::optional<MmaInstruction> found;
      for (const mma::CatalogueEntry& entry : mma::instructions(result_.target)) {
        const MmaInstruction& one = entry.instruction;
        const bool fits = one.is_asynchronous() == asynchronous && one.a_type == a && one.b_type == b &&
                          one.accumulator == accumulator && one.sparse == sparse && !one.satfinite &&
                          !entry.is_software && !one.addend && !one.scales;
        found = fits && (!found || one.shape.k > found->shape.k) ? one : found;
      }
      return found;
    };
    std::optional<MmaInstruction> found = deepest_of(false);
    const auto rules = found ? mma::find_step_rules(result_.target.architecture, *found) : std::nullopt;
    if (!found || (rules && rules->lowered_fp8)) {
      const std::optional<MmaInstruction> asynchronous = deepest_of(true);
      found = asynchronous ? asynchronous : found;
    }
    if (!found) {
      types.place().fail(fmt::format("{} has no {} instruction over {} and {} to {}", result_.target.name,
                                     sparse ? "sparse" : "dense", numerics::name(a), numerics::name(b),
                                     numerics::name(accumulator)));
    }
    return *found;
  }

  /// "type", or what the elements of `stored` are called where that is allowed; else `usual`.
  static DataType result_type(const io::JsonObject& entry, const io::Tensor& stored,
                              const std::vector<DataType>& allowed, DataType usual) {
    if (entry.has("type")) {
      return type_at(entry, "type", allowed);
    }
    const std::string name = base::lower_case(stored.dtype);
    const auto found =
        std::ranges::find(allowed, name, [](DataType type) { return std::string(numerics::name(type)); });
    return found == allowed.end() ? usual : *found;
  }

  void read_matrices() {
    const MmaInstruction& instruction = result_.declared.instruction;
    KernelData& data = result_.data;
    Reading& reading = result_.declared.reading;
    const std::vector<DataType> result_types =
        instruction.accumulator == kS32 ? std::vector{kS32} : std::vector{kF32, kF16, kBf16};
    const io::JsonObject a = object_.object("a"), b = object_.object("b"), d = object_.object("d");
    allow_only(a, {"file", "tensor", "order", "prune"});
    data.a = tensors_.matrix(a, instruction.a_type);
    allow_only(b, {"file", "tensor", "order"});
    data.b = tensors_.matrix(b, instruction.b_type);
    allow_only(d, {"file", "tensor", "order", "type"});
    data.d_type = result_type(d, tensors_.tensor(d, true), result_types, instruction.accumulator);
    data.d = tensors_.matrix(d, data.d_type, true);
    data.c_type = instruction.c_type();
    if (object_.has("c")) {
      const io::JsonObject c = object_.object("c");
      allow_only(c, {"file", "tensor", "order", "type"});
      data.c_type = result_type(c, tensors_.tensor(c), result_types, data.c_type);
      data.c = tensors_.matrix(c, data.c_type);
    }
    data.m = data.a.rows;
    data.n = data.b.cols;
    data.k = data.b.rows;
    if (object_.has("metadata")) {
      read_metadata(object_.object("metadata"));
    }
    if (a.has("prune")) {
      if (!instruction.sparse || data.is_compressed()) {
        (a.place() / "prune").fail("only a dense A under a sparse instruction is pruned");
      }
      reading.pruning = choice_of(a, "prune", {"none", "magnitude"}) == 1 ? Pruning::kMagnitude : Pruning::kGiven;
    }
    reading.a_column_major = data.a.column_major;
    reading.b_column_major = data.b.column_major;
    reading.c_column_major = data.c && data.c->column_major;
    reading.d_column_major = data.d.column_major;
    require_extents(data, result_.declared, object_.place());
  }

  void read_metadata(const io::JsonObject& entry) {
    allow_only(entry, {"file", "tensor", "layout", "selector"});
    if (!result_.declared.instruction.sparse) {
      entry.place().fail("a dense instruction takes no metadata");
    }
    const io::Tensor stored = tensors_.metadata(entry);
    const io::ElementType* const type = io::find_element_type(stored.dtype);
    if (type == nullptr || stored.dtype.starts_with("F") || stored.dtype.starts_with("BF")) {
      entry.place().fail("metadata must be integers, not " + io::printable(stored.dtype));
    }
    vectors::MetadataInput& input = result_.data.metadata.emplace();
    if (entry.has("layout")) {
      input.layout = entry.parsed("layout", vectors::parse_metadata_layout);
    }
    input.selector = static_cast<int>(entry.integer_or("selector", 0, 0, 3));
    if (entry.has("selector") && input.layout != vectors::MetadataLayout::kLanes) {
      (entry.place() / "selector").fail("only the layout \"lanes\" has a selector");
    }
    const auto count = static_cast<std::size_t>(stored.elements()), elements = result_.data.a.words.size();
    input.array = vectors::make_bit_array({1, count}, static_cast<int>(type->bytes));
    if (count > 0) {
      input.array.bits = bits_of<std::uint64_t>(stored, count);
    }
    if (input.layout == vectors::MetadataLayout::kIndices && count != elements) {
      entry.place().fail(
          fmt::format("there must be an index for each of the {} elements of A, not {}", elements, count));
    }
    result_.declared.reading.layout = input.layout;
    result_.declared.reading.selector = input.selector;
  }

  void read_epilogue(const io::JsonObject& entry) {
    allow_only(entry, {"alpha", "beta", "bias", "activation", "scale_a", "scale_b", "scale_d"});
    if (result_.declared.instruction.accumulator == kS32) {
      entry.place().fail("D of integers is their sum: there is no epilogue");
    }
    Epilogue& epilogue = result_.declared.epilogue;
    constexpr std::array kNumbers{std::pair{"alpha", &Epilogue::alpha}, std::pair{"beta", &Epilogue::beta},
                                  std::pair{"scale_a", &Epilogue::scale_a}, std::pair{"scale_b", &Epilogue::scale_b},
                                  std::pair{"scale_d", &Epilogue::scale_d}};
    for (const auto& [key, number] : kNumbers) {
      if (!entry.has(key)) {
        continue;
      }
      const nlohmann::json& value = entry.require(key);
      if (!value.is_number() || !std::isfinite(value.get<float>())) {
        (entry.place() / key).fail(fmt::format("must be a number of f32, not {}", io::describe(value)));
      }
      epilogue.*number = value.get<float>();
    }
    epilogue.activation = static_cast<Activation>(choice_of(entry, "activation", {"none", "relu"}));
    if (entry.has("bias")) {
      read_bias(entry.object("bias"));
    }
    // An accumulator that starts from C would be scaled with it.
    result_.declared.order.c_in_epilogue =
        epilogue.alpha != 1 || epilogue.beta != 1 || epilogue.scale_a != 1 || epilogue.scale_b != 1;
  }

  void read_bias(const io::JsonObject& entry) {
    allow_only(entry, {"file", "tensor", "type", "along"});
    const io::Tensor stored = tensors_.tensor(entry);
    const DataType type = result_type(entry, stored, {kF32, kF16, kBf16}, kF32);
    const bool of_columns = choice_of(entry, "along", {"m", "n"}) == 1;
    const std::size_t count = of_columns ? result_.data.n : result_.data.m;
    if (!holds(stored.dtype, type) || static_cast<std::size_t>(stored.elements()) != count) {
      entry.place().fail(fmt::format("must hold {} elements of {}, not {} of {}", count, numerics::name(type),
                                     stored.elements(), stored.dtype));
    }
    for (const Word word : bits_of<Word>(stored, count)) {
      result_.data.bias.push_back(static_cast<float>(numerics::to_double(word, type)));
    }
    result_.declared.epilogue.bias_of_columns = of_columns;
  }

  void read_k_order(const io::JsonObject& entry) {
    constexpr int kMaxSlices = 1024;
    constexpr std::int64_t kMaxGranule = 1 << 20;
    allow_only(entry, {"split_k", "reduction", "c", "tile_k", "slices"});
    KOrder& order = result_.declared.order;
    order.slices = static_cast<int>(entry.integer_or("split_k", 1, 1, kMaxSlices));
    order.granule = static_cast<int>(entry.integer_or("tile_k", 0, 0, kMaxGranule));
    order.reduction = static_cast<Reduction>(entry.choice("reduction", kReductions));
    const bool in_epilogue = choice_of(entry, "c", {"accumulator", "epilogue"}) == 1;
    if (order.c_in_epilogue && entry.has("c") && !in_epilogue) {
      (entry.place() / "c").fail("with alpha, beta or a scale C is added in the epilogue");
    }
    order.c_in_epilogue = order.c_in_epilogue || in_epilogue;
    order.interleaved = choice_of(entry, "slices", {"contiguous", "interleaved"}) == 1;
    if (order.slices == 1 && (entry.has("reduction") || entry.has("slices"))) {
      entry.place().fail("one slice has no reduction: \"split_k\" is 1");
    }
  }

  const io::JsonObject& object_;
  KernelTensors tensors_;
  const KernelChoice& choice_;
  KernelCase result_;
};

KernelCase parsed(std::string_view text, const std::string& file, const std::filesystem::path& directory,
                  const KernelChoice& choice, const std::vector<io::Tensor>* own = nullptr) {
  const nlohmann::json json = io::parse_json(text, file);
  const io::JsonObject object(json, {file, ""});
  return KernelReader(object, KernelTensors(directory, choice, own), choice).read();
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
    throw base::InputError(fmt::format("{}: --launch names one of {}", shown, fmt::join(launches, ", ")));
  }
  if (found == nullptr) {
    throw base::InputError(shown + ": unknown launch " + base::unknown_name(io::printable(choice.launch), launches));
  }
  const std::string text(reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size());
  return parsed(text, shown + ": " + io::printable(found->name), path.parent_path(), choice, &tensors);
}

}  // namespace

KernelCase parse_kernel_file(std::string_view text, const std::string& file, const std::filesystem::path& directory,
                             const KernelChoice& choice) {
  return parsed(text, file, directory, choice);
}

KernelCase read_kernel_file(const std::filesystem::path& path, const KernelChoice& choice) {
  constexpr std::uint64_t kMaxJsonBytes = 1 << 20;
  if (path.extension() == ".npz") {
    return read_saved(path, choice);
  }
  if (!choice.launch.empty()) {
    throw base::InputError("--launch names a launch of a .npz file of --save-operands");
  }
  return parsed(io::read_text_file(path, kMaxJsonBytes), io::printable(path.string()), path.parent_path(), choice);
}

}  // namespace sptc::check::kernel
