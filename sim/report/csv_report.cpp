// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"
#include "sim/report/report.h"
#include "sim/trace/csv.h"

#include <fmt/format.h>

#include <optional>

namespace sptc::sim {
namespace {

void append_row(const OperationResult& op, const char* variant,
                const std::optional<VariantResult>& figures, std::string& out) {
  if (!figures) {
    return;
  }
  out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", csv_field(op.name),
                     op.shape.m, op.shape.n, op.shape.k, op.batch, op.count,
                     numerics::name(op.dtype), variant, figures->cycles, figures->time_us,
                     figures->clock_mhz, figures->tflops, figures->utilization, figures->padding,
                     figures->what_if ? name_of(figures->what_if->bound_by()).report : "",
                     op.speedup() ? fmt::format("{}", *op.speedup()) : "");
  if (figures->check) {
    const CheckResult& check = *figures->check;
    out += fmt::format("{},{},{},{},{},{}", check.mode, check.elements, check.mismatches,
                       check.undecided, check.worst_error, check.bound);
  } else {
    out += "none,,,,,";
  }
  if (figures->energy) {
    const EnergyResult& energy = *figures->energy;
    const auto ratio = op.performance_per_watt_ratio();
    out += fmt::format(",{},{},{},{},{}", energy.total_uj, energy.power_w, energy.peak_power_w,
                       energy.pj_per_flop, ratio ? fmt::format("{}", *ratio) : "");
  } else {
    out += ",,,,,";
  }
  out += "\r\n";
}

}  // namespace

std::string csv_report(const RunResult& result) {
  std::string out =
      "name,m,n,k,batch,count,dtype,variant,cycles,time_us,clock_mhz,tflops,utilization,padding,"
      "bound_by,speedup,check,elements,mismatches,undecided,worst_error,bound,"
      "energy_uj,power_w,peak_power_w,pj_per_flop,performance_per_watt_ratio\r\n";
  for (const OperationResult& op : result.operations) {
    append_row(op, "dense", op.dense, out);
    append_row(op, "sparse", op.sparse, out);
  }
  return out;
}

}  // namespace sptc::sim
