// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/criterion.h"

#include "models/base/error.h"
#include "models/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace sptc::sparsity {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"magnitude", "wanda", "sparsegpt"};

}  // namespace

Criterion parse_criterion(std::string_view name) {
  return static_cast<Criterion>(base::place_of_name("criterion", name, kNames));
}

std::string_view name(Criterion criterion) {
  return kNames[static_cast<std::size_t>(criterion)];
}

base::Matrix<float> magnitudes(const base::Matrix<float>& weights) {
  base::Matrix<float> scores(weights.rows(), weights.cols());
  std::transform(weights.data(), weights.data() + weights.size(), scores.data(), [](float w) { return std::fabs(w); });
  return scores;
}

base::Matrix<float> wanda_scores(const base::Matrix<float>& weights, const base::Matrix<float>& inputs) {
  base::ensure(weights.cols() == inputs.cols(), "inputs of another k than the weights");
  std::vector<double> squares(inputs.cols(), 0.0);
  for (std::size_t sample = 0; sample < inputs.rows(); ++sample) {
    for (std::size_t k = 0; k < squares.size(); ++k) {
      squares[k] += static_cast<double>(inputs(sample, k)) * static_cast<double>(inputs(sample, k));
    }
  }
  std::vector<float> norms(squares.size());
  std::transform(squares.begin(), squares.end(), norms.begin(),
                 [](double square) { return static_cast<float>(std::sqrt(square)); });
  base::Matrix<float> scores(weights.rows(), weights.cols());
  for (std::size_t row = 0; row < weights.rows(); ++row) {
    for (std::size_t k = 0; k < norms.size(); ++k) {
      scores(row, k) = std::fabs(weights(row, k)) * norms[k];
    }
  }
  return scores;
}

KeptShare kept_share(const base::Matrix<float>& weights, const Mask& mask) {
  constexpr std::size_t kLanes = 16, kChunk = 4096;
  double all_energy = 0, all_kept_energy = 0, all_magnitude = 0, all_kept_magnitude = 0;
  for (std::size_t at = 0; at < weights.size(); at += kChunk) {
    std::array<float, kLanes> energy{}, kept_energy{}, magnitude{}, kept_magnitude{};
    const std::size_t end = std::min(weights.size(), at + kChunk);
    for (std::size_t i = at; i < end; i += kLanes) {
      for (std::size_t lane = 0; lane < std::min(kLanes, end - i); ++lane) {
        const float size = std::fabs(weights.data()[i + lane]);
        const float kept = mask.data()[i + lane] != 0 ? size : 0.0F;
        energy[lane] += size * size;
        kept_energy[lane] += kept * kept;
        magnitude[lane] += size;
        kept_magnitude[lane] += kept;
      }
    }
    const auto sum = [](const std::array<float, kLanes>& lanes) {
      return std::accumulate(lanes.begin(), lanes.end(), 0.0);
    };
    all_energy += sum(energy);
    all_kept_energy += sum(kept_energy);
    all_magnitude += sum(magnitude);
    all_kept_magnitude += sum(kept_magnitude);
  }
  return {all_energy > 0 ? all_kept_energy / all_energy : 1, all_magnitude > 0 ? all_kept_magnitude / all_magnitude : 1,
          all_energy};
}

}  // namespace sptc::sparsity
