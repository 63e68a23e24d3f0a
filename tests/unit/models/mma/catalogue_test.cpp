// SPDX-License-Identifier: Apache-2.0
#include "models/mma/catalogue.h"

#include "models/mma/step_rules.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sptc::mma {
namespace {

using numerics::DataType;

std::string sass(std::string_view target, std::string_view instruction) {
  return find_instruction(find_target(target), parse_instruction(instruction)).sass;
}

TEST(Catalogue, KnowsTheSassNameOfEachTarget) {
  EXPECT_EQ(sass("sm_75", "m16n8k8.f32.f16.f16.f32"), "HMMA.1688.F32");
  EXPECT_EQ(sass("sm_80", "mma.sp.m16n8k32.f32.bf16.bf16.f32"), "HMMA.SP.16832.F32.BF16");
  EXPECT_EQ(sass("sm_89", "m16n8k32.f32.e5m2.e4m3.f32"), "QMMA.16832.F32.E5M2.E4M3");
  EXPECT_EQ(sass("sm_90", "m16n8k32.f32.e5m2.e4m3.f32"), "HMMA.16816.F32 x2");
  EXPECT_EQ(sass("sm_80", "m16n8k64.s32.u4.s4.s32"), "IMMA.16864.U4.S4");
  EXPECT_EQ(sass("sm_90", "m16n8k64.s32.u4.s4.s32"), "IMMA.16832.U8.S8 x2");
  EXPECT_EQ(sass("sm_80", "m16n8k32.satfinite.s32.s8.s8.s32"), "IMMA.16832.S8.S8.SAT");
  EXPECT_EQ(sass("sm_90", "m16n8k256.s32.b1.b1.s32.xor.popc"), "BMMA.168256.AND.POPC x2");
  EXPECT_EQ(sass("sm_90", "wgmma.m64n128k16.f32.f16.f16"), "HGMMA.64xNx16.F32");
  EXPECT_EQ(sass("sm_80", "m8n8k4.f64.f64.f64.f64"), "DMMA.884");
}

TEST(Catalogue, NamesTheNearOnesOfWhatATargetLacks) {
  support::expect_input_error([] { sass("V100", "m16n8k16.f32.f16.f16.f32"); },
                              {"sm_70 has no", "m8n8k4.row.col.f32.f16.f16.f32", "exists on sm_80"});
  support::expect_input_error([] { sass("A100", "m16n8k32.f32.e4m3.e4m3.f32"); },
                              {"sm_80 has no", "it exists on sm_89, sm_90, sm_100, sm_120"});
  support::expect_input_error([] { sass("H100", "m16n8k12.f32.f16.f16.f32"); },
                              {"m16n8k12", "m16n8k16", "no target has it"});
}

TEST(Catalogue, RefusesAnUnknownArchitecture) {
  support::expect_input_error([] { find_target("A10O"); }, {"'A10O'", "nearest valid: 'A100'"});
}

TEST(Catalogue, FindsTargetsByGpuArchitectureAndFeatureSet) {
  EXPECT_EQ(find_target("h200").name, "sm_90");
  EXPECT_EQ(find_target("sm_90a").name, "sm_90");
  EXPECT_EQ(find_target("Ada Lovelace").name, "sm_89");
  EXPECT_EQ(find_target("RTX Blackwell").architecture, "rtx-blackwell");
  EXPECT_EQ(find_target("RTX-1000 Ada").architecture, "ada");
}

TEST(Catalogue, FindsTheTargetOfAGpuByTheBeginningOfItsName) {
  EXPECT_EQ(target_of_gpu("a100-pcie-80gb", "ampere").name, "sm_80");  // not the A10
  EXPECT_EQ(target_of_gpu("rtx3090", "ampere").name, "sm_86");
  EXPECT_EQ(target_of_gpu("a40", "ampere").name, "sm_86");
  EXPECT_EQ(target_of_gpu("my-design", "ampere").name, "sm_80");
  EXPECT_EQ(target_of_gpu("rtx4090", "hopper").name, "sm_90");
}

TEST(Catalogue, LetsNRunInTheStepsOfTheInstruction) {
  const Target& hopper = find_target("H100");
  MmaInstruction instruction = parse_instruction("wgmma.m64n248k16.f32.f16.f16");
  EXPECT_NO_THROW(find_instruction(hopper, instruction));
  for (const int n : {0, 4, 12, 264}) {
    instruction.shape.n = n;
    EXPECT_THROW(find_instruction(hopper, instruction), base::InputError) << n;
  }
}

TEST(Catalogue, SpellsEveryNameAsItReadsIt) {
  std::set<std::string> names;
  for (const Target& target : targets()) {
    for (const CatalogueEntry& entry : instructions(target)) {
      const std::string name = entry.instruction.ptx_name();
      EXPECT_EQ(parse_instruction(name), entry.instruction) << name;
      names.insert(name);
    }
  }
  EXPECT_GT(names.size(), 200U);
  EXPECT_TRUE(names.contains("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"));
}

TEST(Catalogue, HasTheBlockScaledInstructionsOfBlackwell) {
  const auto scaled = [](std::string_view target) {
    std::vector<std::string> names;
    for (const CatalogueEntry& entry : instructions(find_target(target))) {
      if (entry.instruction.scales && entry.instruction.scales->kind != ScaledKind::kMxf8f6f4) {
        names.push_back(entry.ptx_name());
      }
    }
    return names;
  };
  EXPECT_TRUE(scaled("sm_90").empty());
  const auto on_rtx = [](const std::string& sp, const std::string& kind, int k, std::string type) {
    return "mma" + sp + ".sync.aligned.kind::" + kind + ".m16n8k" + std::to_string(k) + ".row.col.f32.e2m1.e2m1.f32." +
           type;
  };
  const auto on_b200 = [](const std::string& sp, const std::string& kind, int k, std::string type) {
    return "tcgen05.mma" + sp + ".kind::" + kind + ".m128nNk" + std::to_string(k) + ".f32.e2m1.e2m1." + type +
           " (N = 8, 16 .. 256)";
  };
  std::vector<std::string> rtx, b200;
  for (const bool sparse : {false, true}) {
    for (const auto& [kind, type] : {std::pair("mxf4.block_scale.scale_vec::2X", "ue8m0"),
                                     {"mxf4nvf4.block_scale.scale_vec::2X", "ue8m0"},
                                     {"mxf4nvf4.block_scale.scale_vec::4X", "ue8m0"},
                                     {"mxf4nvf4.block_scale.scale_vec::4X", "ue4m3"}}) {
      const int k = sparse ? 128 : 64;
      rtx.push_back(on_rtx(sparse ? ".sp::ordered_metadata" : "", kind, k, type));
      b200.push_back(on_b200(sparse ? ".sp" : "", kind, k, type));
    }
  }
  EXPECT_EQ(scaled("sm_120"), rtx);
  EXPECT_EQ(scaled("sm_100"), b200);
}

TEST(Catalogue, KnowsTheArithmeticOfAllButWhatNobodyMeasured) {
  std::set<std::string> unknown;
  for (const Target& target : targets()) {
    for (const CatalogueEntry& entry : instructions(target)) {
      if (!entry.is_software && !find_step_rules(target.architecture, entry.instruction)) {
        unknown.insert(std::string(target.name) + " m" + std::to_string(entry.instruction.shape.m) + "k" +
                       std::to_string(entry.instruction.shape.k));
      }
    }
  }
  // fp8 mma of depth 16 where it is lowered and nobody has captured it.
  EXPECT_EQ(unknown, (std::set<std::string>{"sm_100 m16k16"}));
}

TEST(Catalogue, RefusesTheArithmeticOfSoftwareRoutines) {
  support::expect_input_error(
      [] { instruction_rules(find_target("A100"), parse_instruction("m8n8k4.f32.f16.f16.f32")); },
      {"software routine", "sm_80"});
}

TEST(ParseInstruction, RefusesWhatIsNoInstruction) {
  support::expect_input_error([] { parse_instruction("m16n8k16.f32.f17.f16.f32"); }, {"'f17'"});
  support::expect_input_error([] { parse_instruction("mma.sync.f32.f16.f16.f32"); }, {"shape"});
  support::expect_input_error([] { parse_instruction("m16n8k16.f32.f16"); }, {"not 2"});
  support::expect_input_error([] { parse_instruction(""); }, {"''"});
  support::expect_input_error([] { parse_instruction("m99999999999n8k16.f32.f16.f16.f32"); }, {"m9999"});
}

TEST(ParseInstruction, SaysThatPtxItDoesNotModelIsPtx) {
  for (const char* const name : {
           "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
           "wmma.load.a.sync.aligned.row.m16n16k16.f16",
           "tcgen05.mma.cta_group::2.kind::f16",
           "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill",
           "tcgen05.mma.cta_group::1.kind::i8.collector::a::lastuse",
           "tcgen05.ld.sync.aligned.32x32b.x8.b32",
           "tcgen05.commit.cta_group::1",
           "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
           "stmatrix.sync.aligned.m8n8.x4.shared.b16",
           "movmatrix.sync.aligned.m8n8.trans.b16",
           "wgmma.commit_group.sync.aligned",
           "wgmma.fence.sync.aligned",
       }) {
    support::expect_input_error([&] { parse_instruction(name); }, {"is part of PTX, but not modelled", "mma.sp"});
  }
}

TEST(ParseInstruction, NamesTheNearestPartOfAnUnknownOne) {
  support::expect_input_error([] { parse_instruction("wgmna.m64n8k16.f32.f16.f16"); },
                              {"'wgmna' is no part of a PTX matrix instruction", "'wgmma'"});
  support::expect_input_error([] { parse_instruction("tcgen05.mma.kind::mxf5"); },
                              {"'kind::mxf5' is no part", "'kind::mxf4'"});
  support::expect_input_error([] { parse_instruction("HMMA.16816.F32"); }, {"no part of a PTX"});
}

TEST(ParseInstruction, ReadsScalesAsPtxSpellsThem) {
  struct Row {
    std::string_view name;
    BlockScales scales;
  };
  for (const Row& row : {
           Row{"mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", kMxf4Scales},
           Row{"mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1."
               "e2m1.f32.ue8m0",
               kMxf4Scales},
           Row{"mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32."
               "e2m1.e2m1.f32.ue8m0",
               kMxf4nvf4Scales[0]},
           Row{"mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32."
               "e2m1.e2m1.f32.ue8m0",
               kMxf4nvf4Scales[1]},
           Row{"mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale."
               "scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
               kNvf4Scales},
           Row{"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32."
               "ue8m0",
               kMxf8f6f4Scales},
       }) {
    const MmaInstruction instruction = parse_instruction(row.name);
    EXPECT_EQ(instruction.scales, row.scales) << row.name;
    EXPECT_NO_THROW(find_instruction(find_target("sm_120"), instruction)) << row.name;
  }
  for (const Row& row : {
           Row{"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X.m128n256k64.f32."
               "e2m1.e2m1",
               kNvf4Scales},
           Row{"tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32.m128n8k64.f32.e2m1.e2m1", kMxf4Scales},
           Row{"tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.block16.m128n24k128.f32."
               "e2m1.e2m1.ue8m0",
               kMxf4nvf4Scales[1]},
           Row{"tcgen05.mma.kind::mxf8f6f4.block_scale.m128n16k32.f32.e4m3.e4m3", kMxf8f6f4Scales},
       }) {
    const MmaInstruction instruction = parse_instruction(row.name);
    EXPECT_EQ(instruction.scales, row.scales) << row.name;
    EXPECT_NO_THROW(find_instruction(find_target("sm_100"), instruction)) << row.name;
  }
}

TEST(ParseInstruction, RefusesScalesThatPtxHasNot) {
  support::expect_input_error([] { parse_instruction("m16n8k64.kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"); },
                              {"kind::mxf4nvf4 needs scale_vec::2X or scale_vec::4X"});
  for (const char* const k : {"m16n8k2", "m16n8k66", "sp.m16n8k1"}) {
    support::expect_input_error(
        [&] {
          parse_instruction(std::string(k) + ".kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3");
        },
        {"k is no multiple of the scales of a row"});
  }
  support::expect_input_error([] { sass("sm_120", "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue4m3"); },
                              {"sm_120 has no", "kind::mxf4.block_scale.scale_vec::2X.m16n8k64", "no target has it"});
  support::expect_input_error([] { sass("sm_100", "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"); },
                              {"sm_100 has no", "it exists on sm_120"});
}

TEST(ParseInstruction, ReadsBothSpellingsOfASparseInstruction) {
  const std::string rest = ".sync.aligned.m16n8k32.row.col.f32.f16.f16.f32";
  const MmaInstruction plain = parse_instruction("mma.sp" + rest);
  const MmaInstruction ordered = parse_instruction("mma.sp::ordered_metadata" + rest);
  EXPECT_FALSE(plain.needs_order());
  EXPECT_TRUE(ordered.needs_order());
  EXPECT_NE(plain, ordered);
  EXPECT_EQ(plain.ptx_name(), "mma.sp" + rest);
  EXPECT_EQ(ordered.ptx_name(), "mma.sp::ordered_metadata" + rest);
  for (const char* const name : {"sm_80", "sm_90", "sm_120"}) {
    const Target& target = find_target(name);
    EXPECT_EQ(find_instruction(target, ordered).sass, find_instruction(target, plain).sass);
    EXPECT_EQ(instruction_rules(target, ordered).products_per_step, instruction_rules(target, plain).products_per_step);
  }
  support::expect_input_error([&] { find_instruction(find_target("sm_75"), ordered); },
                              {"sm_75 has no " + ordered.ptx_name(), "it exists on sm_80"});
  // PTX has no other spelling of block-scaled ones.
  const std::string scaled = ".m16n8k128.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0";
  EXPECT_EQ(parse_instruction("mma.sp::ordered_metadata" + scaled), parse_instruction("mma.sp" + scaled));
  EXPECT_TRUE(parse_instruction("mma.sp" + scaled).needs_order());
  for (const char* const name : {"wgmma.mma_async.sp::ordered_metadata.sync.aligned.m64n8k32.f32.f16.f16",
                                 "tcgen05.mma.sp::ordered_metadata.m128n16k32.f32.f16.f16"}) {
    support::expect_input_error([&] { parse_instruction(name); }, {"'sp::ordered_metadata' belongs to mma"});
  }
}

TEST(SpeedWarning, IsOfPlainSparseF16AndBytesOnSm120) {
  const auto warns = [](const char* target, const char* name) {
    return !speed_warning(find_target(target), parse_instruction(name)).empty();
  };
  EXPECT_TRUE(warns("sm_120", "mma.sp.m16n8k32.f32.f16.f16.f32"));
  EXPECT_TRUE(warns("sm_120", "mma.sp.m16n8k64.s32.s8.s8.s32"));
  EXPECT_TRUE(warns("sm_120", "mma.sp.m16n8k32.satfinite.s32.u8.s8.s32"));
  EXPECT_FALSE(warns("sm_120", "mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32"));
  EXPECT_FALSE(warns("sm_120", "mma.sp::ordered_metadata.m16n8k64.s32.s8.s8.s32"));
  EXPECT_FALSE(warns("sm_120", "mma.sp.m16n8k32.f32.bf16.bf16.f32"));
  EXPECT_FALSE(warns("sm_120", "mma.sp.m16n8k128.s32.s4.s4.s32"));
  EXPECT_FALSE(warns("sm_120", "mma.m16n8k16.f32.f16.f16.f32"));
  EXPECT_FALSE(warns("sm_80", "mma.sp.m16n8k32.f32.f16.f16.f32"));
}

TEST(ParseInstruction, KeepsAnAddendOfAnotherType) {
  const MmaInstruction instruction = parse_instruction("m8n8k4.f32.f16.f16.f16");
  EXPECT_EQ(instruction.c_type(), DataType::kF16);
  EXPECT_EQ(instruction.accumulator, DataType::kF32);
}

}  // namespace
}  // namespace sptc::mma
