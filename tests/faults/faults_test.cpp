// SPDX-License-Identifier: Apache-2.0
//
// A full or read-only disk, an interrupted write, a reader that is gone, and an end at any moment,
// of every command that writes. The exit code is one of those that main.cpp lists. A file is the
// old one or the whole new one, nothing else is left beside it, and what was done can be repeated.
#include "models/base/random.h"
#include "tests/support/database_rows.h"
#include "tests/support/program_process.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sptc::faults {
namespace {

const std::string kSource = SPTC_SOURCE_DIR;

/// A command that writes one file, OUT among its arguments.
struct WritingCommand {
  std::string name;
  std::string arguments;
  enum class OldFile {
    kReplaced,
    kRefused,
    kContinued,  ///< results of a sweep grow
  } old_file = OldFile::kReplaced;
};
using OldFile = WritingCommand::OldFile;

std::ostream& operator<<(std::ostream& out, const WritingCommand& command) {
  return out << command.name;
}

const std::string kCorpus = kSource + "/tests/fuzz/corpus/";
const std::vector<WritingCommand> kCommands = {
    {"gemm", "gemm 64 64 64 --fidelity datapath --format json --quiet --out OUT"},
    {"page", "gemm 64 64 64 --quiet --html OUT"},
    {"waveform", "gemm 16 16 16 --quiet --vcd OUT"},
    {"timeline", "gemm 16 16 32 --quiet --timeline OUT"},
    {"operands", "gemm 16 16 32 --quiet --save-operands OUT.npz"},
    {"results", "gemm 16 16 32 --quiet --save-d OUT.npz"},
    {"run", "run " + kSource + "/traces/digits/mlp.json --format csv --quiet --out OUT"},
    {"analytic", "gemm 4096 4096 4096 --fidelity analytic --check none --format json --out OUT"},
    {"compare", "compare " + kSource + "/traces/bert_base.json --fidelity analytic --check none --quiet --out OUT"},
    {"prune", "prune " + kCorpus + "model/two.safetensors --out OUT.safetensors"},
    {"convert", "convert " + kCorpus + "converted_model/canonical.safetensors --layout dense --out OUT.npz"},
    {"import", "import " + kCorpus + "kineto/profile.json --out OUT"},
    {"plan", "plan " + kCorpus + "onnx_model/weights.onnx --dtype f16 --csv OUT"},
    {"validate", "validate " + kCorpus + "measurements/rows.csv --fidelity analytic --quiet --rows OUT"},
    {"show", "show mma.sp.m16n8k32.f32.f16.f16.f32 --html OUT"},
    {"microbench", "microbench --instruction mma.m16n8k16.f32.f16.f16.f32 --format csv --out OUT"},
    {"report", "sweep report " + kCorpus + "sweep_results/whole.sqlite --format html --out OUT"},
    {"merge", "sweep merge " + kCorpus + "sweep_results/whole.sqlite --out OUT", OldFile::kRefused},
    {"sweep", "sweep " + kCorpus + "sweep_spec/small.json --jobs 1 --quiet --db OUT", OldFile::kContinued},
};

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> result(1);
  for (const char c : text) {
    if (c == ' ') {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

using Environment = std::map<std::string, std::string>;

class Faults : public testing::TestWithParam<WritingCommand> {
 protected:
  const support::TemporaryDirectory temporary;
  const std::string place = (temporary.path() / "out").string();
  std::string file = place;     ///< that the command writes
  std::string whole;            ///< what it writes where nothing fails
  std::uint64_t length_us = 0;  ///< of an undisturbed run

  void SetUp() override {
    if (support::kAddressSanitizer) {
      GTEST_SKIP() << "the library of AddressSanitizer wants to be loaded before ours";
    }
    const std::string& arguments = GetParam().arguments;
    const std::size_t at = arguments.find("OUT");
    file += arguments.substr(at + 3, arguments.find(' ', at) - (at + 3));
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(run({}), 0) << message();
    length_us = static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begin) / std::chrono::microseconds(1));
    whole = content();
    ASSERT_FALSE(whole.empty());
  }

  /// What counts of the file: the rows of a database, else the bytes.
  std::string content() const {
    const std::string bytes = read(file);
    return bytes.starts_with("SQLite format 3") ? support::database_rows(file) : bytes;
  }

  /// The process of the command, with variables of the environment. Its standard output is
  /// `output`, or goes nowhere.
  pid_t start(const Environment& environment, int output = -1) const {
    std::vector<std::string> all = words(std::string(SPTC_PROGRAM) + " " + GetParam().arguments);
    std::vector<char*> argv;
    for (std::string& word : all) {
      if (const std::size_t at = word.find("OUT"); at != std::string::npos) {
        word.replace(at, 3, place);
      }
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      for (const auto& [name, value] : environment) {
        ::setenv(name.c_str(), value.c_str(), 1);
      }
      const std::string err = (temporary.path() / "err").string();
      ::dup2(output < 0 ? ::open("/dev/null", O_WRONLY) : output, STDOUT_FILENO);
      ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      ::execv(SPTC_PROGRAM, argv.data());
      ::_exit(127);
    }
    return child;
  }

  int run(const Environment& environment) const { return support::wait_for_program(start(environment)); }

  std::string message() const { return read(temporary.path() / "err"); }

  /// Puts a file there that is to be replaced.
  void put_old_file() const {
    std::filesystem::remove(file);
    if (GetParam().old_file == OldFile::kReplaced) {
      std::ofstream(file) << "old";
    }
  }

  /// Whether the file is the old one or the whole new one. A sweep that is repeated completes its
  /// results.
  void expect_old_or_whole(const std::string& what) const {
    if (GetParam().old_file == OldFile::kContinued) {
      ASSERT_EQ(run({}), 0) << what << ", repeated: " << message();
      ASSERT_EQ(content(), whole) << what << ", repeated";
    } else {
      const std::string found = std::filesystem::exists(file) ? content() : "none";
      const char* const before = GetParam().old_file == OldFile::kReplaced ? "old" : "none";
      ASSERT_TRUE(found == before || found == whole) << what << " left " << found.size() << " bytes";
    }
  }

  /// Whether no file is there but those that were asked for and those of the results of a sweep. A
  /// waveform has a .gtkw file. A process that was `killed` may leave files with its number in
  /// their names, which are removed.
  void expect_nothing_beside(const std::string& what, pid_t killed = 0) const {
    const std::string own = std::filesystem::path(file).filename().string();
    const std::set<std::string> usual = {own,          own + "-wal", own + "-shm", own + "-journal",
                                         own + ".run", "err",        "count",      own + ".gtkw"};
    const std::string number = "." + std::to_string(killed) + ".";
    for (const auto& entry : std::filesystem::directory_iterator(temporary.path())) {
      const std::string name = entry.path().filename().string();
      if (killed != 0 && name.starts_with(own) && name.find(number) != std::string::npos) {
        std::filesystem::remove(entry.path());
      } else {
        EXPECT_TRUE(usual.contains(name)) << what << " left " << name;
      }
    }
  }

  std::uint64_t writes() const {
    const std::string count = (temporary.path() / "count").string();
    put_old_file();
    EXPECT_EQ(run({{"LD_PRELOAD", SPTC_FAILING_CALLS}, {"SPTC_COUNT_FILE", count}}), 0);
    std::uint64_t made = 0;
    std::ifstream(count) >> made;
    return made;
  }

  /// Lets `call` number `number` fail.
  void fail(const std::string& call, std::uint64_t number) const {
    const std::string what = call + " " + std::to_string(number);
    put_old_file();
    const int code = run(
        {{"LD_PRELOAD", SPTC_FAILING_CALLS}, {"SPTC_FAIL_CALL", call}, {"SPTC_FAIL_NUMBER", std::to_string(number)}});
    const std::string said = message();
    ASSERT_TRUE(code == 0 || code == 2) << what << " ended with " << code << ": " << said;
    if (code == 0 && GetParam().old_file != OldFile::kContinued) {
      ASSERT_EQ(content(), whole) << what;
    } else if (code == 2) {
      // Its last line: an import says what it takes before it writes.
      const std::size_t begin = said.rfind('\n', said.size() - 2) + 1;
      ASSERT_TRUE(said.substr(begin).starts_with("sptcsim: error: ")) << what << ": " << said;
    }
    if (call == "interrupt" || call == "short") {
      ASSERT_EQ(code, 0) << what << ": " << said;
    }
    expect_nothing_beside(what);
    expect_old_or_whole(what);
  }

  /// Sends `signal` at some moment of each of so many runs.
  void end_runs(int signal, std::uint64_t times) const {
    constexpr int kInterrupted = 130;
    constexpr int kEnded = 1000;  // beside the signal that ended the process
    for (std::uint64_t i = 0; i < times; ++i) {
      put_old_file();
      const pid_t child = start({});
      const auto draw = static_cast<std::uint64_t>(signal) * 1000000 + i;
      const std::uint64_t us = random.below(draw, length_us + length_us / 8);
      ::usleep(static_cast<useconds_t>(us));
      ::kill(child, signal);
      const int code = support::wait_for_program(child);
      const std::string what = "signal " + std::to_string(signal) + " after " + std::to_string(us) + " us";
      // Before the program begins, SIGTERM ends its process.
      ASSERT_TRUE(code == 0 || code == kInterrupted || code == kEnded + signal)
          << what << " ended with " << code << ": " << message();
      expect_nothing_beside(what, signal == SIGKILL ? child : 0);
      expect_old_or_whole(what);
    }
  }

  /// How often each thing fails: $SPTC_FAULTS, or a number that CI can afford.
  static std::uint64_t runs(std::uint64_t usual) {
    const char* const wanted = std::getenv("SPTC_FAULTS");
    return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
  }

  const base::RandomStream random = base::RandomStream(20261125).fork(GetParam().name);
};

TEST_P(Faults, OfTheDisk) {
  const std::uint64_t made = writes();
  ASSERT_GT(made, 0U);
  for (std::uint64_t i = 0; i < runs(2); ++i) {
    fail("write", 1 + random.below(1000000 + i, made));
    fail(i % 2 == 0 ? "interrupt" : "short", 1 + random.below(2000000 + i, made));
  }
}

TEST_P(Faults, OfAProcessThatIsKilled) {
  end_runs(SIGKILL, runs(3));
}

TEST_P(Faults, OfAProcessThatIsAskedToEnd) {
  end_runs(SIGTERM, runs(2));
}

TEST_P(Faults, OfAReaderThatIsGone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::close(ends[0]);
  put_old_file();
  const int code = support::wait_for_program(start({}, ends[1]));
  ::close(ends[1]);
  EXPECT_TRUE(code == 0 || code == 1000 + SIGPIPE) << code << ": " << message();
  expect_nothing_beside("a reader that is gone");
  expect_old_or_whole("a reader that is gone");
}

TEST_P(Faults, OfAReadOnlyDisk) {
  put_old_file();
  const bool was_there = std::filesystem::exists(file);
  const int code = run({{"LD_PRELOAD", SPTC_FAILING_CALLS}, {"SPTC_FAIL_CALL", "create"}, {"SPTC_FAIL_NUMBER", "1"}});
  EXPECT_EQ(code, 2) << message();
  EXPECT_NE(message().find("sptcsim: error: "), std::string::npos) << message();
  EXPECT_NE(message().find(std::filesystem::path(file).filename().string()), std::string::npos) << message();
  expect_nothing_beside("a read-only disk");
  EXPECT_EQ(std::filesystem::exists(file), was_there);
  EXPECT_TRUE(!was_there || read(file) == "old");
}

TEST_P(Faults, OfTwoProcessesThatWriteOneFile) {
  if (GetParam().old_file != OldFile::kReplaced) {
    return;  // the tests of sweeps lock and merge
  }
  for (std::uint64_t i = 0; i < runs(1); ++i) {
    put_old_file();
    const pid_t first = start({});
    ::usleep(static_cast<useconds_t>(random.below(5000000 + i, length_us / 2)));
    const pid_t second = start({});
    EXPECT_EQ(support::wait_for_program(first), 0) << message();
    EXPECT_EQ(support::wait_for_program(second), 0) << message();
    EXPECT_EQ(content(), whole);
    expect_nothing_beside("two processes");
  }
}

/// Each point has a process. Of its answer either the header or what follows it arrives with all
/// bits inverted.
TEST(FaultsOfWorkers, AnAnswerOfGarbageCostsItsPointAlone) {
  const support::TemporaryDirectory temporary;
  const auto path = [&](const std::string& name) { return (temporary.path() / name).string(); };
  std::ofstream(path("s.json")) << R"({"schema": "sptcsim-sweep/0.1", "name": "s",
      "workloads": [{"m": 64, "n": 64, "k": 64}], "options": {"fidelity": "timing"},
      "axes": [{"option": "dtype", "values": ["f16", "bf16", "s8"]}]})";
  const auto sweep = [&](const std::string& environment, const std::string& db) {
    const std::string command = environment + " " SPTC_PROGRAM " sweep " + path("s.json") +
                                " --jobs 1 --quiet --retry-failed --db " + path(db) + " >/dev/null 2>" + path("err");
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  };
  ASSERT_EQ(sweep("", "whole"), 0) << read(path("err"));
  // The header and the bytes of an outcome, the header that ends an answer, and the next outcome.
  for (const int number : {1, 2, 3, 4}) {
    const std::string db = "garbled" + std::to_string(number);
    const int code =
        sweep("LD_PRELOAD=" SPTC_FAILING_CALLS " SPTC_FAIL_CALL=garble SPTC_FAIL_NUMBER=" + std::to_string(number), db);
    EXPECT_TRUE(code == 1 || (code == 0 && number > 2)) << code << ": " << read(path("err"));
    EXPECT_EQ(sweep("", db), 0) << read(path("err"));
    EXPECT_EQ(support::database_rows(path(db)), support::database_rows(path("whole"))) << number << ", once repeated";
  }
}

/// `prune` of a directory of four shards to another one.
class DirectoryFaults : public testing::Test {
 protected:
  static constexpr int kShards = 4;
  const support::TemporaryDirectory temporary;
  const std::filesystem::path in = temporary.path() / "in", out = temporary.path() / "out";
  std::map<std::string, std::string> whole;  ///< what a run that nothing disturbs writes
  std::uint64_t length_us = 0;               ///< of that run

  void SetUp() override {
    if (support::kAddressSanitizer) {
      GTEST_SKIP() << "the library of AddressSanitizer wants to be loaded before ours";
    }
    std::filesystem::create_directory(in);
    std::string index;
    for (int shard = 0; shard < kShards; ++shard) {
      const std::string name = std::to_string(shard) + ".safetensors";
      put_shard(name, shard);
      index += (shard == 0 ? "" : ", ") + ("\"w" + std::to_string(shard)) + ".weight\": \"" + name + '"';
    }
    std::ofstream(in / "model.safetensors.index.json") << "{\"weight_map\": {" + index + "}}";
    std::ofstream(in / "config.json") << R"({"model_type": "tiny"})";
    std::ofstream(in / "tokenizer.json") << std::string(100000, ' ');
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(run(), 0) << message();
    length_us = static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begin) / std::chrono::microseconds(1));
    whole = files();
    ASSERT_EQ(whole.size(), kShards + 4U);
  }

  /// A weight of 512 x 512 words of f32.
  void put_shard(const std::string& name, int shard) const {
    constexpr std::size_t kElements = 512 * 512;
    std::string header = R"({"w)" + std::to_string(shard) +
                         R"(.weight": {"dtype": "F32", "shape": [512, 512], "data_offsets": [0, )" +
                         std::to_string(4 * kElements) + "]}}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::vector<float> values(kElements);
    for (std::size_t i = 0; i < kElements; ++i) {
      values[i] = static_cast<float>(1 + (i * 7919 + static_cast<std::size_t>(shard)) % 1009);
    }
    std::ofstream file(in / name, std::ios::binary);
    const std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header;
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(4 * kElements));
  }

  pid_t start(const Environment& environment = {}) const {
    for (const auto& [name, value] : environment) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    const pid_t child =
        support::start_program({"prune", in.string(), "--out", out.string()}, "/dev/null", temporary.path() / "err");
    for (const auto& [name, value] : environment) {
      ::unsetenv(name.c_str());
    }
    return child;
  }
  int run(const Environment& environment = {}) const { return support::wait_for_program(start(environment)); }
  std::string message() const { return read(temporary.path() / "err"); }

  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> result;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(out, error)) {
      result[entry.path().filename().string()] = read(entry.path());
    }
    return result;
  }

  /// Whether each file is whole or not there, and a second run completes them without writing
  /// again a shard that the manifest has.
  void expect_whole_once_repeated(const std::string& what) const {
    std::map<std::string, std::filesystem::file_time_type> before;
    const auto found = files();
    const std::string manifest = found.contains("sptcsim-shards.json") ? found.at("sptcsim-shards.json") : "";
    for (const auto& [name, bytes] : found) {
      if (!name.ends_with(".tmp") && name != "sptcsim-shards.json") {
        EXPECT_EQ(bytes, whole.at(name)) << what << " left another " << name;
      }
      if (manifest.find('"' + name + '"') != std::string::npos) {
        before[name] = std::filesystem::last_write_time(out / name);
      }
    }
    ASSERT_EQ(run(), 0) << what << ", repeated: " << message();
    EXPECT_EQ(files(), whole) << what << ", repeated";
    for (const auto& [name, time] : before) {
      EXPECT_EQ(std::filesystem::last_write_time(out / name), time) << what << ": " << name;
    }
  }
};

TEST_F(DirectoryFaults, OfAProcessThatEndsAtAnyMoment) {
  const base::RandomStream random(20261129);
  for (std::uint64_t i = 0; i < 10; ++i) {
    std::filesystem::remove_all(out);
    const pid_t child = start();
    const std::uint64_t us = random.below(i, length_us + length_us / 8);
    ::usleep(static_cast<useconds_t>(us));
    ::kill(child, i % 4 == 3 ? SIGTERM : SIGKILL);
    support::wait_for_program(child);
    expect_whole_once_repeated("an end after " + std::to_string(us) + " us");
  }
}

TEST_F(DirectoryFaults, OfTheDisk) {
  const std::string count = (temporary.path() / "count").string();
  std::filesystem::remove_all(out);
  ASSERT_EQ(run({{"LD_PRELOAD", SPTC_FAILING_CALLS}, {"SPTC_COUNT_FILE", count}}), 0);
  std::uint64_t made = 0;
  std::ifstream(count) >> made;
  ASSERT_GT(made, 0U);
  for (std::uint64_t number = 1; number <= made; number += 1 + made / 12) {
    std::filesystem::remove_all(out);
    const int code = run({{"LD_PRELOAD", SPTC_FAILING_CALLS},
                          {"SPTC_FAIL_CALL", "write"},
                          {"SPTC_FAIL_NUMBER", std::to_string(number)}});
    const std::string what = "write " + std::to_string(number);
    EXPECT_TRUE(code == 0 || code == 2) << what << " ended with " << code << ": " << message();
    expect_whole_once_repeated(what);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Faults, testing::ValuesIn(kCommands), [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace sptc::faults
