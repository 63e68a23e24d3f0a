// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/layer_list.h"
#include "sim/workload/profile/torch_call.h"
#include "sim/workload/readers.h"
#include "sim/workload/workload_text.h"
#include "tests/fuzz/readers.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace sptc::fuzz {
namespace {

void read_workload_json(const std::string& bytes) {
  workload::parse_workload_json(bytes, "f.json");
}

void read_workload_csv(const std::string& bytes) {
  workload::parse_workload_csv(bytes, "f.csv");
}

/// What was taken is written as JSON that is read back.
void use(const workload::Recording& recording) {
  const std::string written = workload::workload_json(recording);
  workload::importer::account_text(recording);
  for (const workload::Operation& op : recording.workload.operations) {
    if (op.values) {
      op.values->row(op.batch - 1, op.shape.m - 1);
    }
  }
  try {
    workload::parse_workload_json(written, "what was written");
  } catch (const base::InputError& error) {
    throw std::logic_error(error.what());
  }
}

template <const workload::Reader& kReader>
void read_recording_of(const std::string& bytes, const workload::NamedDims& dims) {
  workload::input::InputStream input(bytes, "f");
  workload::Recording recording;
  recording.account.format = "fuzzed";
  recording.workload.name = "f";  // which read_recording() takes from the file
  kReader.read(input, {dims}, recording);
  use(recording);
}

template <const workload::Reader& kReader>
void read_recording_of(const std::string& bytes) {
  read_recording_of<kReader>(bytes, {{"batch", 2}, {"seq", 8}});
}

/// Dimensions that a model does not have must not be named.
void read_onnx(const std::string& bytes) {
  try {
    read_recording_of<workload::onnx::kModel>(bytes, {});
  } catch (const base::InputError&) {
    read_recording_of<workload::onnx::kModel>(bytes, {{"batch", 2}});
  }
}

/// Any of the formats, recognised by content, also compressed or in a tar.
void read_any_recording(const std::string& bytes) {
  workload::input::InputStream input(bytes, "f");
  use(workload::importer::read_recording(input));
}

void read_kernel_name(const std::string& bytes) {
  if (!workload::profile::decode_kernel_name(bytes)) {
    throw base::InputError("no name of a kernel");
  }
}

/// What was taken is written as a list that is read back, and chosen from three operations.
void read_layer_list(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "f.txt";
  support::put_file(file, bytes);
  const std::vector<workload::ListedLayer> layers = workload::read_layer_list(file);
  const std::string written = workload::layer_list_text(layers, "");
  support::put_file(file, written);
  if (workload::layer_list_text(workload::read_layer_list(file), "") != written) {
    throw std::logic_error("a list that is not read as it was written");
  }
  std::vector<workload::Operation> operations;
  for (const char* const name : {"ffn", "proj", "head"}) {
    workload::Operation& operation = operations.emplace_back();
    operation.name = name;
    operation.shape = {64, 64, 64};
    operation.count = 3;
    operation.prunable = true;
  }
  std::vector<workload::VectorOperation> vectors;
  workload::prune_only_listed(layers, "f.txt", operations, vectors);
}

constexpr Reader kReaders[] = {
    {"workload_json", Content::kJson, read_workload_json},
    {"workload_csv", Content::kText, read_workload_csv},
    {"kineto", Content::kJson, read_recording_of<workload::profile::kKineto>},
    {"execution_trace", Content::kJson, read_recording_of<workload::profile::kExecutionTrace>},
    {"blas_log", Content::kText, read_recording_of<workload::blas::kLog>},
    {"transformer_config", Content::kJson, read_recording_of<workload::topology::kTransformerConfig>},
    {"cutlass_profile", Content::kText, read_recording_of<workload::blas::kCutlassProfile>},
    {"scale_sim", Content::kText, read_recording_of<workload::topology::kScaleSim>},
    {"nsys", Content::kBytes, read_recording_of<workload::profile::kNsys>},
    {"onnx", Content::kBytes, read_onnx},
    {"recording", Content::kBytes, read_any_recording},
    {"kernel_name", Content::kText, read_kernel_name},
    {"layer_list", Content::kText, read_layer_list, 1000},
};

}  // namespace

std::span<const Reader> workload_readers() {
  return kReaders;
}

}  // namespace sptc::fuzz
