// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/program.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "tests/hardware/capture/bit_capture.h"
#include "tests/hardware/capture/capture_writer.h"
#include "tests/hardware/capture/kernel_list.h"
#include "tests/hardware/capture/pair_options.h"
#include "tests/hardware/capture/probes.h"
#include "tests/hardware/capture/simulated_device.h"
#include "tests/hardware/capture/supervisor.h"
#include "tests/hardware/capture/timing_programme.h"

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>

namespace sptc::hardware {
namespace {

constexpr int kBadInput = 2;
constexpr int kInternal = 3;

struct Options {
  std::string directory;
  std::string simulate;
  std::string commit;
  std::string list_sass;
  std::uint64_t seed = 20261121;
  std::size_t cases = 0;
  bool quick = false;
  bool bits_only = false;
  bool pairs_only = false;
  bool no_golden = false;
  double minutes = 0;
  PairOptions pairs;
  std::string data = SPTC_SOURCE_DIR "/tests";
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("DIRECTORY", options.directory, "where the capture goes; created");
  app.add_option("--list-sass", options.list_sass,
                 "TARGET: the matrix instructions that its kernels must hold, for check_sass.py; no capture");
  app.add_option("--simulate", options.simulate,
                 "TARGET (sm_80, hopper, A100): the arithmetic of the simulator in place of a GPU; "
                 "bits and probes only");
  app.add_flag("--quick", options.quick, "four minutes in place of sixteen");
  CLI::Option* const bits_only = app.add_flag("--bits-only", options.bits_only, "no timing");
  app.add_flag("--pairs-only", options.pairs_only, "nothing but the pairs of dense and 2:4 GEMMs (pairs.csv)")
      ->excludes(bits_only);
  app.add_flag("--no-golden", options.no_golden, "without the operands of the published vectors");
  app.add_option("--seed", options.seed, "of random operands")->capture_default_str();
  app.add_option("--cases", options.cases, "per category and instruction (default 6, quick 2)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--minutes", options.minutes, "no measurement but pairs starts after as many (default 7, quick 1.5)")
      ->check(CLI::Range(0.001, 600.0));
  app.add_option("--commit", options.commit, "of the repository, for capture.json");
  app.add_option("--data", options.data, "the folder tests/ of the repository")->capture_default_str();
  options.pairs.add_to(app);
}

/// One line on stderr per block of items.
void report(const CaptureWriter& writer, std::string_view what) {
  fmt::print(stderr, "{}: {} items ok, {} partial, {} failed, {} absent so far\n", what,
             writer.items_with(ItemStatus::kOk), writer.items_with(ItemStatus::kPartial),
             writer.items_with(ItemStatus::kFailed), writer.items_with(ItemStatus::kAbsent));
}

using OpenDevice = std::function<std::unique_ptr<Device>()>;
using TimePoint = std::chrono::steady_clock::time_point;

TimingProgramme timing_of(const Options& options, TimePoint start) {
  const double minutes = options.minutes > 0 ? options.minutes : options.quick ? 1.5 : 7.0;
  const auto budget = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double, std::ratio<60>>(minutes));
  return {options.seed, options.quick, std::filesystem::path(options.data) / "hardware/shapes.csv", start,
          start + budget};
}

void capture_answers(CaptureWriter& writer, const Options& options, Device& device) {
  const std::filesystem::path data = options.data;
  const mma::Target& target = mma::find_target(device.info().target);
  BitProgramme bits{options.seed, options.cases, {}};
  if (bits.cases_per_category == 0) {
    bits.cases_per_category = options.quick ? 2 : 6;
  }
  if (!options.no_golden) {
    bits.golden = data / "golden/numerics";
  }
  capture_bits(writer, target, bits, device);
  report(writer, "bits");
  writer.item("probes", [&] { return capture_probes(writer, data / "hardware/probes.json", target, device); });
  report(writer, "probes");
}

/// All items, in the process that has the device.
void capture(const Options& options, const PairProgramme& pairs, const std::string& command, const OpenDevice& open,
             TimePoint start, CaptureWriter::Start how) {
  const std::unique_ptr<Device> device =
      options.simulate.empty() ? open() : std::make_unique<SimulatedDevice>(mma::find_target(options.simulate));
  CaptureWriter writer(options.directory, how);
  writer.set_usable([&] { return device->usable(); });
  fmt::print(stderr, "{} ({}) -> {}\n", device->info().name, device->info().target, options.directory);
  if (!options.pairs_only) {
    capture_answers(writer, options, *device);
  }
  if (device->timing() != nullptr && !options.bits_only) {
    if (!options.pairs_only) {
      capture_timing(writer, timing_of(options, start), *device);
      report(writer, "timing");
    }
    capture_pairs(writer, pairs, *device);
    report(writer, "pairs");
  }
  CaptureHeader header{
      device->origin(), command,      fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
      std::nullopt,     options.seed, options.quick};
  if (!options.commit.empty()) {
    header.commit = options.commit;
  }
  writer.finish(header, device->info());
}

/// Turns what `work` throws into a message and an exit code.
int exit_code_of(const std::function<int()>& work) {
  try {
    return work();
  } catch (const DeviceLost& lost) {
    fmt::print(stderr, "hardware_capture: {}\n", lost.what());
    return kDeviceLost;
  } catch (const base::InputError& error) {
    fmt::print(stderr, "hardware_capture: {}\n", error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "hardware_capture: internal error: {}\n", error.what());
    return kInternal;
  }
}

}  // namespace

int run_program(int argc, char** argv, const OpenDevice& open) {
  Options options;
  CLI::App app("Measures the GPU of this machine and writes a capture directory.", "hardware_capture");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  std::vector<std::string> words(argv, argv + argc);
  words.front() = "hardware_capture";
  const std::string command = fmt::format("{}", fmt::join(words, " "));
  const TimePoint start = std::chrono::steady_clock::now();
  return exit_code_of([&] {
    if (!options.list_sass.empty()) {
      fmt::print("{}", expected_sass(options.list_sass));
      return 0;
    }
    if (options.directory.empty()) {
      throw base::InputError("a directory for the capture is needed");
    }
    if (options.pairs_only && !options.simulate.empty()) {
      throw base::InputError("--pairs-only times a GPU, and --simulate has none");
    }
    const PairProgramme pairs = options.pairs.programme(options.data, options.seed, options.quick);
    return supervise(options.directory, [&](CaptureWriter::Start how) {
      return exit_code_of([&] {
        capture(options, pairs, command, open, start, how);
        return 0;
      });
    });
  });
}

}  // namespace sptc::hardware
