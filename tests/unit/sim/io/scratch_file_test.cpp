// SPDX-License-Identifier: Apache-2.0
#include "sim/io/scratch_file.h"

#include "sim/io/text_file.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sptc::io {
namespace {

namespace fs = std::filesystem;

class ScratchFiles : public testing::Test {
 protected:
  const support::TemporaryDirectory temporary;

  fs::path put(const fs::path& name) const {
    support::put_file(temporary.path() / name, "x");
    return temporary.path() / name;
  }
};

TEST_F(ScratchFiles, GoWithTheirObjectsUnlessTheyAreKept) {
  const fs::path scratch = put("scratch"), kept = put("kept");
  {
    const ScratchFile one(scratch);
    ScratchFile other(kept);
    other.keep();
  }
  EXPECT_FALSE(fs::exists(scratch));
  EXPECT_TRUE(fs::exists(kept));
}

TEST_F(ScratchFiles, AreRemovedAtOnceADirectoryAfterItsFiles) {
  fs::create_directory(temporary.path() / "shards");
  ScratchFile directory(temporary.path() / "shards");
  ScratchFile first(put("shards/1")), second(put("shards/2")), kept(put("kept"));
  const ScratchFile never_made(temporary.path() / "none");
  kept.keep();
  remove_scratch_files();
  EXPECT_FALSE(fs::exists(directory.path()));
  EXPECT_TRUE(fs::exists(kept.path()));
}

TEST_F(ScratchFiles, BelongToTheProcessThatNamedThem) {
  const ScratchFile ours(put("ours"));
  const pid_t child = ::fork();
  if (child == 0) {
    remove_scratch_files();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(ours.path()));
}

TEST_F(ScratchFiles, TakeANameThatNobodyHasAndLeaveWhatOthersHave) {
  const fs::path target = temporary.path() / "r.txt";
  const auto taken = [&](int number) {
    return fs::path(fmt::format("{}.{}.{}.tmp", target.string(), ::getpid(), number));
  };
  support::put_file(taken(0), "stale");
  fs::create_directory(taken(1));
  support::put_file(taken(1) / "inside", "of somebody else");
  fs::create_symlink(put("victim"), taken(2));
  write_file(target, "new");
  EXPECT_EQ(read_text_file(target, 9), "new");
  {
    const ScratchFile one(target, [](const char* name) { return open_new(name, 0600); });
    const ScratchFile directory(target, [](const char* name) { return ::mkdir(name, 0700); });
    EXPECT_EQ(one.path(), taken(3));
    EXPECT_EQ(directory.path(), taken(4));
    ::close(one.made());
    remove_scratch_files();
    EXPECT_FALSE(fs::exists(one.path()) || fs::exists(directory.path()));
  }
  const ScratchFile nowhere(temporary.path() / "no" / "r.txt", [](const char* name) { return open_new(name, 0600); });
  EXPECT_LT(nowhere.made(), 0);
  EXPECT_EQ(nowhere.error(), ENOENT);
  EXPECT_EQ(read_text_file(taken(0), 9), "stale");
  EXPECT_EQ(read_text_file(taken(1) / "inside", 99), "of somebody else");
  EXPECT_EQ(read_text_file(temporary.path() / "victim", 9), "x");
}

}  // namespace
}  // namespace sptc::io
