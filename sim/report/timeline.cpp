// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline.h"

#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::report {
namespace {

/// Names by tensor_core::StageWork::Stage.
constexpr std::array<std::string_view, 5> kStages{"fetch operands", "select", "multiply", "align, add", "round"};

// Numbers of tracks: those of a sub-partition, and in them first the stages.
constexpr int kTracksOfPartition = 100;
constexpr int kStallOfPartition = 20;  ///< what the tensor core does or waits for
constexpr int kWarpsOfPartition = 50;  ///< first one of the warps
constexpr int kCopies = 1'000'000;     ///< of the SM
constexpr int kKernels = 1'000'001;    ///< which one runs
constexpr int kSm = 0, kMemory = 1;    ///< processes
/// Single instructions of a log with more would make a file that no viewer opens.
constexpr std::size_t kMostInstructions = 20'000;
/// Cycles of a long log that one value of a counter and one slice of a track stand for.
constexpr std::int64_t kCoarse = 512;

using Json = nlohmann::ordered_json;

class Events {
 public:
  void name(const char* what, int track, std::string_view name) {
    add({{"name", what}, {"ph", "M"}, {"pid", process_}, {"tid", track}, {"args", {{"name", name}}}});
  }
  void slice(int track, std::string_view name, std::int64_t begin, std::int64_t end,
             const Json& arguments = Json::object()) {
    Json event{{"name", name}, {"ph", "X"}, {"pid", process_}, {"tid", track}, {"ts", begin}, {"dur", end - begin}};
    if (!arguments.empty()) {
      event["args"] = arguments;
    }
    add(event);
  }
  /// A slice that may overlap with others of its kind.
  void overlapping(const char* kind, std::size_t id, int track, std::string_view name, std::int64_t begin,
                   std::int64_t end, const Json& arguments) {
    Json event{{"name", name},    {"cat", kind},  {"ph", "b"},   {"id", id},
               {"pid", process_}, {"tid", track}, {"ts", begin}, {"args", arguments}};
    add(event);
    event["ph"] = "e";
    event["ts"] = end;
    event.erase("args");
    add(event);
  }
  void counter(std::string_view name, std::int64_t cycle, std::int64_t value) {
    add({{"name", name}, {"ph", "C"}, {"pid", process_}, {"ts", cycle}, {"args", {{"n", value}}}});
  }
  /// The events from here on are of `process`.
  void begin_process(int process, std::string_view words) {
    process_ = process;
    name("process_name", 0, words);
  }

  const std::string& text() const { return text_; }

 private:
  void add(const Json& event) { text_ += (text_.empty() ? "" : ",\n") + event.dump(); }

  std::string text_;
  int process_ = kSm;
};

bool is_long(const gpu::PassageLog& log) {
  return log.instructions().size() > kMostInstructions;
}

/// A stage takes the next step before it has sent the one before: on its track a step ends where the next begins.
/// "12.1" is step 1 of instruction 12.
void add_stages(const gpu::PassageLog& log, Events& events) {
  using WorkOnMma = std::pair<tensor_core::StageWork, std::size_t>;
  std::map<int, std::vector<WorkOnMma>> tracks;
  for (std::size_t i = 0; i < log.instructions().size(); ++i) {
    const gpu::LoggedMma& mma = log.instructions()[i];
    for (const tensor_core::StageWork& work : mma.stages) {
      tracks[kTracksOfPartition * mma.partition + static_cast<int>(work.stage)].emplace_back(work, i);
    }
  }
  for (auto& [track, slices] : tracks) {
    std::stable_sort(slices.begin(), slices.end(),
                     [](const WorkOnMma& a, const WorkOnMma& b) { return a.first.begin < b.first.begin; });
    events.name("thread_name", track,
                fmt::format("sub-partition {}: {}", track / kTracksOfPartition,
                            kStages[static_cast<std::size_t>(track % kTracksOfPartition)]));
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const auto& [work, mma] = slices[i];
      const std::int64_t end = i + 1 < slices.size() ? std::min(work.end, slices[i + 1].first.begin) : work.end;
      events.slice(track, fmt::format("{}.{}", mma, work.step), work.begin, end);
    }
  }
}

/// Instructions of a warp overlap: each is an asynchronous slice of its own.
void add_warps(const gpu::PassageLog& log, Events& events) {
  for (std::size_t i = 0; i < log.instructions().size(); ++i) {
    const gpu::LoggedMma& mma = log.instructions()[i];
    if (mma.done >= 0) {
      events.overlapping("mma", i, kTracksOfPartition * mma.partition + kWarpsOfPartition + mma.warp_slot,
                         fmt::format("mma of sub-partition {}, warp {}", mma.partition, mma.warp_slot), mma.issued,
                         mma.done, Json{{"mma", i}, {"accumulator", mma.accumulator}});
    }
  }
}

/// States of a track of a long log that follow each other and begin in the same kCoarse cycles.
struct Stretch {
  std::map<std::string_view, std::int64_t> cycles;  ///< by reason
  std::int64_t begin = 0, end = 0;
};

/// One slice, called by the reason of most cycles, with the cycles of each where there are more.
void add_stretch(int track, const Stretch& stretch, Events& events) {
  if (stretch.cycles.empty()) {
    return;
  }
  const auto most = std::max_element(stretch.cycles.begin(), stretch.cycles.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  Json arguments = Json::object();
  for (const auto& [reason, cycles] : stretch.cycles) {
    arguments[std::string(reason)] = cycles;
  }
  events.slice(track, most->first, stretch.begin, stretch.end, stretch.cycles.size() > 1 ? arguments : Json::object());
}

void add_stalls(const gpu::PassageLog& log, Events& events) {
  std::set<int> named;
  std::map<int, Stretch> stretches;
  for (const gpu::LoggedStall& stall : log.stalls()) {
    const bool is_core = stall.warp_slot < 0;
    const int track =
        kTracksOfPartition * stall.partition + (is_core ? kStallOfPartition : kWarpsOfPartition + stall.warp_slot);
    if (named.insert(track).second) {
      events.name("thread_name", track,
                  is_core ? fmt::format("sub-partition {}: tensor core", stall.partition)
                          : fmt::format("sub-partition {}: warp slot {}", stall.partition, stall.warp_slot));
    }
    if (!is_long(log)) {
      events.slice(track, stall.reason, stall.begin, stall.end);
      continue;
    }
    Stretch& stretch = stretches[track];
    if (stall.begin != stretch.end || stall.begin / kCoarse != stretch.begin / kCoarse) {
      add_stretch(track, stretch, events);
      stretch = {{}, stall.begin, stall.begin};
    }
    stretch.cycles[stall.reason] += stall.end - stall.begin;
    stretch.end = stall.end;
  }
  for (const auto& [track, stretch] : stretches) {
    add_stretch(track, stretch, events);
  }
}

/// A counter of what is under way, from its changes by cycle.
void add_counter(const std::string& name, const std::map<std::int64_t, int>& changes, std::int64_t every,
                 Events& events) {
  std::int64_t under_way = 0;
  for (auto change = changes.begin(); change != changes.end();) {
    const std::int64_t cycle = change->first, before = under_way;
    for (; change != changes.end() && change->first < cycle + every; ++change) {
      under_way += change->second;
    }
    if (under_way != before) {
      events.counter(name, cycle, under_way);
    }
  }
}

/// Which kernel runs: a dense and a sparse one follow each other.
void add_kernels(const gpu::PassageLog& log, Events& events) {
  const std::vector<gpu::LoggedKernel>& kernels = log.kernels();
  std::int64_t end = 0;
  for (const gpu::LoggedMma& mma : log.instructions()) {
    end = std::max({end, mma.issued, mma.done});
  }
  events.name("thread_name", kKernels, "kernel");
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const mma::MmaInstruction& instruction = kernels[i].instruction;
    events.slice(kKernels, fmt::format("{}: {}", instruction.sparse ? "sparse" : "dense", instruction.ptx_name()),
                 kernels[i].begin, i + 1 < kernels.size() ? kernels[i + 1].begin : end);
  }
}

std::string names_of(const std::vector<gpu::LoggedKernel>& kernels) {
  std::string names;
  for (const gpu::LoggedKernel& kernel : kernels) {
    names += (names.empty() ? "" : ", then ") + kernel.instruction.ptx_name();
  }
  return names;
}

/// Copies overlap: each is an asynchronous slice.
void add_copies(const gpu::PassageLog& log, Events& events) {
  std::map<std::int64_t, int> changes;
  for (std::size_t i = 0; i < log.copies().size(); ++i) {
    const gpu::LoggedCopy& copy = log.copies()[i];
    if (copy.end >= 0) {
      ++changes[copy.begin];
      --changes[copy.end];
      if (is_long(log)) {
        continue;
      }
      events.overlapping("copy", i, kCopies, fmt::format("copy of {}", copy.operand), copy.begin, copy.end,
                         Json{{"cta", copy.cta},
                              {"k-tile", copy.tile},
                              {"sub-partition", copy.partition},
                              {"warp slot", copy.warp_slot},
                              {"who needs it", copy.waited_for}});
    }
  }
  add_counter("copies of k-tiles under way", changes, is_long(log) ? kCoarse : 1, events);
}

void add_counters(const gpu::PassageLog& log, Events& events) {
  std::map<int, std::map<std::int64_t, int>> changes;
  for (const gpu::LoggedMma& mma : log.instructions()) {
    if (mma.done >= 0) {
      ++changes[mma.partition][mma.issued];
      --changes[mma.partition][mma.done];
    }
  }
  for (const auto& [partition, of_partition] : changes) {
    add_counter(fmt::format("mma in sub-partition {}", partition), of_partition, is_long(log) ? kCoarse : 1, events);
  }
}

void add_rates(const gpu::PassageLog& log, Events& events) {
  using gpu::LoggedBytes;
  const std::int64_t bin = is_long(log) ? kCoarse : gpu::kMemoryBin;
  const std::array<std::pair<const char*, std::int64_t LoggedBytes::*>, 3> rates{
      {{"L2: bytes per cycle", &LoggedBytes::l2},
       {"DRAM: bytes read per cycle", &LoggedBytes::dram_read},
       {"DRAM: bytes written per cycle", &LoggedBytes::dram_written}}};
  for (const auto& [name, bytes_of] : rates) {
    std::map<std::int64_t, std::int64_t> by_bin;
    for (const LoggedBytes& bytes : log.memory_bytes()) {
      const std::int64_t begin = bytes.begin / bin * bin;
      by_bin[begin] += bytes.*bytes_of;
      by_bin.try_emplace(begin + bin, 0);
    }
    for (const auto& [begin, bytes] : by_bin) {
      events.counter(name, begin, bytes / bin);
    }
  }
}

/// When L2 and DRAM move what SMs asked for, which counters say of a long log, and how much.
void add_memory(const gpu::PassageLog& log, Events& events) {
  constexpr std::array<std::string_view, 2> kUnits{"L2", "DRAM"};
  for (std::size_t unit = 0; unit < kUnits.size(); ++unit) {
    const int track = static_cast<int>(unit) + 1;
    events.name("thread_name", track, kUnits[unit]);
    for (const gpu::LoggedBusy& busy : log.memory_busy()) {
      if (static_cast<std::size_t>(busy.unit) == unit && !is_long(log)) {
        events.slice(track, "moves bytes", busy.begin, busy.end);
      }
    }
  }
  add_rates(log, events);
}

}  // namespace

std::string timeline_json(const gpu::PassageLog& log) {
  Events events;
  events.begin_process(kSm, "SM 0");
  add_kernels(log, events);
  if (!is_long(log)) {
    add_stages(log, events);
    add_warps(log, events);
  }
  add_stalls(log, events);
  add_copies(log, events);
  add_counters(log, events);
  events.begin_process(kMemory, "memory of all SMs");
  add_memory(log, events);
  return fmt::format(
      "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"program\":\"sptcsim "
      "{}\",\"instruction\":\"{}\","
      "\"unit\":\"a microsecond is a cycle\",\"slices of stages\":\"instruction.step\"}},\n"
      "\"traceEvents\":[\n{}\n]}}\n",
      program_version(), names_of(log.kernels()), events.text());
}

}  // namespace sptc::report
