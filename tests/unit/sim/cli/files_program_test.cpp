// SPDX-License-Identifier: Apache-2.0
//
// What the program leaves of the files that it reads and writes.
#include "tests/support/database_rows.h"
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

namespace sptc::cli {
namespace {

namespace fs = std::filesystem;

class FilesOfTheProgram : public JsonProgram {
 protected:
  /// Contents of all files, but for those of the program's own streams.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> result;
    for (const auto& entry : fs::directory_iterator(temporary.path())) {
      const std::string name = entry.path().filename().string();
      if (name != "out" && name != "err" && entry.is_regular_file()) {
        result[name] = read(entry.path());
      }
    }
    return result;
  }

  /// The run is refused because of `option`, and no file has changed.
  void expect_kept(const std::string& arguments, const std::string& option) const {
    const auto before = contents();
    expect_refused(arguments, option + ": this file is read, so it is not written over");
    EXPECT_EQ(contents(), before) << arguments;
  }

  void copy_network() const {
    for (const char* name : {"mlp.json", "mlp.safetensors"}) {
      fs::copy_file(fs::path(SPTC_SOURCE_DIR "/traces/digits") / name, path(name));
    }
  }
};

TEST_F(FilesOfTheProgram, MeasurementsAreKeptWhicheverOptionNamesThem) {
  write("m.csv", "m,n,k,time_us_median\n64,64,64,3\n");
  fs::create_symlink("m.csv", path("link.csv"));
  fs::create_hard_link(path("m.csv"), path("other-name.csv"));
  for (const std::string option : {"--rows", "--out"}) {
    for (const char* name : {"m.csv", "./m.csv", "link.csv", "other-name.csv"}) {
      expect_kept("validate " + path("m.csv") + " " + option + " " + path(name), option + " " + path(name));
    }
  }
}

TEST_F(FilesOfTheProgram, WhatAWorkloadNamesIsKept) {
  copy_network();
  for (const char* fidelity : {"analytic", "timing", "datapath"}) {
    expect_kept("run " + path("mlp.json") + " --fidelity " + fidelity + " --out " + path("mlp.safetensors"),
                "--out " + path("mlp.safetensors"));
  }
  expect_kept("run " + path("mlp.json") + " --out " + path("mlp.json"), "--out " + path("mlp.json"));
  expect_kept("run " + path("mlp.json") + " --vcd " + path("mlp.json"), "--vcd " + path("mlp.json"));
}

TEST_F(FilesOfTheProgram, WhatAnArchitectureStartsFromIsKept) {
  write("base.json", read(SPTC_SOURCE_DIR "/configs/a40.json"));
  write("derived.json", R"({"base": "base.json", "name": "derived", "description": "one SM less",
                            "sms": {"value": 83, "evidence": "assumed", "source": "a test"}})");
  for (const char* name : {"base.json", "derived.json"}) {
    expect_kept("gemm 64 64 64 --arch " + path("derived.json") + " --out " + path(name), "--out " + path(name));
  }
}

TEST_F(FilesOfTheProgram, TheSpecOfASweepIsKeptByTheCommandsThatReadIt) {
  write("w.csv", "m,n,k\n64,64,64\n");
  write("spec.json", R"({"schema": "sptcsim-sweep/0.1", "name": "small", "workloads": ["w.csv"],
                         "arch": "a40", "options": {"fidelity": "analytic"},
                         "axes": [{"option": "dtype", "values": ["f16", "bf16"]}]})");
  const std::string sweep = "sweep " + path("spec.json");
  const std::string results = path("results.sqlite");
  ASSERT_EQ(run(sweep + " --jobs 1 --db " + results).exit_code, 0) << read(path("err"));
  expect_kept("sweep report " + results + " --out " + results, "--out " + results);
  for (const char* name : {"w.csv", "spec.json"}) {
    expect_kept("sweep emit slurm " + path("spec.json") + " --shards 2 --out " + path(name), "--out " + path(name));
    expect_kept(sweep + " --db " + path(name), path(name));
  }
  fs::create_symlink("united.sqlite", path("link"));
  EXPECT_EQ(run("sweep merge " + results + " --out " + path("link")).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(support::database_rows(path("united.sqlite")), support::database_rows(results));
}

TEST_F(FilesOfTheProgram, ALinkToNoFileLeadsToTheOneThatIsWritten) {
  const std::string gemm = "gemm 64 64 64 --fidelity analytic --format csv --out ";
  fs::create_directory(path("below"));
  fs::create_symlink("below/second", path("first"));
  fs::create_symlink("target.csv", path("below/second"));
  EXPECT_EQ(run(gemm + path("first")).exit_code, 0) << read(path("err"));
  EXPECT_TRUE(fs::is_symlink(path("first")));
  EXPECT_TRUE(fs::is_symlink(path("below/second")));
  EXPECT_TRUE(read(path("below/target.csv")).starts_with("name,m,n,k"));
  fs::create_symlink("none/target.csv", path("nowhere"));
  expect_refused(gemm + path("nowhere"), "there is no directory");
  EXPECT_TRUE(fs::is_symlink(path("nowhere")));
}

TEST_F(FilesOfTheProgram, ALoopOfLinksIsRefused) {
  fs::create_symlink("a", path("b"));
  fs::create_symlink("b", path("a"));
  const std::string loop = path("a") + ": this link leads back to itself";
  expect_refused("gemm 64 64 64 --fidelity analytic --out " + path("a"), loop);
  expect_refused("gemm 64 64 64 --vcd " + path("a"), loop);
  EXPECT_TRUE(fs::is_symlink(path("a")));
}

TEST_F(FilesOfTheProgram, AFileThatIsReplacedKeepsItsMode) {
  using fs::perms;
  for (const perms mode : {perms(0600), perms(0666), perms(0444)}) {
    for (const char* name : {"x.json", "x.vcd"}) {
      write(name, "old");
      fs::permissions(path(name), mode);
    }
    ASSERT_EQ(run("gemm 64 64 64 --fidelity datapath --out " + path("x.json") + " --vcd " + path("x.vcd")).exit_code, 0)
        << read(path("err"));
    for (const char* name : {"x.json", "x.vcd"}) {
      EXPECT_EQ(fs::status(path(name)).permissions(), mode) << name;
      EXPECT_GT(fs::file_size(path(name)), 100U);
      fs::remove(path(name));
    }
  }
}

}  // namespace
}  // namespace sptc::cli
