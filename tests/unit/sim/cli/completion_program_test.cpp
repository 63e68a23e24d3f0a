// SPDX-License-Identifier: Apache-2.0
//
// What shells complete, written by the program of itself.
#include "tests/support/program_fixture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace {

class CompletionProgram : public sptc::support::ProgramFixture {
 protected:
  /// What bash offers where the words `line` end.
  std::string completed(const std::string& line) const {
    std::ofstream(path("sptcsim")) << "#!/bin/sh\nexec " << SPTC_PROGRAM << " \"$@\"\n";
    std::ofstream(path("complete.sh"))
        << run("help --completion bash").out << "PATH=" << temporary.path().string() << ":$PATH\nCOMP_WORDS=(" << line
        << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_sptcsim\necho \"${COMPREPLY[@]}\"\n";
    const std::string command = "chmod +x " + path("sptcsim") + " && cd " + temporary.path().string() + " && bash " +
                                path("complete.sh") + " >" + path("offered") + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << read(path("offered"));
    return read(path("offered"));
  }
};

TEST_F(CompletionProgram, BashCompletesCommandsOptionsAndTheirValues) {
  EXPECT_EQ(completed("sptcsim comp"), "compare\n");
  EXPECT_EQ(completed("sptcsim sweep rep"), "report\n");
  EXPECT_EQ(completed("sptcsim gemm 64 64 64 --power-l"), "--power-limit\n");
  EXPECT_EQ(completed("sptcsim gemm --fidelity an"), "analytic\n");
  EXPECT_EQ(completed("sptcsim run x --arch rtx4"), "rtx4090\n");
}

TEST_F(CompletionProgram, ZshCompletionNamesEveryCommand) {
  const std::string script = run("help --completion zsh").out;
  ASSERT_TRUE(script.starts_with("#compdef sptcsim\n"));
  for (const char* const part : {"_sptcsim_command_gemm() {", "'--power-limit[", "_sptcsim_command_sweep_report() {",
                                 "(datapath timing analytic)"}) {
    EXPECT_NE(script.find(part), std::string::npos) << part;
  }
  if (std::system("zsh --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "the script was not parsed: there is no zsh";
  }
  std::ofstream(path("_sptcsim")) << script;
  EXPECT_EQ(std::system(("zsh -n " + path("_sptcsim")).c_str()), 0);
}

TEST_F(CompletionProgram, RefusesAShellThatItDoesNotKnow) {
  expect_refused("help --completion fish", "fish");
}

}  // namespace
