// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_core/waveform.h"

#include <fstream>

namespace sptc::tensor_core {
namespace {

/// The first `used` signals show `value_at(index)`. What the instruction does not have shows zero.
template <typename Signals, typename ValueAt>
void show(Signals& signals, int used, ValueAt value_at) {
  signals.fill(0);
  for (int i = 0; i < used; ++i) {
    signals[static_cast<std::size_t>(i)] = value_at(i);
  }
}

}  // namespace

TensorCoreWaveform::TensorCoreWaveform(sc_core::sc_trace_file* file, TensorCore& core,
                                       const std::string& prefix) {
  trace(file, prefix);
  core.fetched.set_tap([this](FetchedToken& token) {
    set(fetch_, token.issue, 0);
    if (token.payload) {
      const mma::MmaInstruction& instruction = token.issue.context->instruction;
      const int groups =
          instruction.sparse ? instruction.shape.k / instruction.sparse_pattern().group : 0;
      show(metadata_, groups, [&](int group) { return token.payload->nibbles[0][group]; });
    }
  });
  core.selected.set_tap([this](SelectedToken& token) {
    set(select_, token.issue, token.step);
    if (token.payload) {
      const mma::SelectedOperands& selected = *token.payload;
      const int width = token.issue.context->rules.products_per_step;
      show(selected_row_, width, [&](int t) { return selected.b_row[0][t]; });
      show(a_, width, [&](int t) { return selected.a.significand[0][t]; });
      show(b_, width, [&](int t) { return selected.b.significand[t][0]; });
    }
  });
  core.products.set_tap([this](ProductsToken& token) {
    set(multiply_, token.issue, token.step);
    if (token.payload) {
      const int width = token.issue.context->rules.products_per_step;
      show(product_, width, [&](int t) { return token.payload->significand[t][0]; });
      show(product_exponent_, width, [&](int t) { return token.payload->exponent[t][0]; });
      max_exponent_ = token.payload->max_exponent[0][0];
    }
  });
  core.sums.set_tap([this](SumsToken& token) {
    set(add_, token.issue, token.step);
    if (token.payload) {
      const int width = token.issue.context->rules.products_per_step;
      show(addend_, width, [&](int t) { return token.payload->addend[t][0]; });
      addend_[kProducts] = token.payload->addend[width][0];
      sum_ = token.payload->sum[0][0];
    }
  });
  core.feedback.set_tap([this](FeedbackToken& token) {
    round_.instruction = token.id;
    round_.step = token.next_step - 1;
    word_ = token.payload ? token.payload->word[0][0] : word_;
  });
}

void TensorCoreWaveform::show_result(const MmaDoneToken& token) {
  set(round_, token.issue, token.issue.context->steps - 1);
  word_ = token.payload ? token.payload->word[0][0] : word_;
}

void TensorCoreWaveform::set(StageSignals& stage, const MmaIssue& issue, int step) {
  stage = {issue.id, step, issue.context->instruction.sparse};
}

void TensorCoreWaveform::trace(sc_core::sc_trace_file* file, const std::string& prefix) {
  const auto add = [&](const auto& signal, const std::string& name) {
    sc_core::sc_trace(file, signal, prefix + "." + name);
  };
  const auto add_all = [&](const auto& signals, const std::string& name) {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      add(signals[i], name + "_" + std::to_string(i));
    }
  };
  const auto add_stage = [&](const StageSignals& stage, const std::string& name) {
    add(stage.instruction, name + ".instruction");
    add(stage.step, name + ".step");
    add(stage.sparse, name + ".sparse");
  };
  add_stage(fetch_, "fetch");
  add_all(metadata_, "fetch.metadata");
  add_stage(select_, "select");
  add_all(selected_row_, "select.row_of_b");
  add_all(a_, "select.a");
  add_all(b_, "select.b");
  add_stage(multiply_, "multiply");
  add_all(product_, "multiply.product");
  add_all(product_exponent_, "multiply.exponent");
  add(max_exponent_, "multiply.max_exponent");
  add_stage(add_, "align_add");
  add_all(addend_, "align_add.addend");
  add(sum_, "align_add.sum");
  add_stage(round_, "round");
  add(word_, "round.word");
}

void remove_date(const std::filesystem::path& vcd_file) {
  std::fstream file(vcd_file, std::ios::in | std::ios::out | std::ios::binary);
  std::string word;
  if (!(file >> word) || word != "$date") {
    return;
  }
  const auto begin = file.tellg();
  while (file >> word && word != "$end") {
  }
  const auto length = file.tellg() - begin - static_cast<std::streamoff>(word.size());
  if (file && length > 0) {
    file.seekp(begin);
    file << std::string(static_cast<std::size_t>(length), ' ');
  }
}

}  // namespace sptc::tensor_core
