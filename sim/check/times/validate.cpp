// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/validate.h"

#include "models/base/error.h"
#include "sim/check/times/accuracy.h"
#include "sim/check/times/launch_simulation.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/kernels/kernel_choice.h"
#include "sim/run/asked_work.h"
#include "sim/run/run_options.h"
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace sptc::check::times {
namespace {

// So many launches of SystemC are a matter of minutes.
constexpr std::size_t kMostRowsSimulated = 50;

/// What the figures rest on beside the rows themselves.
std::vector<std::string> notes_on(const std::vector<Measurement>& measured, const std::vector<std::string>& ignored,
                                  const config::Architecture& architecture, const run::SimulationOptions& options) {
  std::vector<std::string> notes;
  if (!options.power_note.empty()) {
    notes.push_back(options.power_note);
  }
  if (!options.power) {
    notes.push_back(fmt::format("'{}' has no energies, so that no power limit lowers its clock, {}",
                                architecture.gpu.name, options.clock_policy.name()));
    const auto watts = std::count_if(measured.begin(), measured.end(),
                                     [](const Measurement& row) { return row.power_w || row.launch.power_limit_w; });
    if (watts > 0) {
      notes.push_back(fmt::format("watts of {} rows are not compared: the board has no energies", watts));
    }
  }
  const auto brief = std::count_if(measured.begin(), measured.end(),
                                   [](const Measurement& row) { return row.power_w && !has_steady_power(row); });
  if (options.power && brief > 0) {
    notes.push_back(
        fmt::format("watts of {} rows are not compared: their launches take less than a second in all, over which NVML "
                    "averages power",
                    brief));
  }
  if (!ignored.empty()) {
    notes.push_back(fmt::format("columns that are not read: {}", fmt::join(ignored, ", ")));
  }
  return notes;
}

/// Adds a note where `file` is called as the times of another board are (configs/evidence).
void note_other_board(const std::string& file, const config::Architecture& architecture,
                      std::vector<std::string>& notes) {
  const std::string stem = std::filesystem::path(file).stem().string();
  const std::vector<std::string> boards = config::architecture_names();
  if (stem != architecture.gpu.name && std::ranges::binary_search(boards, stem)) {
    notes.push_back(
        fmt::format("by its name the file has times of {}, and they are compared with {}: --arch says which board",
                    stem, architecture.gpu.name));
  }
}

/// Adds a note on rows whose simulated power is above their limit.
void note_above_limit(const std::vector<Comparison>& rows, std::vector<std::string>& notes) {
  constexpr double kRounding = 1.02;
  std::int64_t count = 0;
  double most_w = 0, limit_w = 0;
  for (const Comparison& row : rows) {
    const std::optional<double>& limit = row.measured.launch.power_limit_w;
    const std::optional<double>& power = row.simulated.power_w;
    if (limit && power && *power > kRounding * *limit) {
      ++count;
      if (*power > most_w) {
        most_w = *power;
        limit_w = *limit;
      }
    }
  }
  if (count > 0) {
    notes.push_back(
        fmt::format("the simulated power of {} rows is above their limit, up to {:.0f} W with {:g} W: that of launches "
                    "which end before the board acts on its power, or run at a held clock",
                    count, most_w, limit_w));
  }
}

/// The recording that `file` is; nothing where it is a CSV of measured times.
std::optional<workload::Recording> recording_of(const std::string& file) {
  workload::input::InputStream input{std::filesystem::path(file)};
  return workload::importer::is_recording(input) ? std::optional(workload::importer::read_recording(input))
                                                 : std::nullopt;
}

/// Whether the SMs of `gpu` hold the kernel that `launch` names.
bool holds_kernel(const MeasuredLaunch& launch, const gpu::GpuSpec& gpu) {
  kernels::GemmProblem problem{launch.shape, 1, launch.dtype, launch.pattern.has_value()};
  problem.storage.scale_block = launch.scale_block;
  problem.d_dtype = launch.d_dtype;
  problem.conditions = launch.conditions;
  try {
    kernels::choose_kernel(problem, *launch.kernel, gpu.kernel_target(), false);
    return true;
  } catch (const base::InputError&) {
    return false;
  }
}

/// Adds to the rows that name their kernel what that one takes; those that no SM of the model holds are noted.
void add_recorded(std::vector<Comparison>& rows, const std::string& file, const config::Architecture& architecture,
                  const run::SimulationOptions& options, int jobs, std::vector<std::string>& notes) {
  std::vector<Measurement> named;
  std::vector<Comparison*> places;
  std::size_t lacking = 0;
  for (Comparison& row : rows) {
    if (!row.measured.launch.kernel) {
      continue;
    }
    if (!holds_kernel(row.measured.launch, architecture.gpu)) {
      ++lacking;
      continue;
    }
    named.push_back(row.measured);
    places.push_back(&row);
  }
  if (lacking > 0) {
    notes.push_back(fmt::format("{} rows name a kernel that needs more of an SM than it has", lacking));
  }
  if (named.empty()) {
    return;
  }
  const std::vector<Prediction> launches = simulate_launches(named, file, architecture, options, jobs, {}, true);
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i]->recorded = launches[i];
  }
}

std::string board_of(const ValidationJob& job, const std::optional<workload::Recording>& recording) {
  if (!job.arch.empty()) {
    return job.arch;
  }
  return recording && !recording->account.arch.empty() ? recording->account.arch : std::string(kUsualBoard);
}

}  // namespace

MeasurementDefaults parse_defaults(const std::string& dtype, const std::string& variants, const std::string& data,
                                   const run::SimulationOptions& options) {
  if (options.fidelity == run::Fidelity::kDatapath) {
    throw base::InputError("--fidelity must be timing or analytic: measured times are compared with those");
  }
  MeasurementDefaults defaults;
  const auto format = workload::parse_operand_format(dtype);
  if (!format) {
    throw base::InputError("--dtype: " + workload::unknown_operand_type(dtype));
  }
  const run::Variants which = run::parse_word<run::Variants>(variants);
  if (which == run::Variants::kBoth) {
    throw base::InputError("--variants must be dense or sparse: a measured time is that of one launch");
  }
  defaults.sparse = which == run::Variants::kSparse;
  defaults.launch.dtype = format->type;
  defaults.launch.scale_block = format->scale_block;
  defaults.launch.operands = workload::parse_data_kind(data);
  defaults.launch.conditions = options.conditions;
  defaults.launch.d_dtype = options.d_dtype;
  return defaults;
}

Validation validate(const ValidationJob& job) {
  std::optional<workload::Recording> recording = recording_of(job.file);
  const config::Architecture architecture =
      run::with_asked(config::load_architecture(board_of(job, recording)), job.options);
  if (recording) {
    run::leave_unsupported(architecture.gpu, job.options, recording->workload);
    if (job.on_recording) {
      job.on_recording(*recording);
    }
  }
  run::EnergyFiles files;
  run::SimulationOptions options = run::resolved(job.options, architecture, files);
  MeasurementDefaults defaults = job.defaults;
  defaults.launch.repetition = options.repetition;
  if (options.power) {
    defaults.launch.power_limit_w = options.power->power_limit_w;
  }
  const std::string file = io::printable(job.file);
  std::vector<std::string> ignored, left_out;
  const std::vector<Measurement> measured = recording
                                                ? recorded_measurements(recording->workload, file, defaults, left_out)
                                                : read_measurements(job.file, defaults, &ignored);
  if (!job.fidelity_given && measured.size() > kMostRowsSimulated) {
    options.fidelity = run::Fidelity::kAnalytic;
  }
  const std::vector<Prediction> launches =
      simulate_launches(measured, file, architecture, options, job.jobs, job.progress);
  std::vector<Comparison> rows;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    rows.push_back({measured[i], launches[i]});
  }
  add_recorded(rows, file, architecture, options, job.jobs, left_out);
  std::vector<std::string> notes = notes_on(measured, ignored, architecture, options);
  notes.insert(notes.end(), left_out.begin(), left_out.end());
  note_other_board(job.file, architecture, notes);
  note_above_limit(rows, notes);
  return validation_of({architecture.gpu.name, file, std::string(run::name(options.fidelity)),
                        run::made_by(options.fidelity, architecture.gpu.sms),
                        options.clock_limited ? "limited" : options.clock_policy.name(), defaults, std::move(notes)},
                       std::move(rows));
}

}  // namespace sptc::check::times
