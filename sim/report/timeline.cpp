// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline.h"

#include "sim/report/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::report {
namespace {

/// By LoggedStage::Kind.
constexpr std::array<std::string_view, 5> kStages{"fetch operands", "select", "multiply",
                                                  "align, add", "round"};

// Numbers of tracks: those of a sub-partition, and in them first the stages.
constexpr int kTracksOfPartition = 100;
constexpr int kStallOfPartition = 20;  ///< what the tensor core does or waits for
constexpr int kWarpsOfPartition = 50;  ///< first one of the warps
constexpr int kCopies = 1'000'000;     ///< of the SM
constexpr int kKernels = 1'000'001;    ///< which one runs
constexpr int kSm = 0, kMemory = 1;    ///< processes
/// Of a log with more instructions single ones would make a file that no viewer opens.
constexpr std::size_t kMostInstructions = 20'000;
/// Of a long log: cycles for which it says a counter once or adds short states up, and the length
/// of gaps and states that count as short.
constexpr std::int64_t kCoarse = 512, kNoGap = 16;

/// Trace events as text. Nothing in them needs escapes: all names are the program's own.
class Events {
 public:
  void name(const char* what, int track, std::string_view name) {
    constexpr const char* kEvent =
        R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})";
    add(kEvent, what, process_, track, name);
  }
  /// `arguments`: none, or members of an object.
  void slice(int track, std::string_view name, std::int64_t begin, std::int64_t end,
             std::string_view arguments = "") {
    add(R"({{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{}{}}})", name, process_, track,
        begin, end - begin, arguments.empty() ? "" : fmt::format(R"(,"args":{{{}}})", arguments));
  }
  /// A slice that may overlap with others of its kind. `arguments`: members of an object.
  void overlapping(const char* kind, std::size_t id, int track, std::string_view name,
                   std::int64_t begin, std::int64_t end, std::string_view arguments) {
    constexpr const char* kEvent =
        R"({{"name":"{}","cat":"{}","ph":"{}","id":{},"pid":{},"tid":{},"ts":{}{}}})";
    add(kEvent, name, kind, "b", id, process_, track, begin,
        fmt::format(R"(,"args":{{{}}})", arguments));
    add(kEvent, name, kind, "e", id, process_, track, end, "");
  }
  void counter(std::string_view name, std::int64_t cycle, std::int64_t value) {
    constexpr const char* kEvent = R"({{"name":"{}","ph":"C","pid":{},"ts":{},"args":{{"n":{}}}}})";
    add(kEvent, name, process_, cycle, value);
  }
  /// The events from here on are of `process`.
  void begin_process(int process, std::string_view words) {
    process_ = process;
    name("process_name", 0, words);
  }

  const std::string& text() const { return text_; }

 private:
  template <typename... Arguments>
  void add(const char* format, const Arguments&... arguments) {
    text_ += text_.empty() ? "" : ",\n";
    fmt::format_to(std::back_inserter(text_), fmt::runtime(format), arguments...);
  }

  std::string text_;
  int process_ = kSm;
};

bool is_long(const tensor_core::PassageLog& log) {
  return log.instructions().size() > kMostInstructions;
}

/// A stage at work in [begin, end).
struct StageWork {
  std::int64_t begin, end;
  std::size_t mma;
  int step;
};

/// Work without a gap as one slice, by the instructions that it begins and ends with.
void add_stretches(int track, const std::vector<StageWork>& work, Events& events) {
  for (std::size_t i = 0; i < work.size();) {
    const std::size_t first = i;
    std::int64_t end = work[i].end;
    for (++i; i < work.size() && work[i].begin <= end + kNoGap; ++i) {
      end = std::max(end, work[i].end);
    }
    events.slice(track, fmt::format("{} to {}", work[first].mma, work[i - 1].mma),
                 work[first].begin, end);
  }
}

/// A stage takes the next step before it has sent the one before: on its track a step ends where
/// the next begins. "12.1" is step 1 of instruction 12.
void add_stages(const tensor_core::PassageLog& log, Events& events) {
  std::map<int, std::vector<StageWork>> tracks;
  for (std::size_t i = 0; i < log.instructions().size(); ++i) {
    const tensor_core::LoggedMma& mma = log.instructions()[i];
    for (const tensor_core::LoggedStage& stage : mma.stages) {
      tracks[kTracksOfPartition * mma.partition + static_cast<int>(stage.kind)].push_back(
          {stage.begin, stage.end, i, stage.step});
    }
  }
  for (auto& [track, slices] : tracks) {
    std::stable_sort(slices.begin(), slices.end(),
                     [](const StageWork& a, const StageWork& b) { return a.begin < b.begin; });
    events.name("thread_name", track,
                fmt::format("sub-partition {}: {}", track / kTracksOfPartition,
                            kStages[static_cast<std::size_t>(track % kTracksOfPartition)]));
    if (is_long(log)) {
      add_stretches(track, slices, events);
      continue;
    }
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const std::int64_t end =
          i + 1 < slices.size() ? std::min(slices[i].end, slices[i + 1].begin) : slices[i].end;
      events.slice(track, fmt::format("{}.{}", slices[i].mma, slices[i].step), slices[i].begin,
                   end);
    }
  }
}

/// Instructions of a warp overlap: each is an asynchronous slice of its own.
void add_warps(const tensor_core::PassageLog& log, Events& events) {
  for (std::size_t i = 0; i < log.instructions().size(); ++i) {
    const tensor_core::LoggedMma& mma = log.instructions()[i];
    if (mma.done >= 0) {
      events.overlapping(
          "mma", i, kTracksOfPartition * mma.partition + kWarpsOfPartition + mma.warp_slot,
          fmt::format("mma of sub-partition {}, warp {}", mma.partition, mma.warp_slot), mma.issued,
          mma.done, fmt::format(R"("mma":{},"accumulator":{})", i, mma.accumulator));
    }
  }
}

/// What a warp or a tensor core does or waits for in one stretch of a long log.
class StallStretch {
 public:
  /// Whether `stall` goes on here: both are short, and so is the whole.
  bool takes(const tensor_core::LoggedStall& stall) const {
    return cycles_.empty() ||
           (is_short_ && is_short(stall) && stall.begin == end_ && stall.end - begin_ <= kCoarse);
  }
  void add(const tensor_core::LoggedStall& stall) {
    begin_ = cycles_.empty() ? stall.begin : begin_;
    is_short_ = is_short(stall);
    cycles_[stall.reason] += stall.end - stall.begin;
    end_ = stall.end;
  }
  /// One slice, called by the reason of most cycles, with the cycles of each where there are more.
  void write(int track, Events& events) const {
    const auto most =
        std::max_element(cycles_.begin(), cycles_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    std::string arguments;
    for (const auto& [reason, cycles] : cycles_) {
      arguments += fmt::format(R"({}"{}":{})", arguments.empty() ? "" : ",", reason, cycles);
    }
    events.slice(track, most->first, begin_, end_, cycles_.size() > 1 ? arguments : "");
  }

 private:
  static bool is_short(const tensor_core::LoggedStall& stall) {
    return stall.end - stall.begin < kNoGap;
  }

  std::map<std::string_view, std::int64_t> cycles_;
  std::int64_t begin_ = 0, end_ = 0;
  bool is_short_ = true;
};

/// What each tensor core and each warp does or waits for.
void add_stalls(const tensor_core::PassageLog& log, Events& events) {
  std::set<int> named;
  std::map<int, StallStretch> stretches;
  for (const tensor_core::LoggedStall& stall : log.stalls()) {
    const bool is_core = stall.warp_slot < 0;
    const int track = kTracksOfPartition * stall.partition +
                      (is_core ? kStallOfPartition : kWarpsOfPartition + stall.warp_slot);
    if (named.insert(track).second) {
      events.name("thread_name", track,
                  is_core ? fmt::format("sub-partition {}: tensor core", stall.partition)
                          : fmt::format("sub-partition {}: warp slot {}", stall.partition,
                                        stall.warp_slot));
    }
    if (!is_long(log)) {
      events.slice(track, stall.reason, stall.begin, stall.end);
      continue;
    }
    StallStretch& stretch = stretches[track];
    if (!stretch.takes(stall)) {
      stretch.write(track, events);
      stretch = {};
    }
    stretch.add(stall);
  }
  for (const auto& [track, stretch] : stretches) {
    stretch.write(track, events);
  }
}

/// A counter of what is under way, from its changes by cycle.
void add_counter(const std::string& name, const std::map<std::int64_t, int>& changes,
                 std::int64_t every, Events& events) {
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
void add_kernels(const tensor_core::PassageLog& log, Events& events) {
  const std::vector<tensor_core::LoggedKernel>& kernels = log.kernels();
  std::int64_t end = 0;
  for (const tensor_core::LoggedMma& mma : log.instructions()) {
    end = std::max({end, mma.issued, mma.done});
  }
  events.name("thread_name", kKernels, "kernel");
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const mma::MmaInstruction& instruction = kernels[i].instruction;
    events.slice(
        kKernels,
        fmt::format("{}: {}", instruction.sparse ? "sparse" : "dense", instruction.ptx_name()),
        kernels[i].begin, i + 1 < kernels.size() ? kernels[i + 1].begin : end);
  }
}

std::string names_of(const std::vector<tensor_core::LoggedKernel>& kernels) {
  std::string names;
  for (const tensor_core::LoggedKernel& kernel : kernels) {
    names += (names.empty() ? "" : ", then ") + kernel.instruction.ptx_name();
  }
  return names;
}

/// Copies overlap: each is an asynchronous slice.
void add_copies(const tensor_core::PassageLog& log, Events& events) {
  std::map<std::int64_t, int> changes;
  for (std::size_t i = 0; i < log.copies().size(); ++i) {
    const tensor_core::LoggedCopy& copy = log.copies()[i];
    if (copy.end >= 0) {
      ++changes[copy.begin];
      --changes[copy.end];
      if (is_long(log)) {
        continue;
      }
      constexpr const char* kArguments =
          R"("cta":{},"k-tile":{},"sub-partition":{},"warp slot":{},"who needs it":"{}")";
      events.overlapping("copy", i, kCopies, fmt::format("copy of {}", copy.operand), copy.begin,
                         copy.end,
                         fmt::format(fmt::runtime(kArguments), copy.cta, copy.tile, copy.partition,
                                     copy.warp_slot, copy.waited_for));
    }
  }
  add_counter("copies of k-tiles under way", changes, is_long(log) ? kCoarse : 1, events);
}

void add_counters(const tensor_core::PassageLog& log, Events& events) {
  std::map<int, std::map<std::int64_t, int>> changes;
  for (const tensor_core::LoggedMma& mma : log.instructions()) {
    if (mma.done >= 0) {
      ++changes[mma.partition][mma.issued];
      --changes[mma.partition][mma.done];
    }
  }
  for (const auto& [partition, of_partition] : changes) {
    add_counter(fmt::format("mma in sub-partition {}", partition), of_partition,
                is_long(log) ? kCoarse : 1, events);
  }
}

/// Bytes per cycle of all SMs.
void add_rates(const tensor_core::PassageLog& log, Events& events) {
  using tensor_core::LoggedBytes;
  const std::int64_t bin = is_long(log) ? kCoarse : tensor_core::kMemoryBin;
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

/// When L2 and DRAM move what SMs asked for, and how much that was.
void add_memory(const tensor_core::PassageLog& log, Events& events) {
  constexpr std::array<std::string_view, 2> kUnits{"L2", "DRAM"};
  for (std::size_t unit = 0; unit < kUnits.size(); ++unit) {
    const int track = static_cast<int>(unit) + 1;
    events.name("thread_name", track, kUnits[unit]);
    std::vector<tensor_core::LoggedBusy> work;
    for (const tensor_core::LoggedBusy& busy : log.memory_busy()) {
      if (static_cast<std::size_t>(busy.unit) != unit) {
        continue;
      }
      if (is_long(log) && !work.empty() && busy.begin <= work.back().end + kNoGap) {
        work.back().end = busy.end;
      } else {
        work.push_back(busy);
      }
    }
    for (const tensor_core::LoggedBusy& busy : work) {
      events.slice(track, "moves bytes", busy.begin, busy.end);
    }
  }
  add_rates(log, events);
}

}  // namespace

std::string timeline_json(const tensor_core::PassageLog& log) {
  Events events;
  events.begin_process(kSm, "SM 0");
  add_kernels(log, events);
  add_stages(log, events);
  if (!is_long(log)) {
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
