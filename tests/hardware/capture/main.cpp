// SPDX-License-Identifier: Apache-2.0
//
// hardware_capture: measures the GPU of this machine and writes one capture directory
// (tests/hardware/CAPTURE.md).
#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "tests/hardware/capture/bit_capture.h"
#include "tests/hardware/capture/capture_writer.h"
#include "tests/hardware/capture/gpu.h"
#include "tests/hardware/capture/kernel_list.h"
#include "tests/hardware/capture/probes.h"
#include "tests/hardware/capture/simulated_device.h"

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>
#include <ctime>

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
  bool no_golden = false;
  double minutes = 0;
  std::string data = SPTC_SOURCE_DIR "/tests";
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("DIRECTORY", options.directory, "where the capture goes; created");
  app.add_option(
      "--list-sass", options.list_sass,
      "TARGET: the matrix instructions that its kernels must hold, for check_sass.py; no capture");
  app.add_option("--simulate", options.simulate,
                 "TARGET (sm_80, hopper, A100): the arithmetic of the simulator in place of a GPU; "
                 "bits and probes only");
  app.add_flag("--quick", options.quick, "two minutes in place of eight");
  app.add_flag("--bits-only", options.bits_only, "no timing");
  app.add_flag("--no-golden", options.no_golden, "without the operands of the published vectors");
  app.add_option("--seed", options.seed, "of random operands")->capture_default_str();
  app.add_option("--cases", options.cases, "per category and instruction (default 6, quick 2)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--minutes", options.minutes,
                 "no measurement starts after as many (default 7, quick 1.5)")
      ->check(CLI::Range(0.1, 600.0));
  app.add_option("--commit", options.commit, "of the repository, for capture.json");
  app.add_option("--data", options.data, "the folder tests/ of the repository")
      ->capture_default_str();
}

/// One line on stderr per block of items.
void report(const CaptureWriter& writer, std::string_view what) {
  fmt::print(stderr, "{}: {} items ok, {} partial, {} failed, {} absent so far\n", what,
             writer.items_with(ItemStatus::kOk), writer.items_with(ItemStatus::kPartial),
             writer.items_with(ItemStatus::kFailed), writer.items_with(ItemStatus::kAbsent));
}

void capture(const Options& options, const std::string& command) {
  const bool simulated = !options.simulate.empty();
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<Device> device =
      simulated ? std::make_unique<SimulatedDevice>(mma::find_target(options.simulate))
                : open_gpu();
  const mma::Target& target = mma::find_target(device->info().target);
  CaptureWriter writer(options.directory);
  fmt::print(stderr, "{} ({}) -> {}\n", device->info().name, device->info().target,
             options.directory);

  const std::filesystem::path data = options.data;
  BitProgramme bits{options.seed, options.cases, {}};
  if (bits.cases_per_category == 0) {
    bits.cases_per_category = options.quick ? 2 : 6;
  }
  if (!options.no_golden) {
    bits.golden = data / "golden/numerics";
  }
  capture_bits(writer, target, bits, *device);
  report(writer, "bits");
  writer.item("probes", [&] {
    return capture_probes(writer, data / "hardware/probes.json", target, *device);
  });
  report(writer, "probes");
  if (!simulated && !options.bits_only) {
    const double minutes = options.minutes > 0 ? options.minutes : options.quick ? 1.5 : 7.0;
    const auto budget = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double, std::ratio<60>>(minutes));
    capture_timing(writer,
                   {options.seed, options.quick, data / "hardware/shapes.csv", start + budget},
                   *device);
    report(writer, "timing");
  }
  CaptureHeader header{simulated ? "simulated" : "measured",
                       command,
                       fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
                       std::nullopt,
                       options.seed,
                       options.quick};
  if (!options.commit.empty()) {
    header.commit = options.commit;
  }
  writer.finish(header, device->info());
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the GPU of this machine and writes a capture directory.",
               "hardware_capture");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  std::vector<std::string> command(argv, argv + argc);
  command.front() = "hardware_capture";
  try {
    if (!options.list_sass.empty()) {
      fmt::print("{}", expected_sass(options.list_sass));
      return 0;
    }
    if (options.directory.empty()) {
      throw InputError("a directory for the capture is needed");
    }
    capture(options, fmt::format("{}", fmt::join(command, " ")));
    return 0;
  } catch (const InputError& error) {
    fmt::print(stderr, "hardware_capture: {}\n", error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "hardware_capture: internal error: {}\n", error.what());
    return kInternal;
  }
}

}  // namespace
}  // namespace sptc::hardware

int main(int argc, char** argv) {
  return sptc::hardware::run(argc, argv);
}
