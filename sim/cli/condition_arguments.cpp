// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/condition_arguments.h"

#include "sim/cli/arguments.h"
#include "sim/config/text_file.h"

namespace sptc::sim {

void ConditionArguments::add_to(CLI::App& command) {
  command
      .add_option(
          "--l2", l2,
          "what the L2 holds when a launch begins: nothing; what the same launch left; with "
          "N weights in turn what the launches between left")
      ->type_name("cold|warm|rotate:N")
      ->capture_default_str();
  command
      .add_option("--launch", launch,
                  "how launches follow each other: calls back to back, replays of a CUDA graph, or "
                  "the host waits for each")
      ->type_name("stream|graph|eager")
      ->capture_default_str();
  command
      .add_option("--algorithm", algorithm,
                  "the kernel that the library's heuristic takes, or the fastest that it has")
      ->type_name("heuristic|best")
      ->capture_default_str();
  command
      .add_option("--d-dtype", d_dtype,
                  "type of D in memory (default: that of the operands, of integers s32)")
      ->type_name("f32|f16|bf16|e4m3|s8|s32");
  command
      .add_option("--warmup", warmup,
                  "launches of a board that was idle before those that --repeat counts (default: "
                  "the steady state of endless launches)")
      ->type_name("N");
  command.add_option("--repeat", repeat, "launches that are timed; needs --warmup")->type_name("N");
}

void ConditionArguments::set(SimulationOptions& options) const {
  options.conditions = {parse_l2_state("--l2", printable(l2)),
                        parse_launch_mode("--launch", printable(launch)),
                        parse_algorithm("--algorithm", printable(algorithm))};
  if (!d_dtype.empty()) {
    options.d_dtype = parse_d_dtype("--d-dtype", printable(d_dtype));
  }
  if (!warmup.empty()) {
    options.warmup = static_cast<int>(parse_integer("--warmup", warmup, 0, kMostLaunches));
  }
  if (!repeat.empty()) {
    options.repeat = static_cast<int>(parse_positive("--repeat", repeat, kMostLaunches));
  }
}

}  // namespace sptc::sim
