// SPDX-License-Identifier: Apache-2.0
#include "sim/check/capture/capture_crosscheck.h"

#include "models/base/error.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata_register.h"
#include "sim/check/kernel/fault_location.h"
#include "sim/check/kernel/trial.h"
#include "sim/check/vectors/mma_batch.h"
#include "sim/check/vectors/vector_set.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/run/microbench/microbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::capture {
namespace {

namespace fs = std::filesystem;

// Why words differ --------------------------------------------------------------------------------

using mma::MmaInstruction;
using numerics::DataType;
using numerics::Word;

constexpr std::size_t kMaxLocal = 16;     // cases that are looked at one by one
constexpr std::size_t kMaxExamined = 64;  // cases, wrong ones first, that an alternative must meet
constexpr std::size_t kMaxSentences = 8;
constexpr std::size_t kRegisterRows = 16;  // of A that one metadata register describes

kernel::StoredMatrix case_of(const vectors::BitArray& array, std::size_t index) {
  kernel::StoredMatrix result{array.shape[1], array.shape[2], false, {}};
  const std::size_t count = result.rows * result.cols;
  result.words.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    result.words.push_back(static_cast<Word>(array.bits[index * count + i]));
  }
  return result;
}

kernel::KernelData kernel_of(const vectors::VectorSet& set, const vectors::VectorOutput& output, std::size_t index) {
  kernel::KernelData data;
  data.a = case_of(set.operands.a, index);
  data.b = case_of(set.operands.b, index);
  data.c = case_of(output.c, index);
  data.d = case_of(output.expected, index);
  data.m = data.a.rows;
  data.n = data.b.cols;
  data.k = data.b.rows;
  data.c_type = output.instruction.c_type();
  data.d_type = output.instruction.accumulator;
  if (set.operands.indices) {
    const kernel::StoredMatrix indices = case_of(*set.operands.indices, index);
    data.metadata = vectors::MetadataInput{vectors::make_bit_array({1, indices.words.size()}, 4),
                                           vectors::MetadataLayout::kIndices, 0};
    std::copy(indices.words.begin(), indices.words.end(), data.metadata->array.bits.begin());
  }
  return data;
}

class SetSearch {
 public:
  SetSearch(const vectors::VectorSet& set, const vectors::VectorOutput& output, const mma::StepRules& rules)
      : set_(set), output_(output) {
    model_.instruction = output.instruction;
    model_.rules = rules;
    model_.reading.layout = vectors::MetadataLayout::kIndices;
    find_wrong(rules);
  }

  std::vector<kernel::Explanation> run() {
    // Alternatives select whole words of tf32, not the halves that nibbles can mix.
    if (wrong_.empty() || !set_.operands.nibbles.empty()) {
      return {};
    }
    const kernel::KernelData data = kernel_of(set_, output_, wrong_.front());
    std::vector<kernel::Explanation> fitting;
    try {
      const kernel::WrongKernel first(data, output_.target, model_, 1);
      // What one place explains is likelier than a change that happens to show nowhere else.
      fitting = local_faults();
      const std::vector<kernel::Hypothesis> changes = kernel::kernel_changes({first, first.whole()});
      for (const kernel::Hypothesis& change : changes) {
        if (reproduces(*change.model, examined_)) {
          fitting.push_back({change.cause, change.text, 0});
        }
      }
    } catch (const base::InputError&) {
      return {};  // the operands cannot be read
    }
    fitting.resize(std::min(fitting.size(), kMaxSentences));
    return fitting;
  }

 private:
  void find_wrong(const mma::StepRules& rules) {
    vectors::MmaOperands operands = set_.operands;
    operands.c = output_.c;
    const vectors::BitArray d = vectors::execute(operands, output_.instruction, rules);
    const std::size_t per_case = operands.rows() * operands.columns();
    std::set<std::size_t> wrong;
    for (std::size_t i = 0; i < d.bits.size(); ++i) {
      if (d.bits[i] != output_.expected.bits[i]) {
        wrong.insert(i / per_case);
      }
    }
    wrong_.assign(wrong.begin(), wrong.end());
    examined_ = {wrong_.begin(),
                 wrong_.begin() + static_cast<std::ptrdiff_t>(std::min(wrong_.size(), kMaxExamined / 2))};
    for (std::size_t i = 0; i < operands.cases() && examined_.size() < kMaxExamined; ++i) {
      if (!wrong.contains(i)) {
        examined_.push_back(i);
      }
    }
  }

  bool reproduces(const kernel::KernelModel& model, const std::vector<std::size_t>& cases) const {
    return std::ranges::all_of(cases, [&](std::size_t index) {
      const kernel::KernelData data = kernel_of(set_, output_, index);
      try {
        const kernel::KernelOperands operands = kernel::arrange(data, model, kernel::Selection::all(data));
        return kernel::execute(data, model, operands) == operands.d;
      } catch (const base::InputError&) {
        return false;
      }
    });
  }

  /// Flipped bits and nibbles that explain every wrong case, or nothing. Throws InputError where the operands cannot be
  /// read.
  std::vector<kernel::Explanation> local_faults() const {
    if (wrong_.size() > kMaxLocal) {
      return {};
    }
    std::vector<kernel::Explanation> result;
    for (const std::size_t index : wrong_) {
      const kernel::KernelData data = kernel_of(set_, output_, index);
      kernel::WrongKernel wrong(data, output_.target, model_, 1);
      const kernel::FaultLocation location = kernel::locate_faults(wrong);
      for (const kernel::LocatedFault& place : location.places) {
        if (!place.fault || !place.fault->names_place) {
          return {};
        }
        result.push_back({place.fault->cause, fmt::format("case {}: {}", index, place.fault->text), 0});
      }
    }
    return result;
  }

  const vectors::VectorSet& set_;
  const vectors::VectorOutput& output_;
  kernel::KernelModel model_;
  std::vector<std::size_t> wrong_;
  std::vector<std::size_t> examined_;
};

/// "lane 5, bits 11:8" of the first nibble of `registers` that does not say what `indices` do.
std::optional<std::string> first_disagreement(const sparsity::MetadataRegisterFormat& format, DataType type,
                                              int selector, const sparsity::LaneWords& registers,
                                              const vectors::BitArray& indices, std::size_t index) {
  const base::Matrix<std::uint8_t> nibbles = sparsity::read_metadata(format, selector, registers);
  const std::size_t rows = std::min(indices.shape[1], kRegisterRows);
  const sparsity::SelectionTable selection(type);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t t = 0; t < indices.shape[2]; ++t) {
      const std::size_t group = t / selection.kept;
      const std::size_t k = selection.logical(t, nibbles(row, group));
      if (k != indices.at(index, row, t)) {
        const sparsity::MetadataSlot slot =
            sparsity::metadata_slot(format, selector, {static_cast<int>(row), static_cast<int>(group)});
        return fmt::format(
            "case {}: the metadata register of lane {}, bits {}:{}, is {:#x} (row {}, group {}: element {} meets k "
            "{}), but idx says k {}",
            index, slot.lane, 4 * slot.nibble + 3, 4 * slot.nibble, nibbles(row, group), row, group, t, k,
            indices.at(index, row, t));
      }
    }
  }
  return std::nullopt;
}

/// Why the words of one result array differ: faults of single places where these explain every case, else the changes
/// of the arithmetic or of the metadata that explain all cases. Empty where nothing does. `rules` are those that D was
/// computed with.
std::vector<kernel::Explanation> explain_set(const vectors::VectorSet& set, const vectors::VectorOutput& output,
                                             const mma::StepRules& rules) {
  const DataType a = output.instruction.a_type;
  if (a == DataType::kF64 || a == DataType::kB1 || output.instruction.scales) {
    return {};
  }
  return SetSearch(set, output, rules).run();
}

/// Cases whose metadata registers (E, sel) do not say what the indices (idx) do, one sentence each: which lane and
/// nibble. Nothing for sets without registers.
std::vector<std::string> inconsistent_metadata(const vectors::VectorSet& set) {
  std::vector<std::string> sentences;
  if (!set.registers) {
    return sentences;
  }
  const MmaInstruction& instruction = set.outputs.front().instruction;
  const vectors::BitArray& e = *set.registers;
  const vectors::BitArray& selectors = *set.selectors;
  sparsity::LaneWords registers{};
  if (e.shape.size() != 2 || e.shape[1] != registers.size() || selectors.bits.size() != set.cases() ||
      instruction.family != mma::MmaFamily::kMma) {
    return sentences;  // warpgroup instructions have a layout of their own
  }
  const auto format = sparsity::metadata_register_format(instruction.a_type, instruction.shape.k);
  for (std::size_t index = 0; index < set.cases() && sentences.size() < kMaxSentences; ++index) {
    for (std::size_t lane = 0; lane < registers.size(); ++lane) {
      registers[lane] = static_cast<std::uint32_t>(e.bits[index * registers.size() + lane]);
    }
    if (selectors.bits[index] >= static_cast<std::uint64_t>(format.selectors())) {
      sentences.push_back(
          fmt::format("case {}: {} has no selector {}", index, instruction.ptx_name(), selectors.bits[index]));
      continue;
    }
    if (auto sentence = first_disagreement(format, instruction.a_type, static_cast<int>(selectors.bits[index]),
                                           registers, *set.operands.indices, index)) {
      sentences.push_back(std::move(*sentence));
    }
  }
  return sentences;
}

// Comparison --------------------------------------------------------------------------------------

/// The row of the sets of one instruction, with or without a meaning in the PTX ISA.
BitsRow& row_of(const vectors::VerifiedSet& verified, bool undefined, std::vector<BitsRow>& rows) {
  const auto found = std::ranges::find_if(
      rows, [&](const BitsRow& row) { return row.instruction == verified.instruction && row.undefined == undefined; });
  if (found != rows.end()) {
    return *found;
  }
  BitsRow& row = rows.emplace_back();
  row.instruction = verified.instruction;
  row.evidence = verified.evidence;
  row.undefined = undefined;
  return row;
}

void add_bits(const fs::path& directory, mma::Profile profile, CaptureCrosscheck& result) {
  vectors::VerifyResult verified = vectors::verify(directory, profile, vectors::UnknownSets::kLeaveOut);
  for (const vectors::VerifiedSet& checked : verified.sets) {
    const fs::path file = directory / checked.file;
    const vectors::VectorSet set = vectors::read_vector_set(file, file.parent_path());
    BitsRow& row = row_of(checked, set.undefined, result.bits);
    ++row.sets;
    row.cases += checked.cases;
    row.elements += checked.elements;
    row.mismatches += checked.mismatches;
    for (const std::string& problem : inconsistent_metadata(set)) {
      result.metadata_problems.push_back(fmt::format("{}: {}", checked.file, problem));
    }
    if (checked.first && !row.first) {
      row.first = checked.first;
      row.file = checked.file;
      const auto output = std::ranges::find(set.outputs, checked.first->output, &vectors::VectorOutput::name);
      const mma::StepRules rules = mma::instruction_rules(output->target, output->instruction, output->grouping);
      row.explanations = explain_set(set, *output, mma::with_profile(rules, profile));
    }
  }
  std::ranges::move(verified.unknown, std::back_inserter(result.unknown_sets));
  std::ranges::stable_sort(result.bits, {}, &BitsRow::undefined);
}

/// What the simulator says of `capture`: with `bench`, which must outlive it, also of single instructions and of
/// memory.
TimeSimulation time_simulation(const config::Architecture& architecture, const Capture& capture, run::Fidelity fidelity,
                               run::microbench::Microbench* bench) {
  TimeSimulation simulation;
  simulation.architecture = architecture.gpu.name;
  if (!capture.gemm.empty() || !capture.power.empty()) {
    simulation.gemms = simulate_gemms(architecture, capture, fidelity);
  }
  if (bench == nullptr) {
    return simulation;
  }
  simulation.microbench = [bench](const run::microbench::MicrobenchCase& which) { return bench->run(which); };
  simulation.chase_cycles = [bench](std::int64_t footprint, std::int64_t stride) {
    return bench->memory().chase_cycles(footprint, stride);
  };
  simulation.line_cycles = [bench] { return bench->memory().line_cycles(); };
  simulation.bandwidth_gb_per_s = [bench](run::microbench::BandwidthOperation operation, std::int64_t footprint) {
    return bench->memory().bandwidth_gb_per_s(operation, footprint);
  };
  // L1 and shared memory are one array, of which the L1 has what is left over.
  simulation.l1_reach_bytes = 2 * architecture.gpu.sm.shared_memory.count();
  return simulation;
}

}  // namespace

std::size_t CaptureCrosscheck::mismatches() const {
  std::size_t sum = metadata_problems.size();
  for (const BitsRow& row : bits) {
    sum += row.undefined ? 0 : row.mismatches;
  }
  for (const CheckedKernel& kernel : kernels) {
    sum += kernel.diagnosis.comparison.mismatches;
  }
  for (const CapturedGemm& row : capture.gemm) {
    sum += row.check && row.check->mode != "none" ? row.check->mismatches : 0;
  }
  return sum;
}

CaptureCrosscheck crosscheck_capture(const Capture& capture, mma::Profile profile, const TimeSimulation& simulation,
                                     int threads) {
  CaptureCrosscheck result;
  result.capture = capture;
  result.architecture = simulation.architecture;
  for (const fs::path& directory : capture.bits) {
    add_bits(directory, profile, result);
  }
  for (const fs::path& file : capture.kernels) {
    CheckedKernel checked{
        file.lexically_relative(capture.directory).generic_string(), kernel::read_kernel_file(file), {}};
    checked.diagnosis =
        kernel::crosscheck_kernel(checked.kernel.data, checked.kernel.declared, checked.kernel.target, threads);
    checked.kernel.data = {};  // the words are not needed any more
    result.kernels.push_back(std::move(checked));
  }
  result.times = compare_times(capture, simulation);
  return result;
}

CaptureCrosscheck crosscheck_capture(const fs::path& directory, const CaptureOptions& options) {
  if (options.fidelity == run::Fidelity::kDatapath) {
    throw base::InputError("--fidelity must be timing or analytic: measured times are compared with those");
  }
  const Capture capture = read_capture(directory);
  const std::string name = options.arch.empty() ? architecture_of(capture) : options.arch;
  if (name.empty()) {
    TimeSimulation none;
    none.reason = "no architecture of this simulator is a " + io::printable(capture.gpu) + "; --arch names one";
    return crosscheck_capture(capture, options.profile, none, options.threads);
  }
  const config::Architecture architecture = config::load_architecture(name);
  std::optional<run::microbench::Microbench> bench;
  if (!capture.microbench.empty() || !capture.memory.empty()) {
    bench.emplace(architecture.gpu);
  }
  return crosscheck_capture(capture, options.profile,
                            time_simulation(architecture, capture, options.fidelity, bench ? &*bench : nullptr),
                            options.threads);
}

}  // namespace sptc::check::capture
