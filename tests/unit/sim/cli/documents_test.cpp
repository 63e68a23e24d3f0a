// SPDX-License-Identifier: Apache-2.0
//
// Documents do not lie: every command of a page runs and prints the lines that stand below it, in a
// block or within a sentence, and its code stands in the file that the page names.
#include "models/base/matrix.h"
#include "sim/io/npz.h"
#include "sim/io/tensor_file.h"
#include "tests/support/onnx_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <regex>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = SPTC_SOURCE_DIR;

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A command, without the name of the program, and lines of its output.
struct Example {
  std::string arguments;
  std::vector<std::string> printed;
};

/// A block of code, and the file that the latest line "`file`:" above it names.
struct Code {
  std::string language, file, text;
};

struct Page {
  std::vector<Example> examples;
  std::vector<Code> code;
};

/// Whether a word of a command stands for what a reader has: "FILE", "--dim NAME=V", "..".
bool has_placeholder(const std::string& command) {
  static const std::regex kPlaceholder(R"((^|[ =])[A-Z]+([ =./]|$)|\.\.)");
  return std::regex_search(command, kPlaceholder);
}

/// The commands within a line. A command without an argument, or with nothing but options, is a
/// name, and so is one that stands below another.
void add_inline_commands(const std::string& line, std::vector<Example>& examples) {
  static const std::regex kCommand("`sptcsim ([^` ]+ [^`-][^`]*)`");
  static const std::regex kName("(arch|energy|sweep) (show|validate|area)");
  for (std::sregex_iterator found(line.begin(), line.end(), kCommand), end; found != end; ++found) {
    const std::string arguments = (*found)[1];
    if (!has_placeholder(arguments) && !std::regex_match(arguments, kName)) {
      examples.push_back({arguments, {}});
    }
  }
}

Page page_of(const fs::path& path) {
  const std::string indent = "    ", fence = "```";
  const std::array<std::string, 2> commands{indent + "sptcsim ", indent + "build/quickstart/sptcsim "};
  Page page;
  std::ifstream lines(path);
  std::string file;
  bool below = false, in_code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(fence)) {
      in_code = !in_code;
      if (in_code) {
        page.code.push_back({line.substr(fence.size()), file, ""});
      }
    } else if (in_code) {
      page.code.back().text += line + "\n";
    } else if (const auto command = std::find_if(commands.begin(), commands.end(),
                                                 [&](const std::string& one) { return line.starts_with(one); });
               command != commands.end()) {
      std::string arguments = line.substr(command->size());
      for (std::string more; arguments.ends_with('\\') && std::getline(lines, more);) {
        arguments.back() = ' ';
        arguments += more;
      }
      page.examples.push_back({arguments, {}});
      below = true;
    } else if (below && line.empty()) {
      continue;  // the block may go on
    } else if (below && line.starts_with(indent)) {
      page.examples.back().printed.push_back(line.substr(indent.size()));
    } else {
      below = false;
      add_inline_commands(line, page.examples);
      if (line.size() > 3 && line.front() == '`' && line.ends_with("`:")) {
        file = line.substr(1, line.size() - 3);
      }
    }
  }
  return page;
}

/// Runs the program in `directory`; its exit code.
int run_in(const fs::path& directory, const std::string& arguments) {
  const std::string command = "cd " + directory.string() + " && " + SPTC_PROGRAM + " " + arguments + " >out 2>err";
  return std::system(command.c_str());
}

/// mine.npy: the D that a reader's kernel makes of the operands of `gemm 256 128 1024`.
void write_readers_d(const fs::path& directory) {
  ASSERT_EQ(run_in(directory, "gemm 256 128 1024 --quiet --save-d readers.npz"), 0);
  for (const io::Tensor& tensor : io::read_npz(directory / "readers.npz")) {
    if (tensor.name == "gemm.sparse.d") {
      io::write_npy(directory / "mine.npy", io::as_matrix(tensor, numerics::DataType::kF32), numerics::DataType::kF32);
    }
  }
}

/// model.onnx: x [batch, seq, 512] through two weights.
void write_readers_model(const fs::path& directory) {
  constexpr std::int64_t kFloat = 1;
  const std::string extents = onnx::bytes(1, onnx::bytes(2, "batch")) + onnx::bytes(1, onnx::bytes(2, "seq")) +
                              onnx::bytes(1, onnx::number(1, 512));
  const std::string type = onnx::bytes(1, onnx::number(1, kFloat) + onnx::bytes(2, extents));
  std::ofstream(directory / "model.onnx", std::ios::binary) << onnx::model(
      onnx::bytes(11, onnx::bytes(1, "x") + onnx::bytes(2, type)) + onnx::weighted_product("up", 512, 2048, "x", "y") +
      onnx::weighted_product("down", 2048, 512, "y", "z") + onnx::output("z"));
}

/// What is expected of a page, so that a test of nothing does not pass.
struct Document {
  const char* path;
  std::size_t examples, printed, code;
};

/// The name of the test must not depend on addresses.
void PrintTo(const Document& document, std::ostream* out) {
  *out << document.path;
}

class Documents : public testing::TestWithParam<Document> {};

TEST_P(Documents, CommandsRunAndCodeIsCompiled) {
  const support::TemporaryDirectory directory;
  for (const char* const folder : {"traces", "configs", "tests"}) {
    fs::create_directory_symlink(kSource / folder, directory.path() / folder);
  }
  fs::create_directory(directory.path() / "build");
  fs::create_symlink(fs::path(SPTC_PLUGINS) / "fixed_dram.so", directory.path() / "build" / "fixed_dram.so");
  const std::string text = read(kSource / GetParam().path);
  if (text.find(" mine.npy") != std::string::npos) {
    write_readers_d(directory.path());
  }
  if (text.find(" model.onnx") != std::string::npos) {
    write_readers_model(directory.path());
  }
  const Page page = page_of(kSource / GetParam().path);
  EXPECT_GE(page.examples.size(), GetParam().examples);
  EXPECT_GE(page.code.size(), GetParam().code);
  for (const Code& code : page.code) {
    if (code.language == "json") {
      std::ofstream(directory.path() / code.file) << code.text;
    } else {
      ASSERT_TRUE(code.language == "cpp" || code.language == "cmake") << code.language;
      EXPECT_NE(read(kSource / code.file).find(code.text), std::string::npos) << code.file << " has no longer:\n"
                                                                              << code.text;
    }
  }
  std::size_t printed = 0;
  for (const Example& example : page.examples) {
    ASSERT_EQ(run_in(directory.path(), example.arguments), 0) << example.arguments << "\n"
                                                              << read(directory.path() / "err");
    const std::string out = read(directory.path() / "out");
    for (const std::string& line : example.printed) {
      ++printed;
      EXPECT_NE(out.find(line), std::string::npos) << example.arguments << "\n" << line;
    }
  }
  EXPECT_GE(printed, GetParam().printed);
}

INSTANTIATE_TEST_SUITE_P(
    Pages, Documents,
    testing::Values(Document{"README.md", 3, 12, 0}, Document{"configs/README.md", 4, 1, 0},
                    Document{"configs/ACCURACY.md", 1, 0, 0}, Document{"configs/engines/README.md", 1, 0, 0},
                    Document{"models/README.md", 3, 1, 0}, Document{"traces/README.md", 1, 0, 1},
                    Document{"traces/TUTORIAL.md", 10, 4, 0}, Document{"sim/EXTENDING.md", 5, 1, 2},
                    Document{"configs/sweeps/README.md", 4, 0, 1},
                    Document{"configs/sweeps/accumulator-bits/README.md", 1, 0, 0}, Document{"sim/README.md", 1, 6, 0},
                    Document{"sim/check/kernel/README.md", 2, 0, 0}, Document{"sim/prune/README.md", 4, 4, 0},
                    Document{"sim/cli/README.md", 11, 0, 0}, Document{"tests/README.md", 2, 0, 0},
                    Document{"tests/hardware/README.md", 1, 0, 0}, Document{"tests/hardware/DEVIATIONS.md", 1, 0, 0}),
    [](const testing::TestParamInfo<Document>& document) {
      std::string name = document.param.path;
      std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });
      return name;
    });

}  // namespace
}  // namespace sptc::cli
