// SPDX-License-Identifier: Apache-2.0
#include "sim/run/option_table.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/stages.h"
#include "sim/io/regular_expression.h"
#include "sim/io/text_file.h"
#include "sim/run/option_values.h"
#include "sim/workload/workload_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

namespace sptc::run {
namespace {

using Options = SimulationOptions;
using Conditions = kernels::LaunchConditions;
using Kernel = kernels::KernelOverrides;
using Text = std::string;
using What = std::string_view;  ///< an option as it is typed: "--stages"

constexpr int kMostGpus = 8;
constexpr int kMostExpertGpus = 72;  ///< that NVLink joins (NVIDIA, GB200 NVL72)

double parse_amount(What what, const Text& text, std::string_view unit) {
  constexpr double kLeast = 0.001, kMost = 100000;
  double amount = 0;
  if (!io::parse_whole(text, amount) || !(amount >= kLeast && amount <= kMost)) {
    io::refuse("{} must be a number of {} from {} to {}, not '{}'", what, unit, kLeast, kMost, io::printable(text));
  }
  return amount;
}

bool parse_switch(What what, const Text& text) {
  if (text != "true" && text != "false") {
    io::refuse("{} must be true or false, not '{}'", what, io::printable(text));
  }
  return text == "true";
}

/// The member that a path of members leads to.
template <auto kFirst, auto... kRest>
auto& at(auto& from) {
  if constexpr (sizeof...(kRest) == 0) {
    return from.*kFirst;
  } else {
    return at<kRest...>(from.*kFirst);
  }
}

template <auto... kPath>
void set_text(Options& options, What /*what*/, const Text& text) {
  at<kPath...>(options) = text;
}

template <typename Enum, auto... kPath>
void set_word(Options& options, What /*what*/, const Text& text) {
  at<kPath...>(options) = parse_word<Enum>(text);
}

template <auto kParse, auto... kPath>
void set_parsed(Options& options, What what, const Text& text) {
  at<kPath...>(options) = kParse(what, io::printable(text));
}

template <std::int64_t kLeast, std::int64_t kMost, auto... kPath>
void set_count(Options& options, What what, const Text& text) {
  at<kPath...>(options) = static_cast<int>(parse_integer(what, text, kLeast, kMost));
}

constexpr char kWatts[] = "watts", kGbPerS[] = "GB/s";

template <const char* kUnit, auto... kPath>
void set_amount(Options& options, What what, const Text& text) {
  at<kPath...>(options) = parse_amount(what, text, kUnit);
}

template <Text Options::*kMember>
void set_archive(Options& options, What what, const Text& text) {
  if (!text.ends_with(".npz")) {
    io::refuse("{} must be the name of a .npz file, not '{}'", what, io::printable(text));
  }
  options.*kMember = text;
}

void set_seed(Options& options, What what, const Text& text) {
  if (!io::parse_whole(text, options.seed)) {
    io::refuse("{} must be an integer from 0 to 2^64-1, not '{}'", what, io::printable(text));
  }
}

/// "limited", "boost", or MHz.
void set_clock(Options& options, What what, const Text& text) {
  constexpr double kLeastMhz = 1, kMostMhz = 100000;
  if (text == "limited" || text == "boost") {
    options.clock = {text == "boost" ? ClockChoice::Kind::kBoost : ClockChoice::Kind::kLimited};
    return;
  }
  double mhz = 0;
  if (!io::parse_whole(text, mhz) || !(mhz >= kLeastMhz && mhz <= kMostMhz)) {
    io::refuse("{} must be 'limited', 'boost' or a number of MHz from {} to {}, not '{}'", what, kLeastMhz, kMostMhz,
               io::printable(text));
  }
  options.clock = {ClockChoice::Kind::kFixed, mhz};
}

/// "MxNxK".
void set_tile(Options& options, What what, const Text& text) {
  std::array<std::int64_t, 3> extents{};
  const std::vector<std::string_view> parts = workload::parts_of(text, 'x');
  bool good = parts.size() == extents.size();
  for (std::size_t i = 0; good && i < extents.size(); ++i) {
    good = io::parse_whole(parts[i], extents[i]) && extents[i] >= 1 && extents[i] <= kernels::kMaxTileExtent;
  }
  if (!good) {
    io::refuse("{} must be MxNxK with extents from 1 to {}, for example 128x128x32, not '{}'", what,
               kernels::kMaxTileExtent, io::printable(text));
  }
  options.kernel.cta_tile = base::GemmShape{extents[0], extents[1], extents[2]};
  options.kernel.tile_of_pair = true;
}

/// An item of "KEY=VALUE,..": one without '=' has no key.
struct Item {
  std::optional<Text> key;
  Text value;
};

std::vector<Item> items_of(const Text& text) {
  std::vector<Item> items;
  for (const std::string_view part : workload::parts_of(text, ',')) {
    const Text item(part);
    const std::size_t sign = item.find('=');
    items.push_back(sign == Text::npos ? Item{{}, item} : Item{item.substr(0, sign), item.substr(sign + 1)});
  }
  return items;
}

/// "best"; "sparse=best", "dense=default,sparse=best": of one library alone.
void set_algorithm(Options& options, What what, const Text& text) {
  for (const Item& item : items_of(text)) {
    const kernels::Algorithm algorithm = kernels::parse_algorithm(what, io::printable(item.value));
    const Text whose = item.key.value_or("");
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
      io::refuse("{}: '{}' is no library: dense=default|best, sparse=default|best", what, io::printable(whose));
    }
  }
}

kernels::OperandFormat parse_format(What what, const Text& text) {
  if (const auto format = kernels::parse_weight_format(text)) {
    return *format;
  }
  if (const auto format = workload::parse_operand_format(text)) {
    return *format;
  }
  static constexpr std::array<std::string_view, 4> kUsual{"fp16", "fp8", "int8", "fp4"};
  const auto weights = kernels::weight_format_names();
  std::vector<std::string_view> more(weights.begin(), weights.end());
  more.insert(more.end(), kUsual.begin(), kUsual.end());
  io::refuse("{}: {}", what, workload::unknown_operand_type(text, more));
}

/// "e4m3", "all=e4m3" or "weights=nvfp4,attention=bf16,router=bf16,lm_head=bf16".
void set_types(Options& options, What what, const Text& text) {
  static constexpr std::array<std::string_view, 5> kParts{"all", "weights", "attention", "router", "lm_head"};
  options.dtype.reset();
  options.dtype_block = 0;
  options.parts = {};
  const auto set_all = [&](const kernels::OperandFormat& format) {
    options.dtype = format.type;
    options.dtype_block = format.weight ? 0 : format.scale_block;
    if (format.weight) {
      options.storage = {format.weight, format.scale_block};
    }
  };
  if (text.find('=') == Text::npos) {
    set_all(parse_format(what, text));
    return;
  }
  std::set<Text, std::less<>> given;
  for (const Item& item : items_of(text)) {
    const Text part = item.key.value_or(item.value);
    if (!item.key || std::find(kParts.begin(), kParts.end(), part) == kParts.end()) {
      io::refuse("{}: unknown part {}", what, base::unknown_name(io::printable(part), kParts));
    }
    if (!given.insert(part).second || (given.size() > 1 && given.contains("all"))) {
      io::refuse("{}: {} is given beside {}", what, part, given.size() > 1 ? "'all' or another part" : "itself");
    }
    const kernels::OperandFormat format = parse_format(what, item.value);
    if (part == "attention" && format.weight) {
      io::refuse("{}: attention has no weights, and {} is a format of weights", what, kernels::name(format));
    }
    PartTypes& parts = options.parts;
    if (part == "attention" || part == "router" || part == "lm_head") {
      (part == "attention" ? parts.attention : part == "router" ? parts.router : parts.head) = format;
    } else {
      set_all(format);
      parts.all = part == "all";
    }
  }
}

void set_weight_type(Options& options, What what, const Text& text) {
  options.storage.weight = workload::parse_weight_type(text);
  if (!options.storage.weight) {
    io::refuse("{}: {}", what, workload::unknown_weight_type(text));
  }
}

/// "all", "auto", or the path of a list, with a '/' or a '.'.
void set_sparsity(Options& options, What what, const Text& text) {
  static constexpr std::array<std::string_view, 2> kChoices{"all", "auto"};
  const bool is_file = text.find_first_of("./") != Text::npos;
  if (!is_file && std::find(kChoices.begin(), kChoices.end(), text) == kChoices.end()) {
    const std::string_view meant = text == "2:4" ? "--variants sparse" : text == "dense" ? "--variants dense" : "";
    io::refuse("unknown {} {}", what, base::unknown_name(io::printable(text), kChoices, meant));
  }
  options.sparsity_auto = text == "auto";
  options.sparse_layers = is_file ? text : "";
}

void set_include(Options& options, What what, const Text& text) {
  io::RegularExpression(what, text);
  options.include = text;
}

constexpr SimulationOption kTable[] = {
    {"numerics", "NAME",
     "arithmetic of another generation on this architecture (step width and with it the cycles "
     "change too; default: the architecture's own)",
     "values, time", "", set_text<&Options::numerics>},
    {"fidelity", "datapath|timing|analytic",
     "datapath: SystemC computes values and times; timing: SystemC computes times; analytic: closed form",
     "time, energy, check", "timing", set_word<Fidelity, &Options::fidelity>},
    {"variants", "dense|sparse|both", "weights as given, at the hardware's pattern, or both", "values, time, energy",
     "both", set_word<Variants, &Options::variants>},
    {"dtype",
     "f16|bf16|tf32|e4m3|e5m2|s8|s4|e2m1|nvfp4|mxfp8|mxfp4|w4a16|w8a16|fp16|fp8|int8|fp4|"
     "PART=TYPE,..",
     "replaces the operand type (default: the workload's, or f16). nvfp4, or fp4, is e2m1 with a "
     "scale for each 16 elements, mxfp8 e4m3 and mxfp4 e2m1 with one for each 32; fp16, fp8 and "
     "int8 are f16, e4m3 and s8; w4a16 and w8a16 multiply bf16, with weights of s4 (a scale for "
     "each 128 elements) and s8 in memory. One of 8 bits and less is that of weights: attention, "
     "routers and the last layer keep theirs, but for all=e4m3, or "
     "weights=nvfp4,attention=bf16,router=bf16,lm_head=bf16",
     "values, time, energy", "", set_types},
    {"weight-dtype", "s8|s4",
     "weights lie in memory as these and are dequantised in registers (default: the workload's, or "
     "as they are multiplied)",
     "values, time, energy", "", set_weight_type},
    {"scale-block", "N",
     "elements along K that share a scale: of a quantised weight (default: a row of it has one), "
     "or of block-scaled types, which --dtype nvfp4, mxfp8 and mxfp4 say themselves (e4m3: 32, "
     "e2m1: 16 or 32)",
     "time, energy", "",
     set_count<1, workload::kMostInScaleBlock, &Options::storage, &kernels::OperandStorage::scale_block>},
    {"pattern", "N:M|V:N:M",
     "pattern of sparse weights (default: the hardware's, 2:4 for 16 and 8 bits): by a selector of that width where "
     "the architecture has one, within 2:4 or decomposed on it where that is possible",
     "values, time, energy", "",
     [](Options& options, What /*what*/, const Text& text) { options.pattern = sparsity::parse_weight_pattern(text); }},
    {"data", "KIND|FILE",
     "operand values: random|integers|zeros|relu, or FILE.safetensors with tensors '<operation>.a' "
     "[m,k] and '<operation>.b' [k,n] (default: the network's values where the workload has them, "
     "else random)",
     "values, energy", "", set_text<&Options::data>, true},
    {"check", "none|sample|eigen|exact",
     "what checks the values: sample, eigen: double precision; exact: the arithmetic of the instruction, bit for bit "
     "(default: eigen in datapath, sample in timing, none in analytic)",
     "check", "", set_word<CheckMode, &Options::check>},
    {"clock", "boost|limited|MHZ",
     "SM clock, or MHz; limited: the highest that the power limit allows, up to boost (default: "
     "limited where the energies of the board are known, else boost)",
     "time, energy", "", set_clock},
    {"energy", "NAME|FILE",
     "energies: a name of 'energy list', or a file (default: the architecture's or that of the one "
     "it is derived from, where there is one)",
     "time, energy", "", set_text<&Options::energy>, true},
    {"power-limit", "W", "power limit of --clock limited in watts, instead of the energy file's", "time, energy", "",
     set_amount<kWatts, &Options::power_limit_w>},
    {"board-idle", "W", "what this board takes at rest, in watts, instead of the energy file's", "time, energy", "",
     set_amount<kWatts, &Options::board_idle_w>},
    {"limit-over", "launch|group",
     "what the power limit of --clock limited holds for: each launch, or the average of the workload or, where it "
     "names groups of operations, of each group, what lies between the GEMMs included (default: launch)",
     "time, energy", "", set_word<LimitOver, &Options::limit_over>},
    {"l2", "cold|warm|rotate:N",
     "what the L2 holds when a launch begins: nothing; what the same launch left; with N weights "
     "in turn what the launches between left",
     "time, energy", "cold", set_parsed<kernels::parse_l2_state, &Options::conditions, &Conditions::l2>},
    {"launch", "stream|graph|eager",
     "how launches follow each other: calls back to back, replays of a CUDA graph, or the host "
     "waits for each",
     "time, energy", "stream", set_parsed<kernels::parse_launch_mode, &Options::conditions, &Conditions::launch>},
    {"engine", "NAME[@VERSION]|FILE",
     "what runs the network: a name of configs/engines, at a release (vllm@0.18) or the newest, or "
     "a file; it says what is fused, which types and 2:4 kernels there are, and how launches "
     "follow each other (gemms: GEMMs only)",
     "time, energy", "gemms", set_text<&Options::engine>, true},
    {"tp", "N",
     "split each layer over 1 to 8 GPUs, which sum up over their links (needs --link and an "
     "engine; key 'cut' of a workload says how; figures are those of one of them)",
     "time, energy", "1", set_count<1, kMostGpus, &Options::tensor_parallel>},
    {"ep", "N",
     "share the experts of a mixture out over 1 to 72 GPUs, each of which has a part of the "
     "sequences and all other weights (needs --link and an engine; not with --tp; figures are "
     "those of one of them)",
     "time, energy", "1", set_count<1, kMostExpertGpus, &Options::expert_parallel>},
    {"link", "GB/s", "what the links of a GPU carry each way, with --tp and --ep (NVLink of an A100: 300)",
     "time, energy", "", set_amount<kGbPerS, &Options::link_gb_per_s>},
    {"sparsity", "all|auto|FILE",
     "auto: say for each weight whether 2:4 or dense is faster and why, and add up the fastest mix, as every engine "
     "but 'gemms' does anyway. FILE: only the weights that it lists, as 'plan --out' writes it",
     "time, energy", "all", set_sparsity, true},
    {"training", "dense|w24|act24",
     "simulate a step of training, forward and backward, as a bound; dense: nothing is 2:4, w24: weights are, act24: "
     "activations and their gradients are (default: the list as it is)",
     "time, energy", "", set_word<workload::Training, &Options::training>},
    {"include", "REGEX",
     "operations to prune, too, whose weights stay dense by name: heads, embeddings, routers, "
     "state matrices",
     "time, energy", "", set_include},
    {"algorithm", "default|best",
     "the kernel that the library takes by default (cuBLASLt's heuristic, cuSPARSELt's algorithm 0 "
     "of the layout), or the fastest that its search finds; also of one of them: sparse=best, "
     "dense=best",
     "time, energy", "default", set_algorithm},
    {"layout", "n-major|m-major|Kc/n-major|Kc/m-major|Nc/n-major|Nc/m-major",
     "D as [n, m], as a linear layer writes it, or as [m, n]; Kc or Nc before it: K or N of B "
     "contiguous. cuSPARSELt's default kernels depend on it",
     "time, energy", "n-major", set_parsed<kernels::parse_layout, &Options::conditions, &Conditions::layout>},
    {"kernels", "library|search",
     "the kernel that a GEMM library has for the GPU, or the fastest of all tiles, stages, "
     "clusters and cuts of K that fit the SM: the best few in closed form are simulated (default: "
     "library for shipped GPUs, search for a design of one's own)",
     "time, energy", "", set_word<KernelsFrom, &Options::kernels>},
    {"library", "NAME",
     "GEMM library whose kernels run: a name of configs/libraries (default: that of the "
     "architecture)",
     "time, energy", "", set_text<&Options::library>, true},
    {"d-dtype", "f32|f16|bf16|e4m3|s8|s32", "type of D in memory (default: that of the operands, of integers s32)",
     "time, energy", "", set_parsed<parse_d_dtype, &Options::d_dtype>},
    {"warmup", "N",
     "launches of a board that was idle before those that --repeat counts (default: the steady "
     "state of endless launches)",
     "time, energy", "", set_count<0, kMostLaunches, &Options::warmup>},
    {"repeat", "N", "launches that are timed; needs --warmup", "time, energy", "",
     set_count<1, kMostLaunches, &Options::repeat>},
    {"tile", "MxNxK", "CTA tile instead of the heuristic's", "time, energy", "", set_tile},
    {"stages", "N", "pipeline stages instead of the heuristic's", "time, energy", "",
     set_count<1, kernels::kMaxStages, &Options::kernel, &Kernel::stages>},
    {"split-k", "N", "slices of K instead of the heuristic's", "values, time, energy", "",
     set_count<1, kernels::kMaxSplitK, &Options::kernel, &Kernel::split_k>},
    {"decomposition", "data-parallel|stream-k",
     "an output tile, or with --split-k a slice of one, for each CTA, or as many k-tiles for each "
     "(default: the heuristic's)",
     "values, time, energy", "", set_word<kernels::Decomposition, &Options::kernel, &Kernel::decomposition>},
    {"seed", "N", "seed of generated operands and of samples", "values, energy, check", "0", set_seed},
    {"memory", "FILE.so",
     "DRAM behind the L2: a shared object of your own (sptcsim/plugin/memory.h) instead of the "
     "modelled one; every cycle is simulated",
     "time, energy", "", set_text<&Options::memory>, true},
    {"memory-config", "TEXT", "what to tell the shared object of --memory, such as a file of its", "time, energy", "",
     set_text<&Options::memory_config>, true},
    {"no-extrapolate", "",
     "simulate every cycle instead of carrying on main loops and rounds of CTAs that repeat "
     "(datapath always does)",
     "time, energy", "false",
     [](Options& options, What what, const Text& text) { options.extrapolate = !parse_switch(what, text); }},
    {"save-operands", "FILE",
     "write what each launch reads to FILE (.npz): A, compressed A, metadata and B, and for "
     "'crosscheck --kernel' what a kernel of it is",
     "files", "", set_archive<&Options::save_operands>},
    {"save-d", "FILE",
     "write the D of each launch to FILE (.npz), in the type of its accumulators or in that of "
     "--d-dtype",
     "files", "", set_archive<&Options::save_d>},
};

}  // namespace

std::span<const SimulationOption> simulation_options() {
  return kTable;
}

const SimulationOption& simulation_option(std::string_view name) {
  const auto* const found = std::ranges::find(kTable, name, &SimulationOption::name);
  if (found != std::end(kTable)) {
    return *found;
  }
  std::array<std::string_view, std::size(kTable)> names;
  std::ranges::transform(kTable, names.begin(), &SimulationOption::name);
  throw base::InputError("unknown option " + base::unknown_name(io::printable(std::string(name)), names));
}

void set_option(SimulationOptions& options, std::string_view name, const std::string& text) {
  const SimulationOption& option = simulation_option(name);
  if (text.empty()) {
    throw base::InputError("--" + std::string(name) + ": the value is empty");
  }
  option.set(options, "--" + std::string(option.name), text);
}

void set_option(SimulationOptions& options, std::string_view name, const nlohmann::json& value) {
  const SimulationOption& option = simulation_option(name);
  if (!value.is_string() && !value.is_number() && !value.is_boolean()) {
    throw base::InputError("--" + std::string(option.name) + " must be a number, a word or true or false");
  }
  set_option(options, name, option_text(value));
}

std::string option_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::int64_t parse_integer(std::string_view what, const std::string& text, std::int64_t min, std::int64_t max) {
  std::int64_t value = 0;
  if (!io::parse_whole(text, value) || value < min || value > max) {
    io::refuse("{} must be an integer from {} to {}, not '{}'", what, min, max, io::printable(text));
  }
  return value;
}

std::int64_t parse_positive(std::string_view what, const std::string& text, std::int64_t max) {
  return parse_integer(what, text, 1, max);
}

std::pair<std::int64_t, std::int64_t> parse_window(std::string_view what, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    io::refuse("{} must be FIRST:LAST, for example 0:20000, not '{}'", what, io::printable(text));
  }
  constexpr std::int64_t kMost = 1LL << 50;
  const std::int64_t first = parse_integer(what, text.substr(0, colon), 0, kMost);
  return {first, parse_integer(what, text.substr(colon + 1), first + 1, kMost)};
}

std::pair<int, int> parse_element(std::string_view what, const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) {
    io::refuse("{} must be ROW,COL, for example 3,5, not '{}'", what, io::printable(text));
  }
  const auto extent = [&](const std::string& number, int count) {
    return static_cast<int>(parse_integer(what, number, 0, count - 1));
  };
  return {extent(text.substr(0, comma), mma::kRows), extent(text.substr(comma + 1), mma::kCols)};
}

}  // namespace sptc::run
