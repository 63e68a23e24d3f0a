// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/account.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace sptc::workload::importer {
namespace {

struct Sum {
  std::int64_t launches = 0;
  double time_us = 0;

  void add(std::int64_t count, double each_us) {
    launches += count;
    time_us += each_us * static_cast<double>(count);
  }
  std::string text(double all_us, const std::string& shapes = "") const {
    const std::string share = all_us > 0 && time_us > 0
                                  ? fmt::format(", {:.1f} us, {:.1f} % of the recorded kernel time",
                                                time_us, 100 * time_us / all_us)
                                  : "";
    return fmt::format("{} {}{}{}", launches, launches == 1 ? "launch" : "launches", shapes, share);
  }
};

std::string shape_text(const base::GemmShape& shape) {
  const bool said = shape.m > 0 && shape.n > 0 && shape.k > 0;
  return said ? fmt::format(" {} x {} x {}", shape.m, shape.n, shape.k) : "";
}

/// The launches that were not taken by reason, the longest first.
std::string not_taken_text(const std::vector<NotTaken>& launches, double all_us) {
  constexpr std::size_t kMaxExamples = 3, kMaxReasons = 12, kNameBytes = 60;
  std::map<std::string, std::pair<Sum, std::vector<const NotTaken*>>> by_reason;
  for (const NotTaken& launch : launches) {
    auto& [sum, examples] = by_reason[launch.reason];
    sum.add(launch.count, launch.time_us);
    examples.push_back(&launch);
  }
  std::vector<const decltype(by_reason)::value_type*> rows;
  for (const auto& row : by_reason) {
    rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.first.time_us, a->second.first.launches) >
           std::pair(b->second.first.time_us, b->second.first.launches);
  });
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == kMaxReasons) {
      text += fmt::format("    and {} more reasons\n", rows.size() - i);
      break;
    }
    const auto& [reason, row] = *rows[i];
    text += fmt::format("    {}: {}\n", row.first.text(all_us), reason);
    for (std::size_t j = 0; j < std::min(kMaxExamples, row.second.size()); ++j) {
      const NotTaken& launch = *row.second[j];
      text += fmt::format("      {} x {}{}{}{}\n", launch.count,
                          io::printable(base::shortened(launch.name, kNameBytes)),
                          shape_text(launch.shape), launch.dtype.empty() ? "" : " ", launch.dtype);
    }
    if (row.second.size() > kMaxExamples) {
      text += fmt::format("      and {} more\n", row.second.size() - kMaxExamples);
    }
  }
  return text;
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) {
    text += "  note: " + note + "\n";
  }
  return text;
}

std::string unbounded_account(const Recording& recording) {
  const Workload& workload = recording.workload;
  const Account& account = recording.account;
  if (account.format.empty()) {
    return notes_text(workload.notes);
  }
  Sum taken;
  for (const Operation& op : workload.operations) {
    taken.add(op.count, op.recorded.time_us);
  }
  Sum left;
  for (const NotTaken& launch : workload.not_taken) {
    left.add(launch.count, launch.time_us);
  }
  std::string text = io::printable(workload.source);
  if (!account.gpu.empty()) {
    text += "; recorded on " + io::printable(account.gpu);
  }
  text += fmt::format(
      "\n  taken: {}\n",
      taken.text(account.kernels_us, fmt::format(" of {} shapes", workload.operations.size())));
  text += fmt::format("  not taken: {}\n", left.text(account.kernels_us));
  text += not_taken_text(workload.not_taken, account.kernels_us);
  const double other_us = account.kernels_us - taken.time_us - left.time_us;
  if (const double percent = 100 * other_us / account.kernels_us; percent >= 0.05) {
    text += fmt::format("  other kernels: {:.1f} us, {:.1f} % of the recorded kernel time\n",
                        other_us, percent);
  }
  return text + notes_text(account.notes) + notes_text(workload.notes);
}

}  // namespace

std::string account_text(const Recording& recording) {
  std::string text = unbounded_account(recording);
  if (text.empty()) {
    return text;
  }
  text.pop_back();  // the end of its last line
  return base::bounded_message(text) + "\n";
}

void require_all_taken(const Recording& recording) {
  const auto& left = recording.workload.not_taken;
  if (!left.empty()) {
    std::int64_t launches = 0;
    for (const NotTaken& launch : left) {
      launches += launch.count;
    }
    throw base::InputError(
        fmt::format("--strict: {} launches of {} are not taken; the first, {}: {}", launches,
                    io::printable(recording.workload.file.string()),
                    io::printable(left.front().name), left.front().reason));
  }
}

}  // namespace sptc::workload::importer
