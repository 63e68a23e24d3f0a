// SPDX-License-Identifier: Apache-2.0
//
// What may have gone wrong between the sum over K and D: C, bias, activation, alpha, scales.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {
namespace {

enum Needs { kNothing, kC, kBias };
using E = Epilogue&;

float narrow(float value, numerics::DataType type) {
  return static_cast<float>(numerics::rounded(value, type));
}

/// A change of the epilogue of a kernel that has a C or a bias, where that is needed. In the text {alpha}, {beta}, the
/// {axis} of the bias and the {other} one stand for what is declared.
struct Row {
  Needs needs;
  const char* text;
  void (*change)(Epilogue& epilogue, int slices);
};
/// Add a row to add a hypothesis. What changes nothing is not proposed.
constexpr auto kRows = std::to_array<Row>({
    {kC, "C is not added", [](E e, int) { e.c_times = 0; }},
    {kC, "C is added twice", [](E e, int) { e.c_times = 2; }},
    {kC, "C is subtracted", [](E e, int) { e.beta = -e.beta; }},
    {kC, "every slice of K adds C", [](E e, int slices) { e.c_times = slices > 2 ? slices : e.c_times; }},
    {kC, "beta is taken for 1 instead of {beta}", [](E e, int) { e.beta = 1; }},
    {kC, "beta is applied twice", [](E e, int) { e.beta *= e.beta == -1 ? 1 : e.beta; }},
    {kC, "alpha multiplies C, too", [](E e, int) { e.beta *= e.beta * e.alpha == 1 ? 1 : e.alpha; }},
    {kC, "alpha and beta are exchanged", [](E e, int) { std::swap(e.alpha, e.beta); }},
    {kBias, "the bias is not added", [](E e, int) { e.bias_times = 0; }},
    {kBias, "the bias is added twice", [](E e, int) { e.bias_times = 2; }},
    {kBias, "the bias is subtracted", [](E e, int) { e.bias_times = -1; }},
    {kBias, "every slice of K adds the bias", [](E e, int slices) { e.bias_times = slices > 2 ? slices : 1; }},
    {kBias, "the bias runs along {other} instead of {axis}", [](E e, int) { e.bias_of_columns = !e.bias_of_columns; }},
    {kBias, "the bias is added after the activation",
     [](E e, int) { e.bias_after_activation = e.activation != Activation::kNone; }},
    {kBias, "the bias is added before alpha multiplies: alpha (sum + bias)",
     [](E e, int) { e.bias_before_alpha = e.alpha * e.scale_a * e.scale_b != 1; }},
    {kNothing, "there is no ReLU", [](E e, int) { e.activation = Activation::kNone; }},
    {kNothing, "a ReLU is applied that is not declared", [](E e, int) { e.activation = Activation::kRelu; }},
    {kNothing, "alpha is taken for 1 instead of {alpha}", [](E e, int) { e.alpha = 1; }},
    {kNothing, "alpha is rounded to f16", [](E e, int) { e.alpha = narrow(e.alpha, numerics::DataType::kF16); }},
    {kNothing, "alpha is rounded to bf16", [](E e, int) { e.alpha = narrow(e.alpha, numerics::DataType::kBf16); }},
    {kNothing, "alpha is applied twice", [](E e, int) { e.alpha *= e.alpha == -1 ? 1 : e.alpha; }},
});
constexpr std::array kScales{std::pair{"A", &Epilogue::scale_a}, std::pair{"B", &Epilogue::scale_b},
                             std::pair{"D", &Epilogue::scale_d}};

/// Adds the kernel whose epilogue `change` changes, where it does.
template <typename Change>
void add(const Trial& at, const char* cause, std::string text, Proposals& proposals, const Change& change) {
  proposals.add_model(cause, std::move(text), at.model(), [&](KernelModel& model) { change(model.epilogue); });
}

}  // namespace

Proposals epilogues(const Trial& at) {
  constexpr int kMostShift = 256;  // the widest tile of a CTA
  const Epilogue& own = at.model().epilogue;
  Proposals proposals;
  if (at.model().rules.is_integer()) {
    return proposals;  // D is the sum
  }
  for (const auto& [needs, text, change] : kRows) {
    if ((needs != kC || at.data().c) && (needs != kBias || !at.data().bias.empty())) {
      add(at, "epilogue",
          fmt::format(fmt::runtime(text), fmt::arg("alpha", own.alpha), fmt::arg("beta", own.beta),
                      fmt::arg("axis", own.bias_of_columns ? "n" : "m"),
                      fmt::arg("other", own.bias_of_columns ? "m" : "n")),
          proposals, [&, by = change](Epilogue& epilogue) { by(epilogue, at.model().order.slices); });
    }
  }
  const auto lines = static_cast<int>(at.data().bias.size());
  for (int by = 1; by <= kMostShift && by < lines; by *= 2) {
    for (const int shift : {-by, by}) {
      if (shift < 0 || 2 * by != lines) {  // around the end, both are one
        add(at, "epilogue",
            fmt::format("{0} i takes the bias of {0} i {1} {2}, around the end", own.bias_of_columns ? "column" : "row",
                        shift < 0 ? '-' : '+', by),
            proposals, [&](Epilogue& epilogue) { epilogue.bias_shift = shift; });
      }
    }
  }
  for (const numerics::DataType type : {numerics::DataType::kF16, numerics::DataType::kBf16}) {
    if (!at.data().bias.empty()) {
      add(at, "epilogue", fmt::format("the sum and the bias are rounded to {}, then added", numerics::name(type)),
          proposals, [&](Epilogue& epilogue) { epilogue.through = epilogue.bias_through = type; });
    }
  }
  // Scales of quantised operands and of D that are not applied, twice or inverted.
  for (const auto& [name, scale] : kScales) {
    const float value = own.*scale;
    for (const auto& [how, by] : {std::pair{std::string("not applied"), 1.0F},
                                  std::pair{fmt::format("applied as {}, its inverse", 1 / value), 1 / value},
                                  std::pair{std::string("applied twice"), value * value}}) {
      add(at, "scale", fmt::format("the scale of {} is {}", name, how), proposals,
          [member = scale, other = by](Epilogue& epilogue) { epilogue.*member = other; });
    }
  }
  if (own.scale_a != 1 && own.scale_b != 1) {
    add(at, "scale", "the scales of A and B are not applied", proposals,
        [](Epilogue& epilogue) { epilogue.scale_a = epilogue.scale_b = 1; });
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
