// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/codec.h"
#include "models/sparsity/metadata.h"
#include "sim/report/html_page.h"
#include "sim/report/show/element_view.h"
#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sptc::report::show {
/// sim/report/show/element.html.
std::string_view element_page();

namespace {

using Json = nlohmann::ordered_json;
using mma::ElementStep;
using mma::StepKind;
using numerics::DataType;
using numerics::Word;

std::string hex(std::uint32_t word, int bits) {
  return fmt::format("0x{:0{}x}", word, std::max(1, bits / 4));
}

/// A NaN or an infinity is null: JSON has none.
Json word_json(Word word, DataType type) {
  return {{"word", hex(word, numerics::storage_bits(type))}, {"value", numerics::to_double(word, type)}};
}

Json field_json(const BitField& field, int bits) {
  return {{"word", hex(field.word, bits)}, {"low_bit", field.low_bit}, {"bits", field.bits}};
}

Json group_json(const GroupView& group, int row, int element_bits) {
  Json canonical = field_json(group.element, element_bits);
  canonical["row"] = row;
  canonical["column"] = group.column;
  Json lane;
  if (group.in_register) {
    lane = field_json(*group.in_register, 32);
    lane["warp"] = group.warp;
    lane["lane"] = group.lane;
  }
  Json reordered = field_json(group.element, element_bits);
  reordered["rows"] = group.reordered_rows;
  reordered["index"] = group.reordered_index;
  return {{"nibble", group.nibble}, {"canonical", canonical}, {"register", lane}, {"reordered", reordered}};
}

Json slot_json(const std::optional<mma::FragmentSlot>& slot) {
  return slot ? Json{{"lane", slot->lane}, {"register", slot->reg}, {"element", slot->element}} : Json();
}

Json kept_json(const KeptView& kept, DataType type) {
  Json json = word_json(kept.value, type);
  json["k"] = kept.k;
  json["group"] = kept.group;
  json["slot"] = kept.slot;
  json["a_register"] = slot_json(kept.a_slot);
  json["b_register"] = slot_json(kept.b_slot);
  return json;
}

Json bits_json(const AddendBits& bits) {
  return {{"negative", bits.negative}, {"bits", bits.kept}, {"cut", bits.cut}};
}

Json step_json(const ElementView& view, const ElementStep& step) {
  constexpr const char* kKinds[] = {"aligned", "exact", "addition"};
  Json json{{"kind", kKinds[static_cast<std::size_t>(step.kind)]},
            {"positions", step.positions},
            {"accumulator", word_json(step.accumulator, view.rules.output)}};
  const bool aligned = step.kind == StepKind::kAligned && !step.addends.empty();
  const BitWindow window = aligned ? bit_window(step, view.rules.fraction_bits) : BitWindow{};
  if (aligned) {
    json["largest_exponent"] = step.trace.largest_exponent ? Json(*step.trace.largest_exponent) : Json();
    json["unit_exponent"] = window.unit_exponent;
    json["bits_before_point"] = window.point;
  }
  json["addends"] = Json::array();
  for (const mma::Addend& addend : step.addends) {
    Json entry{{"value", exact_value(addend)}, {"aligned", addend.aligned}};
    if (aligned) {
      entry.update(bits_json(addend_bits(addend, window)));
    }
    json["addends"].push_back(entry);
  }
  if (step.kind != StepKind::kAddition) {
    json["sum"] = {{"units", step.trace.sum}};
  }
  if (aligned) {
    json["sum"].update(bits_json(sum_bits(step.trace.sum, window)));
  }
  json["result"] = word_json(step.trace.result, view.rules.output);
  return json;
}

Json rules_json(const mma::StepRules& rules) {
  const bool nearest = rules.rounding == mma::OutputRounding::kNearestEven;
  Json json{{"products_per_step", rules.products_per_step}, {"exact", rules.is_integer()}};
  if (!rules.is_integer()) {
    json["fraction_bits"] = rules.fraction_bits;
    json["rounding"] = nearest ? "nearest even" : "toward zero";
    json["lowered_fp8"] = rules.lowered_fp8;
  }
  json["output"] = numerics::name(rules.output);
  json["evidence"] = mma::name(rules.evidence);
  json["source"] = rules.source;
  return json;
}

Json cycles_json(const std::optional<InstructionCycles>& cycles) {
  if (!cycles) {
    return {};
  }
  Json spans = Json::array();
  for (const StageSpan& span : cycles->spans) {
    spans.push_back({{"stage", span.stage}, {"step", span.step}, {"begin", span.begin}, {"end", span.end}});
  }
  return {{"board", cycles->board}, {"done", cycles->done}, {"spans", spans}};
}

Json words_json(const std::vector<Word>& words, DataType type) {
  Json list = Json::array();
  for (const Word word : words) {
    list.push_back(word_json(word, type));
  }
  return list;
}

Json sparsity_json(const ElementView& view) {
  if (!view.instruction.sparse) {
    return {};
  }
  const sparsity::Pattern pattern = view.instruction.sparse_pattern();
  const int element_bits = sparsity::metadata_element_bits(view.instruction.a_type);
  Json json{{"kept", pattern.kept},      {"group", pattern.group},       {"run", pattern.run},
            {"selector", view.selector}, {"element_bits", element_bits}, {"groups", Json::array()}};
  for (const GroupView& group : view.groups) {
    json["groups"].push_back(group_json(group, view.row, element_bits));
  }
  return json;
}

}  // namespace

std::string element_json(const ElementView& view) {
  const mma::MmaInstruction& mma = view.instruction;
  Json json{{"schema", "sptcsim-element/0.1"},
            {"version", report::program_version()},
            {"command", view.command},
            {"instruction", mma.ptx_name()},
            {"sass", view.entry.sass},
            {"target", {{"name", view.target.name}, {"gpus", view.target.gpus}}},
            {"m", mma.shape.m},
            {"n", mma.shape.n},
            {"k", mma.shape.k},
            {"types",
             {{"a", numerics::name(mma.a_type)},
              {"b", numerics::name(mma.b_type)},
              {"c", numerics::name(mma.c_type())},
              {"d", numerics::name(view.rules.output)}}},
            {"operands", view.operands},
            {"rules", rules_json(view.rules)},
            {"row", view.row},
            {"col", view.col},
            {"sparsity", sparsity_json(view)},
            {"weights", view.weights.empty() ? Json() : words_json(view.weights, mma.a_type)},
            {"b_column", words_json(view.b_column, mma.b_type)},
            {"c", word_json(view.c, mma.c_type())},
            {"kept", Json::array()},
            {"steps", Json::array()}};
  for (const KeptView& kept : view.kept) {
    json["kept"].push_back(kept_json(kept, mma.a_type));
  }
  for (const ElementStep& step : view.steps) {
    json["steps"].push_back(step_json(view, step));
  }
  json["d"] = word_json(view.d, view.rules.output);
  json["d"]["register"] = slot_json(view.d_slot);
  json["exact"] = view.exact;
  json["cycles"] = cycles_json(view.cycles);
  return json.dump(2) + "\n";
}

std::string element_html(const ElementView& view) {
  return report::html_page(element_page(), element_json(view));
}

}  // namespace sptc::report::show
