// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/word.h"
#include "sim/check/kernel/kernel_model.h"
#include "sim/check/kernel/mismatch_region.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel {

/// A kernel whose D differs. Operands and words are of all of D; the references must outlive it.
struct WrongKernel {
  const KernelData& data;
  const KernelModel& model;
  const KernelOperands& operands;
  const base::Matrix<numerics::Word>& computed;
  const WrongElements& wrong;
  int threads = 1;

  const base::Matrix<numerics::Word>& observed() const { return operands.d; }
};

/// What explains every element of a region, bit for bit.
struct RegionFault {
  std::string cause;  ///< one word
  std::string text;   ///< "D lacks k 96 to 127": what is wrong there
};

/// Changes the operands of the elements of a selection.
using Change = std::function<void(KernelOperands& operands, const Selection& selection)>;

/// A fault that a region may have, and what it makes of operands and model.
struct Hypothesis {
  RegionFault fault;
  Change change = {};                               ///< nothing: operands as they are
  std::optional<KernelModel> model = std::nullopt;  ///< nothing: that of the kernel
};

/// Hypotheses about one region of D, tried on it. A hypothesis holds where every element of the
/// region has the bits that it says. These bits must also be more than the choice among the
/// hypotheses of its kind could have met by chance.
class RegionTrial {
 public:
  RegionTrial(const WrongKernel& kernel, const Region& region);

  const WrongKernel& kernel() const { return kernel_; }
  const Region& region() const { return region_; }
  const Selection& selection() const { return all_; }
  /// Some of the wrong elements, those that differ most first.
  const std::vector<std::pair<std::size_t, std::size_t>>& strongest() const { return strongest_; }

  /// Whether the wrong elements tell one of `candidates` hypotheses from chance.
  bool tells_apart(double candidates) const;

  /// Whether `hypothesis` computes the region. The few elements that differ most are tried first,
  /// then more, then all.
  bool fits(const Hypothesis& hypothesis) const;
  /// The first of `hypotheses` that fits, where the elements tell one of `candidates` from chance.
  std::optional<RegionFault> first_that_fits(const std::vector<Hypothesis>& hypotheses,
                                             double candidates) const;
  /// Whether `model` computes the region from the memory as it reads it.
  bool fits_read(const KernelModel& model) const;

 private:
  template <typename OperandsOf>
  bool fits_each_step(const KernelModel& model, const OperandsOf& operands_of) const;
  void find_strongest();

  const WrongKernel& kernel_;
  const Region& region_;
  Selection all_;
  std::vector<std::pair<std::size_t, std::size_t>> strongest_;
  double evidence_bits_ = 0;
  std::vector<Selection> steps_;  ///< small ones first, all of the region last
};

/// What `find` finds for the first of `items` for which it finds something.
template <typename Items, typename Find>
std::optional<RegionFault> first_found(const Items& items, const Find& find) {
  for (const auto& item : items) {
    if (auto fault = find(item)) {
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace sptc::check::kernel
