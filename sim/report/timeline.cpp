// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline.h"

#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
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
      events.push_back({{"name", name},
                        {"cat", "mma"},
                        {"ph", phase},
                        {"id", i},
                        {"pid", 0},
                        {"tid", kTracksOfPartition * mma.partition + 50 + mma.warp_slot},
                        {"ts", at},
                        {"args", {{"mma", i}, {"accumulator register", mma.accumulator}}}});
    }
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
  add_counters(log, events);
  return json.dump() + "\n";
}

std::string konata_log(const tensor_core::PassageLog& log) {
  KonataLines lines;
  std::map<std::pair<std::pair<int, int>, int>, std::size_t> latest;  ///< that wrote a register
  std::size_t id = 0;
  for (const tensor_core::LoggedMma& mma : log.instructions()) {
    if (mma.done < 0) {
      continue;
    }
    const int thread = kTracksOfPartition * mma.partition + mma.warp_slot;
    lines.add(mma.issued, false, fmt::format("I\t{}\t{}\t{}", id, id, thread));
    lines.add(mma.issued, false,
              fmt::format("L\t{}\t0\tsub-partition {} warp {} D r{}", id, mma.partition,
                          mma.warp_slot, mma.accumulator));
    lines.add(mma.issued, false, fmt::format("L\t{}\t1\t{}", id, log.name()));
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
