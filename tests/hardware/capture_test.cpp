// SPDX-License-Identifier: Apache-2.0
//
// What the kit does without a GPU: operand registers against published ones, the list of kernels
// against the catalogue, and a whole capture of the simulator, which it must find perfect.
#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/check/vectors/verify.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "tests/hardware/capture/bit_capture.h"
#include "tests/hardware/capture/kernel_list.h"
#include "tests/hardware/capture/operand_image.h"
#include "tests/hardware/capture/probes.h"
#include "tests/hardware/capture/simulated_device.h"
#include "tests/hardware/capture/wgmma_tile.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace sptc::hardware {
namespace {

namespace fs = std::filesystem;
using mma::MmaInstruction;

const fs::path kTests = fs::path(SPTC_SOURCE_DIR) / "tests";
constexpr std::uint64_t kSeed = 7;

// Kernels and the catalogue ----------------------------------------------------------------------

TEST(Kernels, ExistForEveryTensorCoreInstructionOfEveryTargetAndForNothingElse) {
  std::map<std::string, KernelRow> kernels;
  for (const KernelRow& row : kernel_rows()) {
    EXPECT_TRUE(kernels.insert({row.ptx, row}).second) << row.ptx;
  }
  std::set<std::string> used;
  for (const mma::Target& target : mma::targets()) {
    const int arch = std::stoi(std::string(target.name.substr(3))) * 10;
    for (const MmaInstruction& instruction : captured_instructions(target)) {
      const std::string ptx = instruction.ptx_name();
      // sm_120 alone has mma.sp of fp8 with f16 accumulators, ordered_metadata only.
      if (arch == 1200 && instruction.sparse && numerics::is_fp8(instruction.a_type) &&
          instruction.accumulator == numerics::DataType::kF16) {
        continue;
      }
      used.insert(ptx);
      ASSERT_TRUE(kernels.contains(ptx)) << target.name << " " << ptx;
      EXPECT_EQ(kernels.at(ptx).is_wgmma, instruction.family == mma::MmaFamily::kWgmma) << ptx;
      EXPECT_LE(kernels.at(ptx).first, arch) << target.name << " " << ptx;
      EXPECT_GE(kernels.at(ptx).last, arch) << target.name << " " << ptx;
    }
  }
  EXPECT_EQ(used.size(), kernels.size());
}

TEST(Kernels, TakeAsManyRegistersAsTheLayoutsOfTheSimulatorFill) {
  for (const KernelRow& row : kernel_rows()) {
    const OperandImage image(mma::parse_instruction(row.ptx));
    EXPECT_EQ(image.d().registers, row.d) << row.ptx;
    EXPECT_EQ(image.c().registers, row.c) << row.ptx;
    EXPECT_EQ(image.instruction().sparse ? image.selectors() : 0, row.selectors) << row.ptx;
    if (row.is_wgmma) {
      EXPECT_EQ(image.words_of_a() * 4, kWgmmaRows * kWgmmaBytesOfA) << row.ptx;
      EXPECT_EQ(image.words_of_b() * 4, kWgmmaColumns * row.b) << row.ptx;
    } else {
      EXPECT_EQ(image.a().registers, row.a) << row.ptx;
      EXPECT_EQ(image.b().registers, row.b) << row.ptx;
      EXPECT_EQ(image.a().words_per_register() * 32, row.register_bits) << row.ptx;
    }
  }
}

TEST(Kernels, AreExpectedToHoldTheMatrixInstructionsOfTheCatalogue) {
  const std::string ampere = expected_sass("sm_80");
  EXPECT_NE(ampere.find("sp_m16n8k16_f32_f16_f16_f32\t4\tHMMA.SP.16816.F32\t1\n"), std::string::npos);
  EXPECT_EQ(ampere.find("e4m3"), std::string::npos);
  const std::string hopper = expected_sass("sm_90a");
  EXPECT_NE(hopper.find("m16n8k16_f32_e4m3_e4m3_f32\t1\tHMMA.1688.F32\t2\n"), std::string::npos);
  EXPECT_NE(hopper.find("wg_sp_k32_f32_f16_f16\t2\tHGMMA.SP.64x8x32.F32\t1\n"), std::string::npos);
}

// Layouts ----------------------------------------------------------------------------------------

TEST(OperandRegisters, GiveEveryElementBackForEveryInstruction) {
  for (const char* name : {"V100", "T4", "A100", "L40S", "H100"}) {
    for (const MmaInstruction& instruction : captured_instructions(mma::find_target(name))) {
      const OperandImage image(instruction);
      const CaseSet set = defined_cases(instruction, kSeed, 1);
      MmaLaunch launch;
      image.append(set.operands, 0, launch);
      if (instruction.sparse) {
        launch.selector = image.selectors() - 1;
        launch.metadata =
            image.metadata(set.nibbles[0], launch.selector,
                           std::vector<std::uint32_t>(static_cast<std::size_t>(image.lanes()), 0xFFFFFFFF));
        EXPECT_EQ(image.nibbles(launch, 0), set.nibbles[0]) << instruction.ptx_name();
        EXPECT_EQ(nibbles_of(indices_of(set.nibbles[0], instruction.a_type), set.nibbles[0].rows(), instruction.a_type),
                  set.nibbles[0]);
      }
      const check::vectors::MmaOperands back = image.operands(launch, 0);
      const auto first_case = [](const check::vectors::BitArray& array) {
        return std::vector<std::uint64_t>(
            array.bits.begin(), array.bits.begin() + static_cast<std::ptrdiff_t>(array.bits.size() / array.shape[0]));
      };
      EXPECT_EQ(back.a.bits, first_case(set.operands.a)) << instruction.ptx_name();
      EXPECT_EQ(back.b.bits, first_case(set.operands.b)) << instruction.ptx_name();
      EXPECT_EQ(back.c.bits, first_case(set.operands.c)) << instruction.ptx_name();
    }
  }
}

TEST(OperandRegisters, OfVoltaAreThoseOfThePtxIsa) {
  const OperandImage image(mma::parse_instruction("mma.m8n8k4.f32.f16.f16.f32"));
  // Lane 17 = quad pair 0, lane 5 of it: row 5 of A in two registers, column 5 of B.
  EXPECT_EQ(image.a().coordinate({17, 1, 1}), (mma::FragmentCoordinate{5, 3}));
  EXPECT_EQ(image.b().coordinate({17, 0, 1}), (mma::FragmentCoordinate{1, 5}));
  // f32 accumulators: value 6 of lane 17: row (17&1) + (6&2) + 4, column (6&4) + (17&2) + (6&1).
  EXPECT_EQ(image.d().coordinate({17, 6, 0}), (mma::FragmentCoordinate{7, 4}));
  EXPECT_EQ(image.d().registers, 8);
}

TEST(OperandRegisters, OfSmallTilesAndDoublesAreThoseOfThePtxIsa) {
  const OperandImage bytes(mma::parse_instruction("mma.m8n8k16.s32.s8.s8.s32"));
  EXPECT_EQ(bytes.a().coordinate({6, 0, 3}), (mma::FragmentCoordinate{1, 11}));
  EXPECT_EQ(bytes.b().coordinate({6, 0, 3}), (mma::FragmentCoordinate{11, 1}));
  EXPECT_EQ(bytes.d().coordinate({6, 1, 0}), (mma::FragmentCoordinate{1, 5}));
  const OperandImage doubles(mma::parse_instruction("mma.m16n8k16.f64.f64.f64.f64"));
  EXPECT_EQ(doubles.a().coordinate({5, 3, 0}), (mma::FragmentCoordinate{9, 5}));
  EXPECT_EQ(doubles.b().coordinate({5, 3, 0}), (mma::FragmentCoordinate{13, 1}));
  EXPECT_EQ(doubles.a().words(), 8 * 32 * 2);
}

TEST(OperandRegisters, RefuseWhatTheKitHasNoLayoutFor) {
  support::expect_input_error([] { const OperandImage image(mma::parse_instruction("wgmma.m64n16k16.f32.f16.f16")); },
                              {"no operand layout"});
}

TEST(WgmmaTiles, DescribeThemselves) {
  // PTX ISA, "matrix descriptor": address, leading and stride offset in units of 16 bytes.
  constexpr WgmmaTile kA{64, 32};
  static_assert(kA.descriptor(0x400) == (0x40ULL | 8ULL << 16 | 16ULL << 32));
  constexpr WgmmaTile kSparseB{8, 64};
  static_assert(kSparseB.descriptor(0) == (8ULL << 16 | 32ULL << 32 | 2ULL << 62));
  // Row 2 exchanges chunks 0 and 1, row 4 chunks 0 and 2.
  static_assert(kSparseB.offset(2, 0) == 2 * 64 + 16 && kSparseB.offset(4, 0) == 4 * 64 + 32);
}

// Captures ---------------------------------------------------------------------------------------

class SimulatedCapture : public testing::Test {
 protected:
  support::TemporaryDirectory directory;

  nlohmann::json read(const fs::path& file) const {
    return io::parse_json(io::read_text_file(file, 1 << 24), file.string());
  }

  /// A capture of `target` with one case per category.
  fs::path capture(const std::string& target, Device& device) {
    const fs::path path = directory.path() / ("capture_" + target);
    CaptureWriter writer(path);
    capture_bits(writer, mma::find_target(target), {kSeed, 1, kTests / "golden/numerics"}, device);
    writer.item("probes", [&] {
      return capture_probes(writer, kTests / "hardware/probes.json", mma::find_target(target), device);
    });
    writer.finish({"simulated", "test", "2026-11-21T00:00:00Z", std::nullopt, kSeed, true}, device.info());
    return path;
  }
};

TEST_F(SimulatedCapture, HoldsEveryInstructionAndNoMismatch) {
  SimulatedDevice device(mma::find_target("sm_80"));
  const fs::path path = capture("sm_80", device);
  const check::vectors::VerifyResult result = check::vectors::verify(path / "bits", mma::Profile::kHardware);
  EXPECT_EQ(result.mismatches(), 0U) << check::vectors::verify_text(result);
  std::set<std::string> instructions;
  for (const check::vectors::VerifiedSet& set : result.sets) {
    instructions.insert(set.instruction);
    EXPECT_EQ(set.contested, 0U) << set.file;
  }
  EXPECT_EQ(instructions.size(), captured_instructions(mma::find_target("sm_80")).size());
  const nlohmann::json json = read(path / "capture.json");
  EXPECT_EQ(json["schema"], kCaptureSchema);
  EXPECT_EQ(json["gpu"]["target"], "sm_80");
  for (const auto& item : json["items"]) {
    EXPECT_EQ(item["status"], "ok") << item.dump();
  }
  // Of a probe it names the hypotheses that fit.
  const nlohmann::json of_probes = read(path / "probes.json");
  std::map<std::string, nlohmann::json> probes;
  for (const auto& probe : of_probes["probes"]) {
    if (probe["applies"]) {
      probes[probe["name"]] = probe;
    }
  }
  EXPECT_EQ(probes.at("f16_floor")["d"], "0x0000");
  EXPECT_EQ(probes.at("f16_floor")["supports"], nlohmann::json::array({"KM(floor)"}));
  EXPECT_EQ(probes.at("step_order")["supports"], nlohmann::json::array({"two steps of 8, increasing k"}));
  EXPECT_EQ(probes.at("sparse_group_width_big_at_4")["supports"],
            nlohmann::json::array({"H1 width 8 compressed", "one step of 16"}));
}

/// A GPU with one fault: a wrong bit, or a lane that does not store.
class FaultyDevice final : public Device {
 public:
  enum class Fault { kFlippedBit, kSilentLane };
  FaultyDevice(const mma::Target& target, Fault fault) : inner_(target), fault_(fault) {}

  const DeviceInfo& info() const override { return inner_.info(); }
  bool has(const std::string& ptx) const override { return inner_.has(ptx); }
  std::string origin() const override { return "simulated"; }
  std::vector<std::uint32_t> run(const MmaLaunch& launch) override {
    std::vector<std::uint32_t> d = inner_.run(launch);
    if (launch.ptx == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") {
      d[5] = fault_ == Fault::kFlippedBit ? d[5] ^ 0x40000000U : launch.poison;
    }
    return d;
  }

 private:
  SimulatedDevice inner_;
  Fault fault_;
};

TEST_F(SimulatedCapture, ShowsOneFlippedBit) {
  FaultyDevice device(mma::find_target("sm_80"), FaultyDevice::Fault::kFlippedBit);
  const auto result = check::vectors::verify(capture("sm_80", device) / "bits", mma::Profile::kHardware);
  std::size_t flipped = 0;
  for (const check::vectors::VerifiedSet& set : result.sets) {
    const bool faulty = set.file.starts_with("mma.m16n8k16.f32.f16.f16.f32.");
    EXPECT_EQ(set.mismatches, faulty ? 1U : 0U) << set.file;
    flipped += set.mismatches;
  }
  EXPECT_GE(flipped, 1U);
}

TEST_F(SimulatedCapture, CountsRegistersThatWereNotWritten) {
  FaultyDevice device(mma::find_target("sm_80"), FaultyDevice::Fault::kSilentLane);
  const fs::path path = capture("sm_80", device);
  EXPECT_EQ(read(path / "bits/mma.m16n8k16.f32.f16.f16.f32.defined.json")["unwritten"], 1);
  EXPECT_EQ(read(path / "bits/mma.m16n8k8.f32.f16.f16.f32.defined.json")["unwritten"], 0);
  const nlohmann::json outcome = read(path / "capture.json");
  for (const auto& item : outcome["items"]) {
    const bool faulty = std::string(item["name"]).starts_with("bits/mma.m16n8k16.f32.f16.f16.f32.");
    EXPECT_EQ(item["status"], faulty ? "partial" : "ok") << item.dump();
  }
}

TEST_F(SimulatedCapture, RefusesProbesThatItCannotRead) {
  SimulatedDevice device(mma::find_target("sm_80"));
  const CaptureWriter writer(directory.path() / "capture");
  const auto probe = [&](const std::string& text, const std::string& message) {
    const fs::path file = directory.path() / "probes.json";
    std::ofstream(file) << text;
    support::expect_input_error([&] { capture_probes(writer, file, mma::find_target("sm_80"), device); }, {message});
  };
  probe("{}", "must be a list of probes");
  probe(R"([{"name": "x"}])", "instr");
  probe(R"([{"name": "x", "arch": "Ampere", "instr": "m16n8k8.f32.f16.f16.f32", "a": ["0x1p0"],
            "b": ["0x1p0"], "c": "0x0p+0", "predictions": {}}])",
        "must have 8 elements");
  probe(R"([{"name": "x", "arch": "Ampere", "instr": "m16n8k8.f32.f16.f16.f32", "a": [],
            "b": [], "c": "zero", "predictions": {"h": "one"}}])",
        "must be a hexadecimal float, not 'one'");
}

// Operands ---------------------------------------------------------------------------------------

TEST(Cases, AreTheSameForTheSameSeedAndOthersForAnother) {
  const auto instruction = mma::parse_instruction("mma.sp.m16n8k32.f32.f16.f16.f32");
  const CaseSet one = defined_cases(instruction, 1, 2);
  const CaseSet again = defined_cases(instruction, 1, 2);
  const CaseSet other = defined_cases(instruction, 2, 2);
  EXPECT_EQ(one.operands.a.bits, again.operands.a.bits);
  EXPECT_EQ(one.operands.indices->bits, again.operands.indices->bits);
  EXPECT_NE(one.operands.a.bits, other.operands.a.bits);
  EXPECT_NE(one.operands.indices->bits, other.operands.indices->bits);
  EXPECT_EQ(std::set<int>(one.selectors.begin(), one.selectors.end()), (std::set<int>{0, 1}));
}

TEST(Cases, OfUnselectedElementsReachNoSum) {
  // Inf and NaN stand in B, and no result knows of them.
  const auto instruction = mma::parse_instruction("mma.sp.m16n8k32.f32.f16.f16.f32");
  const CaseSet set = defined_cases(instruction, kSeed, 2);
  const auto rules = mma::instruction_rules(mma::find_target("sm_80"), instruction);
  check::vectors::MmaOperands operands = set.operands;
  const check::vectors::BitArray d = check::vectors::execute(operands, instruction, rules);
  std::size_t conspicuous = 0;
  std::size_t checked = 0;
  for (std::size_t index = 0; index < set.cases(); ++index) {
    if (set.categories[set.category_of_case[index]] != "unselected") {
      continue;
    }
    for (std::size_t i = 0; i < 32 * 8; ++i) {
      conspicuous += (set.operands.b.bits[index * 32 * 8 + i] & 0x7C00) == 0x7C00;
    }
    for (std::size_t i = 0; i < 16 * 8; ++i) {
      const auto word = static_cast<std::uint32_t>(d.bits[index * 16 * 8 + i]);
      EXPECT_LT(std::abs(std::bit_cast<float>(word)), 256.0F);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 2U * 16 * 8);
  EXPECT_GT(conspicuous, 50U);
}

TEST(Cases, OfSaturationCrossABoundWhereWrappingAndClampingDiffer) {
  for (const char* name : {"mma.m16n8k32.s32.s8.s8.s32", "mma.sp.m16n8k64.s32.u8.u8.s32"}) {
    MmaInstruction wraps = mma::parse_instruction(name);
    const CaseSet set = defined_cases(wraps, kSeed, 4);
    MmaInstruction clamps = wraps;
    clamps.satfinite = true;
    const mma::Target& target = mma::find_target("sm_80");
    const auto wrapped = check::vectors::execute(set.operands, wraps, mma::instruction_rules(target, wraps));
    const auto clamped = check::vectors::execute(set.operands, clamps, mma::instruction_rules(target, clamps));
    EXPECT_NE(wrapped.bits, clamped.bits) << name;
  }
}

TEST(Cases, WithoutMeaningHoldOnlySuchMetadata) {
  const CaseSet set = undefined_cases(mma::parse_instruction("mma.sp.m16n8k16.f32.tf32.tf32.f32"), kSeed, 3);
  EXPECT_EQ(set.categories, std::vector<std::string>{"invalid"});
  for (const auto& nibbles : set.nibbles) {
    for (std::size_t i = 0; i < nibbles.size(); ++i) {
      EXPECT_TRUE(nibbles.data()[i] != 0x4 && nibbles.data()[i] != 0xE);
    }
  }
}

}  // namespace
}  // namespace sptc::hardware
