// SPDX-License-Identifier: Apache-2.0
#include "sim/io/tensor_file.h"

#include "models/base/matrix.h"
#include "models/numerics/codec.h"
#include "sim/io/text_file.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <cmath>
#include <cstring>
#include <sstream>

namespace sptc::io {
namespace {

using numerics::DataType;
using numerics::Word;

std::string length_prefix(std::uint64_t length, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) {
    result += static_cast<char>((length >> (8 * i)) & 0xFF);
  }
  return result;
}

TensorFile read_safetensors(const std::string& header, const std::string& data) {
  const std::string bytes = length_prefix(header.size(), 8) + header + data;
  std::istringstream stream(bytes);
  return TensorFile::read_safetensors(stream, bytes.size(), "f.safetensors");
}

void expect_refused(const std::string& header, const std::string& data, std::initializer_list<std::string_view> parts) {
  support::expect_input_error([&] { read_safetensors(header, data); }, parts);
}

TensorFile read_npy(const std::string& header, const std::string& data, char version = 1) {
  const std::string bytes =
      std::string("\x93NUMPY") + version + '\0' + length_prefix(header.size(), version == 1 ? 2 : 4) + header + data;
  std::istringstream stream(bytes);
  return TensorFile::read_npy(stream, bytes.size(), "f.npy");
}

void expect_npy_refused(const std::string& header, const std::string& data,
                        std::initializer_list<std::string_view> parts) {
  support::expect_input_error([&] { read_npy(header, data); }, parts);
}

template <typename T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string result(values.size() * sizeof(T), '\0');
  std::memcpy(result.data(), std::data(values), result.size());
  return result;
}

// safetensors

TEST(SafetensorsReader, ReadsTensorsInTheOrderOfTheirData) {
  const TensorFile file = read_safetensors(
      R"({"__metadata__": {"made by": "a test"},
          "b": {"dtype": "I8", "shape": [2], "data_offsets": [8, 10]},
          "a": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}}   )",
      bytes_of({1.5F, -2.0F}) + "\x03\xFF");
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.tensor("a").shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(as_doubles(file.tensor("a")), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(as_doubles(file.tensor("b")), (std::vector<double>{3, -1}));
}

TEST(SafetensorsReader, DecodesEveryElementType) {
  const auto value = [](const char* dtype, const std::string& bytes) {
    const std::string header = R"({"t": {"dtype": ")" + std::string(dtype) + R"(", "shape": [], "data_offsets": [0, )" +
                               std::to_string(bytes.size()) + "]}}";
    return as_doubles(read_safetensors(header, bytes).tensor("t")).at(0);
  };
  EXPECT_EQ(value("F16", bytes_of<std::uint16_t>({0xC200})), -3);
  EXPECT_EQ(value("BF16", bytes_of<std::uint16_t>({0x40A0})), 5);
  EXPECT_EQ(value("F32", bytes_of({0.25F})), 0.25);
  EXPECT_EQ(value("F64", bytes_of({0.1})), 0.1);
  EXPECT_EQ(value("I8", bytes_of<std::int8_t>({-7})), -7);
  EXPECT_EQ(value("U8", bytes_of<std::uint8_t>({200})), 200);
  EXPECT_EQ(value("I16", bytes_of<std::int16_t>({-300})), -300);
  EXPECT_EQ(value("U16", bytes_of<std::uint16_t>({65535})), 65535);
  EXPECT_EQ(value("I32", bytes_of<std::int32_t>({-70000})), -70000);
  EXPECT_EQ(value("U32", bytes_of<std::uint32_t>({4000000000U})), 4000000000.0);
  EXPECT_EQ(value("I64", bytes_of<std::int64_t>({-5000000000})), -5000000000.0);
}

TEST(SafetensorsReader, AllowsEmptyTensorsAndAnEmptyFile) {
  EXPECT_TRUE(read_safetensors("{}", "").tensors().empty());
  const TensorFile file = read_safetensors(R"({"e": {"dtype": "F16", "shape": [0, 4], "data_offsets": [0, 0]}})", "");
  EXPECT_EQ(as_matrix(file.tensor("e"), DataType::kF16).size(), 0u);
}

TEST(SafetensorsReader, RefusesALengthThatCannotBe) {
  const auto refused = [](const std::string& bytes, std::uint64_t size, const std::string& part) {
    std::istringstream stream(bytes);
    support::expect_input_error([&] { TensorFile::read_safetensors(stream, size, "f.safetensors"); },
                                {"f.safetensors", part});
  };
  refused("abc", 3, "3 bytes are too few");
  refused(length_prefix(100, 8) + "{}", 10, "its header has 100 bytes, but 2 follow");
  refused(length_prefix(~std::uint64_t{0}, 8) + "{}", 10, "but 2 follow");
  refused(length_prefix(100'000'001, 8), 1'000'000'000, "at most 100000000 are allowed");
}

TEST(SafetensorsReader, RefusesWhatItsHeaderCannotSay) {
  expect_refused("[1]", "", {"must start with '{'"});
  expect_refused("{\"a\"", "", {"f.safetensors: header: line 1", "not valid JSON"});
  expect_refused("", "", {"must start with '{'"});
  const std::string header = R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})";
  expect_refused(header, "1234", {"need 8 bytes of data, but the file has 4"});
  expect_refused(header, "123456789", {"need 8 bytes of data, but the file has 9"});
  expect_refused(R"({"a": {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]},
                     "b": {"dtype": "I8", "shape": [4], "data_offsets": [2, 6]}})",
                 "123456", {"tensor 'b' starts at byte 2", "the one before it ends at byte 4"});
  expect_refused(R"({"a": {"dtype": "I8", "shape": [2], "data_offsets": [0, 2]},
                     "b": {"dtype": "I8", "shape": [2], "data_offsets": [4, 6]}})",
                 "123456", {"tensor 'b' starts at byte 4", "no tensor covers what starts at byte 2"});
  expect_refused(R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})", "12345678",
                 {"/a/data_offsets: spans 8 bytes, but shape and dtype need 12"});
  expect_refused(R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}})", "",
                 {"/a/data_offsets", "more than 64 bits can count"});
  expect_refused(R"({"a": 5})", "", {"/a: must be an object, not 5"});
  expect_refused(R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", "1234", {"/a/shape/0", "-1"});
  expect_refused(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}})", "1234", {"/a/data_offsets/1"});
  expect_refused(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}})", "1234",
                 {"/a/data_offsets: must have 2 elements"});
  expect_refused(R"({"a": {"dtype": "F32", "shape": [1], "offsets": [0, 4]}})", "1234",
                 {"/a: unknown key 'offsets'", "nearest valid: 'data_offsets'"});
  expect_refused(R"({"__metadata__": {"a": 1}})", "", {"/__metadata__/a: must be a string"});
  const std::string entry = R"("a": {"dtype": "I8", "shape": [0], "data_offsets": [0, 0]})";
  expect_refused("{" + entry + "," + entry + "}", "", {"/a", "twice"});
}

TEST(SafetensorsReader, TakesATypeThatIsNotKnownAndRefusesItsValues) {
  const TensorFile file = read_safetensors(R"({"a": {"dtype": "F31", "shape": [3], "data_offsets": [0, 4]}})", "1234");
  EXPECT_EQ(file.tensor("a").dtype, "F31");
  EXPECT_EQ(file.tensor("a").bytes.size(), 4U);
  support::expect_input_error([&] { as_doubles(file.tensor("a")); },
                              {"tensor 'a': unknown dtype 'F31'", "nearest valid: 'F"});
}

// npy

constexpr const char* kTwoByThree = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n";

TEST(NpyReader, ReadsAllThreeVersions) {
  const std::string data = bytes_of<std::int32_t>({1, 2, 3, 4, 5, 6});
  for (const char version : {'\1', '\2', '\3'}) {
    const Tensor tensor = read_npy(kTwoByThree, data, version).tensors().at(0);
    EXPECT_EQ(tensor.name, "f");
    EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(as_doubles(tensor), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(NpyReader, TurnsFortranOrderIntoRowMajor) {
  const std::string header = "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3, 2), }";
  std::string data;
  for (int c = 0; c < 2; ++c) {
    for (int b = 0; b < 3; ++b) {
      for (int a = 0; a < 2; ++a) {
        data += static_cast<char>(a * 100 + b * 10 + c);
      }
    }
  }
  EXPECT_EQ(as_doubles(read_npy(header, data).tensors().at(0)),
            (std::vector<double>{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}));
}

TEST(NpyReader, ReadsScalarsAndVectors) {
  EXPECT_EQ(
      as_doubles(read_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", bytes_of({0.5})).tensors()[0]),
      std::vector<double>{0.5});
  const TensorFile vector =
      read_npy("{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }", bytes_of<std::uint16_t>({0x3C00, 0x4000}));
  const base::Matrix<Word> matrix = as_matrix(vector.tensors()[0], DataType::kF16);
  EXPECT_EQ(matrix.rows(), 2u);
  EXPECT_EQ(matrix.cols(), 1u);
  EXPECT_EQ(matrix(1, 0), 0x4000u);
}

TEST(NpyReader, RefusesWhatItsHeaderCannotSay) {
  expect_npy_refused(kTwoByThree, std::string(23, 'x'), {"(2, 3)", "24 bytes, but 23 follow"});
  expect_npy_refused(kTwoByThree, std::string(25, 'x'), {"24 bytes, but 25 follow"});
  for (const char* header : {"", "{", "{'descr': '<i4'}", "{'descr': '<i4', 'fortran_order': 0, 'shape': (1,), }",
                             "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,), }",
                             "{'descr': '<i4', 'fortran_order': False, 'shape': (1, }",
                             "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), 'x': 1}",
                             "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (1,)}",
                             "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }",
                             "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }"}) {
    expect_npy_refused(header, "1234", {"f.npy: npy header", "is wrong: it must be a dictionary"});
  }
  for (const char* descr : {">f4", "<c8", "|O", "<U3", "=f4", "", "<f16"}) {
    expect_npy_refused("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (1,), }", "1234",
                       {"is not supported (allowed: <f2, <f4, <f8, |i1"});
  }
  expect_npy_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "",
                     {"more than 64 bits can count"});
}

TEST(NpyReader, RefusesAPreambleThatCannotBe) {
  const auto refused = [](const std::string& bytes, std::string_view part) {
    std::istringstream stream(bytes);
    support::expect_input_error([&] { TensorFile::read_npy(stream, bytes.size(), "f.npy"); }, {"f.npy", part});
  };
  refused(std::string("\x93NUMPY\x01\0\xFF\xFF", 10) + "{}", "its header has 65535 bytes, but 2 follow");
  refused(std::string("\x93NUMPX\x01\0\0\0", 10), "npy magic bytes");
  refused("PK\3\4", "too few for an npy file");
  refused(std::string("\x93NUMPY\x04\0\0\0", 10), "npy version 4.0 is not supported");
}

// Conversion and writing

TEST(AsMatrix, FlattensToRowsAndTheRest) {
  const TensorFile file = read_npy("{'descr': '|i1', 'fortran_order': False, 'shape': (2, 2, 3), }",
                                   std::string("\0\1\2\3\4\5\6\7\10\11\12\13", 12));
  const base::Matrix<Word> matrix = as_matrix(file.tensors()[0], DataType::kS8);
  EXPECT_EQ(matrix.rows(), 2u);
  EXPECT_EQ(matrix.cols(), 6u);
  EXPECT_EQ(matrix(1, 2), 8u);
}

TEST(AsMatrix, ConvertsByValueAndRoundsToNearestEven) {
  // 1 + 2^-11 lies between the f16 neighbours 1 and 1 + 2^-10; 1 is the even one.
  const TensorFile file = read_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
                                   bytes_of({1.0F + std::ldexp(1.0F, -11), 1.0F + 3 * std::ldexp(1.0F, -11), 1e9F}));
  const base::Matrix<Word> matrix = as_matrix(file.tensors()[0], DataType::kF16);
  EXPECT_EQ(matrix(0, 0), 0x3C00u);
  EXPECT_EQ(matrix(1, 0), 0x3C02u);
  EXPECT_EQ(matrix(2, 0), 0x7C00u);
}

TEST(AsMatrix, TakesUint16AsRawBitsOfSixteenBitFloats) {
  const TensorFile file =
      read_npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", bytes_of<std::uint16_t>({0x3F80}));
  EXPECT_EQ(as_matrix(file.tensors()[0], DataType::kBf16)(0, 0), 0x3F80u);
  EXPECT_EQ(as_matrix(file.tensors()[0], DataType::kF16)(0, 0), 0x3F80u);
  EXPECT_EQ(numerics::to_double(as_matrix(file.tensors()[0], DataType::kTf32)(0, 0), DataType::kTf32), 0x3F80);
}

TEST(AsMatrix, RefusesValuesThatAnIntegerTypeCannotHold) {
  const TensorFile file =
      read_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", bytes_of({1.0F, 128.0F}));
  support::expect_input_error([&] { as_matrix(file.tensors()[0], DataType::kS8); },
                              {"tensor 'f': element 1 is 128, which s8 cannot hold (-128 to 127)"});
  const TensorFile nan =
      read_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", bytes_of({std::nanf("")}));
  support::expect_input_error([&] { as_matrix(nan.tensors()[0], DataType::kS8); }, {"nan"});
}

base::Matrix<Word> some_words(DataType type) {
  base::Matrix<Word> words(3, 5);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words.data()[i] = numerics::from_double(static_cast<double>(i) * 1.25 - 7, type);
  }
  return words;
}

TEST(TensorWriters, RoundTripEveryTypeBitForBit) {
  const support::TemporaryDirectory directory;
  for (const DataType type :
       {DataType::kF16, DataType::kBf16, DataType::kTf32, DataType::kF32, DataType::kS8, DataType::kS32}) {
    SCOPED_TRACE(numerics::name(type));
    const base::Matrix<Word> words = some_words(type);
    const auto npy = directory.path() / "x.npy";
    const auto safetensors = directory.path() / "x.safetensors";
    write_npy(npy, words, type);
    const std::vector<Tensor> tensors = {make_tensor("first", words, type), make_tensor("w", words, type)};
    write_safetensors(safetensors, tensors);
    EXPECT_EQ(as_matrix(TensorFile::open(npy).tensors().at(0), type), words);
    EXPECT_EQ(as_matrix(TensorFile::open(safetensors).tensor("w"), type), words);
  }
}

TEST(TensorWriters, LeaveNothingBehindWhereTheyCannotWrite) {
  const support::TemporaryDirectory directory;
  const auto taken = directory.path() / "x.npy";
  std::filesystem::create_directory(taken);  // no file takes its place
  support::expect_input_error([&] { write_npy(taken, base::Matrix<Word>(1, 1), DataType::kF16); },
                              {taken.string() + ": cannot be written: Is a directory"});
  std::filesystem::remove(taken);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(SafetensorsWriter, RefusesTwoTensorsOfOneName) {
  const support::TemporaryDirectory directory;
  const Tensor tensor = make_tensor("w", some_words(DataType::kF16), DataType::kF16);
  const std::vector<Tensor> tensors = {tensor, tensor};
  support::expect_input_error([&] { write_safetensors(directory.path() / "x.safetensors", tensors); },
                              {"two tensors of a safetensors file are called 'w'"});
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(TensorFile, RefusesUnknownExtensionsDirectoriesAndMissingFiles) {
  const support::TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() / "d.npy");
  support::expect_input_error([] { TensorFile::open("x.pt"); }, {"x.pt", "'.pt' (allowed: .safetensors, .npy)"});
  support::expect_input_error([&] { TensorFile::open(directory.path() / "d.npy"); },
                              {"is a directory, not a regular file"});
  support::expect_input_error([&] { TensorFile::open(directory.path() / "e.npy"); }, {"no such file"});
}

}  // namespace
}  // namespace sptc::io
