// SPDX-License-Identifier: Apache-2.0
//
// The readers of what other programs write. Each has a row in importer/recording_reader.cpp.
#pragma once

#include "sim/workload/input/input_stream.h"
#include "sim/workload/recording.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload {

/// The begin of a file, which tells one format from another.
struct Head {
  std::string_view text;
  std::vector<std::string> keys;  ///< of a JSON object

  bool has(std::string_view key) const {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }
};

struct Reader {
  std::string_view name;  ///< of the format, in messages; empty: a workload of our own
  bool (*recognises)(const Head& head);
  /// Fills the workload, its launches that are not taken, and the account, from the whole stream.
  /// Throws InputError "file: place: ..." for what it cannot make sense of.
  void (*read)(input::InputStream& input, const ImportOptions& options, Recording& recording);
  bool has_dims = false;  ///< leaves dimensions open
};

namespace blas {
/// Logs of cuBLASLt, cuBLAS, cuSPARSELt, hipBLASLt and rocBLAS, also mixed with other output.
extern const Reader kLog;
/// The CSV of cutlass_profiler: of each problem the fastest kernel.
extern const Reader kCutlassProfile;
}  // namespace blas

namespace onnx {
/// An ONNX model: the GEMMs of one pass.
extern const Reader kModel;
}  // namespace onnx

namespace profile {
/// A PyTorch profile: the JSON that torch.profiler exports.
extern const Reader kKineto;
/// A PyTorch execution trace: the JSON of ExecutionTraceObserver.
extern const Reader kExecutionTrace;
/// The SQLite export of Nsight Systems: times by kernel; shapes where NVTX ranges say them.
extern const Reader kNsys;
}  // namespace profile

namespace topology {
/// A topology of SCALE-Sim: GEMMs or convolutions.
extern const Reader kScaleSim;
/// A config.json of Hugging Face: the GEMMs of one pass of the model.
extern const Reader kTransformerConfig;
}  // namespace topology

}  // namespace sptc::workload
