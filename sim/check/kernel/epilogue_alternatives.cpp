// SPDX-License-Identifier: Apache-2.0
//
// What may have gone wrong between the sum over K and D.
#include "sim/check/kernel/fault_finders.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;

class Collector {
 public:
  Collector(const KernelData& data, const KernelModel& from) : data_(data), from_(from) {}

  std::vector<Alternative> collect() {
    if (data_.c) {
      add_c();
    }
    if (!data_.bias.empty()) {
      add_bias();
    }
    add_activation();
    add_scales();
    add_types();
    return std::move(result_);
  }

 private:
  template <typename Change>
  void add(const char* cause, std::string text, Change change) {
    KernelModel model = from_;
    change(model.epilogue);
    if (!(model.epilogue == from_.epilogue)) {
      result_.push_back({cause, std::move(text), model});
    }
  }

  void add_c() {
    const float alpha = from_.epilogue.alpha;
    const float beta = from_.epilogue.beta;
    add("epilogue", "C is not added", [](Epilogue& epilogue) { epilogue.c_times = 0; });
    add("epilogue", "C is added twice", [](Epilogue& epilogue) { epilogue.c_times = 2; });
    if (from_.order.slices > 2) {
      add("epilogue", "every slice of K adds C",
          [&](Epilogue& epilogue) { epilogue.c_times = from_.order.slices; });
    }
    if (beta != 1) {
      add("epilogue", fmt::format("beta is taken for 1 instead of {}", beta),
          [](Epilogue& epilogue) { epilogue.beta = 1; });
    }
    if (alpha != 1 && beta != 0 && alpha * beta != 1) {
      add("epilogue", "alpha multiplies C, too",
          [&](Epilogue& epilogue) { epilogue.beta = alpha * beta; });
    }
    if (alpha != beta) {
      add("epilogue", "alpha and beta are exchanged",
          [](Epilogue& epilogue) { std::swap(epilogue.alpha, epilogue.beta); });
    }
  }

  void add_bias() {
    add("epilogue", "the bias is not added", [](Epilogue& epilogue) { epilogue.bias_times = 0; });
    add("epilogue", "the bias is added twice", [](Epilogue& epilogue) { epilogue.bias_times = 2; });
    if (from_.order.slices > 2) {
      add("epilogue", "every slice of K adds the bias",
          [&](Epilogue& epilogue) { epilogue.bias_times = from_.order.slices; });
    }
    const bool of_columns = from_.epilogue.bias_of_columns;
    add("epilogue",
        fmt::format("the bias runs along {} instead of {}", of_columns ? "m" : "n",
                    of_columns ? "n" : "m"),
        [&](Epilogue& epilogue) { epilogue.bias_of_columns = !of_columns; });
    const auto lines = static_cast<int>(data_.bias.size());
    for (const int by : {-8, -4, -2, -1, 1, 2, 4, 8}) {
      const bool as_one_before = by > 0 && 2 * by == lines;
      if (std::abs(by) < lines && !as_one_before) {
        add("epilogue",
            fmt::format("{0} i takes the bias of {0} i {1} {2}, around the end",
                        of_columns ? "column" : "row", by < 0 ? '-' : '+', std::abs(by)),
            [&](Epilogue& epilogue) { epilogue.bias_shift = by; });
      }
    }
    if (from_.epilogue.activation != Activation::kNone) {
      add("epilogue", "the bias is added after the activation",
          [](Epilogue& epilogue) { epilogue.bias_after_activation = true; });
    }
  }

  void add_activation() {
    if (from_.epilogue.activation == Activation::kRelu) {
      add("epilogue", "there is no ReLU",
          [](Epilogue& epilogue) { epilogue.activation = Activation::kNone; });
    } else {
      add("epilogue", "a ReLU is applied that nobody asked for",
          [](Epilogue& epilogue) { epilogue.activation = Activation::kRelu; });
    }
  }

  void add_scales() {
    if (from_.epilogue.alpha != 1) {
      add("epilogue", fmt::format("alpha is taken for 1 instead of {}", from_.epilogue.alpha),
          [](Epilogue& epilogue) { epilogue.alpha = 1; });
    }
    constexpr std::array kScales{std::pair{"A", &Epilogue::scale_a},
                                 std::pair{"B", &Epilogue::scale_b},
                                 std::pair{"D", &Epilogue::scale_d}};
    for (const auto& scaled : kScales) {
      const char* const name = scaled.first;
      float Epilogue::*const scale = scaled.second;
      const float value = from_.epilogue.*scale;
      if (value == 1) {
        continue;
      }
      const auto change = [&](std::string text, float other) {
        add("scale", std::move(text), [&](Epilogue& epilogue) { epilogue.*scale = other; });
      };
      change(fmt::format("the scale of {} is not applied", name), 1);
      change(fmt::format("the scale of {} is applied as {}, its inverse", name, 1 / value),
             1 / value);
      change(fmt::format("the scale of {} is applied twice", name), value * value);
    }
    if (from_.epilogue.scale_a != 1 && from_.epilogue.scale_b != 1) {
      add("scale", "the scales of A and B are not applied", [](Epilogue& epilogue) {
        epilogue.scale_a = 1;
        epilogue.scale_b = 1;
      });
    }
  }

  void add_types() {
    const DataType sum = from_.rules.output;
    for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kTf32}) {
      // D of a type takes all that a narrower one has.
      if (type != sum && type != data_.d_type && sum == DataType::kF32) {
        add("d-type", fmt::format("the sums are rounded to {} before D", numerics::name(type)),
            [&](Epilogue& epilogue) { epilogue.through = type; });
      }
    }
    if (data_.d_type == sum && from_.epilogue == Epilogue{} && data_.bias.empty()) {
      return;
    }
    if (from_.epilogue != Epilogue{} && data_.d_type != sum) {
      add("d-type",
          fmt::format("the sums are rounded to {} before the epilogue",
                      numerics::name(data_.d_type)),
          [&](Epilogue& epilogue) { epilogue.through = data_.d_type; });
    }
    constexpr std::array kNarrowings{
        std::pair{Narrowing::kTowardZero, "D is rounded toward zero instead of to nearest even"},
        std::pair{Narrowing::kTiesAway, "ties of D are rounded away from zero instead of to even"},
        std::pair{Narrowing::kSaturating, "D saturates at its largest number"},
        std::pair{Narrowing::kFlushing, "subnormal numbers of D are flushed to zero"}};
    for (const auto& [narrowing, text] : kNarrowings) {
      add("d-type", text,
          [narrowing = narrowing](Epilogue& epilogue) { epilogue.narrowing = narrowing; });
    }
  }

  const KernelData& data_;
  const KernelModel& from_;
  std::vector<Alternative> result_;
};

}  // namespace

std::vector<Alternative> epilogue_alternatives(const KernelData& data, const KernelModel& from) {
  return Collector(data, from).collect();
}

}  // namespace sptc::check::kernel
