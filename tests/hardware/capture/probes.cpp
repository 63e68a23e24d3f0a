// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/probes.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "tests/hardware/capture/operand_image.h"

#include <fmt/format.h>

#include <cstdlib>

namespace sptc::hardware {
namespace {

using mma::MmaInstruction;
using numerics::DataType;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxBytes = 1 << 20;
constexpr std::uint8_t kFirstTwo = 0b0100;  ///< each group keeps its elements 0 and 1

/// "0x1.8p-3".
std::uint64_t bits_of(const nlohmann::json& text, DataType type, const io::JsonPlace& place) {
  if (!text.is_string()) {
    place.fail("must be a hexadecimal float in quotes, not " + io::describe(text));
  }
  const std::string word = text.get<std::string>();
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != '\0') {
    place.fail("must be a hexadecimal float, not '" + io::printable(word) + "'");
  }
  return numerics::from_double(value, type);
}

/// The "instr" of a probe: a qualifier, with "mma.sp " in front and a remark behind where sparse.
MmaInstruction instruction_of(std::string text) {
  const bool sparse = text.starts_with("mma.sp ");
  if (sparse) {
    text = "mma.sp." + text.substr(std::string_view("mma.sp ").size());
  }
  return mma::parse_instruction(text.substr(0, text.find(' ')));
}

/// The dot product of the probe as element (0, 0); everything else is zero.
MmaLaunch launch_of(const io::JsonObject& probe, const MmaInstruction& instruction) {
  const OperandImage image(instruction);
  const auto m = static_cast<std::size_t>(instruction.shape.m);
  const auto n = static_cast<std::size_t>(instruction.shape.n);
  const auto k = static_cast<std::size_t>(instruction.shape.k);
  const auto stored = static_cast<std::size_t>(instruction.compressed_k());
  check::vectors::MmaOperands operands{
      check::vectors::make_bit_array({1, m, stored}, check::vectors::element_bytes(instruction.a_type)),
      check::vectors::make_bit_array({1, k, n}, check::vectors::element_bytes(instruction.b_type)),
      check::vectors::make_bit_array({1, m, n}, check::vectors::element_bytes(instruction.c_type()))};
  const nlohmann::json& a = probe.array("a");
  const nlohmann::json& b = probe.array("b");
  if (a.size() != stored || b.size() != stored) {
    probe.place().fail(fmt::format("a and b must have {} elements each", stored));
  }
  const base::Matrix<std::uint8_t> nibbles(m, instruction.sparse ? stored / 2 : 0, kFirstTwo);
  const std::vector<std::uint64_t> indices =
      instruction.sparse ? indices_of(nibbles, instruction.a_type) : std::vector<std::uint64_t>();
  for (std::size_t t = 0; t < stored; ++t) {
    const std::size_t row_of_b = instruction.sparse ? indices[t] : t;
    operands.a.bits[t] = bits_of(a[t], instruction.a_type, probe.place() / "a");
    operands.b.bits[row_of_b * n] = bits_of(b[t], instruction.b_type, probe.place() / "b");
  }
  operands.c.bits[0] = bits_of(probe.require("c"), instruction.c_type(), probe.place() / "c");
  MmaLaunch launch;
  launch.ptx = instruction.ptx_name();
  launch.poison = 0xFFDEADC5;
  image.append(operands, 0, launch);
  if (instruction.sparse) {
    launch.metadata = image.metadata(nibbles, 0, std::vector<std::uint32_t>(static_cast<std::size_t>(image.lanes())));
  }
  return launch;
}

std::string hex(std::uint64_t word, DataType type) {
  return fmt::format("{:#0{}x}", word, 2 + numerics::storage_bits(type) / 4);
}

Json run_probe(const io::JsonObject& probe, const mma::Target& target, Device& device) {
  const MmaInstruction instruction = instruction_of(probe.text("instr"));
  const std::string arch = probe.text("arch");
  Json predictions = Json::object();
  for (const auto& [hypothesis, value] : probe.object("predictions").value().items()) {
    predictions[hypothesis] =
        hex(bits_of(value, instruction.accumulator, probe.place() / "predictions"), instruction.accumulator);
  }
  Json row{{"name", probe.text("name")},
           {"arch", arch},
           {"instruction", instruction.ptx_name()},
           {"applies", mma::find_target(arch).architecture == target.architecture},
           {"d", nullptr},
           {"supports", Json::array()},
           {"predictions", predictions},
           {"note", probe.value().value("note", "")},
           {"status", name(ItemStatus::kOk)},
           {"reason", nullptr}};
  const MmaLaunch launch = launch_of(probe, instruction);
  if (!device.has(launch.ptx)) {
    row["status"] = name(ItemStatus::kAbsent);
    row["reason"] = "no kernel or no arithmetic for " + launch.ptx;
    return row;
  }
  try {
    const std::string d = hex(OperandImage(instruction).result(device.run(launch), 0)[0], instruction.accumulator);
    row["d"] = d;
    for (const auto& [hypothesis, word] : predictions.items()) {
      if (word == d) {
        row["supports"].push_back(hypothesis);
      }
    }
  } catch (const std::exception& error) {
    row["status"] = name(ItemStatus::kFailed);
    row["reason"] = error.what();
  }
  return row;
}

}  // namespace

ItemOutcome capture_probes(const CaptureWriter& writer, const std::filesystem::path& probes, const mma::Target& target,
                           Device& device) {
  const std::string shown = io::printable(probes.string());
  const nlohmann::json json = io::parse_json(io::read_text_file(probes, kMaxBytes), shown);
  const io::JsonPlace root{shown, ""};
  if (!json.is_array()) {
    root.fail("must be a list of probes");
  }
  Json rows = Json::array();
  std::size_t failed = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    rows.push_back(run_probe({json[i], root / i}, target, device));
    failed += rows.back()["status"] == name(ItemStatus::kFailed);
  }
  writer.write_json("probes.json", {{"probes", rows}});
  if (failed > 0) {
    return {ItemStatus::kPartial, fmt::format("{} of {} probes failed", failed, rows.size()), "probes.json"};
  }
  return {ItemStatus::kOk, "", "probes.json"};
}

}  // namespace sptc::hardware
