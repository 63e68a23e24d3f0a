// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/measurements.h"

#include "models/base/error.h"
#include "models/sparsity/pattern.h"
#include "sim/io/csv.h"
#include "sim/io/text_file.h"
#include "sim/kernels/gemm_traffic.h"
#include "sim/run/run_options.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>

namespace sptc::check::times {
namespace {

constexpr std::uint64_t kMaxBytes = 256U << 20;
// No launch ends within a nanosecond, and errors relative to less would not be finite.
constexpr double kMinTimeUs = 1e-3;
constexpr double kMaxTimeUs = 1e9;
constexpr double kMinWatts = 1;
constexpr double kMaxWatts = 1e5;
constexpr double kMinMhz = 1;
constexpr double kMaxMhz = 1e5;
constexpr std::int64_t kMaxKernelExtent = 1'000'000;
constexpr int kThreadsPerWarp = 32;
constexpr int kRowsOfWarp = 16;  // of a warp of wgmma

constexpr std::array<std::string_view, 26> kColumns = {
    "m",         "n",      "k",      "time_us_median", "dtype",     "sparsity",      "d_dtype", "l2",    "launch",
    "algorithm", "warmup", "repeat", "operands",       "clock_mhz", "power_limit_w", "power_w", "batch", "source",
    "layout",    "alg",    "tile",   "cluster",        "stages",    "kernel_notes",  "grid",    "block"};
constexpr std::array<std::string_view, 4> kRequired{"m", "n", "k", "time_us_median"};

[[noreturn]] void fail(const std::string& file, std::int64_t line, std::string_view problem) {
  io::refuse("{}:{}: {}", file, line, problem);
}

/// Which field of a record each column is in.
using Layout = std::map<std::string_view, std::size_t>;

Layout read_header(const io::CsvRecord& header, const std::string& file, std::vector<std::string>* ignored) {
  Layout layout;
  for (std::size_t i = 0; i < header.fields.size(); ++i) {
    const std::string& name = header.fields[i];
    const auto known = std::find(kColumns.begin(), kColumns.end(), name);
    if (known == kColumns.end()) {
      if (ignored != nullptr) {
        ignored->push_back(io::printable(name));
      }
    } else if (!layout.emplace(*known, i).second) {
      fail(file, header.line, fmt::format("the column '{}' stands twice", name));
    }
  }
  for (const std::string_view column : kRequired) {
    if (!layout.contains(column)) {
      fail(file, header.line,
           fmt::format("the column '{}' is missing in '{}'; needed: m, n, k, time_us_median", column,
                       io::printable(fmt::format("{}", fmt::join(header.fields, ",")))));
    }
  }
  return layout;
}

class Row {
 public:
  Row(const io::CsvRecord& record, const Layout& layout, const std::string& file)
      : record_(record), layout_(layout), file_(file) {}

  std::int64_t line() const { return record_.line; }
  std::string_view field(std::string_view column) const {
    const auto at = layout_.find(column);
    return at == layout_.end() ? "" : std::string_view(record_.fields[at->second]);
  }
  bool says(std::string_view column) const { return !field(column).empty(); }

  [[noreturn]] void fail(std::string_view problem) const { times::fail(file_, record_.line, problem); }

  template <typename Number>
  Number number(std::string_view column, Number least, Number most) const {
    const std::string_view text = field(column);
    Number value = 0;
    // Not a number is in no range.
    if (!io::parse_whole(text, value) || !(value >= least && value <= most)) {
      fail(fmt::format("{} must be {} from {} to {}, not '{}'", column,
                       std::is_integral_v<Number> ? "an integer" : "a number", least, most, io::printable(text)));
    }
    return value;
  }

  /// Sets `value` to what `parse` makes of a field that says something; its InputError names the line.
  template <typename Parse, typename Value>
  void read(std::string_view column, Parse parse, Value& value) const {
    if (!says(column)) {
      return;
    }
    try {
      value = parse(column, io::printable(field(column)));
    } catch (const base::InputError& error) {
      fail(error.what());
    }
  }
  void read(std::string_view column, double least, double most, std::optional<double>& value) const {
    if (says(column)) {
      value = number(column, least, most);
    }
  }

 private:
  const io::CsvRecord& record_;
  const Layout& layout_;
  const std::string& file_;
};

void read_types(const Row& row, bool sparse, MeasuredLaunch& launch) {
  if (row.says("dtype")) {
    const auto format = workload::parse_operand_format(row.field("dtype"));
    if (!format) {
      row.fail(workload::unknown_operand_type(row.field("dtype")));
    }
    launch.dtype = format->type;
    launch.scale_block = format->scale_block;
  }
  // A pattern as in a workload; 1:1 is how SCALE-Sim writes it.
  if (!row.says("sparsity") && sparse) {
    launch.pattern = {sparsity::hardware_pattern(launch.dtype)};
  } else if (row.field("sparsity") != "dense" && row.field("sparsity") != "1:1") {
    const auto parse = [](std::string_view what, std::string_view text) {
      try {
        return sparsity::parse_weight_pattern(text);
      } catch (const base::InputError& error) {
        io::refuse("{} must be dense or a pattern, not '{}': {}", what, text, error.what());
      }
    };
    row.read("sparsity", parse, launch.pattern);
  }
  row.read("d_dtype", run::parse_d_dtype, launch.d_dtype);
  if (numerics::info(launch.dtype).is_float() && !numerics::info(launch.type_of_d()).is_float()) {
    row.fail(fmt::format("d_dtype is '{}', but products of {} are no integers", numerics::name(launch.type_of_d()),
                         numerics::name(launch.dtype)));
  }
}

void read_conditions(const Row& row, MeasuredLaunch& launch) {
  row.read("l2", kernels::parse_l2_state, launch.conditions.l2);
  row.read("launch", kernels::parse_launch_mode, launch.conditions.launch);
  row.read("algorithm", kernels::parse_algorithm, launch.conditions.algorithm);
  if (row.says("warmup") != row.says("repeat")) {
    row.fail("warmup and repeat are given together or not at all");
  }
  if (row.says("warmup")) {
    launch.repetition = kernels::Repetition{row.number<int>("warmup", 0, run::kMostLaunches),
                                            row.number<int>("repeat", 1, run::kMostLaunches)};
  }
  const auto parse_operands = [](std::string_view what, std::string_view text) {
    try {
      return workload::parse_data_kind(text);
    } catch (const base::InputError& error) {
      io::refuse("{}: {}", what, error.what());
    }
  };
  row.read("operands", parse_operands, launch.operands);
  row.read("clock_mhz", kMinMhz, kMaxMhz, launch.clock_mhz);
  row.read("power_limit_w", kMinWatts, kMaxWatts, launch.power_limit_w);
}

/// The numbers of "2x64x1", as many as there are; the rest is 1.
std::array<std::int64_t, 3> extents(std::string_view what, std::string_view text) {
  std::array<std::int64_t, 3> result{1, 1, 1};
  std::size_t i = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && i < result.size()) {
    const auto [next, error] = std::from_chars(at, end, result[i]);
    const bool bad =
        error != std::errc() || result[i] < 1 || result[i] > kMaxKernelExtent || (next != end && *next != 'x');
    if (bad || next + 1 == end) {
      break;
    }
    at = next == end ? end : next + 1;
    ++i;
  }
  if (at != end || i == 0) {
    io::refuse("{} must be like 128x64x1, not '{}'", what, io::printable(text));
  }
  return result;
}

bool has(std::string_view notes, std::string_view word) {
  return notes.find(word) != std::string_view::npos;
}

/// The way to cut a tile of mma.sync into `warps` whose pieces are most like squares.
base::GemmShape warp_tile(const base::GemmShape& cta, std::int64_t warps) {
  base::GemmShape best{0, 0, 0};
  for (std::int64_t across = 1; across <= warps; ++across) {
    if (warps % across != 0 || cta.n % across != 0 || cta.m % (warps / across) != 0) {
      continue;
    }
    const base::GemmShape piece{cta.m / (warps / across), cta.n / across, 0};
    const auto perimeter = piece.m + piece.n;
    if (best.m == 0 || perimeter < best.m + best.n || (perimeter == best.m + best.n && piece.m > best.m)) {
      best = piece;
    }
  }
  return best;
}

void read_kernel(const Row& row, MeasuredLaunch& launch) {
  // cuSPARSELt's numbers of a 2:4 row stand in `alg`, D's order of a dense one in `layout`.
  if (launch.pattern) {
    row.read("layout", kernels::parse_layout, launch.conditions.layout);
  } else {
    row.read("alg", kernels::parse_fp8_accumulation, launch.conditions.fp8_accumulation);
  }
  const KernelFields fields{row.field("tile"),         row.field("cluster"), row.field("stages"),
                            row.field("kernel_notes"), row.field("grid"),    row.field("block")};
  try {
    launch.kernel = recorded_kernel(fields, launch.shape);
  } catch (const base::InputError& error) {
    row.fail(error.what());
  }
}

Measurement read_row(const Row& row, const MeasurementDefaults& defaults) {
  if (row.says("batch") && row.field("batch") != "1") {
    row.fail(fmt::format("batch is '{}', but single GEMMs are scored", io::printable(row.field("batch"))));
  }
  Measurement result;
  result.launch = defaults.launch;
  const auto extent = [&](std::string_view column) {
    return row.number<std::int64_t>(column, 1, workload::kMaxExtent);
  };
  result.launch.shape = {extent("m"), extent("n"), extent("k")};
  result.time_us = row.number("time_us_median", kMinTimeUs, kMaxTimeUs);
  read_types(row, defaults.sparse, result.launch);
  read_conditions(row, result.launch);
  read_kernel(row, result.launch);
  row.read("power_w", kMinWatts, kMaxWatts, result.power_w);
  result.source = row.field("source");
  result.line = row.line();
  return result;
}

}  // namespace

std::string MeasuredLaunch::conditions_text() const {
  std::string text = fmt::format("L2 {}, launch {}, algorithm {}", conditions.l2.name(),
                                 kernels::name(conditions.launch), kernels::name(conditions.algorithm));
  text += d_dtype ? fmt::format(", D {}", numerics::name(*d_dtype)) : "";
  text += repetition ? fmt::format(", {} warm-ups and {} launches", repetition->warmup, repetition->repeat) : "";
  return text + (power_limit_w ? fmt::format(", {:g} W", *power_limit_w) : "");
}

numerics::DataType MeasuredLaunch::type_of_d() const {
  kernels::GemmProblem problem;
  problem.dtype = dtype;
  problem.d_dtype = d_dtype;
  return kernels::output_type(problem);
}

std::vector<Measurement> parse_measurements(std::string_view text, const std::string& file,
                                            const MeasurementDefaults& defaults, std::vector<std::string>* ignored) {
  const std::vector<io::CsvRecord> records = io::parse_csv(text, file);
  constexpr std::string_view kNothing = "{}: no measurements; needed: a header with m, n, k, time_us_median, and rows";
  if (records.empty()) {
    io::refuse(kNothing, file);
  }
  const Layout layout = read_header(records.front(), file, ignored);
  if (records.size() < 2) {
    io::refuse(kNothing, file);
  }
  std::vector<Measurement> rows;
  rows.reserve(records.size() - 1);
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].fields.size() != records.front().fields.size()) {
      fail(file, records[i].line,
           fmt::format("{} fields, but the header has {}", records[i].fields.size(), records.front().fields.size()));
    }
    rows.push_back(read_row({records[i], layout, file}, defaults));
  }
  return rows;
}

std::vector<Measurement> read_measurements(const std::filesystem::path& path, const MeasurementDefaults& defaults,
                                           std::vector<std::string>* ignored) {
  return parse_measurements(io::read_text_file(path, kMaxBytes), io::printable(path.string()), defaults, ignored);
}

std::optional<kernels::KernelOverrides> recorded_kernel(const KernelFields& fields, const base::GemmShape& shape) {
  if (fields.tile.empty()) {
    return std::nullopt;
  }
  const auto [m, n, k] = extents("tile", fields.tile);
  kernels::KernelOverrides kernel;
  kernel.search = true;
  kernel.cta_tile = base::GemmShape{m, n, k};
  kernel.split_k = 1;
  const bool registers = has(fields.notes, "mma.sync");
  kernel.family = registers ? mma::MmaFamily::kMma : mma::MmaFamily::kWgmma;
  kernel.transposed = fields.notes.ends_with("TNN") || has(fields.notes, "TNN ");
  if (registers) {
    const auto threads = extents("block", fields.block.empty() ? "128" : fields.block);
    kernel.warp_tile = warp_tile(*kernel.cta_tile, std::max<std::int64_t>(1, threads[0] / kThreadsPerWarp));
  } else {
    kernel.warp_tile = kernel.transposed ? base::GemmShape{m, kRowsOfWarp, 0} : base::GemmShape{kRowsOfWarp, n, 0};
  }
  if (!fields.stages.empty()) {
    const std::string_view digits = fields.stages.substr(0, fields.stages.find('.'));
    kernel.stages = static_cast<int>(std::min<std::int64_t>(extents("stages", digits)[0], kernels::kMaxStages));
  }
  if (!fields.cluster.empty()) {
    const auto [x, y, z] = extents("cluster", fields.cluster);
    kernel.cluster_ctas = static_cast<int>(std::min<std::int64_t>(x * y * z, kernels::kMaxClusterCtas));
  }
  if (has(fields.notes, "segment_k")) {
    kernel.decomposition = kernels::Decomposition::kStreamK;
  } else if (has(fields.notes, "splitK") && !fields.grid.empty()) {
    const auto [x, y, z] = extents("grid", fields.grid);
    const std::int64_t tiles = base::ceil_div(shape.m, m) * base::ceil_div(shape.n, n);
    kernel.split_k = static_cast<int>(std::clamp<std::int64_t>(x * y * z / tiles, 1, kernels::kMaxSplitK));
  }
  return kernel;
}

std::vector<Measurement> recorded_measurements(const workload::Workload& workload, const std::string& file,
                                               const MeasurementDefaults& defaults, std::vector<std::string>& notes) {
  std::vector<Measurement> rows;
  std::int64_t without_time = 0;
  std::int64_t of_other_kinds = 0;
  for (std::size_t i = 0; i < workload.operations.size(); ++i) {
    const workload::Operation& op = workload.operations[i];
    if (op.recorded.time_us <= 0) {
      without_time += op.count;
      continue;
    }
    if (op.batch != 1 || op.conv || op.storage.block_scaled()) {
      of_other_kinds += op.count;
      continue;
    }
    Measurement row;
    row.launch = defaults.launch;
    row.launch.shape = op.shape;
    row.launch.dtype = op.dtype;
    if (op.recorded.sparse) {
      row.launch.pattern = {sparsity::hardware_pattern(op.dtype)};
    }
    if (const auto type = numerics::parse_data_type(op.recorded.d_dtype)) {
      row.launch.d_dtype = *type;
    }
    row.time_us = op.recorded.time_us;
    row.source = op.name;
    row.line = static_cast<std::int64_t>(i + 1);
    rows.push_back(row);
  }
  if (rows.empty()) {
    throw base::InputError(file + ": no launch of one batch has a measured time");
  }
  if (without_time > 0) {
    notes.push_back(
        fmt::format("{} {} no measured time", without_time, without_time == 1 ? "launch has" : "launches have"));
  }
  if (of_other_kinds > 0) {
    const bool one = of_other_kinds == 1;
    notes.push_back(fmt::format("{} {} of several batches, of convolutions or of block-scaled operands {} not compared",
                                of_other_kinds, one ? "launch" : "launches", one ? "is" : "are"));
  }
  return rows;
}

}  // namespace sptc::check::times
