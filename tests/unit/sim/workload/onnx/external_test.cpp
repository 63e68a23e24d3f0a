// SPDX-License-Identifier: Apache-2.0
// Weights in files beside an ONNX model.
#include "sim/io/text_file.h"
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/onnx_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::workload::onnx {
namespace {

using namespace sptc::onnx;
using sptc::onnx::input;  // hides the namespace

constexpr std::int64_t kFloat = 1;

class External : public testing::Test {
 protected:
  External() {
    std::vector<float> values;
    for (int i = 0; i < 64; ++i) {  // two of four along k, which is the first axis of w [8, 8]
      values.push_back(i / 8 % 4 < 2 ? static_cast<float>(i + 1) : 0.0F);
    }
    std::string bytes(4 + values.size() * sizeof(float), '\0');
    std::memcpy(bytes.data() + 4, values.data(), bytes.size() - 4);
    io::write_file(directory_.path() / "w.bin", bytes);
  }

  /// A model whose weight is where `entries` say.
  Recording read(const std::vector<std::pair<std::string, std::string>>& entries) const {
    std::string data;
    for (const auto& [key, value] : entries) {
      data += sptc::onnx::bytes(13, sptc::onnx::bytes(1, key) + sptc::onnx::bytes(2, value));
    }
    const std::string graph = input("x", kFloat, {5, 8}) +
                              sptc::onnx::bytes(5, tensor("w", kFloat, {8, 8}, data + number(14, 1))) +
                              node("MatMul", {"x", "w"}, "y");
    io::write_file(path_, model(graph));
    return importer::read_recording(path_);
  }

  void refuses(const std::vector<std::pair<std::string, std::string>>& entries,
               std::initializer_list<std::string_view> parts) const {
    support::expect_input_error([&] { read(entries); }, parts);
  }

  const support::TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_.path() / "x.onnx";
};

TEST_F(External, IsReadFromItsPlace) {
  const Operation op = read({{"location", "w.bin"}, {"offset", "4"}, {"length", "256"}}).workload.operations.at(0);
  ASSERT_TRUE(op.values);
  EXPECT_EQ(op.values->row(0, 1), (std::vector<float>{2, 10, 0, 0, 34, 42, 0, 0}));
  EXPECT_TRUE(op.prunable);
  EXPECT_EQ(read({{"location", "./w.bin"}, {"offset", "4"}}).workload.operations.at(0).values->largest(), 48);
}

TEST_F(External, ThatIsNotThereIsSaid) {
  const Recording recording = read({{"location", "absent.bin"}});
  EXPECT_FALSE(recording.workload.operations.at(0).values);
  EXPECT_EQ(recording.account.notes.at(2), "weights in absent.bin are not there, so that their values are generated");
}

TEST_F(External, StaysInTheDirectoryOfTheModel) {
  const std::initializer_list<std::string_view> outside{"w: the external data '", "outside of the directory"};
  refuses({{"location", "/etc/passwd"}}, outside);
  refuses({{"location", "../w.bin"}}, outside);
  refuses({{"location", "a/../../w.bin"}}, outside);
  refuses({{"location", ""}}, outside);
  std::filesystem::create_symlink("/etc/passwd", directory_.path() / "link");
  refuses({{"location", "link"}}, outside);
  std::filesystem::create_symlink("two", directory_.path() / "one");
  std::filesystem::create_symlink("one", directory_.path() / "two");
  refuses({{"location", "one"}}, {"w: the external data 'one' cannot be opened: "});
  refuses({{"location", "x.onnx"}}, {"w: its external data are the model itself"});
  refuses({{"location", "."}}, {"w: the external data '.' are no regular file"});
}

TEST_F(External, OfAModelBehindALinkMayLieBesideWhatTheLinkLeadsTo) {
  read({{"location", "w.bin"}, {"offset", "4"}});
  const support::TemporaryDirectory cache;
  std::filesystem::create_symlink(path_, cache.path() / "m.onnx");
  std::filesystem::create_symlink(directory_.path() / "w.bin", cache.path() / "w.bin");
  EXPECT_TRUE(importer::read_recording(cache.path() / "m.onnx").workload.operations.at(0).values);
}

TEST_F(External, BeyondTheEndOfAFileIsRefused) {
  refuses({{"location", "w.bin"}, {"offset", "8"}},
          {"w: 256 bytes from byte 8 on are beyond the 260 bytes of 'w.bin'"});
  refuses({{"location", "w.bin"}, {"offset", "18446744073709551615"}}, {"are beyond the 260 bytes"});
  refuses({{"location", "w.bin"}, {"offset", "-4"}}, {"the place of external data is no number"});
  refuses({{"location", "w.bin"}, {"length", "255"}}, {"w: its extents need 256 bytes, and its external data are 255"});
}

}  // namespace
}  // namespace sptc::workload::onnx
