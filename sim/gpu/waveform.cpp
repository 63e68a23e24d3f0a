// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/waveform.h"

#include "models/numerics/data_type.h"
#include "sim/gpu/gpu.h"
#include "sim/hardware/sm/stall_counters.h"
#include "sim/hardware/sm/sub_partition.h"

#include <map>

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
      : waveform_(waveform), dump_(waveform.dump_), clock_(clock), seen_(seen) {
    add_signals();
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
  std::string scope(const char* stage) const { return std::string(seen_.basename()) + "." + stage; }

  Stage add_stage(const char* stage) {
    return {dump_.add(scope(stage), "valid", 1), dump_.add(scope(stage), "instruction", kNumber),
            dump_.add(scope(stage), "step", kNumber)};
  }
  Signals add_all(const char* stage, const std::string& name, int count, int width) {
    Signals signals;
    for (int i = 0; i < count; ++i) {
      signals.push_back(dump_.add(scope(stage), name + "_" + std::to_string(i), width));
    }
    return signals;
  }

  void add_signals() {
    issue_valid_ = dump_.add(scope("issue"), "valid", 1);
    issue_ready_ = dump_.add(scope("issue"), "ready", 1);
    instruction_ = dump_.add(scope("issue"), "instruction", kNumber);
    warp_ = dump_.add(scope("issue"), "warp", kNumber);
    cta_ = dump_.add(scope("issue"), "cta", kNumber);
    opcode_ = dump_.add_text(scope("issue"), "opcode");
    operation_ = dump_.add_text(scope("issue"), "operation");
    variant_ = dump_.add_text(scope("issue"), "variant");
    fetch_ = add_stage("fetch");
    fetch_ready_ = dump_.add(scope("fetch"), "ready", 1);
    metadata_ = add_all("fetch", "metadata", kProducts, 4);
    c_word_ = dump_.add(scope("fetch"), "c_word", kWord);
    select_ = add_stage("select");
    row_of_b_ = add_all("select", "row_of_b", kProducts, 8);
    a_word_ = add_all("select", "a_word", kProducts, kWord);
    a_ = add_all("select", "a", kProducts, kNumber);
    b_word_ = add_all("select", "b_word", kProducts, kWord);
    b_ = add_all("select", "b", kProducts, kNumber);
    multiply_ = add_stage("multiply");
    product_ = add_all("multiply", "product", kProducts, kNumber);
    exponent_ = add_all("multiply", "exponent", kProducts, kNumber);
    max_exponent_ = dump_.add(scope("multiply"), "max_exponent", kNumber);
    add_ = add_stage("align_add");
    addend_ = add_all("align_add", "addend", kProducts, kNumber);
    accumulator_ = dump_.add(scope("align_add"), "addend_c", kNumber);
    sum_ = dump_.add(scope("align_add"), "sum", kSum);
    round_ = add_stage("round");
    word_ = dump_.add(scope("round"), "word", kWord);
    stall_ = dump_.add_text(seen_.basename(), "stall");
    for (const Signal signal : {issue_valid_, fetch_.valid, select_.valid, multiply_.valid, add_.valid, round_.valid}) {
      dump_.set(0, signal, 0);
    }
    dump_.set(0, issue_ready_, 1);
    dump_.set(0, fetch_ready_, 1);
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
        dump_.set_undefined(now(), signal);
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
    const int row = waveform_.element_.row, col = waveform_.element_.col;
    // A pattern of one's own has indices and no nibbles.
    const bool has_nibbles = instruction.sparse && !instruction.pattern;
    const int groups = has_nibbles ? instruction.shape.k / instruction.sparse_pattern().group : 0;
    show(metadata_, token.payload ? groups : 0, [&](int group) { return token.payload->nibbles[row][group]; });
    if (!token.payload) {
      dump_.set_undefined(now(), c_word_);
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
    dump_.set(now(), c_word_, words.c[row][col]);
  }

  void show_selected(const tensor_core::SelectedToken& token) {
    enter(select_, token.issue.id, token.step);
    const mma::StepContext& context = *token.issue.context;
    const int width = token.payload ? context.rules.products_per_step : 0;
    const int row = waveform_.element_.row, col = waveform_.element_.col;
    const mma::SelectedOperands* const selected = token.payload.get();
    show(row_of_b_, width, [&](int t) { return selected->b_row[row][t]; });
    show(a_, width, [&](int t) { return selected->a.significand[row][t]; });
    show(b_, width, [&](int t) { return selected->b.significand[row * context.rules.products_per_step + t][col]; });
    const auto words = words_.find(token.issue.id);
    const int known = words == words_.end() ? 0 : width;
    const int a_bits = numerics::storage_bits(context.instruction.a_type);
    const int b_bits = numerics::storage_bits(context.instruction.b_type);
    show(a_word_, known, [&](int t) { return element_of(words->second.a[row], token.step * width + t, a_bits); });
    show(b_word_, known, [&](int t) { return element_of(words->second.b[col], selected->b_row[row][t], b_bits); });
  }

  void show_products(const tensor_core::ProductsToken& token) {
    enter(multiply_, token.issue.id, token.step);
    const int stride = token.issue.context->rules.products_per_step;
    const int width = token.payload ? stride : 0;
    const int row = waveform_.element_.row, col = waveform_.element_.col;
    const mma::Products* const products = token.payload.get();
    show(product_, width, [&](int t) { return products->significand[row * stride + t][col]; });
    show(exponent_, width, [&](int t) { return products->exponent[row * stride + t][col]; });
    show({max_exponent_}, products ? 1 : 0, [&](int) { return products->max_exponent[row][col]; });
  }

  void show_sums(const tensor_core::SumsToken& token) {
    enter(add_, token.issue.id, token.step);
    const int width = token.payload ? token.issue.context->rules.products_per_step : 0;
    const int row = waveform_.element_.row, col = waveform_.element_.col;
    const mma::AlignedSums* const sums = token.payload.get();
    const auto addend = [&](int t) { return sums->addend[row * (kProducts + 1) + t][col]; };
    show(addend_, width, addend);
    show({accumulator_}, sums ? 1 : 0, [&](int) { return addend(width); });
    show({sum_}, sums ? 1 : 0, [&](int) { return sums->sum[row][col]; });
  }

  void show_word(std::uint64_t id, int step, const mma::RoundedResults* results) {
    enter(round_, id, step);
    show({word_}, results ? 1 : 0, [&](int) { return results->word[waveform_.element_.row][waveform_.element_.col]; });
  }

  Waveform& waveform_;
  VcdDump& dump_;
  const base::Clock& clock_;
  sm::SubPartition& seen_;
  int waiting_ = 0;                                   ///< instructions between scheduler and operand fetch
  int inside_ = 0;                                    ///< instructions between operand fetch and multipliers
  std::map<std::uint64_t, mma::OperandWords> words_;  ///< of the instructions inside
  Signal stall_ = 0;
  Signal issue_valid_ = 0, issue_ready_ = 0, instruction_ = 0, warp_ = 0, cta_ = 0;
  Signal opcode_ = 0, operation_ = 0, variant_ = 0;
  Stage fetch_, select_, multiply_, add_, round_;
  Signal fetch_ready_ = 0, c_word_ = 0, max_exponent_ = 0, accumulator_ = 0, sum_ = 0, word_ = 0;
  Signals metadata_, row_of_b_, a_, b_, a_word_, b_word_, product_, exponent_, addend_;
};

void Waveform::attach(Gpu& gpu) {
  period_ps_ = static_cast<std::int64_t>(gpu.clock().cycles(1).value());
  for (const auto& partition : gpu.sms().front()->sub_partitions) {
    partitions_.push_back(std::make_shared<Partition>(*this, gpu.clock(), *partition));
  }
}

}  // namespace sptc::gpu
