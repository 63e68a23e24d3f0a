// SPDX-License-Identifier: Apache-2.0
//
// The readers of what other programs write. Each has a row in importer/recording_reader.cpp.
#pragma once

#include "sim/io/text_file.h"
#include "sim/workload/input/input_stream.h"
#include "sim/workload/recording.h"
#include "sim/workload/workload_text.h"

#include <algorithm>

namespace sptc::workload {

/// The begin of a file, which tells one format from another.
struct Head {
  std::string_view text;
  std::vector<std::string> keys;  ///< of a JSON object

  bool has(std::string_view key) const { return std::ranges::count(keys, key) > 0; }
};

struct Reader {
  std::string_view name;  ///< of the format, in messages; empty: a workload of our own
  bool (*recognises)(const Head& head);
  /// Fills workload and account from the whole stream. Throws InputError "file: place: ...".
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

/// A record of a table in CSV by the names of its columns. They and the fields stay.
class CsvRow {
 public:
  /// `place` is for messages: "x.csv:7".
  CsvRow(std::span<const std::string> columns, std::span<const std::string> fields, std::string place)
      : columns_(columns), fields_(fields), place_(std::move(place)) {}

  const std::string& place() const { return place_; }
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> problem, Args&&... args) const {
    io::refuse("{}: {}", place_, fmt::format(problem, std::forward<Args>(args)...));
  }

  /// Returns the field; empty where the table has no such column, or the record no such field.
  std::string_view text(std::string_view column) const;
  /// Throws InputError for what is no integer from `least` to `most`.
  std::int64_t integer(std::string_view column, std::int64_t least = 1, std::int64_t most = kMaxExtent) const;
  /// Returns `absent` for an empty field, else what integer() does.
  std::int64_t integer_or(std::string_view column, std::int64_t absent, std::int64_t least = 1,
                          std::int64_t most = kMaxExtent) const;

 private:
  std::size_t index(std::string_view column) const;

  std::span<const std::string> columns_, fields_;
  std::string place_;
};

}  // namespace sptc::workload
