// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/kernel/kernel_model.h"

#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace sptc::check::kernel {

class Trial;

/// One way in which a kernel may differ from what it is said to be: how that is called, and how it changes the
/// execution of a selection of D. It may refer to the WrongKernel that it was made for.
struct Hypothesis {
  std::string cause;  ///< one word for programs: "missing-k"
  std::string text;   ///< for people, behind "rows 64 to 127 x columns 32 to 63: ": "D lacks k 96 to 127"
  /// Changes operands and metadata as they were read; nothing: they are as they are. `operands` have the rows and
  /// columns of `selection` alone, WrongKernel::operands those of all of D. K may become longer.
  std::function<void(KernelOperands& operands, const Selection& selection)> change = {};
  /// Order, rounding, epilogue, how memory is read; nothing: that of the kernel.
  std::optional<KernelModel> model = std::nullopt;
  /// The word of D[row, column]; nothing: D is executed.
  std::function<numerics::Word(std::size_t row, std::size_t column)> word = {};
  bool names_place = false;  ///< `text` says where
};

/// What a family has to say of a place, likeliest first.
struct Proposals {
  std::vector<Hypothesis> list;
  double among = 0;         ///< of how many candidates they were chosen, where that is more than their number
  bool is_certain = false;  ///< no other D would fit by chance
  bool of_lines = false;    ///< they hold of whole lines and tiles, not of elements here and there

  /// A kernel whose model is `from` but for `change`; none where that changes nothing.
  template <typename Change>
  void add_model(const char* cause, std::string text, const KernelModel& from, const Change& change) {
    const auto key = [](const KernelModel& model) {
      return std::tie(model.reading, model.instruction, model.arithmetic, model.order, model.epilogue);
    };
    KernelModel model = from;
    change(model);
    if (key(model) != key(from)) {
      list.push_back({cause, std::move(text), {}, std::move(model)});
    }
  }
};

/// Where a fault acts.
enum class Reach {
  kPlace,   ///< where D is wrong
  kRow,     ///< on all of the only row that is wrong there
  kColumn,  ///< on all of the only column
  kKernel,  ///< on the whole kernel: each hypothesis must have a `model`; an edge may take such another way alone
};

/// Hypotheses of one kind. To add one: a function in hypotheses/, its name in families.h, a row in families.cpp (before
/// those that take longer or that it is a case of), a line in cause_advice.cpp, a test.
struct Family {
  Reach reach;
  Proposals (*propose)(const Trial& at);
  bool takes_long = false;  ///< worth it where few places are wrong
};

namespace hypotheses {
/// All of them: changes of the whole kernel first, then faults of places, from cheap and frequent to dear.
std::span<const Family> families();
}  // namespace hypotheses
}  // namespace sptc::check::kernel
