// SPDX-License-Identifier: Apache-2.0
//
// The manual page and what shells complete, written by the program of itself.
#include "tests/support/program_fixture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace {

class ManualProgram : public sptc::support::ProgramFixture {
 protected:
  /// What bash offers where the words `line` end.
  std::string completed(const std::string& line) const {
    std::ofstream(path("sptcsim")) << "#!/bin/sh\nexec " << SPTC_PROGRAM << " \"$@\"\n";
    std::ofstream(path("complete.sh"))
        << run("help --completion bash").out << "PATH=" << temporary.path().string()
        << ":$PATH\nCOMP_WORDS=(" << line
        << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_sptcsim\necho \"${COMPREPLY[@]}\"\n";
    const std::string command = "chmod +x " + path("sptcsim") + " && cd " +
                                temporary.path().string() + " && bash " + path("complete.sh") +
                                " >" + path("offered") + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << read(path("offered"));
    return read(path("offered"));
  }
};

TEST_F(ManualProgram, PageHasEveryOptionOfEveryCommand) {
  const std::string page = run("help --man").out;
  ASSERT_TRUE(page.starts_with(".TH SPTCSIM 1 ")) << page.substr(0, 80);
  for (const char* const command : {"run", "gemm", "compare", "validate", "show", "sweep report"}) {
    EXPECT_NE(page.find(std::string(".SS ") + command + "\n"), std::string::npos) << command;
    std::istringstream help(run("help " + std::string(command)).out);
    for (std::string line; std::getline(help, line);) {
      const std::size_t at = line.find("--");
      if (at != 2) {
        continue;
      }
      std::string name = line.substr(at, line.find_first_of(" ,", at) - at);
      for (std::size_t dash = 0; (dash = name.find('-', dash)) != std::string::npos; dash += 2) {
        name.insert(dash, "\\");
      }
      EXPECT_NE(page.find("\\fB" + name + "\\fR"), std::string::npos) << command << " " << name;
    }
  }
}

TEST_F(ManualProgram, PageIsGoodRoff) {
  if (std::system("groff --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "not run: there is no groff";
  }
  std::ofstream(path("page.1")) << run("help --man").out;
  const std::string command = "groff -man -Tutf8 -P-cbou -ww " + path("page.1") + " >" +
                              path("page") + " 2>" + path("warnings");
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read(path("warnings")), "");
  EXPECT_NE(read(path("page")).find("EXIT STATUS"), std::string::npos);
}

TEST_F(ManualProgram, BashCompletesCommandsOptionsAndTheirValues) {
  EXPECT_EQ(completed("sptcsim comp"), "compare\n");
  EXPECT_EQ(completed("sptcsim sweep rep"), "report\n");
  EXPECT_EQ(completed("sptcsim gemm 64 64 64 --power-l"), "--power-limit\n");
  EXPECT_EQ(completed("sptcsim gemm --fidelity an"), "analytic\n");
  EXPECT_EQ(completed("sptcsim run x --arch rtx4"), "rtx4090\n");
}

TEST_F(ManualProgram, ZshCompletionNamesEveryCommand) {
  const std::string script = run("help --completion zsh").out;
  ASSERT_TRUE(script.starts_with("#compdef sptcsim\n"));
  for (const char* const part :
       {"_sptcsim_command_gemm() {", "'--power-limit[", "_sptcsim_command_sweep_report() {",
        "(datapath timing analytic)"}) {
    EXPECT_NE(script.find(part), std::string::npos) << part;
  }
  if (std::system("zsh --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "the script was not parsed: there is no zsh";
  }
  std::ofstream(path("_sptcsim")) << script;
  EXPECT_EQ(std::system(("zsh -n " + path("_sptcsim")).c_str()), 0);
}

TEST_F(ManualProgram, RefusesAShellThatItDoesNotKnow) {
  expect_refused("help --completion fish", "fish");
}

}  // namespace
