// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "tests/hardware/capture/capture_writer.h"
#include "tests/hardware/capture/case_generator.h"
#include "tests/hardware/capture/device.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sptc::hardware {

/// The instructions of `target` whose bits are captured: mma, mma.sp, wgmma and wgmma.sp (at n = 8)
/// that run on tensor cores, without block scales and 6- or 4-bit floats.
std::vector<mma::MmaInstruction> captured_instructions(const mma::Target& target);

/// "m16n8k32.satfinite.s32.s8.s8.s32": the part of the PTX name that array sets are named by.
std::string qualifier(const mma::MmaInstruction& instruction);
/// "mma", "mmasp", "wgmma", "wgmmasp".
std::string family(const mma::MmaInstruction& instruction);

/// What a device made of a set.
struct ExecutedSet {
  check::vectors::BitArray d;           ///< [case, m, n]
  std::vector<std::uint64_t> metadata;  ///< [case, lane]; sparse only
  std::uint32_t poison = 0;
  std::size_t unwritten = 0;  ///< registers that held the poison of both of two runs
};

/// Runs all cases on `device`, D poisoned before.
ExecutedSet execute(const CaseSet& set, std::uint64_t seed, Device& device);

/// Writes `<stem>.json` and its arrays into bits/.
ItemOutcome write_set(const CaptureWriter& writer, const CaseSet& set, const ExecutedSet& executed,
                      const std::string& arch, std::uint64_t seed);

struct BitProgramme {
  std::uint64_t seed = 0;
  std::size_t cases_per_category = 6;
  std::filesystem::path golden;  ///< directory of published sets; empty: none
};

/// Captures every instruction that `target` and `device` have: an item per set.
void capture_bits(CaptureWriter& writer, const mma::Target& target, const BitProgramme& programme, Device& device);

}  // namespace sptc::hardware
