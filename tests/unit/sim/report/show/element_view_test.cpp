// SPDX-License-Identifier: Apache-2.0
//
// What `sptcsim show` says of one element is what the hardware vectors say, and what travels on the
// wires of the simulated tensor core.
#include "sim/report/show/element_view.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "tests/support/mma_operands.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

namespace sptc::report::show {
namespace {

using nlohmann::json;
using numerics::DataType;
using numerics::Word;

std::uint32_t from_hex(const json& text) {
  return static_cast<std::uint32_t>(std::stoul(text.get<std::string>(), nullptr, 16));
}

std::vector<json> sparse_vectors() {
  std::ifstream stream(std::string(SPTC_SOURCE_DIR) + "/tests/golden/ptx/mma_sp_instruction_vectors.json");
  return json::parse(stream).at("vectors");
}

base::Matrix<Word> read_words(const json& rows, DataType type) {
  base::Matrix<Word> matrix(rows.size(), rows.at(0).size());
  for (std::size_t r = 0; r < matrix.rows(); ++r) {
    for (std::size_t c = 0; c < matrix.cols(); ++c) {
      matrix(r, c) = numerics::from_double(rows.at(r).at(c).get<double>(), type);
    }
  }
  return matrix;
}

/// The first target of the catalogue that has `instruction` and its arithmetic.
const mma::Target* target_with(const mma::MmaInstruction& instruction) {
  for (const mma::Target& target : mma::targets()) {
    for (const mma::CatalogueEntry& entry : mma::instructions(target)) {
      if (entry.covers(instruction) && !entry.is_software && mma::find_step_rules(target.architecture, instruction)) {
        return &target;
      }
    }
  }
  return nullptr;
}

ShownOperands operands_of(const json& vector, const mma::MmaInstruction& instruction) {
  ShownOperands operands;
  operands.a = read_words(vector.at("A_dense"), instruction.a_type);
  operands.compressed = sparsity::compress(operands.a, instruction.a_type);
  operands.b = read_words(vector.at("B"), instruction.b_type);
  operands.c = read_words(vector.at("C"), instruction.c_type());
  return operands;
}

void expect_vector(const json& vector, const mma::MmaInstruction& instruction, const mma::Target& target, int row,
                   int col) {
  const ShownOperands operands = operands_of(vector, instruction);
  const json& selectors = vector.at("lane_metadata_words_by_selector");
  for (int selector = 0; selector < static_cast<int>(selectors.size()); ++selector) {
    const ElementView view = view_element(target, instruction, operands, {row, col, selector});
    EXPECT_EQ(numerics::to_double(view.d, instruction.accumulator),
              vector.at("D").at(static_cast<std::size_t>(row)).at(static_cast<std::size_t>(col)));
    for (std::size_t group = 0; group < view.groups.size(); ++group) {
      const GroupView& shown = view.groups[group];
      ASSERT_TRUE(shown.in_register);
      const auto lane = static_cast<std::size_t>(shown.lane);
      EXPECT_EQ(shown.in_register->word, from_hex(selectors.at(std::to_string(selector)).at(lane)));
      for (const BitField& field : {*shown.in_register, shown.element}) {
        EXPECT_EQ(field.word >> field.low_bit & 0xF,
                  vector.at("nibbles_row_major").at(static_cast<std::size_t>(row)).at(group));
      }
    }
    for (const KeptView& kept : view.kept) {
      EXPECT_EQ(from_hex(vector.at("A_regs")
                             .at(static_cast<std::size_t>(kept.a_slot->lane))
                             .at(static_cast<std::size_t>(kept.a_slot->reg))) >>
                        (kept.a_slot->element * numerics::storage_bits(instruction.a_type)) &
                    ((std::uint64_t{1} << numerics::storage_bits(instruction.a_type)) - 1),
                kept.value);
    }
  }
}

TEST(ElementView, HasTheWordsOfThePtxVectors) {
  int compared = 0;
  for (const json& vector : sparse_vectors()) {
    const auto type = numerics::parse_data_type(vector.at("dtype").get<std::string>());
    const auto shape = vector.at("ptx_shape").get<std::string>();
    if (!type) {
      continue;
    }
    const mma::MmaInstruction instruction{
        {16, 8, std::stoi(shape.substr(6))}, *type, *type, numerics::accumulator_type(*type), true};
    const mma::Target* target = target_with(instruction);
    if (target == nullptr) {
      continue;
    }
    SCOPED_TRACE(instruction.ptx_name());
    ++compared;
    expect_vector(vector, instruction, *target, 0, 0);
    expect_vector(vector, instruction, *target, 13, 5);
  }
  EXPECT_GT(compared, 15);
}

/// Element (row, col) step by step against what the stages put on their wires.
void expect_wires(const mma::MmaInstruction& instruction, const ShownOperands& operands, int row, int col) {
  const mma::Target& target = mma::find_target("A100");
  const ElementView view = view_element(target, instruction, operands, {row, col, 0});
  mma::MmaOperands matrices(instruction);
  matrices.a = instruction.sparse ? operands.compressed.values : operands.a;
  matrices.b = operands.b;
  matrices.c = operands.c;
  matrices.nibbles = operands.compressed.nibbles;
  const mma::StepContext context(instruction, view.rules);
  ASSERT_EQ(static_cast<int>(view.steps.size()), context.steps);
  mma::FetchedOperands fetched;
  mma::SelectedOperands selected;
  mma::Products products;
  mma::AlignedSums sums;
  mma::RoundedResults results;
  decode_operands(context, operand_words(instruction, matrices), fetched);
  mma::Accumulators accumulator = fetched.c;
  for (int s = 0; s < context.steps; ++s) {
    if (s > 0) {
      decode_accumulators(context, results, accumulator);
    }
    select_operands(context, fetched, s, selected);
    multiply(context, selected, accumulator, products);
    align_and_add(context, products, sums);
    round_sums(context, sums, results);
    const mma::ElementStep& step = view.steps[static_cast<std::size_t>(s)];
    for (int t = 0; t < static_cast<int>(step.positions.size()); ++t) {
      const KeptView& kept = view.kept[step.positions[static_cast<std::size_t>(t)]];
      EXPECT_EQ(selected.b_row[row][t], kept.k);
      EXPECT_EQ(sums.addend[row * (mma::kMaxStepProducts + 1) + t][col],
                step.addends[static_cast<std::size_t>(t)].aligned);
    }
    EXPECT_EQ(sums.sum[row][col], step.trace.sum);
    EXPECT_EQ(results.word[row][col], step.trace.result);
  }
}

TEST(ElementView, IsWhatTravelsOnTheWiresOfTheTensorCore) {
  for (const mma::MmaInstruction& instruction : mma::ampere_instructions()) {
    SCOPED_TRACE(instruction.ptx_name());
    for (const char* data : {"random", "integers", "relu"}) {
      const ShownOperands operands = generated_operands(instruction, data, 7);
      expect_wires(instruction, operands, 0, 0);
      expect_wires(instruction, operands, 15, 7);
    }
  }
}

TEST(ElementView, ShowsEveryInstructionOfTheCatalogueOrSaysWhyNot) {
  int shown = 0;
  for (const mma::Target& target : mma::targets()) {
    for (const mma::CatalogueEntry& entry : mma::instructions(target)) {
      SCOPED_TRACE(std::string(target.name) + " " + entry.ptx_name());
      try {
        mma::require_steps(entry.instruction, mma::instruction_rules(target, entry.instruction));
        const ElementView view =
            view_element(target, entry.instruction, generated_operands(entry.instruction, "random", 1), {1, 2, 0});
        EXPECT_FALSE(element_text(view).empty());
        const json document = json::parse(element_json(view));
        EXPECT_EQ(document.at("kept").size(), view.kept.size());
        ++shown;
      } catch (const base::InputError& error) {
        EXPECT_FALSE(std::string(error.what()).empty());
      }
    }
  }
  EXPECT_GT(shown, 200);
}

// Kept and cut bits together are the exact number.
TEST(AddendBits, KeptAndCutBitsAreTheExactNumber) {
  const mma::Target& target = mma::find_target("H100");
  const mma::MmaInstruction instruction = mma::parse_instruction("m16n8k16.f32.f16.f16.f32");
  const ElementView view = view_element(target, instruction, generated_operands(instruction, "random", 11), {3, 4, 0});
  ASSERT_FALSE(view.steps.empty());
  for (const mma::ElementStep& step : view.steps) {
    const BitWindow window = bit_window(step, view.rules.fraction_bits);
    EXPECT_FALSE(step.addends.empty());
    for (const mma::Addend& addend : step.addends) {
      const AddendBits bits = addend_bits(addend, window);
      double value = 0;
      int exponent = window.unit_exponent + window.bits;
      for (const char bit : bits.kept + bits.cut) {
        value += std::ldexp(bit == '1' ? 1.0 : 0.0, --exponent);
      }
      EXPECT_EQ(bits.negative ? -value : value, exact_value(addend));
    }
  }
}

}  // namespace
}  // namespace sptc::report::show
