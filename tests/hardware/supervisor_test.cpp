// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/supervisor.h"

#include "models/base/error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <unistd.h>

namespace sptc::hardware {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;

class Supervised : public testing::Test {
 protected:
  support::TemporaryDirectory directory;
};

// script_test.sh has an item that kills its process, and a device that is lost.
TEST_F(Supervised, AnItemThatNeverEndsIsEndedAndTheRestGoesOn) {
  const auto path = directory.path() / "capture";
  const int code = supervise(path, [&](CaptureWriter::Start start) {
    CaptureWriter writer(path, start);
    const auto fine = []() -> ItemOutcome { return {}; };
    writer.item("first", fine);
    writer.item("second", 1s, []() -> ItemOutcome {
      while (true) {
        pause();
      }
    });
    writer.item("third", fine);
    writer.finish({"simulated", "test", "now", std::nullopt, 0, false}, {});
    return 0;
  });
  EXPECT_EQ(code, 0);
  const Json items = Json::parse(std::ifstream(path / "capture.json"))["items"];
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0]["status"], "ok");
  EXPECT_EQ(items[1]["status"], "failed");
  EXPECT_EQ(items[1]["reason"], "no end within 1 s: the process was ended");
  EXPECT_EQ(items[2]["status"], "ok");
}

TEST_F(Supervised, ARefusalBeforeTheFirstItemIsTheExitCode) {
  EXPECT_EQ(supervise(directory.path() / "none", [](CaptureWriter::Start) { return 2; }), 2);
  EXPECT_THROW(supervise(directory.path() / "none",
                         [](CaptureWriter::Start) -> int {
                           ::raise(SIGKILL);
                           return 0;
                         }),
               base::InternalError);
}

TEST_F(Supervised, AProcessThatIsStuckBeforeAnItemIsEnded) {
  try {
    supervise(
        directory.path() / "stuck",
        [](CaptureWriter::Start) -> int {
          while (true) {
            pause();
          }
        },
        1s);
    ADD_FAILURE() << "it ended";
  } catch (const base::InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("no end within 1 s"), std::string::npos);
  }
}

TEST(AppendRows, AddsToWhatAnItemBeforeHasWritten) {
  const support::TemporaryDirectory directory;
  const CaptureWriter writer(directory.path() / "capture");
  append_rows(writer, "memory.json", {{"clock_mhz", 1}}, Json::array({{{"kind", "a"}}}));
  append_rows(writer, "memory.json", {{"clock_mhz", 2}}, Json::array({{{"kind", "b"}}}));
  const Json file = Json::parse(std::ifstream(writer.directory() / "memory.json"));
  EXPECT_EQ(file["clock_mhz"], 2);
  EXPECT_EQ(file["schema"], std::string(kCaptureSchema));
  ASSERT_EQ(file["rows"].size(), 2U);
  EXPECT_EQ(file["rows"][0]["kind"], "a");
  EXPECT_EQ(file["rows"][1]["kind"], "b");
}

TEST(RowTable, GoesOnAfterAFailureAndStopsWhereTheDeviceIsLostOrTimeIsUp) {
  const auto later = std::chrono::steady_clock::now() + 1h;
  const auto rows_of = [](RowTable& table) {
    const auto fine = [](Json&) {};
    table.row({{"kind", "a"}}, fine);
    table.row({{"kind", "b"}}, [](Json&) { throw std::runtime_error("broken"); });
    table.row({{"kind", "c"}}, [](Json&) { throw AbsentError("no such thing"); });
    return table.outcome("x.json");
  };
  RowTable usable(later, [] { return true; });
  EXPECT_EQ(rows_of(usable).reason, "1 of 3 rows failed, 0 were left out for want of time; the first: broken");
  EXPECT_EQ(usable.rows()[2]["status"], "absent");
  RowTable lost(later, [] { return false; });
  EXPECT_EQ(rows_of(lost).reason,
            "1 of 3 rows failed, 1 were left out because the device stopped working; the first: "
            "broken");
  RowTable late(std::chrono::steady_clock::now() - 1s, [] { return true; });
  EXPECT_EQ(rows_of(late).reason, "0 of 3 rows failed, 3 were left out for want of time");
  EXPECT_EQ(rows_of(late).status, ItemStatus::kPartial);
}

}  // namespace
}  // namespace sptc::hardware
