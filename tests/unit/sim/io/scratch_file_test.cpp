// SPDX-License-Identifier: Apache-2.0
#include "sim/io/scratch_file.h"

#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
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

}  // namespace
}  // namespace sptc::io
