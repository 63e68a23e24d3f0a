// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/waveform.h"

#include "models/numerics/data_type.h"
#include "sim/gpu/gpu.h"
#include "sim/hardware/sm/stall_counters.h"
#include "sim/hardware/sm/sub_partition.h"

#include <map>
#include <optional>

namespace sptc::gpu {
namespace {

constexpr int kProducts = mma::kMaxStepProducts;
constexpr int kWord = 32;
constexpr int kNumber = 32;
constexpr int kSum = 64;

std::uint32_t element_of(const std::uint32_t* words, int index, int bits) {
  const int at = index * bits;
  const std::uint32_t mask = bits < kWord ? (1U << bits) - 1 : ~0U;
  return (words[at / kWord] >> (at % kWord)) & mask;
}

std::uint64_t as_bits(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

class Waveform::Partition {
 public:
  Partition(Waveform& waveform, const base::Clock& clock, sm::SubPartition& seen)
      : waveform_(waveform),
        dump_(waveform.dump_),
        clock_(clock),
        seen_(seen),
        row_(waveform.element_.row),
        col_(waveform.element_.col) {
    for (const Signal signal : {issue_valid_, fetch_.valid, select_.valid, multiply_.valid, add_.valid, round_.valid}) {
      dump_.set(0, signal, 0);
    }
    dump_.set(0, issue_ready_, 1);
    dump_.set(0, fetch_ready_, 1);
    tensor_core::TensorCore& core = seen.tensor_core;
    seen.issue.add_tap([this](const tensor_core::MmaIssue& issue) { show_issue(issue); });
    seen.operands_read.add_tap([this](const tensor_core::OperandsReadToken&) {
      --waiting_;
      show_ready(issue_ready_, waiting_ < sm::SubPartition::kDispatchQueue);
    });
    core.fetched.add_tap([this](const tensor_core::FetchedToken& token) { show_fetched(token); });
    core.credit.add_tap([this](const tensor_core::CreditToken&) {
      --inside_;
      show_ready(fetch_ready_, inside_ < seen_.tensor_core.spec().instruction_window);
    });
    core.selected.add_tap([this](const tensor_core::SelectedToken& token) { show_selected(token); });
    core.products.add_tap([this](const tensor_core::ProductsToken& token) { show_products(token); });
    core.sums.add_tap([this](const tensor_core::SumsToken& token) { show_sums(token); });
    core.feedback.add_tap([this](const tensor_core::FeedbackToken& token) {
      show_word(token.id, token.next_step - 1, token.payload.get());
    });
    seen.mma_done.add_tap([this](const tensor_core::MmaDoneToken& token) {
      show_word(token.issue.id, token.issue.context->steps - 1, token.payload.get());
      words_.erase(token.issue.id);
    });
    seen.stalls.observe([this](std::int64_t begin, std::int64_t /*end*/, sm::StallReason reason) {
      dump_.set_text(begin, stall_, sm::name_of(reason).json);
    });
  }

 private:
  using Signal = VcdDump::Signal;
  using Signals = std::vector<Signal>;

  /// Signals that every stage has.
  struct Stage {
    Signal valid = 0, instruction = 0, step = 0;
  };

  std::int64_t now() const { return clock_.now(); }

  Signal add(const char* stage, const std::string& name, int width = VcdDump::kText) {
    return dump_.add(std::string(seen_.basename()) + "." + stage, name, width);
  }
  Stage add_stage(const char* stage) {
    return {add(stage, "valid", 1), add(stage, "instruction", kNumber), add(stage, "step", kNumber)};
  }
  Signals add_all(const char* stage, const std::string& name, int width) {
    Signals signals;
    for (int i = 0; i < kProducts; ++i) {
      signals.push_back(add(stage, name + "_" + std::to_string(i), width));
    }
    return signals;
  }

  void pulse(Signal valid) {
    dump_.set(now(), valid, 1);
    dump_.set(now() + 1, valid, 0);
  }
  /// Takes effect in the next cycle.
  void show_ready(Signal ready, bool is_ready) { dump_.set(now() + 1, ready, is_ready ? 1 : 0); }
  void enter(const Stage& stage, std::uint64_t id, int step) {
    pulse(stage.valid);
    dump_.set(now(), stage.instruction, id);
    dump_.set(now(), stage.step, as_bits(step));
  }
  /// The first `used` signals show `value_at(index)`; the others have none.
  template <typename ValueAt>
  void show(const Signals& signals, int used, ValueAt value_at) {
    for (int i = 0; i < static_cast<int>(signals.size()); ++i) {
      const Signal signal = signals[static_cast<std::size_t>(i)];
      if (i < used) {
        dump_.set(now(), signal, as_bits(value_at(i)));
      } else {
        dump_.set(now(), signal, std::nullopt);
      }
    }
  }

  void show_issue(const tensor_core::MmaIssue& issue) {
    const mma::MmaInstruction& instruction = issue.context->instruction;
    ++waiting_;
    pulse(issue_valid_);
    show_ready(issue_ready_, waiting_ < sm::SubPartition::kDispatchQueue);
    dump_.set(now(), instruction_, issue.id);
    dump_.set(now(), warp_, as_bits(seen_.warp_at(issue.warp_slot).name.warp));
    dump_.set(now(), cta_, as_bits(seen_.warp_at(issue.warp_slot).launch.cta));
    dump_.set_text(now(), opcode_, instruction.ptx_name());
    dump_.set_text(now(), operation_, waveform_.operation_);
    dump_.set_text(now(), variant_, instruction.sparse ? instruction.sparse_pattern().name() : "dense");
  }

  void show_fetched(const tensor_core::FetchedToken& token) {
    const mma::MmaInstruction& instruction = token.issue.context->instruction;
    ++inside_;
    enter(fetch_, token.issue.id, 0);
    show_ready(fetch_ready_, inside_ < seen_.tensor_core.spec().instruction_window);
    // A pattern of one's own has indices and no nibbles.
    const bool has_nibbles = instruction.sparse && !instruction.pattern;
    const int groups = has_nibbles ? instruction.shape.k / instruction.sparse_pattern().group : 0;
    show(metadata_, token.payload ? groups : 0, [&](int group) { return token.payload->nibbles[row_][group]; });
    if (!token.payload) {
      dump_.set(now(), c_word_, std::nullopt);
      return;
    }
    mma::OperandWords& words = words_[token.issue.id];
    const isa::WarpInstruction& registers = *token.issue.instruction;
    const auto at = [&](const isa::RegisterRange& range) {
      return seen_.registers().read(token.issue.warp_slot, range.base);
    };
    token.issue.registers->gather({at(registers.a), at(registers.b), at(registers.c),
                                   registers.metadata.count > 0 ? at(registers.metadata) : nullptr, registers.selector},
                                  words);
    dump_.set(now(), c_word_, words.c[row_][col_]);
  }

  void show_selected(const tensor_core::SelectedToken& token) {
    enter(select_, token.issue.id, token.step);
    const mma::StepContext& context = *token.issue.context;
    const int width = token.payload ? context.rules.products_per_step : 0;
    const mma::SelectedOperands* const selected = token.payload.get();
    show(row_of_b_, width, [&](int t) { return selected->b_row[row_][t]; });
    show(a_, width, [&](int t) { return selected->a.significand[row_][t]; });
    show(b_, width, [&](int t) { return selected->b.significand[row_ * context.rules.products_per_step + t][col_]; });
    const auto words = words_.find(token.issue.id);
    const int known = words == words_.end() ? 0 : width;
    const int a_bits = numerics::storage_bits(context.instruction.a_type);
    const int b_bits = numerics::storage_bits(context.instruction.b_type);
    show(a_word_, known, [&](int t) { return element_of(words->second.a[row_], token.step * width + t, a_bits); });
    show(b_word_, known, [&](int t) { return element_of(words->second.b[col_], selected->b_row[row_][t], b_bits); });
  }

  void show_products(const tensor_core::ProductsToken& token) {
    enter(multiply_, token.issue.id, token.step);
    const int stride = token.issue.context->rules.products_per_step;
    const int width = token.payload ? stride : 0;
    const mma::Products* const products = token.payload.get();
    show(product_, width, [&](int t) { return products->significand[row_ * stride + t][col_]; });
    show(exponent_, width, [&](int t) { return products->exponent[row_ * stride + t][col_]; });
    show({max_exponent_}, products ? 1 : 0, [&](int) { return products->max_exponent[row_][col_]; });
  }

  void show_sums(const tensor_core::SumsToken& token) {
    enter(add_, token.issue.id, token.step);
    const int width = token.payload ? token.issue.context->rules.products_per_step : 0;
    const mma::AlignedSums* const sums = token.payload.get();
    const auto addend = [&](int t) { return sums->addend[row_ * (kProducts + 1) + t][col_]; };
    show(addend_, width, addend);
    show({accumulator_}, sums ? 1 : 0, [&](int) { return addend(width); });
    show({sum_}, sums ? 1 : 0, [&](int) { return sums->sum[row_][col_]; });
  }

  void show_word(std::uint64_t id, int step, const mma::RoundedResults* results) {
    enter(round_, id, step);
    show({word_}, results ? 1 : 0, [&](int) { return results->word[row_][col_]; });
  }

  Waveform& waveform_;
  VcdDump& dump_;
  const base::Clock& clock_;
  sm::SubPartition& seen_;
  const int row_, col_;                               ///< of D
  int waiting_ = 0;                                   ///< instructions between scheduler and operand fetch
  int inside_ = 0;                                    ///< instructions between operand fetch and multipliers
  std::map<std::uint64_t, mma::OperandWords> words_;  ///< of the instructions inside
  // Signals, in the order of the file.
  const Signal issue_valid_ = add("issue", "valid", 1);
  const Signal issue_ready_ = add("issue", "ready", 1);
  const Signal instruction_ = add("issue", "instruction", kNumber);
  const Signal warp_ = add("issue", "warp", kNumber);
  const Signal cta_ = add("issue", "cta", kNumber);
  const Signal opcode_ = add("issue", "opcode");
  const Signal operation_ = add("issue", "operation");
  const Signal variant_ = add("issue", "variant");
  const Stage fetch_ = add_stage("fetch");
  const Signal fetch_ready_ = add("fetch", "ready", 1);
  const Signals metadata_ = add_all("fetch", "metadata", 4);
  const Signal c_word_ = add("fetch", "c_word", kWord);
  const Stage select_ = add_stage("select");
  const Signals row_of_b_ = add_all("select", "row_of_b", 8);
  const Signals a_word_ = add_all("select", "a_word", kWord);
  const Signals a_ = add_all("select", "a", kNumber);
  const Signals b_word_ = add_all("select", "b_word", kWord);
  const Signals b_ = add_all("select", "b", kNumber);
  const Stage multiply_ = add_stage("multiply");
  const Signals product_ = add_all("multiply", "product", kNumber);
  const Signals exponent_ = add_all("multiply", "exponent", kNumber);
  const Signal max_exponent_ = add("multiply", "max_exponent", kNumber);
  const Stage add_ = add_stage("align_add");
  const Signals addend_ = add_all("align_add", "addend", kNumber);
  const Signal accumulator_ = add("align_add", "addend_c", kNumber);
  const Signal sum_ = add("align_add", "sum", kSum);
  const Stage round_ = add_stage("round");
  const Signal word_ = add("round", "word", kWord);
  const Signal stall_ = dump_.add(seen_.basename(), "stall");
};

void Waveform::attach(Gpu& gpu) {
  period_ps_ = static_cast<std::int64_t>(gpu.clock().cycles(1).value());
  for (const auto& partition : gpu.sms().front()->sub_partitions) {
    partitions_.push_back(std::make_shared<Partition>(*this, gpu.clock(), *partition));
  }
}

}  // namespace sptc::gpu
