// SPDX-License-Identifier: Apache-2.0
#include "sim/run/option_table.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/regular_expression.h"
#include "sim/io/text_file.h"
#include "sim/run/option_values.h"
#include "sim/workload/workload_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace sptc::run {
namespace {

using Options = SimulationOptions;
using Text = std::string;

constexpr int kMostGpus = 8;

/// "best"; "sparse=best", "dense=default,sparse=best": of one library alone.
void set_algorithm(Options& options, const Text& text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t sign = part.find('=');
    const std::string whose = sign == Text::npos ? "" : part.substr(0, sign);
    const kernels::Algorithm algorithm = kernels::parse_algorithm(
        "--algorithm", io::printable(sign == Text::npos ? part : part.substr(sign + 1)));
    if (whose == "sparse") {
      options.sparse_algorithm = algorithm;
    } else if (whose == "dense" || whose.empty()) {
      if (whose.empty()) {
        options.sparse_algorithm.reset();
      } else if (!options.sparse_algorithm) {
        options.sparse_algorithm = options.conditions.algorithm;
      }
      options.conditions.algorithm = algorithm;
    } else {
      throw base::InputError("--algorithm: '" + io::printable(whose) +
                             "' is no library: dense=default|best, sparse=default|best");
    }
    begin = end + 1;
  }
}

constexpr std::array kTable{
    SimulationOption{
        "numerics", "NAME",
        "arithmetic of another generation on this architecture (step width and with it the cycles "
        "change too; default: the architecture's own)",
        "values, time", "", [](Options& options, const Text& text) { options.numerics = text; }},
    SimulationOption{
        "fidelity", "datapath|timing|analytic",
        "datapath: operand bits travel through the SystemC stages; timing: cycles only; analytic: "
        "closed forms",
        "time, energy, check", "timing",
        [](Options& options, const Text& text) { options.fidelity = parse_fidelity(text); }},
    SimulationOption{
        "variants", "dense|sparse|both", "weights as given, at the hardware's pattern, or both",
        "values, time, energy", "both",
        [](Options& options, const Text& text) { options.variants = parse_variants(text); }},
    SimulationOption{
        "dtype", "f16|bf16|tf32|e4m3|e5m2|s8|s4|e2m1|PART=TYPE,..",
        "replaces the operand type (default: the workload's, or f16). One of 8 bits and less is "
        "that of weights: attention, routers and the last layer keep theirs, but for all=e4m3, or "
        "weights=e4m3,attention=bf16,router=bf16,lm_head=bf16",
        "values, time, energy", "",
        [](Options& options, const Text& text) { parse_types(text, options); }},
    SimulationOption{
        "weight-dtype", "s8|s4",
        "weights lie in memory as these and are dequantised in registers (default: the "
        "workload's, or as they are multiplied)",
        "values, time, energy", "",
        [](Options& options, const Text& text) {
          options.storage.weight = parse_weight_dtype(text);
        }},
    SimulationOption{"scale-block", "N",
                     "elements along K that share a scale: of a quantised weight (default: a row "
                     "of it has one), or of block-scaled types (e4m3: 32, e2m1: 16)",
                     "time, energy", "",
                     [](Options& options, const Text& text) {
                       options.storage.scale_block = static_cast<int>(
                           parse_positive("--scale-block", text, workload::kMostInScaleBlock));
                     }},
    SimulationOption{
        "pattern", "N:M|V:N:M",
        "of sparse weights (default: the hardware's, 2:4 for 16 and 8 bits): by a selector of that "
        "width where the architecture has one, within 2:4 or decomposed on it where that is "
        "possible",
        "values, time, energy", "",
        [](Options& options, const Text& text) {
          options.pattern = sparsity::parse_weight_pattern(text);
        }},
    SimulationOption{
        "data", "KIND|FILE",
        "operand values: random|integers|zeros|relu, or FILE.safetensors with tensors "
        "'<operation>.a' [m,k] and '<operation>.b' [k,n] (default: the network's values where the "
        "workload has them, else random)",
        "values, energy", "", [](Options& options, const Text& text) { options.data = text; },
        true},
    SimulationOption{
        "check", "none|sample|eigen|exact",
        "sample, eigen: against double precision; exact: bits against the plain arithmetic "
        "(default: eigen in datapath, sample in timing, none in analytic)",
        "check", "",
        [](Options& options, const Text& text) { options.check = parse_check_mode(text); }},
    SimulationOption{
        "clock", "boost|limited|MHZ",
        "SM clock, or MHz; limited: the highest that the power limit allows, up to boost (default: "
        "limited where the energies of the board are known, else boost)",
        "time, energy", "",
        [](Options& options, const Text& text) { options.clock = parse_clock(text); }},
    SimulationOption{
        "energy", "NAME|FILE",
        "energies: a name of 'energy list', or a file (default: the architecture's or that of the "
        "one it is derived from, where there is one)",
        "time, energy", "", [](Options& options, const Text& text) { options.energy = text; },
        true},
    SimulationOption{"power-limit", "W",
                     "of --clock limited, in watts, instead of the energy file's", "time, energy",
                     "",
                     [](Options& options, const Text& text) {
                       options.power_limit_w = parse_watts("--power-limit", text);
                     }},
    SimulationOption{"board-idle", "W",
                     "what this board takes at rest, in watts, instead of the energy file's",
                     "time, energy", "",
                     [](Options& options, const Text& text) {
                       options.board_idle_w = parse_watts("--board-idle", text);
                     }},
    SimulationOption{
        "limit-over", "launch|group",
        "of --clock limited: the power limit holds over each launch, or on average over the "
        "workload or, where it names groups of operations, over each group, what lies between the "
        "GEMMs included (default: launch)",
        "time, energy", "",
        [](Options& options, const Text& text) { options.limit_over = parse_limit_over(text); }},
    SimulationOption{"l2", "cold|warm|rotate:N",
                     "what the L2 holds when a launch begins: nothing; what the same launch left; "
                     "with N weights "
                     "in turn what the launches between left",
                     "time, energy", "cold",
                     [](Options& options, const Text& text) {
                       options.conditions.l2 = kernels::parse_l2_state("--l2", io::printable(text));
                     }},
    SimulationOption{
        "launch", "stream|graph|eager",
        "how launches follow each other: calls back to back, replays of a CUDA graph, or the host "
        "waits for each",
        "time, energy", "stream",
        [](Options& options, const Text& text) {
          options.conditions.launch = kernels::parse_launch_mode("--launch", io::printable(text));
        }},
    SimulationOption{
        "engine", "NAME|FILE",
        "what runs the network: a name of configs/engines, or a file; it says what is fused, which "
        "types flow between kernels and how launches follow each other (gemms: GEMMs only)",
        "time, energy", "gemms", [](Options& options, const Text& text) { options.engine = text; },
        true},
    SimulationOption{
        "tp", "N",
        "split each layer over 1 to 8 GPUs, which sum up over their links (needs --link and an "
        "engine; figures are those of one of them)",
        "time, energy", "1",
        [](Options& options, const Text& text) {
          options.tensor_parallel = static_cast<int>(parse_integer("--tp", text, 1, kMostGpus));
        }},
    SimulationOption{"link", "GB/s",
                     "of --tp: what the links of a GPU carry each way (NVLink of an A100: 300)",
                     "time, energy", "",
                     [](Options& options, const Text& text) {
                       options.link_gb_per_s = parse_rate("--link", text);
                     }},
    SimulationOption{
        "sparsity", "all|auto|FILE",
        "auto: also of GEMMs only, say for each weight whether 2:4 or dense is faster and why, and "
        "add up the fastest mix; every other engine does so. FILE: only the weights that it lists, "
        "as 'plan --out' writes it",
        "time, energy", "all",
        [](Options& options, const Text& text) {
          const std::optional<bool> choice = parse_sparsity_choice(text);
          options.sparsity_auto = choice.value_or(false);
          options.sparse_layers = choice ? "" : text;
        },
        true},
    SimulationOption{
        "include", "REGEX",
        "operations to prune, too, whose weights stay dense by name: heads, embeddings, routers, "
        "state matrices",
        "time, energy", "",
        [](Options& options, const Text& text) {
          io::RegularExpression("--include", text);
          options.include = text;
        }},
    SimulationOption{"algorithm", "default|best",
                     "the kernel that the library takes by default (cuBLASLt's heuristic, "
                     "cuSPARSELt's algorithm "
                     "0 of the layout), or the fastest that its search finds; also of one of them: "
                     "sparse=best, dense=best",
                     "time, energy", "default", set_algorithm},
    SimulationOption{
        "layout", "n-major|m-major|Kc/n-major|Kc/m-major|Nc/n-major|Nc/m-major",
        "D as [n, m], as a linear layer writes it, or as [m, n]; Kc or Nc before it: K "
        "or N of B contiguous. cuSPARSELt's default kernels depend on it",
        "time, energy", "n-major",
        [](Options& options, const Text& text) {
          options.conditions.layout = kernels::parse_layout("--layout", io::printable(text));
        }},
    SimulationOption{
        "kernels", "library|search",
        "the kernel that a GEMM library has for the GPU, or the fastest of all tiles, stages, "
        "clusters and cuts of K that fit the SM: the best few in closed form are simulated "
        "(default: library for shipped GPUs, search for a design of one's own)",
        "time, energy", "",
        [](Options& options, const Text& text) { options.kernels = parse_kernels_from(text); }},
    SimulationOption{
        "library", "NAME",
        "GEMM library whose kernels run: a name of configs/libraries (default: that of the "
        "architecture)",
        "time, energy", "", [](Options& options, const Text& text) { options.library = text; },
        true},
    SimulationOption{"d-dtype", "f32|f16|bf16|e4m3|s8|s32",
                     "type of D in memory (default: that of the operands, of integers s32)",
                     "time, energy", "",
                     [](Options& options, const Text& text) {
                       options.d_dtype = parse_d_dtype("--d-dtype", io::printable(text));
                     }},
    SimulationOption{
        "warmup", "N",
        "launches of a board that was idle before those that --repeat counts (default: the steady "
        "state of endless launches)",
        "time, energy", "",
        [](Options& options, const Text& text) {
          options.warmup = static_cast<int>(parse_integer("--warmup", text, 0, kMostLaunches));
        }},
    SimulationOption{"repeat", "N", "launches that are timed; needs --warmup", "time, energy", "",
                     [](Options& options, const Text& text) {
                       options.repeat =
                           static_cast<int>(parse_positive("--repeat", text, kMostLaunches));
                     }},
    SimulationOption{"tile", "MxNxK", "CTA tile instead of the heuristic's", "time, energy", "",
                     [](Options& options, const Text& text) {
                       options.kernel.cta_tile = parse_tile(text);
                       options.kernel.tile_of_pair = true;
                     }},
    SimulationOption{"stages", "N", "pipeline stages instead of the heuristic's", "time, energy",
                     "",
                     [](Options& options, const Text& text) {
                       options.kernel.stages =
                           static_cast<int>(parse_positive("--stages", text, kernels::kMaxStages));
                     }},
    SimulationOption{"split-k", "N", "slices of K instead of the heuristic's",
                     "values, time, energy", "",
                     [](Options& options, const Text& text) {
                       options.kernel.split_k =
                           static_cast<int>(parse_positive("--split-k", text, kernels::kMaxSplitK));
                     }},
    SimulationOption{
        "decomposition", "data-parallel|stream-k",
        "an output tile, or with --split-k a slice of one, for each CTA, or as many k-tiles for "
        "each (default: the heuristic's)",
        "values, time, energy", "",
        [](Options& options, const Text& text) {
          options.kernel.decomposition = parse_decomposition(text);
        }},
    SimulationOption{"seed", "N", "of generated operands and samples", "values, energy, check", "0",
                     [](Options& options, const Text& text) { options.seed = parse_seed(text); }},
    SimulationOption{
        "memory", "FILE.so",
        "DRAM behind the L2: a shared object of your own (sptcsim/plugin/memory.h) instead of the "
        "modelled one; every cycle is simulated",
        "time, energy", "", [](Options& options, const Text& text) { options.memory = text; },
        true},
    SimulationOption{"memory-config", "TEXT", "of --memory: what to tell it, such as a file of its",
                     "time, energy", "",
                     [](Options& options, const Text& text) { options.memory_config = text; },
                     true},
    SimulationOption{"no-extrapolate", "",
                     "simulate every cycle instead of carrying on main loops and rounds of CTAs "
                     "that repeat (datapath "
                     "always does)",
                     "time, energy", "false",
                     [](Options& options, const Text& text) {
                       options.extrapolate = !parse_switch("--no-extrapolate", text);
                     }},
    SimulationOption{
        "save-operands", "FILE",
        "write what each launch reads to FILE (.npz): A, compressed A, metadata and B, and for "
        "'crosscheck --kernel' what a kernel of it is",
        "files", "",
        [](Options& options, const Text& text) {
          options.save_operands = parse_archive("--save-operands", text);
        }},
    SimulationOption{
        "save-d", "FILE",
        "write the D of each launch to FILE (.npz), in the type of its accumulators or in that of "
        "--d-dtype",
        "files", "",
        [](Options& options, const Text& text) {
          options.save_d = parse_archive("--save-d", text);
        }},
};

}  // namespace

std::span<const SimulationOption> simulation_options() {
  return kTable;
}

const SimulationOption& simulation_option(std::string_view name) {
  const auto found = std::find_if(kTable.begin(), kTable.end(),
                                  [&](const SimulationOption& row) { return row.name == name; });
  if (found != kTable.end()) {
    return *found;
  }
  std::array<std::string_view, kTable.size()> names;
  std::transform(kTable.begin(), kTable.end(), names.begin(),
                 [](const SimulationOption& row) { return row.name; });
  throw base::InputError("unknown option " +
                         base::unknown_name(io::printable(std::string(name)), names));
}

void set_option(SimulationOptions& options, std::string_view name, const std::string& text) {
  const SimulationOption& option = simulation_option(name);
  if (text.empty()) {
    throw base::InputError("--" + std::string(name) + ": the value is empty");
  }
  option.set(options, text);
}

void set_option(SimulationOptions& options, std::string_view name, const nlohmann::json& value) {
  const SimulationOption& option = simulation_option(name);
  if (!value.is_string() && !value.is_number() && !value.is_boolean()) {
    throw base::InputError("--" + std::string(option.name) +
                           " must be a number, a word or true or false");
  }
  set_option(options, name, option_text(value));
}

std::string option_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace sptc::run
