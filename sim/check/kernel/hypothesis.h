// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/word.h"
#include "sim/check/kernel/kernel_model.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::check::kernel {

class Trial;

/// Changes the operands of the elements of a selection, as they were read.
using Change = std::function<void(KernelOperands& operands, const Selection& selection)>;
/// The word of D[row, column].
using WordOf = std::function<numerics::Word(std::size_t row, std::size_t column)>;

/// One way in which a kernel may differ from what it is said to be: how that is called, and what
/// the kernel does then. What it does may refer to the WrongKernel that it was made for.
struct Hypothesis {
  std::string cause;   ///< one word for programs: "missing-k"
  std::string text;    ///< for people: "D lacks k 96 to 127"
  Change change = {};  ///< of operands and metadata; nothing: they are as they are
  std::optional<KernelModel> model = std::nullopt;  ///< order, rounding, epilogue, how memory is
                                                    ///< read; nothing: that of the kernel
  WordOf word = {};                                 ///< of D itself; nothing: D is executed
  bool names_place = false;                         ///< `text` says where
};

/// What a family has to say of a place, likeliest first.
struct Proposals {
  std::vector<Hypothesis> list;
  double among = 0;         ///< of how many they were chosen, where that is more than their number
  bool is_certain = false;  ///< no other D would fit by chance

  /// A kernel that reads or executes as `model` says.
  void add(std::string_view cause, std::string text, const KernelModel& model) {
    list.push_back({std::string(cause), std::move(text), {}, model});
  }
};

/// Where a fault acts.
enum class Reach {
  kPlace,   ///< where D is wrong
  kRow,     ///< on all of the only row that is wrong there
  kColumn,  ///< on all of the only column
  kKernel,  ///< on the whole kernel; an edge may take such another way alone
};

/// Hypotheses of one kind. To add one: a function in hypotheses/, a line in families.cpp, a test.
struct Family {
  Reach reach;
  Proposals (*propose)(const Trial& at);
  bool takes_long = false;  ///< worth it where few places are wrong
};

namespace hypotheses {

/// All of them, cheap and frequent ones first.
std::span<const Family> families();

}  // namespace hypotheses
}  // namespace sptc::check::kernel
