// SPDX-License-Identifier: Apache-2.0
//
// What the software behind an engine has at a release: operand types, 2:4 kernels, quantisation.
#pragma once

#include "sim/workload/workload.h"

#include <array>
#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::io {
class JsonObject;
}  // namespace sptc::io

namespace sptc::run::network {

/// A release of software: 0.19.1.
struct Version {
  std::array<int, 3> parts{};

  auto operator<=>(const Version&) const = default;
};

/// Up to three numbers with dots between them, of which those that are left out are `absent`.
/// Nothing where `text` is something else.
std::optional<Version> parse_version(std::string_view text, int absent = 0);

/// Some operand types, between two releases and on some boards.
struct Offer {
  std::vector<std::string> types;       ///< as operand_word() has them
  std::string how;                      ///< a word of its list: "cutlass", "kernel"; empty: it has none
  std::optional<Version> since, until;  ///< the first release with them, and the first without
  std::string since_text, until_text;   ///< as the file has them
  int sm_from = 0, sm_below = 0;        ///< compute capabilities, 89 for 8.9; 0: any
  std::string source;
};

/// A 2:4 path: the software has none for these types, as the source says.
inline constexpr std::string_view kNoPath = "none";
/// A quantisation that is a launch of its own before each GEMM.
inline constexpr std::string_view kOwnKernel = "kernel";

/// The rows at `key` of `root`, none where it is absent; `how`: key of a word among `words`, empty:
/// the rows have none. `versioned`: the engine has releases. Throws InputError.
std::vector<Offer> read_offers(const io::JsonObject& root, std::string_view key, std::string_view how,
                               std::span<const std::string_view> words, bool versioned);

/// "since" and "until" of `row`, of an engine with releases. Throws InputError.
void read_releases(const io::JsonObject& row, bool versioned, Offer& offer);

/// The operands of `op` in a word: a type or a format ("bf16", "nvfp4"), or "w4a16" where its
/// weight lies in memory in fewer bits than it is multiplied in.
std::string operand_word(const workload::Operation& op);

/// A release on a board.
struct Installation {
  std::string software;        ///< name of the engine
  std::string version;         ///< empty: the engine has no releases
  std::string board;           ///< empty: any
  int compute_capability = 0;  ///< of it; 0: any
};

/// Whether `offer` holds for the release and the board.
bool covers(const Offer& offer, const Installation& at);

/// The offer of operands `word` that covers `at`, or null.
const Offer* find_offer(const std::vector<Offer>& offers, const std::string& word, const Installation& at);

/// Why none of `offers` has operands `word`, in a sentence with its source: "vllm 0.19 has no 2:4
/// kernels of e4m3: it had them before 0.19 (..)". Empty where one does, or where there is no
/// offer. `what`: "2:4 kernels".
std::string refusal(const std::vector<Offer>& offers, std::string_view what, const std::string& word,
                    const Installation& at);

}  // namespace sptc::run::network
