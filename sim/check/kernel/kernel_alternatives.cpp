// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "sim/check/kernel/fault_finders.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/identify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace sptc::check::kernel {
namespace {

using mma::MmaInstruction;

constexpr int kMaxSlices = 16;

/// What decides the bits of one accumulator. Depth counts only where steps are not simply L apart.
auto arithmetic_key(const MmaInstruction& instruction, const mma::StepRules& rules) {
  return std::tuple(instruction.sparse, instruction.satfinite, rules.products_per_step,
                    rules.fraction_bits, rules.rounding, rules.exponent_floor, rules.output,
                    rules.cleared_output_bits, rules.zero_rule,
                    rules.lowered_fp8 ? instruction.shape.k : 0);
}

class Collector {
 public:
  Collector(const KernelData& data, const KernelModel& from, const mma::Target& target)
      : data_(data), from_(from), target_(target) {}

  std::vector<Alternative> collect() {
    add_metadata();
    add_layouts();
    add_pitches("A", data_.a, from_.reading.a_column_major, &Reading::a_pitch);
    add_pitches("B", data_.b, from_.reading.b_column_major, &Reading::b_pitch);
    add_pruning();
    add_operand_types();
    if (from_.rules.is_integer()) {
      add_instructions();
      return std::move(result_);
    }
    add_k_orders();
    std::ranges::move(epilogue_alternatives(data_, from_), std::back_inserter(result_));
    add_instructions();
    add_rounding();
    if (from_.epilogue == Epilogue{} && data_.bias.empty()) {
      add_host();
    }
    return std::move(result_);
  }

 private:
  void add(std::string_view cause, std::string text, const KernelModel& model) {
    result_.push_back({std::string(cause), std::move(text), model});
  }

  // How memory is read ---------------------------------------------------------------------------

  void add_metadata() {
    if (!data_.is_compressed() || !from_.instruction.sparse) {
      return;
    }
    constexpr std::array kScrambles{
        std::pair{Scramble::kSwappedIndices,
                  "the two indices of every metadata nibble are swapped"},
        std::pair{Scramble::kSwappedNibbles, "the nibbles of every metadata byte are swapped"},
        std::pair{Scramble::kSwappedBytes, "the bytes of every metadata half-word are swapped"},
        std::pair{Scramble::kSwappedHalves, "the halves of every metadata word are swapped"},
        std::pair{Scramble::kSwappedWords, "the words of metadata are swapped in pairs"},
        std::pair{Scramble::kIgnored,
                  "metadata is ignored: the first elements of every group are taken"}};
    for (const auto& [scramble, text] : kScrambles) {
      if (scramble != from_.reading.scramble) {
        KernelModel model = from_;
        model.reading.scramble = scramble;
        add("metadata-indices", text, model);
      }
    }
    if (data_.metadata->layout == vectors::MetadataLayout::kIndices) {
      return;
    }
    constexpr std::array kLayouts{
        std::pair{vectors::MetadataLayout::kCanonical, "canonical (row-major)"},
        std::pair{vectors::MetadataLayout::kReordered, "CUTLASS reordered"},
        std::pair{vectors::MetadataLayout::kMarlin, "Sparse-Marlin reordered"},
        std::pair{vectors::MetadataLayout::kLanes, "mma.sp register words"}};
    for (const auto& [layout, text] : kLayouts) {
      for (int selector = 0; selector < (layout == vectors::MetadataLayout::kLanes ? 4 : 1);
           ++selector) {
        KernelModel model = from_;
        model.reading.layout = layout;
        model.reading.selector = selector;
        if (model.reading == from_.reading) {
          continue;
        }
        const bool only_selector = layout == from_.reading.layout;
        add(only_selector ? "metadata-selector" : "metadata-layout",
            only_selector ? fmt::format("the sparsity selector is {} instead of {}", selector,
                                        from_.reading.selector)
                          : fmt::format("metadata is read in the layout {}{}", text,
                                        layout == vectors::MetadataLayout::kLanes
                                            ? fmt::format(", selector {}", selector)
                                            : ""),
            model);
      }
    }
  }

  void add_layouts() {
    const auto flip = [&](const char* what, bool Reading::*column_major) {
      KernelModel model = from_;
      model.reading.*column_major = !(model.reading.*column_major);
      add("operand-layout",
          fmt::format("{} is taken as {}-major (transposed operand)", what,
                      model.reading.*column_major ? "column" : "row"),
          model);
    };
    flip("A", &Reading::a_column_major);
    flip("B", &Reading::b_column_major);
    if (data_.c) {
      flip("C", &Reading::c_column_major);
    }
    KernelModel model = from_;
    model.reading.d_column_major = !model.reading.d_column_major;
    add("operand-layout", "D is stored transposed (M and N exchanged)", model);
  }

  /// Leading dimensions that are another extent, or padded where the memory is not.
  void add_pitches(const char* what, const StoredMatrix& matrix, bool column_major,
                   std::size_t Reading::*pitch) {
    const std::size_t own = column_major ? matrix.rows : matrix.cols;
    std::set<std::size_t> pitches{data_.m, data_.n, data_.k, own + 8};
    for (const std::size_t multiple : {8U, 16U, 32U, 64U, 128U}) {
      pitches.insert((own + multiple - 1) / multiple * multiple);
    }
    pitches.erase(own);
    for (const std::size_t other : pitches) {
      KernelModel model = from_;
      model.reading.*pitch = other;
      add("leading-dimension",
          fmt::format("the leading dimension of {} is taken for {} instead of {}", what, other,
                      own),
          model);
    }
  }

  void add_pruning() {
    if (data_.is_compressed() || !from_.instruction.sparse) {
      return;
    }
    constexpr std::array kPrunings{
        std::pair{Pruning::kMagnitude, "A is pruned by magnitude"},
        std::pair{Pruning::kZeroSigns,
                  "-0.0 is taken for a non-zero: it takes a place of its group, and a later "
                  "element is lost"},
        std::pair{Pruning::kSmallest, "pruning keeps the smallest elements instead of the largest"},
        std::pair{Pruning::kHalved, "pruning keeps half as many elements of each group"},
        std::pair{Pruning::kAlongM, "A is pruned in groups along M instead of K"},
        std::pair{Pruning::kNone, "A is not pruned: a dense instruction takes all of it"}};
    for (const auto& [pruning, text] : kPrunings) {
      if (pruning == Pruning::kZeroSigns && !has_negative_zero()) {
        continue;
      }
      KernelModel model = from_;
      model.reading.pruning = pruning;
      if (pruning == Pruning::kAlongM || pruning == Pruning::kNone) {
        if (!make_dense(model)) {
          continue;
        }
      }
      if (!(model.reading == from_.reading)) {
        add(pruning == Pruning::kZeroSigns ? "negative-zero" : "pruning", text, model);
      }
    }
  }

  bool has_negative_zero() const {
    const numerics::DataType type = from_.instruction.a_type;
    return numerics::info(type).is_float() &&
           std::ranges::any_of(data_.a.words, [&](numerics::Word word) {
             return word != 0 && numerics::to_double(word, type) == 0;
           });
  }

  /// The dense instruction of the same types and stored depth on the target.
  bool make_dense(KernelModel& model) const {
    MmaInstruction dense = from_.instruction;
    dense.sparse = false;
    dense.shape.k /= 2;
    const auto rules = mma::find_step_rules(target_.architecture, dense);
    if (rules) {
      model.instruction = dense;
      model.rules = *rules;
    }
    return rules.has_value();
  }

  /// The bits of A, B or both taken for another type of their width.
  void add_operand_types() {
    using enum numerics::DataType;
    constexpr std::array kPairs{std::pair{kS8, kU8}, std::pair{kS4, kU4}, std::pair{kE4m3, kE5m2},
                                std::pair{kF16, kBf16}};
    const auto other_of = [&](numerics::DataType type) {
      for (const auto& [one, other] : kPairs) {
        if (type == one || type == other) {
          return type == one ? other : one;
        }
      }
      return type;
    };
    const mma::MmaInstruction& from = from_.instruction;
    const numerics::DataType a = other_of(from.a_type), b = other_of(from.b_type);
    const auto add_types = [&](numerics::DataType a_type, numerics::DataType b_type,
                               const std::string& text) {
      KernelModel model = from_;
      model.instruction.a_type = a_type;
      model.instruction.b_type = b_type;
      const auto rules = mma::find_step_rules(target_.architecture, model.instruction);
      if (rules && (a_type != from.a_type || b_type != from.b_type)) {
        model.rules = *rules;
        add("operand-type", text, model);
      }
    };
    add_types(a, from.b_type, fmt::format("A is taken for {}", numerics::name(a)));
    add_types(from.a_type, b, fmt::format("B is taken for {}", numerics::name(b)));
    add_types(a, b,
              fmt::format("A is taken for {} and B for {}", numerics::name(a), numerics::name(b)));
  }

  // Order along K --------------------------------------------------------------------------------

  bool has_c() const {
    return data_.c && std::any_of(data_.c->words.begin(), data_.c->words.end(),
                                  [](numerics::Word word) { return word != 0; });
  }

  void add_order(std::string_view cause, const std::string& text, const KOrder& order) {
    if (!(order == from_.order)) {
      KernelModel model = from_;
      model.order = order;
      add(cause, text, model);
    }
  }

  /// Reductions that can differ, with and without C in the epilogue.
  template <typename Add>
  void each_reduction(int slices, Add add_one) const {
    const bool rounds_in_d = data_.d_type != from_.rules.output;
    for (const bool epilogue : {false, true}) {
      if (epilogue && !has_c()) {
        continue;
      }
      for (const Reduction reduction :
           {Reduction::kSerial, Reduction::kParallel, Reduction::kSerialReversed,
            Reduction::kParallelReversed, Reduction::kTree}) {
        const bool parallel =
            reduction == Reduction::kParallel || reduction == Reduction::kParallelReversed;
        const bool same_as_serial = parallel && !rounds_in_d && !has_c();
        const bool same_as_forward =
            slices == 2 && !has_c() &&
            (reduction == Reduction::kSerialReversed || reduction == Reduction::kParallelReversed);
        const bool same_as_parallel = slices < 4 && reduction == Reduction::kTree;
        if (!same_as_serial && !same_as_forward && !same_as_parallel) {
          add_one(reduction, epilogue);
        }
      }
    }
  }

  void add_k_orders() {
    if (has_c()) {
      KOrder order = from_.order;
      order.c_in_epilogue = !order.c_in_epilogue;
      add_order("c-place",
                order.c_in_epilogue
                    ? "C is added in the epilogue, not in the accumulator"
                    : "the accumulators start from C, which is not added at the end",
                order);
    }
    if (from_.order.slices > 1) {
      KOrder single;
      single.c_in_epilogue = from_.order.c_in_epilogue;
      add_order("split-k", "one accumulator for all of K (no split-K)", single);
      each_reduction(from_.order.slices, [&](Reduction reduction, bool epilogue) {
        KOrder order = from_.order;
        order.reduction = reduction;
        order.c_in_epilogue = epilogue;
        add_order("reduction-order",
                  fmt::format("the {} slices are reduced in the order '{}'{}", order.slices,
                              name(reduction), where_c(epilogue)),
                  order);
      });
    }
    add_split_k();
    KOrder backwards = from_.order;
    backwards.decreasing = !backwards.decreasing;
    add_order("k-order", "K runs in decreasing steps", backwards);
  }

  std::string where_c(bool epilogue) const {
    return has_c() ? (epilogue ? ", C added in the epilogue" : ", the first slice starts from C")
                   : "";
  }

  /// Contiguous slices by their length, then interleaved ones.
  void add_split_k() {
    const auto k = static_cast<int>(std::min<std::size_t>(data_.k, 1 << 28));
    const int depth = from_.instruction.shape.k;
    std::set<int> lengths;
    std::vector<std::pair<int, int>> wanted;  // slices, length
    const auto want = [&](int slices, int length) {
      if (slices > 1 && length < k && lengths.insert(length).second) {
        wanted.emplace_back((k + length - 1) / length, length);
      }
    };
    for (int slices = 2; slices <= kMaxSlices; ++slices) {
      for (const int unit : {depth, 32, 64, 128}) {
        const int granule = (unit + depth - 1) / depth * depth;
        const int granules = (k + granule - 1) / granule;
        want(slices, (granules + slices - 1) / slices * granule);
      }
    }
    for (const int length : {32, 64, 128, 256, 512}) {
      want(kMaxSlices + 1, (length + depth - 1) / depth * depth);
    }
    for (const auto& [slices, length] : wanted) {
      add_slices(slices, length, false);
    }
    for (const int slices : {2, 4, 8}) {
      for (const int steps : {1, 2, 4}) {
        if (slices * steps * depth <= k) {
          add_slices(slices, steps * depth, true);
        }
      }
    }
  }

  void add_slices(int slices, int granule, bool interleaved) {
    each_reduction(slices, [&](Reduction reduction, bool epilogue) {
      KOrder order = from_.order;
      order.slices = slices;
      order.granule = granule;
      order.interleaved = interleaved;
      order.c_in_epilogue = epilogue;
      order.reduction = reduction;
      const std::string what =
          interleaved ? fmt::format("sliced-K: {} accumulators take turns of {} k", slices, granule)
          : slices > kMaxSlices ? fmt::format("accumulators are promoted every {} k", granule)
                                : fmt::format("split-K of {} slices of {} k", slices, granule);
      add_order("split-k",
                fmt::format("{}, reduction '{}'{}", what, name(reduction), where_c(epilogue)),
                order);
    });
  }

  // Arithmetic -----------------------------------------------------------------------------------

  void add_instructions() {
    seen_.insert(arithmetic_key(from_.instruction, from_.rules));
    add_instructions_of(target_, true);
    for (const mma::Target& other : mma::targets()) {
      if (other.architecture != target_.architecture) {
        add_instructions_of(other, false);
      }
    }
  }

  void add_instructions_of(const mma::Target& target, bool own) {
    for (const mma::CatalogueEntry& entry : mma::instructions(target)) {
      const MmaInstruction& candidate = entry.instruction;
      if (entry.is_software || candidate.a_type != from_.instruction.a_type ||
          candidate.b_type != from_.instruction.b_type || candidate.scales) {
        continue;
      }
      for (const auto grouping :
           {mma::SparseGrouping::kCompressed, mma::SparseGrouping::kLogical}) {
        const auto rules = mma::find_step_rules(target.architecture, candidate, grouping);
        if ((grouping == mma::SparseGrouping::kLogical && !candidate.sparse) || !rules ||
            !seen_.insert(arithmetic_key(candidate, *rules)).second) {
          continue;
        }
        add_instruction(target, own, candidate, *rules, grouping);
      }
    }
  }

  void add_instruction(const mma::Target& target, bool own, const MmaInstruction& candidate,
                       const mma::StepRules& rules, mma::SparseGrouping grouping) {
    KernelModel model = from_;
    model.instruction = candidate;
    model.rules = rules;
    const bool same_shape = candidate.sparse == from_.instruction.sparse;
    const bool other_output = rules.output != from_.rules.output;
    const bool logical = grouping == mma::SparseGrouping::kLogical;
    const std::string_view cause = !own                    ? "architecture"
                                   : other_output          ? "accumulator"
                                   : logical && same_shape ? "sparse-grouping"
                                                           : "instruction";
    std::string text =
        other_output && own
            ? fmt::format("accumulates in {} instead of {} ({})", numerics::name(rules.output),
                          numerics::name(from_.rules.output), candidate.ptx_name())
            : fmt::format("{} of {}", candidate.ptx_name(), target.architecture);
    if (logical) {
      text += fmt::format(", grouping {}", vectors::grouping_name(grouping));
    }
    add(cause, text, model);
  }

  void add_rounding() {
    if (from_.rules.lowered_fp8) {
      return;
    }
    for (const auto& [text, rules] : vectors::rule_variants(from_.rules)) {
      if (seen_.insert(arithmetic_key(from_.instruction, rules)).second) {
        KernelModel model = from_;
        model.rules = rules;
        add("rounding", text, model);
      }
    }
  }

  void add_host() {
    KernelModel model = from_;
    model.arithmetic = KernelArithmetic::kFmaChain;
    add("no-tensor-core", "f32 fused multiply-adds in increasing k, no tensor core", model);
    model.arithmetic = KernelArithmetic::kExact;
    add("no-tensor-core", "one float64 sum rounded once, no tensor core", model);
  }

  const KernelData& data_;
  const KernelModel& from_;
  const mma::Target& target_;
  std::vector<Alternative> result_;
  std::set<decltype(arithmetic_key(std::declval<MmaInstruction>(), std::declval<mma::StepRules>()))>
      seen_;
};

}  // namespace

std::vector<Alternative> alternatives(const KernelData& data, const KernelModel& from,
                                      const mma::Target& target) {
  return Collector(data, from, target).collect();
}

}  // namespace sptc::check::kernel
