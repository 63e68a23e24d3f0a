// SPDX-License-Identifier: Apache-2.0
//
// The program as a user meets it: exit codes, messages, and what is left on disk.
#include "tests/unit/sim/cli/program.h"

#include "tests/support/program_process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <signal.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace sptc::cli {
namespace {

using Outcome = support::ProgramOutcome;

TEST_F(Program, GpusBeforeAmpereMultiplyDenseWithInstructionsOfTheirOwn) {
  const auto check = [&](const std::string& arch, const std::string& more, const char* instruction) {
    const Outcome outcome = run("gemm 72 40 200 --format json --arch " + arch + more);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto operation = nlohmann::json::parse(outcome.out).at("operations").at(0);
    EXPECT_TRUE(operation.at("sparse").is_null());
    EXPECT_EQ(operation.at("dense").at("kernel").at("instruction"), instruction);
    EXPECT_EQ(operation.at("dense").at("check").at("elements"), 72 * 40);
    EXPECT_EQ(operation.at("dense").at("check").at("mismatches"), 0);
    expect_has(outcome.out, "has no sparse matrix instructions");
  };
  const char* volta = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32";
  const char* turing = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";
  const char* turing_s8 = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32";
  for (const std::string mode : {" --check exact", " --check eigen"}) {
    check("v100-sxm2-16gb", mode, volta);
    check("t4", mode, turing);
    check("rtx2080ti", " --dtype s8" + mode, turing_s8);
    check("t4", " --fidelity datapath" + mode, turing);
  }
  // The data path takes m16n8; nothing before Ampere is sparse, nor takes bf16.
  const std::string gemm = "gemm 72 40 200 --arch ";
  expect_refused(gemm + "v100-sxm2-16gb --fidelity datapath", "m8n8k4");
  expect_refused(gemm + "t4 --dtype s8 --fidelity datapath", "m8n8k16");
  expect_refused(gemm + "t4 --variants sparse", "selector");
  expect_refused(gemm + "v100-sxm2-16gb --dtype bf16", "near ones");
}

TEST_F(Program, SaysThatFp8IsLoweredOnlyOfKernelsThatAre) {
  for (const std::string board : {"H100", "H200", "B200"}) {
    const std::string gemm = "gemm 4096 512 4096 --dtype e4m3 --fidelity analytic --arch " + board;
    expect_output_without(gemm, "multiply fp8 as f16");
    expect_output(gemm + " --tile 64x64x64 --stages 3", "run as mma.sync");
    expect_output(gemm + " --tile 64x64x64 --stages 3", "multiply fp8 as f16");
  }
}

TEST_F(Program, TakesTypesByTheNamesThatOthersHave) {
  const std::string gemm = " --fidelity analytic --check none --format json";
  const auto type_of = [&](const std::string& name, const std::string& arch) {
    const Outcome outcome = run("gemm 4096 512 4096 --dtype " + name + " --arch " + arch + gemm);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto result = nlohmann::json::parse(outcome.out);
    return result["operations"][0]["dtype"].get<std::string>() + " " + result["options"]["dtype"].get<std::string>();
  };
  EXPECT_EQ(type_of("nvfp4", "b200"), "e2m1 nvfp4");
  EXPECT_EQ(type_of("FP4", "b200"), "e2m1 nvfp4");
  EXPECT_EQ(type_of("mxfp4", "b200"), "e2m1 mxfp4");
  EXPECT_EQ(type_of("mxfp8", "rtx5080"), "e4m3 mxfp8");
  EXPECT_EQ(type_of("fp8", "h100"), "e4m3 e4m3");
  EXPECT_EQ(type_of("fp16", "a100"), "f16 f16");
  EXPECT_EQ(type_of("int8", "a100"), "s8 s8");
  EXPECT_EQ(type_of("weights=nvfp4,lm_head=mxfp8", "b200"), "e2m1 nvfp4, lm_head mxfp8");
  expect_refused("gemm 64 64 64 --dtype nvfp4 --arch h100" + gemm, "multiplies no blocks with scales");
  expect_refused("gemm 1 1 1 --dtype nvfp4 --scale-block 32 --arch b200",
                 "--scale-block 32 contradicts --dtype nvfp4, whose blocks have 16 elements");
  expect_refused("gemm 1 1 1 --dtype e2m1 --arch b200", "e2m1 needs a scale for each 16 elements");
}

TEST_F(Program, WritesTheReportToAFile) {
  write("m.csv", "m,n,k,time_us_median\n64,64,64,5\n");
  for (const auto& [command, part] :
       {std::pair<std::string, std::string>{"gemm 16 16 16 --format csv", "name,m,n,k"},
        {"validate --fidelity analytic " + path("m.csv"), "1 measured GEMMs"},
        {"microbench --instruction ldmatrix.x1 --format csv", "instruction,sparse,warps,ilp,"}}) {
    const Outcome outcome = run(command + " --out " + path("x"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    expect_has(read(path("x")), part);
    EXPECT_EQ(files(), 2u);
  }
}

TEST_F(Program, RefusesUnknownWordsWithTheNearest) {
  expect_refused("", "run, gemm, arch");
  expect_refused("rnu", "'run'");
  expect_refused("run", "run: FILE is required");
  expect_refused("sweep plan", "sweep plan: SPEC is required");
  expect_refused("gemm 1 1 1 --html", "gemm: --html needs a value: FILE");
  expect_refused("gemm 1 1 1 --dtype f16 --dtype s8", "gemm: --dtype is given more than once");
  expect_refused("arch lst", "'list'");
  expect_refused("gemm 1 1 1 --fidelty timing", "'--fidelity'");
  expect_refused("gemm 1 1 1 --fidelity datapth", "'datapath'");
  expect_refused("gemm 1 1 1 --variants spars", "'sparse'");
  expect_refused("gemm 1 1 1 --dtype fp17", "'fp16'");
  expect_refused("gemm 1 1 1 --data relo", "'relu'");
  expect_refused("gemm 1 1 1 --check eigne", "'eigen'");
  expect_refused("gemm 1 1 1 --format jsn", "'json'");
  expect_refused("gemm 1 1 1 --arch a100-sxm4-80g", "'a100-sxm4-80gb'");
  expect_refused("gemm 1 1 1 --arch A100-SXM4-8", "nearest valid: 'a100-sxm4-80gb'");
  expect_refused("gemm 1 1 1 --dtype nvfp5", "nearest valid: 'nvfp4'");
  expect_refused("gemm 1 1 1 --dtype f32", "(that is 'tf32'");
  expect_refused("gemm 1 1 1 --dtype e4m3", "near ones: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32");
  expect_refused("mma --jobs 2", "'--jobs' (that is an option of ");
}

TEST_F(Program, RefusesOptionsOfSmsWhereNoneIsSimulated) {
  for (const std::string option : {"--no-extrapolate", "--vcd"}) {
    expect_refused("gemm 1 1 1 --fidelity analytic " + option + (option == "--vcd" ? " " + path("x.vcd") : ""),
                   option + " has no effect with --fidelity analytic");
  }
}

TEST_F(Program, RefusesSizesThatAreNoneOrTooLarge) {
  expect_refused("gemm 0 1 1", "M must be an integer from 1 to 2147483647, not '0'");
  expect_refused("gemm 1 -5 1", "-5");
  expect_refused("gemm 1 1 2.5", "K must be an integer");
  expect_refused("gemm 1 1 99999999999999999999", "K must be an integer");
  expect_refused("gemm 1 1", "K");
  expect_refused("gemm 1 1 1 1", "unexpected argument '1'");
  expect_refused("gemm 1 1 1 --batch 0", "--batch must be");
  expect_refused("gemm 2147483647 2147483647 2147483647", "do not fit 64 bits");
  // So do the tiles of one k, padded.
  expect_refused("gemm 2147483647 2147483647 1", "do not fit 64 bits");
  write("huge.csv", "m,n,k,time_us_median\n2147483647,2147483647,2147483647,3\n");
  expect_refused("validate " + path("huge.csv"), "do not fit 64 bits");
  expect_refused("gemm 4000000 4000000 64 --fidelity datapath", "memory");
}

TEST_F(Program, NotesGemmsThatTheMemoryOfTheBoardDoesNotHold) {
  const std::string large = "gemm 1000000 1000000 1000000 --fidelity analytic --quiet --format json";
  expect_output(large, "A, B and D of 'gemm' take 5588 GiB with dense weights, more than the 80 GiB of a100-sxm4-80gb");
  expect_output_without("gemm 100000 100000 100000 --fidelity analytic --quiet --format json", "more than the 80 GiB");
}

TEST_F(Program, RefusesValuesThatOptionsDoNotTake) {
  expect_refused("gemm 1 1 1 --seed -5", "--seed must be");
  expect_refused("gemm 1 1 1 --seed 18446744073709551616", "--seed must be");
  expect_refused("gemm 1 1 1 --clock nan", "--clock must be");
  expect_refused("gemm 1 1 1 --clock -1410", "--clock must be");
  expect_refused("gemm 1 1 1 --clock 1e999", "--clock must be");
  for (const std::string clock : {"0.999", "1e-300", "100001"}) {
    expect_refused("gemm 1 1 1 --fidelity analytic --clock " + clock,
                   "a number of MHz from 1 to 100000, not '" + clock + "'");
  }
  EXPECT_EQ(run("gemm 1 1 1 --fidelity analytic --clock 1").exit_code, 0);
  expect_refused("gemm 1 1 1 --tile 128x128", "--tile must be");
  expect_refused("gemm 1 1 1 --tile 0x128x32", "--tile must be");
  expect_refused("gemm 1 1 1 --tile 1025x64x64", "from 1 to 1024");
  expect_refused("gemm 1 1 1 --stages 0", "--stages must be");
  expect_refused("gemm 1 1 1 --stages 17", "from 1 to 16");
  expect_refused("gemm 1 1 1 --split-k 65", "from 1 to 64");
  expect_refused("gemm 1 1 1 --arch", "--arch");
  expect_refused("gemm 1 1 1 --tile ''", "--tile: the value is empty");
  expect_refused("gemm 1 1 1 --out ''", "--out: the value is empty");
  expect_refused("gemm 4096 4096 4096 --check exact", "2^32");
}

TEST_F(Program, NamesTheFidelityThatWasAskedFor) {
  for (const std::string fidelity : {"timing", "analytic"}) {
    const Outcome outcome = run("gemm 64 64 64 --fidelity " + fidelity + " --check eigen");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_has(outcome.out, "--fidelity " + fidelity + " gives times alone");
    expect_refused("gemm 9000 9000 9000 --fidelity " + fidelity + " --check eigen",
                   "--check eigen computes every element of 'gemm', which without --fidelity "
                   "datapath is limited to 2^34");
  }
}

TEST_F(Program, SaysThatAClockIsAboveThatOfTheGpu) {
  const auto report = [&](const std::string& clock) {
    return run("gemm 64 64 64 --fidelity analytic --check none --clock " + clock).out;
  };
  expect_has(report("5000"), "note: 5000 MHz is above the boost clock of a100-sxm4-80gb");
  expect_lacks(report("1410"), "above the boost clock");
}

TEST_F(Program, RefusesFilesThatAreMissingOrLie) {
  expect_refused("run", "FILE");
  expect_refused("run " + path("none.json"), "none.json");
  expect_refused("gemm 1 1 1 --arch " + path("none.json"), "none.json");
  expect_refused("gemm 1 1 1 --data " + path("none.safetensors"), "none.safetensors");
  expect_refused("gemm 1 1 1 --a " + path("a.npy"), "--b");
  expect_refused("gemm 1 1 1 --a " + path("a.npy") + " --b " + path("b.npy"), "a.npy");
  expect_refused("gemm 1 1 1 --data relu --a " + path("a.npy") + " --b " + path("b.npy"),
                 "--data and --a/--b both say where the operands come from: give one");
  write("short.safetensors", "abc");
  expect_refused("gemm 1 1 1 --data " + path("short.safetensors"), "short.safetensors");
  write("w.json", "{\"schema\": \"gemm-workload/0.1\", \"nme\": \"x\"}");
  expect_refused("run " + path("w.json"), "nme");
  write("w.csv", "m,n,k\n4,-4,4\n");
  expect_refused("run " + path("w.csv"), "-4");
}

TEST_F(Program, RefusesPlacesWhereItCannotWriteBeforeItWorks) {
  expect_refused("gemm 1 1 1 --out " + path("no/such/x.json"), "no directory");
  expect_refused("gemm 1 1 1 --vcd " + path("no/such/x.vcd"), "no directory");
  for (const std::string option : {"--vcd", "--out"}) {  // nobody can, though root has the right to
    expect_refused("gemm 1 1 1 " + option + " /proc/x", "'/proc' cannot be written to");
    expect_refused("gemm 1 1 1 " + option + " " + path(std::string(250, 'x')), "File name too long");
  }
  expect_refused("gemm 1 1 1 --vcd " + path("x.gtkw"), "'.gtkw'");
  expect_refused("gemm 1 1 1 --vcd-window 0:9", "--vcd-window needs --vcd");
  expect_refused("gemm 1 1 1 --vcd " + path("x.vcd") + " --vcd-element 16,0", "--vcd-element");
  expect_refused("gemm 1 1 1 --out " + temporary.path().string(), "not a regular file");
}

TEST_F(Program, HelpIsACommandToo) {
  EXPECT_TRUE(run("--version").out.starts_with("sptcsim "));
  const std::string all = run("--help").out;
  EXPECT_EQ(run("help").out, all);
  EXPECT_EQ(run("help run").out, run("run --help").out);
  EXPECT_EQ(run("help arch list").out, run("arch list --help").out);
  expect_refused("help rum", "nearest valid: 'run'");
  expect_refused("hepl", "nearest valid: 'help'");
}

TEST_F(Program, CommandOfAnotherIsNoCommandOfItsOwn) {
  expect_refused("sweep run a.json", "unknown command 'run'");
  expect_refused("sweep a.json b.json", "sweep: unexpected argument 'b.json'");
  expect_refused("sweep plan a.json b.json", "sweep plan: unexpected argument 'b.json'");
  expect_refused("mma gemm 64 64 64", "mma: unexpected argument 'gemm'");
  expect_refused("energy run a.json", "unknown command 'run'");
  expect_refused("arch a.json", "one of list, show, validate stands before 'a.json'");
  expect_refused("gemm 8 8 8 --json a.json", "'--format json' prints that");
}

TEST_F(Program, ReportsAreShortUnlessAskedAndHaveNoColourInFiles) {
  const std::string text = run("gemm 256 64 256").out;
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 30);
  EXPECT_TRUE(text.starts_with("2:4 ")) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos);
  expect_has(text, "assumed numbers, whose doubled costs would add ");
  const std::string whole = run("gemm 256 64 256 --verbose").out;
  expect_has(whole, "/sm/barrier_latency_cycles");
  expect_refused("gemm 1 1 1 --verbose --format json", "--verbose");
}

TEST_F(Program, EndsWith130WhenInterruptedAndWritesNothing) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // Long enough to be caught in the middle: a datapath run of 2^33 multiply-accumulates.
    const pid_t child = support::start_program(
        {"gemm", "2048", "2048", "2048", "--fidelity", "datapath", "--out", path("x.json"), "--vcd", path("x.vcd")},
        path("out"), path("err"));
    ::usleep(500'000);  // the program is at work, or about to begin
    ::kill(child, signal);
    EXPECT_EQ(support::wait_for_program(child), 130) << signal;
    EXPECT_EQ(files(), 0u) << signal;
  }
}

TEST_F(Program, IgnoresAHangUpThatItsParentIgnores) {
  // As nohup starts it.
  ::signal(SIGHUP, SIG_IGN);
  const pid_t child = support::start_program(
      {"gemm", "256", "256", "256", "--fidelity", "datapath", "--vcd", path("x.vcd"), "--out", path("x.json")},
      path("out"), path("err"));
  ::signal(SIGHUP, SIG_DFL);
  ::usleep(200'000);
  ::kill(child, SIGHUP);
  EXPECT_EQ(support::wait_for_program(child), 0);
  EXPECT_TRUE(std::filesystem::exists(path("x.json")));
}

TEST_F(Program, SaysThatNoWeightsOfAWorkloadArePruned) {
  write("w.csv", "m,n,k,sparsity\n64,32,128,dense\n");
  const auto noted = [&](const std::string& variants) {
    const Outcome outcome = run("run " + path("w.csv") + " --variants " + variants);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.find("note: dense only: no operation has weights to prune") != std::string::npos;
  };
  EXPECT_TRUE(noted("both"));
  EXPECT_TRUE(noted("sparse"));
  EXPECT_FALSE(noted("dense"));
}

TEST_F(Program, SaysWhichPrunedWeightsNoToolPrunes) {
  const std::string note = "weights of 65 x 128 are pruned, though NVIDIA's ASP takes";
  const auto noted = [&](const std::string& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.find(note) != std::string::npos;
  };
  EXPECT_TRUE(noted("gemm 65 32 128"));
  EXPECT_FALSE(noted("gemm 65 32 128 --variants dense"));
  EXPECT_FALSE(noted("gemm 64 32 128"));
  write("w.csv", "m,n,k\n65,32,128\n64,32,120\n");
  EXPECT_TRUE(noted("run " + path("w.csv")));
  expect_has(run("run " + path("w.csv")).out, "' and 1 more operations: ");
}

}  // namespace
}  // namespace sptc::cli
