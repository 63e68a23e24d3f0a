// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::report {
namespace {

constexpr int kThreadsOfPartition = 100;
/// Letters by tensor_core::StageWork::Stage: fetch, select, multiply, align and add, round.
constexpr std::array<std::string_view, 5> kStageLetters{"F", "S", "M", "A", "R"};

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

void add_span(KonataLines& lines, std::size_t id, int lane, std::string_view stage, std::int64_t begin,
              std::int64_t end) {
  if (end > begin) {
    lines.add(begin, false, fmt::format("S\t{}\t{}\t{}", id, lane, stage));
    lines.add(end, true, fmt::format("E\t{}\t{}\t{}", id, lane, stage));
  }
}

/// Stages in lane 0, what lies between them in lane 1: "p" waits for ports or room, "w" for the multipliers or the
/// accumulator of the step before.
void add_rows(const gpu::LoggedMma& mma, std::size_t id, KonataLines& lines) {
  std::vector<tensor_core::StageWork> stages = mma.stages;
  std::stable_sort(stages.begin(), stages.end(), [](const tensor_core::StageWork& a, const tensor_core::StageWork& b) {
    return std::pair(a.step, a.begin) < std::pair(b.step, b.begin);
  });
  std::int64_t at = mma.issued + 1;
  for (const tensor_core::StageWork& work : stages) {
    const bool is_fetch = work.stage == tensor_core::StageWork::Stage::kFetch;
    // A later step is selected while the one before is still in the pipeline.
    const std::int64_t begin = std::max(work.begin, at);
    add_span(lines, id, 1, is_fetch ? "p" : "w", at, begin);
    add_span(lines, id, 0, kStageLetters[static_cast<std::size_t>(work.stage)], begin, work.end);
    at = std::max(at, work.end);
  }
  add_span(lines, id, 0, "W", at, mma.done);
}

/// What the warp of an instruction waited for before it issued it.
class StallsOfWarps {
 public:
  explicit StallsOfWarps(const gpu::PassageLog& log) {
    for (const gpu::LoggedStall& stall : log.stalls()) {
      if (stall.warp_slot >= 0) {
        of_[{stall.partition, stall.warp_slot}].push_back(&stall);
      }
    }
  }

  /// The instructions that are done, behind the cycles in which their rows begin, in that order.
  std::vector<std::pair<std::int64_t, const gpu::LoggedMma*>> rows(const gpu::PassageLog& log) const {
    std::vector<std::pair<std::int64_t, const gpu::LoggedMma*>> sorted;
    for (const gpu::LoggedMma& mma : log.instructions()) {
      if (mma.done >= 0) {
        const gpu::LoggedStall* const stall = before(mma);
        sorted.emplace_back(stall == nullptr ? mma.issued : stall->begin, &mma);
      }
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return sorted;
  }
  /// Adds a row in lane 1, with its reason as a label of the instruction.
  void add_before(const gpu::LoggedMma& mma, std::size_t id, KonataLines& lines) const {
    if (const gpu::LoggedStall* const stall = before(mma)) {
      add_span(lines, id, 1, "i", stall->begin, mma.issued);
      lines.add(stall->begin, false, fmt::format("L\t{}\t1\t: the warp {}", id, stall->reason));
    }
  }

 private:
  const gpu::LoggedStall* before(const gpu::LoggedMma& mma) const {
    const auto found = of_.find({mma.partition, mma.warp_slot});
    if (found == of_.end()) {
      return nullptr;
    }
    const auto& stalls = found->second;
    const auto after =
        std::upper_bound(stalls.begin(), stalls.end(), mma.issued,
                         [](std::int64_t cycle, const gpu::LoggedStall* stall) { return cycle < stall->end; });
    const bool ends_here = after != stalls.begin() && (*std::prev(after))->end == mma.issued;
    return ends_here ? *std::prev(after) : nullptr;
  }

  std::map<std::pair<int, int>, std::vector<const gpu::LoggedStall*>> of_;
};

}  // namespace

std::string konata_log(const gpu::PassageLog& log) {
  KonataLines lines;
  const StallsOfWarps stalls(log);
  std::map<std::pair<std::pair<int, int>, int>, std::size_t> latest;  ///< that wrote a register
  std::size_t id = 0;
  for (const auto& [begun, logged] : stalls.rows(log)) {
    const gpu::LoggedMma& mma = *logged;
    const int thread = kThreadsOfPartition * mma.partition + mma.warp_slot;
    lines.add(begun, false, fmt::format("I\t{}\t{}\t{}", id, id, thread));
    lines.add(
        begun, false,
        fmt::format("L\t{}\t0\tsub-partition {} warp {} D r{}", id, mma.partition, mma.warp_slot, mma.accumulator));
    lines.add(begun, false, fmt::format("L\t{}\t1\t{}", id, log.kernels()[mma.kernel].instruction.ptx_name()));
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
