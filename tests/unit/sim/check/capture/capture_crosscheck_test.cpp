// SPDX-License-Identifier: Apache-2.0
//
// Captures with one planted fault each, and the published ones of the repository.
#include "sim/check/capture/capture_crosscheck.h"

#include "models/batched/gemm.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/check/capture/synthetic_capture.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace sptc::check::capture {
namespace {

using nlohmann::json;
using numerics::Word;

constexpr std::string_view kDense = "m16n8k16.f32.f16.f16.f32";
constexpr std::string_view kSparse = "mma.sp.m16n8k32.f32.f16.f16.f32";

const std::filesystem::path kPublished = std::filesystem::path(SPTC_SOURCE_DIR) / "tests/hardware/captures";

TEST(CrosscheckCapture, FindsNoMismatchInThePublishedWordsOfEveryGpu) {
  std::set<std::string> with_words;
  std::size_t words = 0;
  std::size_t captures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kPublished)) {
    if (!entry.is_directory()) {
      continue;
    }
    const Capture capture = read_capture(entry.path());
    if (capture.origin != "published") {
      continue;  // its words are packed: tests/hardware/CMakeLists.txt
    }
    ++captures;
    const CaptureCrosscheck result = crosscheck_capture(capture, mma::Profile::kHardware, TimeSimulation{}, 1);
    EXPECT_EQ(result.mismatches(), 0U) << capture_text(result);
    std::size_t own = 0;
    for (const BitsRow& row : result.bits) {
      own += row.elements;
    }
    if (own > 0) {
      with_words.insert(entry.path().filename().string());
    }
    words += own;
  }
  EXPECT_EQ(with_words, (std::set<std::string>{"a100", "ada", "b200", "h100", "h200", "l40s", "v100"}));
  EXPECT_EQ(captures, 8U);
  EXPECT_EQ(words, 20520U);
}

TEST(CrosscheckCapture, ReadsTheTablesOfMeasuredCaptures) {
  for (const char* const name : {"h100-sxm5-80gb", "h200-sxm"}) {
    const Capture capture = read_capture(kPublished / name);
    EXPECT_EQ(capture.origin, "measured") << name;
    EXPECT_GE(capture.microbench.size(), 1000U) << name;
    EXPECT_EQ(capture.power.size(), 16U) << name;
    EXPECT_GE(capture.gemm.size(), 20U) << name;
  }
}

TEST(CrosscheckCapture, FindsNothingWrongWithACaptureThatIsRight) {
  const SyntheticCapture capture;
  for (const std::string_view name : {kDense, kSparse}) {
    const SyntheticSet set(name);
    capture.write_set(set, set.compute("A100"));
  }
  const CaptureCrosscheck result = capture.check();
  EXPECT_EQ(result.mismatches(), 0U) << capture_text(result);
  ASSERT_EQ(result.bits.size(), 2U);
  EXPECT_EQ(result.bits.front().elements, SyntheticSet::kCases * 16 * 8);
  EXPECT_TRUE(result.metadata_problems.empty());
}

/// The one row with mismatches.
const BitsRow& wrong_row(const CaptureCrosscheck& result) {
  for (const BitsRow& row : result.bits) {
    if (row.mismatches > 0) {
      return row;
    }
  }
  throw std::logic_error("no row has a mismatch");
}

/// Expects that the words of the wrong row have this cause, whose text contains `part`.
void expect_cause(const CaptureCrosscheck& result, std::string_view cause, std::string_view part) {
  const BitsRow& row = wrong_row(result);
  ASSERT_FALSE(row.explanations.empty());
  EXPECT_EQ(row.explanations.front().cause, cause);
  EXPECT_NE(row.explanations.front().text.find(part), std::string::npos) << row.explanations.front().text;
}

TEST(CrosscheckCapture, NamesOneFlippedBit) {
  const SyntheticCapture capture;
  const SyntheticSet set(kDense);
  vectors::BitArray d = set.compute("A100");
  d.bits[(7 * 16 + 3) * 8 + 5] ^= 1U << 20;  // case 7, row 3, column 5
  capture.write_set(set, d);
  const CaptureCrosscheck result = capture.check();
  EXPECT_EQ(result.mismatches(), 1U);
  EXPECT_EQ(wrong_row(result).first->index, 7U);
  expect_cause(result, "bit-of-d", "case 7: one bit of D[3, 5] is flipped: bit 20");
  // Said once more at the end, where a reader of hundreds of rows looks.
  const std::string text = capture_text(result);
  EXPECT_NE(text.find("\nwords differ [bit-of-d]: mma.sync.aligned.m16n8k16"), std::string::npos);
  EXPECT_TRUE(text.ends_with("words compared, 1 mismatches\n")) << text;
}

TEST(CrosscheckCapture, NamesOneSwappedNibbleOfMetadata) {
  const SyntheticCapture capture;
  SyntheticSet executed(kSparse);
  std::uint8_t& nibble = executed.nibbles[4](9, 3);
  nibble = static_cast<std::uint8_t>((nibble >> 2 | nibble << 2) & 0xF);
  executed.operands.indices = executed.indices();
  const vectors::BitArray d = executed.compute("A100");
  capture.write_set(SyntheticSet(kSparse), d);
  const CaptureCrosscheck result = capture.check();
  EXPECT_GT(result.mismatches(), 0U);
  expect_cause(result, "metadata-nibble", "case 4: the two metadata indices of row 9, group 3 (k 12..15) are swapped");
}

TEST(CrosscheckCapture, NamesAMetadataRegisterThatContradictsTheIndices) {
  const SyntheticCapture capture;
  SyntheticSet set(kSparse);
  const vectors::BitArray d = set.compute("A100");
  const auto slot =
      sparsity::metadata_slot(sparsity::metadata_register_format(set.instruction.a_type, set.instruction.shape.k),
                              static_cast<int>(set.selectors.bits[5]), {2, 6});
  std::uint64_t& word = set.registers.bits[5 * 32 + static_cast<std::size_t>(slot.lane)];
  const std::uint64_t nibble = word >> (4 * slot.nibble) & 0xF;
  word ^= (nibble ^ ((nibble >> 2 | nibble << 2) & 0xF)) << (4 * slot.nibble);
  capture.write_set(set, d);
  const CaptureCrosscheck result = capture.check();
  EXPECT_EQ(result.mismatches(), 1U);
  ASSERT_EQ(result.metadata_problems.size(), 1U);
  EXPECT_TRUE(capture_text(result).ends_with("words compared, 0 mismatches; 1 more in metadata, kernels and GEMMs\n"))
      << capture_text(result);
  for (const std::string& part : {std::string("case 5: the metadata register of lane ") + std::to_string(slot.lane),
                                  std::string("row 2, group 6")}) {
    EXPECT_NE(result.metadata_problems.front().find(part), std::string::npos) << result.metadata_problems.front();
  }
}

TEST(CrosscheckCapture, NamesTheArithmeticOfAnotherGeneration) {
  const SyntheticCapture capture;
  const SyntheticSet set(kDense);
  capture.write_set(set, set.compute("H100"));
  expect_cause(capture.check(), "architecture", "hopper");
}

TEST(CrosscheckCapture, LeavesOutWordsWhoseArithmeticNobodyKnowsAndSaysSo) {
  // B200 has mma m16n8k16 of e4m3; its words in a capture must not stop the comparison.
  const SyntheticCapture capture;
  SyntheticSet unknown("m16n8k16.f32.e4m3.e4m3.f32");
  capture.write_set(unknown, unknown.compute("L40S"), "defined", "sm_100");
  const SyntheticSet set(kDense);
  capture.write_set(set, set.compute("B200"), "defined", "sm_100");
  const CaptureCrosscheck result = capture.check();
  EXPECT_EQ(result.mismatches(), 0U);
  EXPECT_EQ(result.bits.size(), 1U);
  ASSERT_EQ(result.unknown_sets.size(), 1U);
  EXPECT_NE(capture_text(result).find("no arithmetic is known"), std::string::npos);
}

TEST(CrosscheckCapture, CountsUndefinedMetadataAsFindings) {
  const SyntheticCapture capture;
  const SyntheticSet set(kSparse);
  vectors::BitArray d = set.compute("A100");
  capture.write_set(set, d);
  d.bits[0] ^= 1U << 22;
  capture.write_set(set, d, "undefined");
  const CaptureCrosscheck result = capture.check();
  EXPECT_EQ(result.mismatches(), 0U);
  ASSERT_EQ(result.bits.size(), 2U);
  EXPECT_FALSE(result.bits.front().undefined);
  EXPECT_TRUE(result.bits.back().undefined);
  EXPECT_EQ(result.bits.back().mismatches, 1U);
  EXPECT_NE(capture_text(result).find("findings"), std::string::npos);
}

TEST(CrosscheckCapture, NamesTheSplitKOrderOfItsKernels) {
  const SyntheticCapture capture;
  kernel::SyntheticKernel kernel("A100", kDense, 32, 24, 512);
  batched::GemmOperands operands;
  operands.a = &kernel.a;
  operands.b_columns = &kernel.b_columns;
  const base::Matrix<Word> d =
      batched::gemm(kernel.declared.instruction, kernel.declared.rules, operands, {.threads = 1, .split_k = 4});
  capture.write_kernel(kernel, d, {{"split_k", 4}});
  EXPECT_EQ(capture.check().mismatches(), 0U);

  capture.write_kernel(kernel, d, {{"split_k", 4}, {"reduction", "tree"}});
  const CaptureCrosscheck result = capture.check();
  EXPECT_GT(result.mismatches(), 0U);
  ASSERT_FALSE(result.kernels.front().diagnosis.fitting.empty());
  EXPECT_EQ(result.kernels.front().diagnosis.fitting.front().cause, "reduction-order");
}

TEST(CrosscheckCapture, ShowsWhichHypothesesTheProbesSupport) {
  const SyntheticCapture capture;
  const auto probe = [](const char* name, bool applies) {
    return json{{"name", name},     {"instruction", "m"},          {"applies", applies},
                {"d", "0x0001"},    {"supports", {"H1", "floor"}}, {"status", "ok"},
                {"reason", nullptr}};
  };
  capture.write("probes.json", {{"schema", "sptcsim-capture/0.1"},
                                {"probes", {probe("sparse_width", true), probe("of_another_gpu", false)}}});
  const std::string text = capture_text(capture.check());
  EXPECT_NE(text.find("sparse_width"), std::string::npos) << text;
  EXPECT_NE(text.find("0x0001 supports H1, floor"), std::string::npos) << text;
  EXPECT_EQ(text.find("of_another_gpu"), std::string::npos);
}

// Reading -----------------------------------------------------------------------------------------

TEST(ReadCapture, RefusesWhatIsNoCapture) {
  const SyntheticCapture capture;
  support::expect_input_error([&] { read_capture(capture.path() / "none"); }, {"no such directory"});
  std::filesystem::remove(capture.path() / "capture.json");
  support::expect_input_error([&] { read_capture(capture.path()); }, {"capture.json", "no such file"});
  const auto refused = [](const char* text, std::initializer_list<std::string_view> parts) {
    support::expect_input_error(
        [&] {
          Capture unused;
          parse_capture_json(text, "capture.json", unused);
        },
        parts);
  };
  refused("{}", {"schema"});
  refused(R"({"schema": "x"})", {"/schema", "sptcsim-capture/0.1"});
  refused(R"({"schema": "sptcsim-capture/0.1", "origin": "dreamt"})", {"/origin", "measured"});
  refused(R"({"schema": "sptcsim-capture/0.1", "origin": "measured", "source": "s",
              "gpu": {"name": "x", "target": "sm_999"}})",
          {"/gpu/target", "sm_999"});
  const auto refused_row = [](auto parser, const std::string& row, std::initializer_list<std::string_view> parts) {
    support::expect_input_error(
        [&] {
          Capture unused;
          parser(R"({"schema": "sptcsim-capture/0.1", "rows": [)" + row + "]}", "rows.json", unused);
        },
        parts);
  };
  refused_row(parse_microbench_json, "5", {"/rows/0"});
  refused_row(parse_microbench_json, R"({"instruction": "x", "warps": 0, "ilp": 1})", {"/rows/0/warps"});
  refused_row(parse_microbench_json,
              R"({"instruction": "x", "warps": 1, "ilp": 1, "latency_cycles": -3, "status": "ok"})",
              {"/rows/0/latency_cycles", "must be a number from 1e-9"});
  refused_row(parse_memory_json, R"({"kind": "tma", "status": "fine"})", {"/rows/0/status"});
  refused_row(parse_gemm_json, R"({"m": 1, "n": 1, "k": 1, "dtype": "f16", "variant": "half"})",
              {"/rows/0/variant", "dense"});
  refused_row(parse_power_json, R"({"m": 1, "n": 1, "k": 1, "dtype": "f16", "variant": "dense",
              "library": "own", "data": "sevens", "status": "ok"})",
              {"/rows/0/data", "zeros"});
  refused_row(parse_power_json, R"({"m": 1, "n": 1, "k": 1, "dtype": "f16", "variant": "dense",
              "library": "own", "power_w_mean": "hot", "status": "ok"})",
              {"/rows/0/power_w_mean"});
  const auto refused_key = [&](const std::string& key, const std::string& value, std::string_view allowed) {
    refused_row(parse_power_json,
                R"({"m": 1, "n": 1, "k": 1, "dtype": "f16", "variant": "dense", "library": "own",
                    "status": "ok", ")" +
                    key + "\": " + value + "}",
                {"/rows/0/" + key, allowed});
  };
  refused_key("d_dtype", R"("f12")", "f16");
  refused_key("d_dtype", "7", "string");
  refused_key("algorithm", R"("fastest")", "best");
}

TEST(PowerJson, TypeOfDAndAlgorithmMayBeMissing) {
  Capture capture;
  parse_power_json(R"({"schema": "sptcsim-capture/0.1", "rows": [
      {"m": 1, "n": 1, "k": 1, "dtype": "e4m3", "variant": "dense", "library": "own",
       "status": "ok"},
      {"m": 1, "n": 1, "k": 1, "dtype": "e4m3", "variant": "dense", "library": "cublaslt",
       "d_dtype": "bf16", "algorithm": "best", "status": "ok"}]})",
                   "power.json", capture);
  ASSERT_EQ(capture.power.size(), 2U);
  EXPECT_FALSE(capture.power[0].d_dtype);
  EXPECT_EQ(capture.power[0].algorithm, kernels::Algorithm::kHeuristic);
  EXPECT_EQ(capture.power[1].d_dtype, numerics::DataType::kBf16);
  EXPECT_EQ(capture.power[1].algorithm, kernels::Algorithm::kBest);
}

TEST(ArchitectureOf, KnowsCardsByNameAndBySms) {
  Capture capture;
  capture.gpu = "NVIDIA A100-SXM4-80GB";
  EXPECT_EQ(architecture_of(capture), "a100-sxm4-80gb");
  capture.gpu = "NVIDIA A100 80GB PCIe";
  EXPECT_EQ(architecture_of(capture), "a100-pcie-80gb");
  capture.gpu = "NVIDIA H200";
  EXPECT_EQ(architecture_of(capture), "h200-sxm");
  capture.gpu = "NVIDIA H100 NVL";
  EXPECT_EQ(architecture_of(capture), "");
  capture.sm_count = 132;
  EXPECT_EQ(architecture_of(capture), "h100-sxm5-80gb");
  capture.sm_count = 114;
  EXPECT_EQ(architecture_of(capture), "h100-pcie");
  capture.gpu = "NVIDIA H800";
  EXPECT_EQ(architecture_of(capture), "h800-pcie");
  capture.sm_count = 132;
  EXPECT_EQ(architecture_of(capture), "");
  capture.gpu = "NVIDIA GeForce GT 710";
  EXPECT_EQ(architecture_of(capture), "");
  capture.architecture = "l40s";
  EXPECT_EQ(architecture_of(capture), "l40s");
}

}  // namespace
}  // namespace sptc::check::capture
