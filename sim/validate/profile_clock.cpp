// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/profile_clock.h"

#include "sim/gemm/kernel_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace sptc::sim {
namespace {

double weights(const GemmShape& shape) {
  return static_cast<double>(shape.m) * static_cast<double>(shape.k);
}

}  // namespace

std::vector<std::vector<std::size_t>> layers_of(std::span<const Measurement> rows) {
  std::map<std::string, double> whole;
  for (const Measurement& row : rows) {
    double& largest = whole[row.source];
    largest = std::max(largest, weights(row.shape));
  }
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::size_t> index;
  std::vector<std::vector<std::size_t>> layers;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t slash = rows[i].source.rfind('/');
    if (slash == std::string::npos) {
      continue;
    }
    const auto gpus = std::llround(whole[rows[i].source] / weights(rows[i].shape));
    const auto [place, added] =
        index.try_emplace({rows[i].source.substr(0, slash), rows[i].shape.n, gpus}, layers.size());
    if (added) {
      layers.emplace_back();
    }
    layers[place->second].push_back(i);
  }
  return layers;
}

void follow_profile(std::span<const Measurement> rows, const KernelLibrarySpec& library,
                    std::vector<Prediction>& launches) {
  std::vector<double> multiplying_us, load;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KernelEstimate& form = launches[i].scaling.form;
    const double share = rows[i].zeros ? library.sustained_zeros_percent / 100 : 1;
    multiplying_us.push_back(share * form.load_us);
    load.push_back(multiplying_us.back() / form.time_us(1));
  }
  const double of_layer = library.sustained_layer_percent / 100;
  for (const std::vector<std::size_t>& layer : layers_of(rows)) {
    double multiplying = 0, all = 0;
    for (const std::size_t i : layer) {
      multiplying += multiplying_us[i];
      all += launches[i].scaling.form.time_us(1);
    }
    for (const std::size_t i : layer) {
      load[i] = of_layer * multiplying / all + (1 - of_layer) * load[i];
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    launches[i] = launches[i].at_clock(launches[i].scaling.boost_clock_mhz *
                                       sustained_clock_ratio(load[i], library));
  }
}

std::string clock_note(std::span<const Measurement> rows, const KernelLibrarySpec& library) {
  std::size_t together = 0;
  for (const std::vector<std::size_t>& layer : layers_of(rows)) {
    together += layer.size() > 1 ? layer.size() : 0;
  }
  const auto by_name = std::count_if(rows.begin(), rows.end(),
                                     [](const Measurement& row) { return row.zeros_by_name; });
  std::vector<std::string> parts;
  if (together > 0 && library.sustained_layer_percent > 0) {
    parts.push_back(fmt::format("{} rows share the clock of the layer that they ran in", together));
  }
  if (by_name > 0 && library.sustained_zeros_percent < 100) {
    parts.push_back(fmt::format(
        "{} multiply zeros, as in Vidur's profiles (a column 'operands' says otherwise)", by_name));
  }
  return parts.empty() ? ""
                       : fmt::format("by their names in 'source' {}", fmt::join(parts, ", and "));
}

}  // namespace sptc::sim
