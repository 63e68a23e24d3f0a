// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/check/vectors/bit_array.h"
#include "sim/io/tensor_file.h"
#include "sim/prune/conversion.h"
#include "sim/prune/prune_model.h"
#include "tests/fuzz/readers.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <sstream>
#include <string>

namespace sptc::fuzz {
namespace {

/// Reads everything that a tensor file offers.
void use(const io::TensorFile& file) {
  for (const io::Tensor& tensor : file.tensors()) {
    io::as_doubles(tensor);
    io::as_matrix(tensor, numerics::DataType::kBf16);
    io::as_matrix(tensor, numerics::DataType::kS8);
  }
}

/// `bytes` as a file called `name`, in a directory that lives as long as the program.
std::filesystem::path as_file(const std::string& name, const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  support::put_file(directory.path() / name, bytes);
  return directory.path() / name;
}

void read_npy(const std::string& bytes) {
  std::istringstream stream(bytes);
  use(io::TensorFile::read_npy(stream, bytes.size(), "f.npy"));
  check::vectors::read_bit_array(as_file("f.npy", bytes));
}

void read_safetensors(const std::string& bytes) {
  std::istringstream stream(bytes);
  use(io::TensorFile::read_safetensors(stream, bytes.size(), "f.safetensors"));
}

/// Prunes a model, then takes the result apart again.
void prune(const std::filesystem::path& model) {
  const std::filesystem::path out = model.parent_path() / "out.safetensors";
  prune::PruneOptions options;
  options.layout = prune::WeightLayout::kCanonical;
  prune::prune_model(model, out, "", options);
  options.layout = prune::WeightLayout::kDense;
  prune::convert_model(out, model.parent_path() / "dense.safetensors", options);
}

void read_model(const std::string& bytes) {
  prune(as_file("m.safetensors", bytes));
}

void read_npz(const std::string& bytes) {
  prune(as_file("m.npz", bytes));
}

void read_onnx_model(const std::string& bytes) {
  const std::filesystem::path model = as_file("m.onnx", bytes);
  prune::prune_model(model, model.parent_path() / "out.onnx", "", {});
}

/// A converted model says in its header which layers it holds compressed.
void read_converted_model(const std::string& bytes) {
  const std::filesystem::path model = as_file("c.safetensors", bytes);
  prune::convert_model(model, model.parent_path() / "dense.safetensors", {});
}

/// The index of two files that are there.
void read_model_index(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  static const bool written = [] {
    const base::Matrix<numerics::Word> words(8, 16, 0x3C00);
    for (const std::string name : {"a", "b"}) {
      const io::Tensor tensors[] = {
          io::make_tensor(name + ".weight", words, numerics::DataType::kF16)};
      io::write_safetensors(directory.path() / (name + ".safetensors"), tensors);
    }
    return true;
  }();
  const std::filesystem::path index = directory.path() / "m.safetensors.index.json";
  support::put_file(index, bytes);
  if (written) {
    prune::prune_model(index, "", directory.path() / "masks.safetensors", {});
  }
}

constexpr Reader kReaders[] = {
    {"npy", Content::kBytes, read_npy},
    {"safetensors", Content::kBytes, read_safetensors},
    {"model", Content::kBytes, read_model, 100},
    {"npz", Content::kBytes, read_npz, 100},
    {"onnx_model", Content::kBytes, read_onnx_model, 100},
    {"converted_model", Content::kBytes, read_converted_model, 100},
    {"model_index", Content::kJson, read_model_index, 100},
};

}  // namespace

std::span<const Reader> tensor_readers() {
  return kReaders;
}

}  // namespace sptc::fuzz
