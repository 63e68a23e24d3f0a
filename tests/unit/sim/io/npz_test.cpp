// SPDX-License-Identifier: Apache-2.0
#include "sim/io/npz.h"

#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::io {
namespace {

Tensor called(std::string name) {
  return {std::move(name), "U8", {1}, std::vector<std::byte>(1)};
}

/// The flags of the only member: of its header, and of its entry in the directory.
std::vector<std::uint64_t> flags_of(const std::string& name) {
  const std::vector<Tensor> tensors = {called(name)};
  const std::string archive = npz_bytes(tensors);
  const std::size_t entry = archive.find("PK\x01\x02");
  const auto at = [&](std::size_t begin) { return little_endian(std::as_bytes(std::span(archive)).subspan(begin, 2)); };
  return {at(6), at(entry + 8)};
}

/// Expects that `archive` is refused as the file x.npz.
void expect_refused(const std::string& archive, std::string_view problem) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "x.npz";
  support::put_file(file, archive);
  support::expect_input_error([&] { read_npz(file); }, {file.string() + std::string(problem)});
}

TEST(NpzReader, RefusesAStoredMemberOfAnotherChecksum) {
  const std::vector<Tensor> tensors = {called("w")};
  std::string archive = npz_bytes(tensors);
  archive[archive.find("PK\x01\x02") - 1] ^= 1;  // the element: what is before the directory
  expect_refused(archive, ": w.npy: cannot be unpacked: it is cut off, damaged");
}

TEST(NpzReader, GivesNamesAsTheyWereWritten) {
  const support::TemporaryDirectory directory;
  for (const std::string name : {"encoder.0", "Schl\xC3\xBCssel", "no UTF-8: \xFC"}) {
    write_file(directory.path() / "x.npz", npz_bytes(std::vector<Tensor>{called(name)}));
    EXPECT_EQ(read_npz(directory.path() / "x.npz").at(0).name, name);
  }
}

TEST(NpzReader, RefusesWhatIsCutOffOrEncrypted) {
  std::string archive = npz_bytes(std::vector<Tensor>{called("w")});
  expect_refused(archive.substr(0, archive.size() - 30), ": cannot be unpacked: it is cut off");
  archive[archive.find("PK\x01\x02") + 8] |= 1;  // bit 0 of the flags
  archive[archive.find("PK\x03\x04") + 6] |= 1;
  expect_refused(archive, ": w.npy: cannot be unpacked");
}

/// The archive of `tensors`, of which `value` takes the four bytes at `field` of the last entry of
/// the directory, and of the header of its member, which has them two bytes before.
std::string patched(const std::vector<Tensor>& tensors, std::size_t field, std::uint32_t value) {
  std::string archive = npz_bytes(tensors);
  std::memcpy(archive.data() + archive.rfind("PK\x01\x02") + field, &value, sizeof value);
  std::memcpy(archive.data() + archive.rfind("PK\x03\x04") + field - 2, &value, sizeof value);
  return archive;
}

TEST(NpzReader, RefusesMembersThatCannotBe) {
  expect_refused(npz_bytes(std::vector<Tensor>{called("w"), called("w")}), ": two members are called 'w.npy'");
  constexpr std::size_t kUnpacked = 24;
  expect_refused(patched({called("v"), called("w")}, kUnpacked, 300U << 20),
                 ": unpacks to more than 200 times its size");
}

TEST(NpzWriter, MarksANameAsUtf8WhereItIsNotAscii) {
  EXPECT_EQ(flags_of("encoder.0"), (std::vector<std::uint64_t>{0, 0}));
  EXPECT_EQ(flags_of("Schl\xC3\xBCssel"), (std::vector<std::uint64_t>{0x0800, 0x0800}));
  EXPECT_EQ(flags_of("no UTF-8: \xFC"), (std::vector<std::uint64_t>{0, 0}));
}

TEST(NpzWriter, RefusesANameThatItsHeaderCannotHold) {
  const support::TemporaryDirectory directory;
  const std::size_t most = 65535 - std::string(".npy").size();
  const auto written = [](std::size_t length) {
    const std::vector<Tensor> tensors = {called(std::string(length, 'n'))};
    return npz_bytes(tensors);
  };
  write_file(directory.path() / "x.npz", written(most));
  EXPECT_EQ(read_npz(directory.path() / "x.npz").at(0).name.size(), most);
  support::expect_input_error([&] { written(most + 1); }, {"65532 bytes", "at most 65531 bytes"});
}

}  // namespace
}  // namespace sptc::io
