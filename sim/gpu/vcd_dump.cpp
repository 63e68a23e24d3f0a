// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/vcd_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sptc::gpu {
namespace {

constexpr const char* kClock = "!";  ///< identifier of the clock

/// Printable characters, the shortest first; the first one is the clock's.
std::string identifier(std::size_t number) {
  constexpr std::size_t kFirst = '!' + 1, kCount = '~' - kFirst + 1;
  std::string id;
  do {
    id += static_cast<char>(kFirst + number % kCount);
    number /= kCount;
  } while (number > 0);
  return id;
}

/// Strings end at a blank.
std::string without_blanks(std::string_view text) {
  std::string out(text.empty() ? "-" : text);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c <= ' ' || c > '~'; }, '_');
  return out;
}

std::vector<std::string> parts_of(const std::string& scope) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= scope.size();) {
    const std::size_t to = std::min(scope.find('.', from), scope.size());
    parts.push_back(scope.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

}  // namespace

VcdDump::Signal VcdDump::add(const std::string& scope, const std::string& name, int width) {
  signals_.push_back({scope, name, width, signals_.size()});
  return signals_.size() - 1;
}

void VcdDump::set_text(std::int64_t cycle, Signal signal, std::string_view text) {
  const std::string word = without_blanks(text);
  const auto found = std::find(texts_.begin(), texts_.end(), word);
  const auto place = static_cast<std::uint64_t>(found - texts_.begin());
  if (found == texts_.end()) {
    texts_.push_back(word);
  }
  set(cycle, signal, place);
}

void VcdDump::set(std::int64_t cycle, Signal signal, std::optional<std::uint64_t> value) {
  if (cycle < window_.last) {
    changes_.push_back({std::max(cycle, window_.first), signal, value});
  }
}

std::string VcdDump::value_text(const Declaration& declaration, const std::optional<std::uint64_t>& value) const {
  if (declaration.width == kText) {
    return fmt::format("s{} {}\n", value ? texts_[*value] : "x", identifier(declaration.number));
  }
  if (declaration.width == 1) {
    return fmt::format("{}{}\n", value ? std::to_string(*value & 1) : "x", identifier(declaration.number));
  }
  if (!value) {
    return fmt::format("bx {}\n", identifier(declaration.number));
  }
  const std::uint64_t mask = declaration.width < 64 ? (std::uint64_t{1} << declaration.width) - 1 : ~std::uint64_t{0};
  return fmt::format("b{:b} {}\n", *value & mask, identifier(declaration.number));
}

void VcdDump::declare(std::string& out) const {
  std::vector<std::string> open;
  const auto go_to = [&](const std::vector<std::string>& scope) {
    std::size_t shared = 0;
    while (shared < std::min(open.size(), scope.size()) && open[shared] == scope[shared]) {
      ++shared;
    }
    for (; open.size() > shared; open.pop_back()) {
      out += "$upscope $end\n";
    }
    for (; open.size() < scope.size(); open.push_back(scope[open.size()])) {
      out += fmt::format("$scope module {} $end\n", scope[open.size()]);
    }
  };
  out += fmt::format("$var wire 1 {} clock $end\n", kClock);
  for (const Declaration& signal : signals_) {
    go_to(parts_of(signal.scope));
    const bool is_text = signal.width == kText;
    out += fmt::format("$var {} {} {} {}{} $end\n", is_text ? "string" : "wire", is_text ? 1 : signal.width,
                       identifier(signal.number), signal.name,
                       signal.width > 1 ? fmt::format(" [{}:0]", signal.width - 1) : "");
  }
  go_to({});
}

std::string VcdDump::text(std::int64_t period_ps) const {
  std::vector<Change> changes = changes_;
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.cycle < b.cycle; });
  std::string out = "$timescale 1 ps $end\n$scope module sm0 $end\n";
  declare(out);
  out += "$upscope $end\n$enddefinitions $end\n";
  std::vector<std::optional<std::uint64_t>> shown(signals_.size());
  std::int64_t cycle = window_.first;
  out += fmt::format("#{}\n$dumpvars\n1{}\n", cycle * period_ps, kClock);
  for (const Declaration& signal : signals_) {
    out += value_text(signal, std::nullopt);
  }
  out += "$end\n";
  std::vector<std::optional<std::uint64_t>> next = shown;
  std::vector<Signal> touched;
  const auto flush = [&] {
    for (const Signal signal : touched) {
      if (next[signal] != shown[signal]) {
        shown[signal] = next[signal];
        out += value_text(signals_[signal], shown[signal]);
      }
    }
    touched.clear();
  };
  for (const Change& change : changes) {
    for (; cycle < change.cycle; ++cycle) {
      flush();
      out += fmt::format("#{}\n0{}\n#{}\n1{}\n", cycle * period_ps + period_ps / 2, kClock, (cycle + 1) * period_ps,
                         kClock);
    }
    next[change.signal] = change.value;
    touched.push_back(change.signal);
  }
  flush();
  out += fmt::format("#{}\n0{}\n#{}\n", cycle * period_ps + period_ps / 2, kClock, (cycle + 1) * period_ps);
  return out;
}

std::int64_t VcdDump::first_valid() const {
  std::int64_t first = window_.last;
  for (const Change& change : changes_) {
    if (change.value == 1 && signals_[change.signal].name == "valid") {
      first = std::min(first, change.cycle);
    }
  }
  return first < window_.last ? first : window_.first;
}

std::string VcdDump::save_file(const std::string& vcd_file, std::int64_t period_ps) const {
  // 200 pixels of GTKWave are 2^-zoom units of time: a cycle has room for the hex digits of a word.
  constexpr double kCyclesOf200Pixels = 4;
  constexpr std::int64_t kCyclesBefore = 2;
  std::string out = fmt::format(
      "[dumpfile] \"{}\"\n[timestart] {}\n[size] 1600 1000\n[signals_width] 320\n[sst_expanded] "
      "0\n*{:.3f} -1\n",
      vcd_file, std::max(first_valid() - kCyclesBefore, window_.first) * period_ps,
      -std::log2(kCyclesOf200Pixels * static_cast<double>(period_ps)));
  out += "@28\nsm0.clock\n";
  // Flags of GTKWave: 0x22 hexadecimal, 0x420 signed decimal, 0x28 binary; 0x200 a comment, which
  // 0x800000 opens as a group and 0x1000000 closes.
  std::string group;
  for (const Declaration& signal : signals_) {
    if (signal.scope != group) {
      out += group.empty() ? "" : fmt::format("@1000200\n-{}\n", group);
      out += fmt::format("@800200\n-{}\n", signal.scope);
      group = signal.scope;
    }
    const bool is_word = signal.name.find("word") != std::string::npos;
    const bool is_bits = signal.width <= 1 || signal.name.find("metadata") != std::string::npos;
    out += fmt::format("@{}\nsm0.{}.{}{}\n",
                       is_bits   ? "28"
                       : is_word ? "22"
                                 : "420",
                       signal.scope, signal.name, signal.width > 1 ? fmt::format("[{}:0]", signal.width - 1) : "");
  }
  return out + (group.empty() ? "" : fmt::format("@1000200\n-{}\n", group));
}

}  // namespace sptc::gpu
