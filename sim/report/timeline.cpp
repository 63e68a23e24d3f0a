// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline.h"

#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

struct StageName {
  std::string_view track, konata;
};
constexpr std::array<StageName, 5> kStages{{{"fetch operands", "F"},
                                            {"select", "S"},
                                            {"multiply", "M"},
                                            {"align, add", "A"},
                                            {"round", "R"}}};

std::size_t index(tensor_core::LoggedStage::Kind kind) {
  return static_cast<std::size_t>(kind);
}

// Trace events ------------------------------------------------------------------------------------

constexpr int kTracksOfPartition = 100;  ///< thread numbers: stages first, then warps
constexpr int kWarpsOfPartition = 50;    ///< first thread number of warps
constexpr int kStallOfPartition = 20;    ///< of what the tensor core does or waits for
constexpr int kCopies = 1'000'000;       ///< of the copies of the SM

using Json = nlohmann::ordered_json;

Json name_event(const char* what, int thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 0}, {"tid", thread}, {"args", {{"name", name}}}};
}

/// A stage takes the next step before it has sent the one before: on its track a step ends where
/// the next begins.
void add_stages(const tensor_core::PassageLog& log, Json& events) {
  struct Slice {
    std::int64_t begin, end;
    std::string name;
  };
  std::map<int, std::vector<Slice>> tracks;
  for (std::size_t i = 0; i < log.instructions().size(); ++i) {
    const tensor_core::LoggedMma& mma = log.instructions()[i];
    for (const tensor_core::LoggedStage& stage : mma.stages) {
      const int thread = kTracksOfPartition * mma.partition + static_cast<int>(index(stage.kind));
      tracks[thread].push_back(
          {stage.begin, stage.end, fmt::format("mma {} step {}", i, stage.step)});
    }
  }
  for (auto& [thread, slices] : tracks) {
    std::stable_sort(slices.begin(), slices.end(),
                     [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
    events.push_back(name_event(
        "thread_name", thread,
        fmt::format("sub-partition {}: {}", thread / kTracksOfPartition,
                    kStages[static_cast<std::size_t>(thread % kTracksOfPartition)].track)));
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const std::int64_t end =
          i + 1 < slices.size() ? std::min(slices[i].end, slices[i + 1].begin) : slices[i].end;
      events.push_back({{"name", slices[i].name},
                        {"ph", "X"},
                        {"pid", 0},
                        {"tid", thread},
                        {"ts", slices[i].begin},
                        {"dur", end - slices[i].begin}});
    }
  }
}

/// Instructions of a warp overlap: each is an asynchronous slice of its own.
void add_warps(const tensor_core::PassageLog& log, Json& events) {
  for (std::size_t i = 0; i < log.instructions().size(); ++i) {
    const tensor_core::LoggedMma& mma = log.instructions()[i];
    if (mma.done < 0) {
      continue;
    }
    const std::string name = fmt::format("sub-partition {}, warp {}", mma.partition, mma.warp_slot);
    for (const auto& [phase, at] : {std::pair{"b", mma.issued}, {"e", mma.done}}) {
      events.push_back(
          {{"name", name},
           {"cat", "mma"},
           {"ph", phase},
           {"id", i},
           {"pid", 0},
           {"tid", kTracksOfPartition * mma.partition + kWarpsOfPartition + mma.warp_slot},
           {"ts", at},
           {"args", {{"mma", i}, {"accumulator register", mma.accumulator}}}});
    }
  }
}

/// What each tensor core and each warp does or waits for.
void add_stalls(const tensor_core::PassageLog& log, Json& events) {
  std::set<int> named;
  for (const tensor_core::LoggedStall& stall : log.stalls()) {
    const bool is_core = stall.warp_slot < 0;
    const int thread = kTracksOfPartition * stall.partition +
                       (is_core ? kStallOfPartition : kWarpsOfPartition + stall.warp_slot);
    if (named.insert(thread).second) {
      events.push_back(name_event(
          "thread_name", thread,
          is_core
              ? fmt::format("sub-partition {}: tensor core", stall.partition)
              : fmt::format("sub-partition {}: warp slot {}", stall.partition, stall.warp_slot)));
    }
    events.push_back({{"name", stall.reason},
                      {"cat", "stall"},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", thread},
                      {"ts", stall.begin},
                      {"dur", stall.end - stall.begin}});
  }
}

/// Copies overlap: each is an asynchronous slice. A counter says how many are under way.
void add_copies(const tensor_core::PassageLog& log, Json& events) {
  std::map<std::int64_t, int> changes;
  for (std::size_t i = 0; i < log.copies().size(); ++i) {
    const tensor_core::LoggedCopy& copy = log.copies()[i];
    if (copy.end < 0) {
      continue;
    }
    ++changes[copy.begin];
    --changes[copy.end];
    for (const auto& [phase, at] : {std::pair{"b", copy.begin}, {"e", copy.end}}) {
      events.push_back({{"name", fmt::format("copy of {}", copy.operand)},
                        {"cat", "copy"},
                        {"ph", phase},
                        {"id", i},
                        {"pid", 0},
                        {"tid", kCopies},
                        {"ts", at},
                        {"args",
                         {{"cta", copy.cta},
                          {"k-tile", copy.tile},
                          {"sub-partition", copy.partition},
                          {"warp slot", copy.warp_slot},
                          {"a warp that needs it", copy.waited_for}}}});
    }
  }
  int under_way = 0;
  for (const auto& [cycle, change] : changes) {
    under_way += change;
    events.push_back({{"name", "copies of k-tiles under way"},
                      {"ph", "C"},
                      {"pid", 0},
                      {"ts", cycle},
                      {"args", {{"copies", under_way}}}});
  }
}

void add_counters(const tensor_core::PassageLog& log, Json& events) {
  std::map<std::pair<int, std::int64_t>, int> changes;
  for (const tensor_core::LoggedMma& mma : log.instructions()) {
    if (mma.done >= 0) {
      ++changes[{mma.partition, mma.issued}];
      --changes[{mma.partition, mma.done}];
    }
  }
  std::map<int, int> under_way;
  for (const auto& [key, change] : changes) {
    const auto& [partition, cycle] = key;
    under_way[partition] += change;
    events.push_back({{"name", fmt::format("sub-partition {}: mma under way", partition)},
                      {"ph", "C"},
                      {"pid", 0},
                      {"ts", cycle},
                      {"args", {{"mma", under_way[partition]}}}});
  }
}

// Konata ------------------------------------------------------------------------------------------

/// Lines of a log, by cycle. Ends of a cycle come before its beginnings.
class KonataLines {
 public:
  void add(std::int64_t cycle, bool is_end, std::string line) {
    lines_.push_back({cycle, is_end ? 0 : 1, std::move(line)});
  }

  std::string text() {
    std::stable_sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
      return std::pair(a.cycle, a.order) < std::pair(b.cycle, b.order);
    });
    std::string out = "Kanata\t0004\n";
    std::int64_t now = lines_.empty() ? 0 : lines_.front().cycle;
    out += fmt::format("C=\t{}\n", now);
    for (const Line& line : lines_) {
      if (line.cycle > now) {
        out += fmt::format("C\t{}\n", line.cycle - now);
        now = line.cycle;
      }
      out += line.text + "\n";
    }
    return out;
  }

 private:
  struct Line {
    std::int64_t cycle;
    int order;
    std::string text;
  };
  std::vector<Line> lines_;
};

void add_span(KonataLines& lines, std::size_t id, int lane, std::string_view stage,
              std::int64_t begin, std::int64_t end) {
  if (end > begin) {
    lines.add(begin, false, fmt::format("S\t{}\t{}\t{}", id, lane, stage));
    lines.add(end, true, fmt::format("E\t{}\t{}\t{}", id, lane, stage));
  }
}

/// Stages in lane 0, what lies between them in lane 1: "p" waits for ports or room, "w" for the
/// multipliers or the accumulator of the step before.
void add_rows(const tensor_core::LoggedMma& mma, std::size_t id, KonataLines& lines) {
  std::vector<tensor_core::LoggedStage> stages = mma.stages;
  std::stable_sort(stages.begin(), stages.end(),
                   [](const tensor_core::LoggedStage& a, const tensor_core::LoggedStage& b) {
                     return std::pair(a.step, a.begin) < std::pair(b.step, b.begin);
                   });
  std::int64_t at = mma.issued + 1;
  for (const tensor_core::LoggedStage& stage : stages) {
    const bool is_fetch = stage.kind == tensor_core::LoggedStage::Kind::kFetch;
    // A later step is selected while the one before is still in the pipeline.
    const std::int64_t begin = std::max(stage.begin, at);
    add_span(lines, id, 1, is_fetch ? "p" : "w", at, begin);
    add_span(lines, id, 0, kStages[index(stage.kind)].konata, begin, stage.end);
    at = std::max(at, stage.end);
  }
  add_span(lines, id, 0, "W", at, mma.done);
}

/// What the warp of an instruction waited for before it issued it.
class StallsOfWarps {
 public:
  explicit StallsOfWarps(const tensor_core::PassageLog& log) {
    for (const tensor_core::LoggedStall& stall : log.stalls()) {
      if (stall.warp_slot >= 0) {
        of_[{stall.partition, stall.warp_slot}].push_back(&stall);
      }
    }
  }

  /// Where the wait before `mma` begins: the latest wait of its warp, if it ends with the issue.
  std::int64_t begin_before(const tensor_core::LoggedMma& mma) const {
    const tensor_core::LoggedStall* const stall = before(mma);
    return stall == nullptr ? mma.issued : stall->begin;
  }
  /// The instructions that are done, in the order in which their rows begin.
  std::vector<const tensor_core::LoggedMma*> by_begin(const tensor_core::PassageLog& log) const {
    std::vector<std::pair<std::int64_t, const tensor_core::LoggedMma*>> rows;
    for (const tensor_core::LoggedMma& mma : log.instructions()) {
      if (mma.done >= 0) {
        rows.emplace_back(begin_before(mma), &mma);
      }
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const tensor_core::LoggedMma*> sorted;
    for (const auto& [begin, mma] : rows) {
      sorted.push_back(mma);
    }
    return sorted;
  }
  /// In lane 1, with its reason as a label of the instruction.
  void add_before(const tensor_core::LoggedMma& mma, std::size_t id, KonataLines& lines) const {
    if (const tensor_core::LoggedStall* const stall = before(mma)) {
      add_span(lines, id, 1, "i", stall->begin, mma.issued);
      lines.add(stall->begin, false, fmt::format("L\t{}\t1\t: the warp {}", id, stall->reason));
    }
  }

 private:
  const tensor_core::LoggedStall* before(const tensor_core::LoggedMma& mma) const {
    const auto found = of_.find({mma.partition, mma.warp_slot});
    if (found == of_.end()) {
      return nullptr;
    }
    const auto& stalls = found->second;
    const auto after =
        std::upper_bound(stalls.begin(), stalls.end(), mma.issued,
                         [](std::int64_t cycle, const tensor_core::LoggedStall* stall) {
                           return cycle < stall->end;
                         });
    const bool ends_here = after != stalls.begin() && (*std::prev(after))->end == mma.issued;
    return ends_here ? *std::prev(after) : nullptr;
  }

  std::map<std::pair<int, int>, std::vector<const tensor_core::LoggedStall*>> of_;
};

}  // namespace

std::string timeline_json(const tensor_core::PassageLog& log) {
  Json json{{"displayTimeUnit", "ns"},
            {"otherData",
             {{"program", fmt::format("sptcsim {}", program_version())},
              {"instruction", log.name()},
              {"unit", "a microsecond is a cycle"}}},
            {"traceEvents", Json::array()}};
  Json& events = json["traceEvents"];
  events.push_back(name_event("process_name", 0, "SM 0"));
  add_stages(log, events);
  add_warps(log, events);
  add_stalls(log, events);
  add_copies(log, events);
  add_counters(log, events);
  return json.dump() + "\n";
}

std::string konata_log(const tensor_core::PassageLog& log) {
  KonataLines lines;
  const StallsOfWarps stalls(log);
  std::map<std::pair<std::pair<int, int>, int>, std::size_t> latest;  ///< that wrote a register
  std::size_t id = 0;
  for (const tensor_core::LoggedMma* const logged : stalls.by_begin(log)) {
    const tensor_core::LoggedMma& mma = *logged;
    const int thread = kTracksOfPartition * mma.partition + mma.warp_slot;
    const std::int64_t begun = stalls.begin_before(mma);
    lines.add(begun, false, fmt::format("I\t{}\t{}\t{}", id, id, thread));
    lines.add(begun, false,
              fmt::format("L\t{}\t0\tsub-partition {} warp {} D r{}", id, mma.partition,
                          mma.warp_slot, mma.accumulator));
    lines.add(begun, false, fmt::format("L\t{}\t1\t{}", id, log.name()));
    stalls.add_before(mma, id, lines);
    add_rows(mma, id, lines);
    const std::pair key{std::pair{mma.partition, mma.warp_slot}, mma.accumulator};
    if (const auto before = latest.find(key); before != latest.end()) {
      lines.add(mma.issued, false, fmt::format("W\t{}\t{}\t0", id, before->second));
    }
    latest[key] = id;
    lines.add(mma.done, false, fmt::format("R\t{}\t{}\t0", id, id));
    ++id;
  }
  return lines.text();
}

}  // namespace sptc::report
