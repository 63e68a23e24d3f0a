// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/event.h"
#include "sim/run/run_result.h"

namespace sptc::report {

/// A small result with everything in it: dense and sparse, an operation that stays dense, a
/// violation, accuracy.
inline run::RunResult synthetic_result() {
  run::VariantResult dense;
  dense.kernel.cta_tile = {128, 128, 32};
  dense.kernel.warp_tile = {64, 64, 32};
  dense.kernel.instruction = mma::gemm_instruction(numerics::DataType::kF16, false);
  dense.kernel.stages = 3;
  dense.kernel.ctas = 192;
  dense.kernel.ctas_per_sm = 2;
  dense.kernel.waves = 1;
  dense.timing.simulated = {true, 1234};
  dense.timing.cycles = 141000;
  dense.timing.time_us = 100;
  dense.timing.clock_mhz = 1410;
  dense.timing.tflops = 193.2735;
  dense.timing.utilization = 0.6193;
  dense.timing.padding = 0.03125;
  dense.timing.clock_scaling.boost_clock_mhz = 1410;
  dense.explanation.what_if.emplace().speedup.fill(1);
  dense.explanation.what_if->speedup[0] = 1.5;
  run::CheckResult check;
  check.mode = "eigen";
  check.elements = 3072;
  check.worst_error = 1.5e-5;
  check.bound = 2.5e-4;
  check.worst_ratio = 0.125;
  dense.check = check;

  run::VariantResult sparse = dense;
  sparse.kernel.instruction = mma::gemm_instruction(numerics::DataType::kF16, true);
  sparse.explanation.what_if->speedup[0] = 1;
  sparse.timing.cycles = 70500;
  sparse.timing.time_us = 50;
  sparse.timing.tflops = 386.547;
  sparse.check->mismatches = 2;
  sparse.check->worst_error = 0.5;
  sparse.check->worst_ratio = 2000;
  sparse.check->first_violation = run::Violation{0, 3, 17, 0x3F800000, 0x3F000000};

  run::OperationResult weight;
  weight.name = "ffn.intermediate";
  weight.shape = {4096, 3072, 768};
  weight.count = 24;
  weight.prunable = true;
  weight.pattern = "2:4";
  weight.dense = dense;
  weight.sparse = sparse;

  run::OperationResult attention;
  attention.name = "attention scores, \"softmax\" input of every head";
  attention.shape = {384, 384, 64};
  attention.batch = 128;
  attention.count = 24;
  attention.pattern = "2:4";
  attention.dense = dense;
  attention.dense->check.reset();

  run::RunResult result;
  result.workload = "synthetic";
  result.arch = "test-gpu";
  result.fidelity = "datapath";
  result.made_by = "SystemC, all 108 SMs";
  result.options = {{"fidelity", "datapath"}, {"check", "eigen"}};
  result.seed = 42;
  result.operations = {weight, attention};
  result.totals.dense = run::VariantTotals{4800, 190.5, 0};
  result.totals.sparse = run::VariantTotals{3600, 254, 2};
  result.totals.speedup = 4.0 / 3;
  result.accuracy =
      run::AccuracyResult{899, run::ChainAccuracy{0.9466, 0.9466, 0}, run::ChainAccuracy{0.9422, 0.9433, 1}};
  result.notes = {"a note"};
  result.assumed = {"/sm/barrier_latency_cycles = 4 cycles"};
  return result;
}

/// `uj` of multiplying and of HBM, 10 uJ of metadata where `sparse`; 2 W of it constant.
inline run::EnergyResult energy_of(double uj, bool sparse) {
  run::EnergyResult energy;
  for (const std::string_view part : energy::kEnergyPartNames) {
    const bool large = part == "multiply" || part == "hbm";
    const bool metadata = sparse && part == "metadata_read";
    energy.parts_uj.emplace_back(part, large ? uj : metadata ? 10 : 0);
  }
  energy.total_uj = 2 * uj + (sparse ? 10 : 0);
  energy.power_w = energy.total_uj / 50;
  energy.pj_per_flop = 1;
  energy.core_volts = 0.8;
  energy.counts = energy::EventCounts(numerics::DataType::kF16);
  energy.counts->add(energy::Event::kMultiply, 100, 0.5);
  return energy;
}

/// The synthetic result with the energy of each operation.
inline run::RunResult result_with_energy() {
  run::RunResult result = synthetic_result();
  result.operations[0].dense->energy = energy_of(100, false);
  result.operations[0].sparse->energy = energy_of(60, true);
  result.operations[1].dense->energy = energy_of(40, false);
  return result;
}

/// The synthetic result with energies: 2 mJ dense, 1 mJ sparse.
inline run::RunResult with_energy() {
  run::RunResult result = synthetic_result();
  run::EnergyResult energy{{{"multiply", 1500}, {"hbm", 500}, {"idle_sms", 0}}, 2000, 200, 250, 0.8, false, false};
  result.totals.dense->energy = energy;
  result.operations[0].dense->energy = energy;
  for (auto& [unused, uj] : energy.parts_uj) {
    uj /= 2;
  }
  energy.total_uj = 1000;
  energy.limited = true;
  result.totals.sparse->energy = energy;
  result.operations[0].sparse->energy = energy;
  result.totals.performance_per_watt_ratio = 2;
  return result;
}

/// One operation that has every figure, each of its numbers another one where that is possible.
inline run::RunResult whole_result() {
  run::RunResult result = result_with_energy();
  result.operations.resize(1);
  run::OperationResult& op = result.operations[0];
  op.measured_us = 77.25;
  run::VariantResult& sparse = *op.sparse;
  sparse.runner_up = kernels::RunnerUp{sparse.kernel, 123};
  sparse.explanation.stalls.emplace();
  for (std::size_t i = 0; i < sm::kStallReasons; ++i) {
    sparse.explanation.stalls->of[i] = 0.01 * static_cast<double>(i + 1);
  }
  sparse.traffic.activity.emplace();
  double uj = 1;
  for (auto& [part, energy] : sparse.energy->parts_uj) {
    energy = uj += 0.25;
  }
  for (const energy::EventInfo& row : energy::kEvents) {
    sparse.energy->counts->add(row.event, 1000, 0.5);
  }
  // Constants that may be half of what is stated, or three times as much.
  sparse.energy->factors =
      std::make_shared<const energy::CostFactors>(energy::CostFactors{{{0.5, 3, -1}, {0.9, 1.2, -1}}, {}, {}});
  sparse.energy->by_factor_uj = {100, 30};
  sparse.energy->bounds_uj = {77, 336};
  op.dense = sparse;
  op.dense->timing.time_us = 100;
  op.dense->energy->by_factor_uj = {90, 50};
  result.totals.dense->energy = sparse.energy;
  result.totals.per_watt_bounds = energy::Bounds{0.875, 1.25};
  result.totals.dense->rest_us = 12;
  result.totals.dense->rest_uj = 34;
  result.explained = true;
  run::EvidenceDistance& evidence = result.evidence.emplace();
  evidence.where = run::EvidenceDistance::Where::kChip;
  evidence.chip = "GA100";
  evidence.generation = "ampere";
  evidence.boards = {"a100-pcie-80gb"};
  result.dense_memory = run::MemoryUse{60, 0, 20, 5, 1, 80};
  result.sparse_memory = run::MemoryUse{30, 4, 20, 5, 1, 80};
  return result;
}

}  // namespace sptc::report
