// SPDX-License-Identifier: Apache-2.0
#include "sim/report/area_report.h"

#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace sptc::report {
namespace {

using energy::TensorCoreArea;
using run::AreaEstimate;
using run::GpuArea;

struct CorePart {
  const char* key;
  std::string what;
  double (*um2)(const TensorCoreArea&);
};

std::vector<CorePart> core_parts(const AreaEstimate& estimate) {
  return {
      {"multipliers", "multipliers (f16)",
       [](const TensorCoreArea& a) { return a.multipliers_um2; }},
      {"adders", "align and add", [](const TensorCoreArea& a) { return a.adders_um2; }},
      {"rounding", "rounding", [](const TensorCoreArea& a) { return a.rounding_um2; }},
      {"operand_registers", "operand registers",
       [](const TensorCoreArea& a) { return a.operand_registers_um2; }},
      {"selector",
       fmt::format("selector ({}:{})", estimate.selector_kept, estimate.selector_inputs),
       [](const TensorCoreArea& a) { return a.selector_um2; }},
      {"metadata", "metadata", [](const TensorCoreArea& a) { return a.metadata_um2; }},
      {"total", "total", [](const TensorCoreArea& a) { return a.total_um2(); }},
  };
}

double overhead_percent(const GpuArea& area) {
  return 100 * area.tensor_core.sparse_overhead();
}

/// A figure of `estimate` and both ends of its range.
template <typename Figure>
nlohmann::ordered_json range_of(const AreaEstimate& estimate, const Figure& figure) {
  return {{"value", figure(estimate.usual)},
          {"low", figure(estimate.low)},
          {"high", figure(estimate.high)}};
}

}  // namespace

std::string area_text(const AreaEstimate& estimate) {
  std::string text =
      fmt::format("{}: one tensor core at {} nm\n\n{:<34} {:>12} {:>22}\n", estimate.arch,
                  estimate.node_nm, "", "um2", "all numbers low, high");
  const auto line = [&](const std::string& what, const auto& um2) {
    text +=
        fmt::format("{:<34} {:>12.0f} {:>10.0f} {:>11.0f}\n", what, um2(estimate.usual.tensor_core),
                    um2(estimate.low.tensor_core), um2(estimate.high.tensor_core));
  };
  for (const CorePart& part : core_parts(estimate)) {
    line(part.what, part.um2);
  }
  const auto multipliers = static_cast<double>(estimate.multipliers);
  line("per f16 multiplier",
       [&](const TensorCoreArea& core) { return core.total_um2() / multipliers; });
  text += fmt::format(
      "\nsparsity adds {:.1f} % to the core ({:.1f} with all numbers low, {:.1f} high)\n"
      "all {} cores take {:.1f} mm2 ({:.1f} to {:.1f})\n",
      overhead_percent(estimate.usual), overhead_percent(estimate.low),
      overhead_percent(estimate.high), estimate.tensor_cores, estimate.usual.tensor_cores_mm2,
      estimate.low.tensor_cores_mm2, estimate.high.tensor_cores_mm2);
  const GpuArea& usual = estimate.usual;
  text += fmt::format(
      "registers and shared memory of one SM: {:.2f} mm2 (arrays only)\n",
      (usual.register_files_mm2 + usual.shared_memories_mm2) / static_cast<double>(estimate.sms));
  text +=
      "Included: f16 multipliers, aligned addition, rounding, operand, metadata and accumulator\n"
      "registers, selector. Not included: wiring and white space, control, clock, test logic, and\n"
      "the multipliers of other formats (f64, integers) that share the core.\n";
  return text;
}

std::string area_json(const AreaEstimate& estimate) {
  nlohmann::ordered_json core = nlohmann::ordered_json::object();
  for (const CorePart& part : core_parts(estimate)) {
    core[part.key] =
        range_of(estimate, [&](const GpuArea& area) { return part.um2(area.tensor_core); });
  }
  const auto mm2 = [&](double GpuArea::*member) {
    return range_of(estimate, [&](const GpuArea& area) { return area.*member; });
  };
  nlohmann::ordered_json json{
      {"schema", "sptcsim-area/0.1"},
      {"version", std::string(program_version())},
      {"arch", estimate.arch},
      {"node_nm", estimate.node_nm},
      {"selector", fmt::format("{}:{}", estimate.selector_kept, estimate.selector_inputs)},
      {"sms", estimate.sms},
      {"tensor_cores", estimate.tensor_cores},
      {"multipliers_per_core", estimate.multipliers},
      {"core_um2", core},
      {"sparse_overhead_percent", range_of(estimate, overhead_percent)},
      {"gpu_mm2",
       {{"tensor_cores", mm2(&GpuArea::tensor_cores_mm2)},
        {"register_files", mm2(&GpuArea::register_files_mm2)},
        {"shared_memories", mm2(&GpuArea::shared_memories_mm2)},
        {"l2", mm2(&GpuArea::l2_mm2)},
        {"total", range_of(estimate, [](const GpuArea& area) { return area.total_mm2(); })}}}};
  return json.dump(2) + "\n";
}

}  // namespace sptc::report
