// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "sim/check/kernel/error_bounds.h"
#include "sim/check/kernel/hypothesis.h"

namespace sptc::check::kernel {

/// A kernel whose D differs from what `model` computes.
struct WrongKernel {
  /// Reads and computes all of D. Throws InputError where `model` cannot read the memory.
  WrongKernel(const KernelData& data_in, const mma::Target& target_in, KernelModel model_in, int threads_in);

  const KernelData& data;
  const mma::Target& target;
  KernelModel model;
  int threads;
  KernelOperands operands;
  base::Matrix<numerics::Word> computed;
  WrongElements wrong;                ///< 1: differs, and nothing explains it so far
  WrongElements explained;            ///< 1: differs, and is explained; other hypotheses need not keep it
  const ErrorBounds* near = nullptr;  ///< what counts as equal; nothing: equal bits alone

  const base::Matrix<numerics::Word>& observed() const { return operands.d; }
  std::size_t mismatches() const;  ///< that nothing explains
  Region whole() const;            ///< all of D as a place
  /// D[row, column] as a number.
  double computed_value(std::size_t row, std::size_t column) const;
  double observed_value(std::size_t row, std::size_t column) const;
  /// Whether `word` at D[row, column] is as good as what the kernel returned.
  bool agrees(std::size_t row, std::size_t column, numerics::Word word, numerics::Word returned) const {
    return word == returned || (near != nullptr && near->are_near(row, column, word, returned));
  }
  bool agrees(std::size_t row, std::size_t column, numerics::Word word) const {
    return agrees(row, column, word, observed()(row, column));
  }
};

/// What a hypothesis makes of a selection of D, and what it takes the kernel to have returned.
struct Outcome {
  base::Matrix<numerics::Word> computed, observed;
};
/// `model` is that of the kernel where the hypothesis has none of its own. Nothing where the memory cannot be read so.
std::optional<Outcome> outcome_of(const WrongKernel& kernel, const KernelModel& model, const Hypothesis& hypothesis,
                                  const Selection& selection, int threads);
/// Calls `visit(row, column, agrees)` for every element of the outcome; false: there is none.
template <typename Visit>
bool compare(const WrongKernel& kernel, const KernelModel& model, const Hypothesis& hypothesis,
             const Selection& selection, int threads, const Visit& visit) {
  const auto made = outcome_of(kernel, model, hypothesis, selection, threads);
  if (made) {
    selection.each([&](std::size_t row, std::size_t column, std::size_t i, std::size_t j) {
      visit(row, column, kernel.agrees(row, column, made->computed(i, j), made->observed(i, j)));
    });
  }
  return made.has_value();
}

/// Hypotheses about one place of D, tried on it. One holds where every wrong element of the place has the bits that it
/// says, and every right one keeps its own. These bits must also be more than the choice among the hypotheses of its
/// kind could have met by chance.
class Trial {
 public:
  /// `from`: the model that hypotheses change, where it is not that of `kernel`. All must outlive the trial.
  Trial(const WrongKernel& kernel, const Region& region, const KernelModel* from = nullptr);

  const WrongKernel& kernel() const { return kernel_; }
  const KernelModel& model() const { return model_; }
  const KernelData& data() const { return kernel_.data; }
  const Region& region() const { return region_; }
  const Selection& selection() const { return all_; }
  /// Its rows or its columns.
  const std::vector<std::size_t>& lines(bool of_rows) const { return of_rows ? all_.rows : all_.columns; }
  /// Some of the wrong elements, those that differ most first.
  const std::vector<std::pair<std::size_t, std::size_t>>& strongest() const { return strongest_; }

  /// Whether the wrong elements tell one of `candidates` hypotheses from chance, or so many `choices` among them.
  bool tells_apart(double candidates, std::size_t choices = 1) const;
  bool allows(const Proposals& proposals) const;
  /// 1 where `hypothesis` holds. Else the share of wrong elements that it explains among the first that were looked at:
  /// the few that differ most, then more, then all.
  double fit(const Hypothesis& hypothesis) const;
  /// How near it comes on some hundred elements, or on some thousand.
  std::optional<WordComparison> score(const Hypothesis& hypothesis, bool on_many = false) const;

 private:
  void find_strongest();

  const WrongKernel& kernel_;
  const KernelModel& model_;
  Region region_;
  Selection all_;
  std::vector<std::pair<std::size_t, std::size_t>> strongest_;
  double evidence_bits_ = 0;
  std::vector<Selection> steps_;  ///< small ones first, all of the place last
  Selection some_, many_;
};

}  // namespace sptc::check::kernel
