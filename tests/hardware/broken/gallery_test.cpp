// SPDX-License-Identifier: Apache-2.0
//
// Real mistakes of kernels of tensor cores: `sptcsim crosscheck` must name each one from the D that
// the kernel computes. D is that of the twin on the CPU, with the matrix instructions of the
// simulator; a GPU must compute the same, unless the mistake is a race. A mistake is added with a
// struct and a name in kernels.h, and a row of exhibits().
#include "models/base/matrix.h"
#include "models/base/random.h"
#include "models/mma/catalogue.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/prune.h"
#include "sim/io/npz.h"
#include "sim/io/tensor_file.h"
#include "tests/hardware/broken/host_machine.h"
#include "tests/hardware/broken/kernels.h"
#include "tests/hardware/capture/simulated_device.h"
#include "tests/support/program_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::hardware::broken {
namespace {

using numerics::DataType;

base::Matrix<numerics::Word> random_words(std::size_t rows, std::size_t cols, DataType type, const char* label) {
  base::Matrix<numerics::Word> words(rows, cols);
  const base::RandomStream stream = base::RandomStream(65).fork(label);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words.data()[i] = numerics::from_double(stream.normal(i) * 1.2345678901, type);
  }
  return words;
}

/// The low `width` bytes of each word.
void copy_words(const base::Matrix<numerics::Word>& words, std::size_t width, void* to) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::memcpy(static_cast<std::uint8_t*>(to) + i * width, &words.data()[i], width);
  }
}

/// Operands of `Kernel`, D zero.
template <class Kernel>
std::unique_ptr<Memory> operands() {
  constexpr DataType kType = Kernel::kFp8 ? DataType::kE4m3 : DataType::kF16;
  constexpr std::size_t kWidth = Kernel::kFp8 ? 1 : 2;
  auto memory = std::make_unique<Memory>();
  base::Matrix<numerics::Word> a = random_words(kExtent, Kernel::kK, kType, "a");
  if (Kernel::kSparse) {
    const sparsity::CompressedMatrix compressed = sparsity::compress(sparsity::prune_by_magnitude(a, kType), kType);
    a = compressed.values;
    const auto registers = [&](int selector) {
      return sparsity::pack_metadata(compressed.nibbles, {kType, sparsity::MetadataOrder::kLanes, 32, selector});
    };
    const base::Matrix<std::uint32_t> first = registers(0), second = registers(1);
    std::copy_n(first.data(), first.size(), memory->step_metadata);
    for (std::size_t i = 0; i < first.size(); ++i) {  // 32 lanes of an instruction, 64 of two
      memory->metadata[i / 64 * 32 + i % 32] |= (i / 32 % 2 == 0 ? first : second).data()[i];
    }
  }
  const base::Matrix<numerics::Word> b = random_words(kExtent, Kernel::kK, kType, "b");
  copy_words(a, kWidth, memory->a);
  copy_words(Kernel::kRowMajorB ? b.transposed() : b, kWidth, memory->b);
  copy_words(random_words(kExtent, kExtent, DataType::kF32, "c"), 4, memory->c);
  copy_words(random_words(1, kExtent, DataType::kF32, "bias"), 4, memory->bias);
  return memory;
}

/// The same with the D of the twin of `Kernel`, whose arithmetic is that of `architecture`.
template <class Kernel>
std::unique_ptr<Memory> run_twin(std::string_view architecture) {
  SimulatedDevice device(mma::find_target(architecture));
  auto memory = operands<Kernel>();
  run_on_host<Kernel>(*memory, device);
  return memory;
}

io::Tensor tensor_of(const char* name, const char* dtype, int rows, int cols, int width, const void* data) {
  io::Tensor tensor{name, dtype, {rows, cols}, {}};
  tensor.bytes.resize(static_cast<std::size_t>(rows) * cols * width);
  std::memcpy(tensor.bytes.data(), data, tensor.bytes.size());
  return tensor;
}

/// kernel.json and operands.npz of `Kernel` with the D of its twin, in `directory`.
template <class Kernel>
void write_case(const std::filesystem::path& directory) {
  const char* const architecture = Kernel::kWgmma ? "H100" : "A100";
  const auto memory = run_twin<Kernel>(architecture);
  const char* const type = Kernel::kFp8 ? "U8" : "F16";
  constexpr int kWidth = Kernel::kFp8 ? 1 : 2, kK = Kernel::kK;
  constexpr int kRowsOfB = Kernel::kRowMajorB ? kK : kExtent;
  io::NpzWriter npz(directory / "operands.npz");
  npz.add(tensor_of("a", type, kExtent, kBytesOfA<Kernel> / kWidth, kWidth, memory->a));
  npz.add(tensor_of("b", type, kRowsOfB, kExtent * kK / kRowsOfB, kWidth, memory->b));
  npz.add(tensor_of("metadata", "U32", kExtent / 16 * 8, 32, 4, memory->step_metadata));
  npz.add(tensor_of("c", "F32", kExtent, kExtent, 4, memory->c));
  npz.add(tensor_of("bias", "F32", 1, kExtent, 4, memory->bias));
  npz.add(Kernel::kHalfD ? tensor_of("d", "F16", kExtent, kExtent, 2, memory->half_d)
                         : tensor_of("d", "F32", kExtent, kExtent, 4, memory->d));
  npz.commit();
  nlohmann::json file{
      {"schema", "sptcsim-kernel/0.1"}, {"architecture", architecture}, {"instruction", Kernel::kInstruction}};
  for (const char* const name : {"a", "b", "d", "metadata"}) {
    file[name] = {{"file", "operands.npz"}, {"tensor", name}};
  }
  file["b"]["order"] = Kernel::kRowMajorB ? "row" : "column";
  file["metadata"]["layout"] = "ptx";
  if (!Kernel::kSparse) {
    file.erase("metadata");
  }
  file.merge_patch(nlohmann::json::parse(Kernel::kDeclares));
  std::ofstream(directory / "kernel.json") << file;
}

/// A kernel of the gallery.
struct Exhibit {
  enum Expected { kRight, kNamed };

  std::string name;
  void (*write)(const std::filesystem::path&);
  Expected expected;
  std::vector<std::string> words;  ///< that its cause must hold

  friend std::ostream& operator<<(std::ostream& stream, const Exhibit& shown) { return stream << shown.name; }
};

template <class Kernel>
Exhibit exhibit(const char* name, Exhibit::Expected expected, std::vector<std::string> words) {
  return {name, write_case<Kernel>, expected, std::move(words)};
}

std::vector<Exhibit> exhibits() {
#define SPTC_EXHIBIT(Kernel, expected, ...) exhibit<Kernel>(#Kernel, Exhibit::expected, {__VA_ARGS__})
#define SPTC_RIGHT(Kernel) SPTC_EXHIBIT(Kernel, kRight),
#define SPTC_BROKEN(Kernel, ...) SPTC_EXHIBIT(Kernel, kNamed, __VA_ARGS__)
  return {
      SPTC_RIGHT_KERNELS(SPTC_RIGHT)  //
      SPTC_BROKEN(StaleMetadata, "metadata", "64 bits late"),
      SPTC_BROKEN(ExchangedSelectors, "metadata", "swapped in pairs of 32 bits"),
      SPTC_BROKEN(SelectorStays, "metadata", "the first of each pair of 32 bits twice"),
      SPTC_BROKEN(WrongSelector, "sparsity selector is 1 instead of 0"),
      SPTC_BROKEN(WrongHalfWord, "halves of every metadata word are swapped"),
      SPTC_BROKEN(SwappedIndices, "two indices of every metadata nibble are swapped"),
      SPTC_BROKEN(MetadataOfOtherRows, "metadata", "row i holds row i ^ 16"),
      SPTC_BROKEN(SwappedLanesOfA, "permuted-rows", "row i holds row i ^ 8"),
      SPTC_BROKEN(AddressesOfB, "of every 16 x 16 block of A the quarters off the diagonal", "with the addresses of B"),
      SPTC_BROKEN(TransposedFragments, "8 x 8 blocks of B are transposed", ".trans"),
      SPTC_BROKEN(UnswizzledA, "128-byte swizzle of A", "not undone"),
      SPTC_BROKEN(MissingBarrier, "rows 0 to 31", "columns 0 to 31", "in place of k 224 to 255",
                  "of B again k 128 to 159"),
      SPTC_BROKEN(NoEmptyCommit, "in place of k 224 to 255", "of A and B again k 128 to 159"),
      SPTC_BROKEN(LastTileDropped, "lacks k 224 to 255"),
      SPTC_BROKEN(LastTileTwice, "k 224 to 255 twice"),
      SPTC_BROKEN(RemainderNotZeroed, "k 144 to 159 twice"),
      SPTC_BROKEN(SliceMissing, "lacks k 192 to 255"),
      SPTC_BROKEN(SlicesBackwards, "4 slices", "reversed"),
      SPTC_BROKEN(HalfPromoted, "rows 32 to 63", "one accumulator for all of K"),
      SPTC_BROKEN(TransposedB, "B is taken as column-major"),
      SPTC_BROKEN(PaddedRows, "leading dimension of A is taken for 264 instead of 256"),
      SPTC_BROKEN(TileColumnTwice, "column i - 64", "columns 64 to 127"),
      SPTC_BROKEN(HalfAccumulator, "accumulates in f16 instead of f32"),
      SPTC_BROKEN(TowardZero, "D is rounded toward zero"),
      SPTC_BROKEN(BetaTwice, "C is added twice"),
      SPTC_BROKEN(BiasOfNeighbour, "takes the bias of column i + 1")};
}

class Gallery : public support::ProgramFixture, public testing::WithParamInterface<Exhibit> {};

TEST_P(Gallery, IsNamedForWhatItIs) {
  const Exhibit& exhibit = GetParam();
  exhibit.write(temporary.path());
  const support::ProgramOutcome outcome = run("crosscheck --kernel " + path("kernel.json") + " --format json");
  ASSERT_EQ(outcome.exit_code, exhibit.expected == Exhibit::kRight ? 0 : 1) << outcome.err;
  const nlohmann::json fitting = nlohmann::json::parse(outcome.out).at("fitting");
  if (fitting.empty()) {
    EXPECT_EQ(exhibit.expected, Exhibit::kRight) << "not named";
    return;
  }
  const std::string named = fitting[0].at("cause").get<std::string>() + ": " + fitting[0].at("text").get<std::string>();
  for (const std::string& word : exhibit.words) {
    EXPECT_NE(named.find(word), std::string::npos) << "named " << named;
  }
}

INSTANTIATE_TEST_SUITE_P(Broken, Gallery, testing::ValuesIn(exhibits()),
                         [](const auto& row) { return row.param.name; });

#ifdef SPTC_GALLERY_ON_GPU
template <class Kernel>
void expect_twin_on_gpu(const char* name) {
  const std::string_view gpu = gpu_architecture();
  if (Kernel::kIsRace || (Kernel::kWgmma && gpu != "H100")) {
    return;
  }
  const auto memory = operands<Kernel>();
  run_on_gpu<Kernel>(*memory);
  EXPECT_EQ(std::memcmp(memory.get(), run_twin<Kernel>(gpu).get(), sizeof(Memory)), 0) << name;
}

TEST(GalleryOnAGpu, ComputesWhatTheTwinsDo) {
  if (std::string_view(gpu_architecture()).empty()) {
    GTEST_SKIP() << "no GPU of compute capability 8.0 or 9.0";
  }
#define SPTC_EXPECT_TWIN(Kernel) expect_twin_on_gpu<Kernel>(#Kernel);
  SPTC_RIGHT_KERNELS(SPTC_EXPECT_TWIN)
  SPTC_BROKEN_KERNELS(SPTC_EXPECT_TWIN)
}
#endif

}  // namespace
}  // namespace sptc::hardware::broken
