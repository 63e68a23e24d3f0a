// SPDX-License-Identifier: Apache-2.0
//
// A .traceg of Accel-Sim's tracer: the SASS instructions of one kernel, warp by warp. It says no m,
// n and k, so that no launch of it is simulated; its mix of matrix instructions is said instead.
#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <string>

namespace sptc::workload::profile {
namespace {

constexpr std::size_t kMaxLineBytes = 1 << 16;
constexpr std::string_view kNameKey = "-kernel name = ";

struct MmaShape {
  std::string_view digits;
  std::int64_t macs;  ///< of a warp, zeros of a sparse one included
};
constexpr std::array<MmaShape, 8> kShapes{{{"884", 8 * 8 * 4},
                                           {"1684", 16 * 8 * 4},
                                           {"1688", 16 * 8 * 8},
                                           {"8816", 8 * 8 * 16},
                                           {"8832", 8 * 8 * 32},
                                           {"16816", 16 * 8 * 16},
                                           {"16832", 16 * 8 * 32},
                                           {"16864", 16 * 8 * 64}}};

/// HMMA, IMMA, BMMA, DMMA and the like of warps and warpgroups.
bool is_matrix_instruction(std::string_view opcode) {
  const std::string_view name = opcode.substr(0, opcode.find('.'));
  return name.size() >= 4 && name.size() <= 6 && name.ends_with("MMA");
}

/// Multiply-accumulates of a warp; 0 where the opcode does not say the shape.
std::int64_t macs_of(std::string_view opcode) {
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos;
       dot = opcode.find('.', dot + 1)) {
    const std::string_view part = opcode.substr(dot + 1, opcode.find('.', dot + 1) - dot - 1);
    for (const MmaShape& shape : kShapes) {
      if (shape.digits == part) {
        return shape.macs;
      }
    }
  }
  return 0;
}

/// R20, UR4, P0, B1.
bool is_register(std::string_view word) {
  const std::size_t digits = word.find_first_of("0123456789");
  return digits != std::string_view::npos &&
         word.find_first_not_of("0123456789", digits) == std::string_view::npos &&
         word.find_first_not_of("URPB") == digits;
}

/// The opcode of "0010 ffffffff 1 R20 HMMA.16816.F32 3 R4 ..": the first word in capitals that is
/// no register.
std::string_view opcode_of(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size()) {
    const std::size_t begin = line.find_first_not_of(" \r", at);
    if (begin == std::string_view::npos) {
      break;
    }
    const std::size_t end = std::min(line.find_first_of(" \r", begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    if (word[0] >= 'A' && word[0] <= 'Z' && !is_register(word)) {
      return word;
    }
    at = end;
  }
  return {};
}

struct Mix {
  std::string kernel = "unnamed";
  std::int64_t warp_instructions = 0, macs = 0;
  std::map<std::string, std::int64_t> matrix;  ///< instructions by opcode

  void add(std::string_view line) {
    const std::string_view opcode = opcode_of(line);
    if (opcode.empty()) {
      return;
    }
    ++warp_instructions;
    if (is_matrix_instruction(opcode)) {
      ++matrix[io::printable(opcode)];
      macs += macs_of(opcode);
    }
  }

  std::string text() const {
    constexpr std::size_t kMaxKinds = 6;
    std::string list;
    std::size_t kinds = 0;
    for (const auto& [opcode, count] : matrix) {
      if (kinds++ < kMaxKinds) {
        list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, opcode);
      }
    }
    return fmt::format(
        "a trace of instructions says no m, n and k; of {} instructions of warps {} are on tensor "
        "cores, with {} multiply-accumulates",
        warp_instructions, list.empty() ? "none" : list, macs);
  }
};

bool recognises(const Head& head) {
  return head.text.starts_with(kNameKey) &&
         head.text.find("#traces format") != std::string_view::npos;
}

void read(input::InputStream& input, const ImportOptions& /*options*/, Recording& recording) {
  Mix mix;
  while (const std::optional<std::string_view> next = input.line(kMaxLineBytes)) {
    const std::string_view line = *next;
    if (line.starts_with(kNameKey)) {
      mix.kernel = io::printable(line.substr(kNameKey.size()));
    } else if (line[0] != '-' && line[0] != '#' && !line.starts_with("thread") &&
               !line.starts_with("warp") && !line.starts_with("insts")) {
      mix.add(line);
    }
  }
  RecordedLaunch launch;
  launch.op.name = mix.kernel;
  launch.reason = mix.text();
  LaunchList list;
  list.add(std::move(launch), input.name());
  std::move(list).move_to(recording, input.name());
}

}  // namespace

const Reader kSassTrace{"trace of SASS instructions", recognises, read};

}  // namespace sptc::workload::profile
