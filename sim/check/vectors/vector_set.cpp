// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/vector_set.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "sim/check/vectors/metadata_input.h"
#include "sim/config/board_names.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace sptc::check::vectors {
namespace {

using mma::MmaFamily;
using mma::MmaInstruction;
using mma::SparseGrouping;
using numerics::DataType;
using numerics::Word;

constexpr std::uint64_t kMaxJsonBytes = 1 << 20;
constexpr std::int64_t kMaxExtentOfSet = 1 << 24;

struct Family {
  std::string_view name;
  MmaFamily family;
  bool sparse;
};
constexpr std::array kFamilies{
    Family{"mma", MmaFamily::kMma, false},
    Family{"mmasp", MmaFamily::kMma, true},
    Family{"mma_fp8_lowered", MmaFamily::kMma, false},
    Family{"wgmma", MmaFamily::kWgmma, false},
    Family{"wgmmasp", MmaFamily::kWgmma, true},
    Family{"tcgen05mma", MmaFamily::kTcgen05, false},
    Family{"tcgen05mmasp", MmaFamily::kTcgen05, true},
};

/// The files of one set and what its json says.
class SetReader {
 public:
  SetReader(const std::filesystem::path& json_file, const std::filesystem::path& directory)
      : stem_(json_file.parent_path() / json_file.stem()),
        shown_(io::printable(json_file.string())),
        text_(io::read_text_file(json_file, kMaxJsonBytes)),
        json_(io::parse_json(text_, shown_)),
        object_(json_, {shown_, ""}) {
    set_.file = json_file.lexically_relative(directory).generic_string();
    find_arrays();
  }

  VectorSet read() {
    object_.has("gpu") ? read_hardware() : read_instruction();
    std::vector<std::string> unused;
    for (const auto& [name, path] : arrays_) {
      if (!used_.contains(name)) {
        unused.push_back(name);
      }
    }
    if (!unused.empty()) {
      io::refuse("{}: array '{}' is not understood", shown_, fmt::join(unused, "', '"));
    }
    if (set_.outputs.empty()) {
      throw base::InputError(shown_ + ": the set has no result array");
    }
    for (const VectorOutput& output : set_.outputs) {
      check(output);
    }
    if (!object_.has("gpu")) {
      require_extent("m", set_.operands.rows(), "rows of A");
      require_extent("n", set_.operands.columns(), "columns of B");
    }
    return std::move(set_);
  }

 private:
  void find_arrays() {
    const std::filesystem::path folder = stem_.has_parent_path() ? stem_.parent_path() : ".";
    const std::string prefix = stem_.filename().string() + ".";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(prefix) && entry.path().extension() == ".npy") {
        const std::string array = name.substr(prefix.size(), name.size() - prefix.size() - 4);
        if (array.find('.') == std::string::npos) {
          arrays_[array] = entry.path();
        }
      }
    }
  }

  bool has(const std::string& name) const { return arrays_.contains(name); }

  BitArray array(const std::string& name) {
    if (!has(name)) {
      io::refuse("{}: {}.{}.npy is missing", shown_, io::printable(stem_.filename().string()), name);
    }
    used_.insert(name);
    return read_bit_array(arrays_[name]);
  }

  std::size_t extent(std::string_view key) const {
    return static_cast<std::size_t>(object_.integer(key, 1, kMaxExtentOfSet));
  }

  /// Where the json says how large D is, it says what the arrays say.
  void require_extent(std::string_view key, std::size_t extent_of_arrays, std::string_view of) const {
    if (object_.has(key) && extent(key) != extent_of_arrays) {
      (object_.place() / key).fail("{} is not the {} {}", extent(key), extent_of_arrays, of);
    }
  }

  DataType type(std::string_view key) const {
    const std::string word = object_.text(key);
    const auto parsed = numerics::parse_data_type(word);
    if (!parsed) {
      (object_.place() / key)
          .fail("unknown type " + base::unknown_name(io::printable(word), numerics::operand_type_names()));
    }
    return *parsed;
  }

  // A result of an instruction -----------------------------------------------------------------

  void read_instruction() {
    set_.family = object_.text("family");
    const auto family = std::find_if(kFamilies.begin(), kFamilies.end(),
                                     [&](const Family& known) { return known.name == set_.family; });
    if (family == kFamilies.end()) {
      std::vector<std::string_view> names;
      names.reserve(kFamilies.size());
      for (const Family& known : kFamilies) {
        names.push_back(known.name);
      }
      (object_.place() / "family").fail("unknown family " + base::unknown_name(set_.family, names));
    }
    MmaInstruction instruction = object_.parsed("qualifier", mma::parse_instruction);
    instruction.family = family->family;
    instruction.sparse = family->sparse;
    if (instruction.shape.k != object_.integer("k", 1, kMaxExtentOfSet) || instruction.a_type != type("a") ||
        instruction.b_type != type("b") || (object_.has("c") && instruction.c_type() != type("c")) ||
        (object_.has("d") && instruction.accumulator != type("d"))) {
      object_.place().fail("k and the types are not those of the qualifier");
    }
    const mma::Target target = target_of(instruction);
    read_operands(instruction);
    const BitArray c = array("C");
    if (object_.has("measured")) {
      read_measured(instruction, target, c);
      return;
    }
    const auto add = [&](const std::string& name, const MmaInstruction& which, SparseGrouping grouping) {
      set_.outputs.push_back({name, target, which, grouping, c, array(name)});
    };
    const bool is_integer = instruction.accumulator == DataType::kS32;
    if (is_integer && (has("D") || has("D_wrap") || !instruction.sparse)) {
      add(has("D") ? "D" : "D_wrap", instruction, SparseGrouping::kCompressed);
      if (has("D_satfinite")) {
        MmaInstruction saturating = instruction;
        saturating.satfinite = true;
        add("D_satfinite", saturating, SparseGrouping::kCompressed);
      }
    } else if (instruction.sparse) {
      add("D_H1", instruction, SparseGrouping::kCompressed);
      add("D_H2", instruction, SparseGrouping::kLogical);
    } else {
      add("D", instruction, SparseGrouping::kCompressed);
    }
  }

  /// A set of a capture (tests/hardware/CAPTURE.md): one D, whatever the instruction, and for sparse ones the metadata
  /// registers beside the indices that they stand for.
  void read_measured(const MmaInstruction& instruction, const mma::Target& target, const BitArray& c) {
    set_.from_hardware = object_.boolean_or("measured", false);
    set_.undefined = object_.text_or("case_set", "defined") == "undefined";
    if (instruction.sparse) {
      for (const auto& [name, kept] : {std::pair("E", &set_.registers), {"sel", &set_.selectors}}) {
        *kept = array(name);
        if ((*kept)->shape.empty() || (*kept)->shape.front() != set_.cases()) {
          io::refuse("{}: {} must hold one entry per case", shown_, name);
        }
      }
      if (instruction.a_type == DataType::kTf32) {
        read_nibbles(instruction);
      }
    }
    set_.outputs.push_back({"D", target, instruction, SparseGrouping::kCompressed, c, array("D")});
  }

  /// Keeps none where all are valid: the indices say the same then.
  void read_nibbles(const MmaInstruction& instruction) {
    MetadataInput registers{*set_.registers, MetadataLayout::kLanes};
    const sparsity::Pattern pattern = sparsity::hardware_pattern(instruction.a_type);
    bool mixes_words = false;
    for (std::size_t index = 0; index < set_.cases(); ++index) {
      registers.selector = static_cast<int>(set_.selectors->bits[index]);
      const base::Matrix<std::uint8_t>& nibbles = set_.operands.nibbles.emplace_back(
          metadata_nibbles(registers, instruction, set_.operands.a.shape, index, shown_ + ": E"));
      mixes_words =
          mixes_words || !std::all_of(nibbles.data(), nibbles.data() + nibbles.size(),
                                      [&](std::uint8_t nibble) { return sparsity::is_valid_nibble(nibble, pattern); });
    }
    if (!mixes_words) {
      set_.operands.nibbles.clear();
    }
  }

  /// Integer results are the same everywhere: such sets name no architecture.
  mma::Target target_of(const MmaInstruction& instruction) const {
    if (object_.has("arch")) {
      return object_.parsed("arch", config::target_of);
    }
    for (const mma::Target& target : mma::targets()) {
      const auto entries = mma::instructions(target);
      if (instruction.accumulator == DataType::kS32 &&
          std::any_of(entries.begin(), entries.end(), [&](const auto& entry) { return entry.covers(instruction); })) {
        return target;
      }
    }
    object_.place().fail("\"arch\" is missing, and the result depends on it");
  }

  void read_operands(const MmaInstruction& instruction) {
    set_.operands.a = array("A");
    set_.operands.b = array("B");
    if (instruction.sparse) {
      set_.operands.indices = array("idx");
    }
    if (has("cat")) {
      set_.category_of_case = array("cat");
      for (const auto& name : object_.array("categories")) {
        set_.categories.push_back(name.is_string() ? name.get<std::string>() : "");
      }
    }
    if (has("contested")) {
      set_.contested = array("contested");
    }
  }

  // Words of a GPU -------------------------------------------------------------------------------

  void read_hardware() {
    set_.family = "hw";
    set_.from_hardware = true;
    const mma::Target target = object_.parsed("gpu", config::target_of);
    const std::size_t k = extent("k");
    const BitArray a = array("A");
    const BitArray b = array("B");
    const BitArray c = array("C");
    const std::size_t cases = extent("cases");
    require(a, {cases, k}, "A");
    require(b, {cases, k}, "B");
    require(c, {cases}, "C");
    set_.operands.a = a.reshaped({cases, 1, k});
    set_.operands.b = b.reshaped({cases, k, 1});
    const io::JsonObject outputs = object_.object("outputs");
    for (const std::string_view format : {"f32", "f16"}) {
      const std::string name = "D_" + std::string(format);
      if (!has(name) && !outputs.has(format)) {
        continue;
      }
      const std::string maker = outputs.text(format);
      const DataType accumulator = *numerics::parse_data_type(format);
      const MmaInstruction instruction = hardware_instruction(target, maker, accumulator, k);
      BitArray expected = array(name);
      require(expected, {cases}, name);
      const bool c_is_zero = maker.find("C must be taken as 0") != std::string::npos;
      set_.outputs.push_back({name, target, instruction, SparseGrouping::kCompressed,
                              c_is_zero ? make_bit_array({cases, 1, 1}, element_bytes(accumulator))
                                        : converted(c, accumulator).reshaped({cases, 1, 1}),
                              expected.reshaped({cases, 1, 1})});
    }
  }

  void require(const BitArray& array, const std::vector<std::size_t>& shape, const std::string& name) const {
    if (array.shape != shape) {
      io::refuse("{}: {} must be [{}], not [{}]", shown_, name, fmt::join(shape, ", "), fmt::join(array.shape, ", "));
    }
  }

  /// The instruction of `target` that `maker` ran over the set's types: the deepest that divides `k`. wmma::mma_sync of
  /// tf32 runs as instructions of depth 4.
  MmaInstruction hardware_instruction(const mma::Target& target, const std::string& maker, DataType accumulator,
                                      std::size_t k) const {
    const bool is_wgmma = maker.starts_with("wgmma");
    if (!is_wgmma && !maker.starts_with("wmma") && !maker.starts_with("mma")) {
      (object_.place() / "outputs").fail("'" + io::printable(maker) + "' must begin with wgmma, wmma or mma");
    }
    const DataType a = type("a");
    const DataType b = type("b");
    const bool is_shallow = maker.starts_with("wmma") && a == DataType::kTf32;
    std::optional<MmaInstruction> deepest;
    for (const mma::CatalogueEntry& entry : mma::instructions(target)) {
      const MmaInstruction& candidate = entry.instruction;
      const auto depth = static_cast<std::size_t>(candidate.shape.k);
      const bool fits = candidate.family == (is_wgmma ? MmaFamily::kWgmma : MmaFamily::kMma) && !candidate.sparse &&
                        !candidate.scales && candidate.a_type == a && candidate.b_type == b &&
                        candidate.accumulator == accumulator && !candidate.addend && !entry.is_software &&
                        k % depth == 0 && (!is_shallow || depth == 4);
      if (fits && (!deepest || candidate.shape.k > deepest->shape.k)) {
        deepest = candidate;
      }
    }
    if (!deepest) {
      object_.place().fail("{} has no {} whose depth divides {} over {} and {} to {}", target.name,
                           is_wgmma ? "wgmma" : "mma", k, numerics::name(a), numerics::name(b),
                           numerics::name(accumulator));
    }
    return *deepest;
  }

  /// C as the instruction takes it: f32 words rounded to nearest even.
  static BitArray converted(const BitArray& c, DataType type) {
    BitArray result = make_bit_array(c.shape, element_bytes(type));
    for (std::size_t i = 0; i < c.bits.size(); ++i) {
      const auto word = static_cast<Word>(c.bits[i]);
      result.bits[i] =
          type == DataType::kF32 ? word : numerics::from_double(numerics::to_double(word, DataType::kF32), type);
    }
    return result;
  }

  void check(const VectorOutput& output) const {
    // Throws where the target lacks the instruction or nobody knows its arithmetic.
    try {
      mma::instruction_rules(output.target, output.instruction, output.grouping);
    } catch (const base::InputError& error) {
      const std::string message = shown_ + ": " + error.what();
      mma::find_instruction(output.target, output.instruction);  // throws where it is not there
      throw UnknownArithmetic(message);
    }
    MmaOperands operands = set_.operands;
    operands.c = output.c;
    require_operands(operands, output.instruction, shown_);
    const std::size_t cases = extent("cases");
    if (output.expected.shape != std::vector{operands.cases(), operands.rows(), operands.columns()} ||
        output.expected.element_bytes != element_bytes(output.instruction.accumulator) || operands.cases() != cases) {
      io::refuse("{}: {} must be [{}, {}, {}] of {} bytes each", shown_, output.name, cases, operands.rows(),
                 operands.columns(), element_bytes(output.instruction.accumulator));
    }
    const std::size_t mask_bytes = (operands.rows() * operands.columns() + 7) / 8;
    if (set_.contested && (set_.contested->element_bytes != 1 || set_.contested->bits.size() != cases * mask_bytes)) {
      io::refuse("{}: contested must hold {} bytes per case", shown_, mask_bytes);
    }
    if (set_.category_of_case && set_.category_of_case->bits.size() != cases) {
      throw base::InputError(shown_ + ": cat must hold one element per case");
    }
  }

  std::filesystem::path stem_;
  std::string shown_;
  std::string text_;
  nlohmann::json json_;
  io::JsonObject object_;
  std::map<std::string, std::filesystem::path> arrays_;
  std::set<std::string> used_;
  VectorSet set_;
};

}  // namespace

bool VectorSet::is_contested(std::size_t index, std::size_t row, std::size_t column) const {
  const std::size_t bytes = (operands.rows() * operands.columns() + 7) / 8;
  const std::size_t bit = row * operands.columns() + column;
  return ((contested->bits[index * bytes + bit / 8] >> (bit % 8)) & 1) != 0;
}

std::string VectorSet::category(std::size_t index) const {
  if (!category_of_case || category_of_case->bits[index] >= categories.size()) {
    return "";
  }
  return categories[category_of_case->bits[index]];
}

std::vector<std::filesystem::path> find_vector_sets(const std::filesystem::path& directory) {
  const std::string shown = io::printable(directory.string());
  io::require_directory(directory);
  std::set<std::filesystem::path> sets;
  std::vector<std::filesystem::path> arrays;
  try {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      const std::filesystem::path& path = entry.path();
      if (path.extension() == ".npy") {
        arrays.push_back(path);
      } else if (path.extension() == ".json" && path.filename() != "probes.json") {
        sets.insert(path);
      }
    }
  } catch (const std::filesystem::filesystem_error& failure) {
    io::refuse("{}: cannot be listed: {}", shown, failure.code().message());
  }
  for (const std::filesystem::path& array : arrays) {
    // "<stem>.<array>.npy" belongs to "<stem>.json".
    const std::filesystem::path stem = array.parent_path() / array.stem().stem();
    if (!sets.contains(stem.string() + ".json")) {
      io::refuse("{}: belongs to no array set ({}.json is missing)", io::printable(array.string()),
                 io::printable(stem.string()));
    }
  }
  if (sets.empty()) {
    throw base::InputError(shown + ": holds no array set (<name>.json with <name>.A.npy and so on)");
  }
  return {sets.begin(), sets.end()};
}

VectorSet read_vector_set(const std::filesystem::path& json_file, const std::filesystem::path& directory) {
  return SetReader(json_file, directory).read();
}

}  // namespace sptc::check::vectors
