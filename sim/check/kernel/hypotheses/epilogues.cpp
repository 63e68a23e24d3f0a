// SPDX-License-Identifier: Apache-2.0
//
// What may have gone wrong between the sum over K and D: C, bias, activation, alpha.
#include "sim/check/kernel/hypotheses/families.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace sptc::check::kernel::hypotheses {
namespace {

constexpr const char* kCause = "epilogue";

/// Collects kernels with another epilogue.
class EpilogueChanges {
 public:
  explicit EpilogueChanges(const KernelModel& from) : from_(from) {}

  Proposals proposals;

  const KernelModel& from() const { return from_; }
  /// The kernel whose epilogue `change` changes, where it does.
  template <typename ChangeOf>
  void add(const char* cause, std::string text, const ChangeOf& change) {
    KernelModel model = from_;
    change(model.epilogue);
    if (model.epilogue != from_.epilogue) {
      proposals.add(cause, std::move(text), model);
    }
  }
  /// An addend that is not added once.
  void add_times(const char* addend, int Epilogue::*times) {
    add(kCause, fmt::format("{} is not added", addend),
        [&](Epilogue& epilogue) { epilogue.*times = 0; });
    add(kCause, fmt::format("{} is added twice", addend),
        [&](Epilogue& epilogue) { epilogue.*times = 2; });
    if (const int slices = from_.order.slices; slices > 2) {
      add(kCause, fmt::format("every slice of K adds {}", addend),
          [&](Epilogue& epilogue) { epilogue.*times = slices; });
    }
  }

 private:
  const KernelModel& from_;
};

void add_c(EpilogueChanges& changes) {
  const Epilogue& own = changes.from().epilogue;
  changes.add_times("C", &Epilogue::c_times);
  if (own.beta != 1) {
    changes.add(kCause, fmt::format("beta is taken for 1 instead of {}", own.beta),
                [](Epilogue& epilogue) { epilogue.beta = 1; });
  }
  if (own.alpha != 1 && own.beta != 0 && own.alpha * own.beta != 1) {
    changes.add(kCause, "alpha multiplies C, too",
                [](Epilogue& epilogue) { epilogue.beta *= epilogue.alpha; });
  }
  if (own.alpha != own.beta) {
    changes.add(kCause, "alpha and beta are exchanged",
                [](Epilogue& epilogue) { std::swap(epilogue.alpha, epilogue.beta); });
  }
}

void add_bias(const KernelData& data, EpilogueChanges& changes) {
  const Epilogue& own = changes.from().epilogue;
  changes.add_times("the bias", &Epilogue::bias_times);
  const bool of_columns = own.bias_of_columns;
  changes.add(kCause,
              fmt::format("the bias runs along {} instead of {}", of_columns ? "m" : "n",
                          of_columns ? "n" : "m"),
              [&](Epilogue& epilogue) { epilogue.bias_of_columns = !of_columns; });
  const auto lines = static_cast<int>(data.bias.size());
  for (const int by : {-8, -4, -2, -1, 1, 2, 4, 8}) {
    const bool as_one_before = by > 0 && 2 * by == lines;
    if (std::abs(by) < lines && !as_one_before) {
      changes.add(kCause,
                  fmt::format("{0} i takes the bias of {0} i {1} {2}, around the end",
                              of_columns ? "column" : "row", by < 0 ? '-' : '+', std::abs(by)),
                  [&](Epilogue& epilogue) { epilogue.bias_shift = by; });
    }
  }
  if (own.activation != Activation::kNone) {
    changes.add(kCause, "the bias is added after the activation",
                [](Epilogue& epilogue) { epilogue.bias_after_activation = true; });
  }
}

}  // namespace

Proposals epilogues(const Trial& at) {
  const KernelData& data = at.kernel().data;
  EpilogueChanges changes(at.model());
  const Epilogue& own = at.model().epilogue;
  if (at.model().rules.is_integer()) {
    return {};  // D is the sum
  }
  if (data.c) {
    add_c(changes);
  }
  if (!data.bias.empty()) {
    add_bias(data, changes);
  }
  const bool is_relu = own.activation == Activation::kRelu;
  changes.add(kCause, is_relu ? "there is no ReLU" : "a ReLU is applied that nobody asked for",
              [&](Epilogue& epilogue) {
                epilogue.activation = is_relu ? Activation::kNone : Activation::kRelu;
              });
  if (own.alpha != 1) {
    changes.add(kCause, fmt::format("alpha is taken for 1 instead of {}", own.alpha),
                [](Epilogue& epilogue) { epilogue.alpha = 1; });
  }
  return std::move(changes.proposals);
}

// Scales of quantised operands and of D that are not applied, twice or inverted.
Proposals scales(const Trial& at) {
  EpilogueChanges changes(at.model());
  const Epilogue& own = at.model().epilogue;
  constexpr std::array kScales{std::pair{"A", &Epilogue::scale_a},
                               std::pair{"B", &Epilogue::scale_b},
                               std::pair{"D", &Epilogue::scale_d}};
  for (const auto& scaled : kScales) {
    const char* const name = scaled.first;
    float Epilogue::*const scale = scaled.second;
    const float value = own.*scale;
    if (value == 1 || at.model().rules.is_integer()) {
      continue;
    }
    const auto add = [&](std::string text, float other) {
      changes.add("scale", std::move(text), [&](Epilogue& epilogue) { epilogue.*scale = other; });
    };
    add(fmt::format("the scale of {} is not applied", name), 1);
    add(fmt::format("the scale of {} is applied as {}, its inverse", name, 1 / value), 1 / value);
    add(fmt::format("the scale of {} is applied twice", name), value * value);
  }
  if (own.scale_a != 1 && own.scale_b != 1) {
    changes.add("scale", "the scales of A and B are not applied", [](Epilogue& epilogue) {
      epilogue.scale_a = 1;
      epilogue.scale_b = 1;
    });
  }
  return std::move(changes.proposals);
}

// How D's type is made of the sums: through another type, or by another rounding.
Proposals d_types(const Trial& at) {
  constexpr const char* kType = "d-type";
  EpilogueChanges changes(at.model());
  const KernelModel& from = at.model();
  const KernelData& data = at.kernel().data;
  const numerics::DataType sum = from.rules.output;
  if (from.rules.is_integer()) {
    return {};
  }
  for (const numerics::DataType type :
       {numerics::DataType::kF16, numerics::DataType::kBf16, numerics::DataType::kTf32}) {
    // D of a type takes all that a narrower one has.
    if (type != sum && type != data.d_type && sum == numerics::DataType::kF32) {
      changes.add(kType, fmt::format("the sums are rounded to {} before D", numerics::name(type)),
                  [&](Epilogue& epilogue) { epilogue.through = type; });
    }
  }
  if (data.d_type == sum && from.epilogue == Epilogue{} && data.bias.empty()) {
    return std::move(changes.proposals);
  }
  if (from.epilogue != Epilogue{} && data.d_type != sum) {
    changes.add(
        kType,
        fmt::format("the sums are rounded to {} before the epilogue", numerics::name(data.d_type)),
        [&](Epilogue& epilogue) { epilogue.through = data.d_type; });
  }
  constexpr std::array kNarrowings{
      std::pair{Narrowing::kTowardZero, "D is rounded toward zero instead of to nearest even"},
      std::pair{Narrowing::kTiesAway, "ties of D are rounded away from zero instead of to even"},
      std::pair{Narrowing::kSaturating, "D saturates at its largest number"},
      std::pair{Narrowing::kFlushing, "subnormal numbers of D are flushed to zero"}};
  for (const auto& narrowing : kNarrowings) {
    changes.add(kType, narrowing.second,
                [&](Epilogue& epilogue) { epilogue.narrowing = narrowing.first; });
  }
  return std::move(changes.proposals);
}

}  // namespace sptc::check::kernel::hypotheses
