// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/kernels/launch_conditions.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::check::capture {

/// Outcome of one item of a capture, or of one row of its tables.
struct CaptureStatus {
  std::string status;  ///< "ok", "partial", "failed", "absent"
  std::string reason;  ///< empty with "ok"

  bool measured() const { return status == "ok" || status == "partial"; }
};

struct CaptureItem {
  std::string name;
  CaptureStatus outcome;
};

struct MicrobenchRow {
  std::string instruction;  ///< PTX name
  int warps = 0;
  int ilp = 0;
  std::string data;  ///< "zeros", "random"; empty: not known
  std::optional<double> latency_cycles;
  std::optional<double> fma_per_clk_per_sm;
  CaptureStatus outcome;
};

/// A row of memory.json: the keys of its kind as text, and its figures.
struct MemoryRow {
  std::string kind;
  std::vector<std::pair<std::string, std::string>> keys;  ///< "conflict_ways" -> "2"
  std::map<std::string, double> figures;                  ///< "latency_cycles", "bytes_per_clk_per_sm", "gb_per_s"
  CaptureStatus outcome;

  std::string key(std::string_view name) const;  ///< empty where the row has none
};

struct GemmCheck {
  std::string mode;  ///< "bits", "bound", "none"
  std::uint64_t mismatches = 0;
};

/// A whole GEMM: the problem, what computed it, and what was measured: of a row of gemm.json one launch, of a row of
/// power.json a sustained run.
struct CapturedGemm {
  std::string name;
  std::int64_t m = 0, n = 0, k = 0;
  std::string dtype;
  bool sparse = false;
  std::string library;
  std::string data;                           ///< "random", "zeros"
  std::optional<numerics::DataType> d_dtype;  ///< nothing: as GemmProblem says
  kernels::Algorithm algorithm = kernels::Algorithm::kHeuristic;
  std::optional<double> clock_mhz;
  std::optional<double> time_us;   ///< median; of a sustained run the mean
  std::optional<double> power_w;   ///< of a sustained run
  std::optional<GemmCheck> check;  ///< of one launch
  CaptureStatus outcome;
};

/// What the GPU answered to a directed input that tells hypotheses about its arithmetic apart.
struct ProbeRow {
  std::string name;
  std::string instruction;
  bool applies = true;                ///< the hypotheses are about the generation of this GPU
  std::string d;                      ///< hexadecimal
  std::vector<std::string> supports;  ///< hypotheses that predicted it
  CaptureStatus outcome;
};

/// A capture directory (tests/hardware/CAPTURE.md), its arrays aside.
struct Capture {
  std::filesystem::path directory;
  std::string origin;  ///< "measured", "published", "simulated"
  std::string source;
  std::string gpu;
  std::string target;        ///< "sm_80"
  std::string architecture;  ///< file of configs/ that the capture names; empty: none
  std::optional<std::int64_t> sm_count;
  std::optional<double> power_limit_w;
  std::optional<double> idle_w;  ///< board power before the sustained runs
  std::string date;
  std::vector<CaptureItem> items;
  std::vector<std::filesystem::path> bits;     ///< directories of array sets
  std::vector<std::filesystem::path> kernels;  ///< files of `sptcsim crosscheck --kernel`
  std::vector<ProbeRow> probes;
  std::vector<MicrobenchRow> microbench;
  std::vector<MemoryRow> memory;
  std::vector<CapturedGemm> gemm, power;
};

/// Reads `directory`/capture.json and the files beside it. Keys that it does not know are ignored, as the format says;
/// a value of the wrong kind is refused. Throws InputError.
Capture read_capture(const std::filesystem::path& directory);

// The single files, from text; `file` is for messages.
void parse_capture_json(std::string_view text, const std::string& file, Capture& capture);
void parse_probes_json(std::string_view text, const std::string& file, Capture& capture);
void parse_microbench_json(std::string_view text, const std::string& file, Capture& capture);
void parse_memory_json(std::string_view text, const std::string& file, Capture& capture);
void parse_gemm_json(std::string_view text, const std::string& file, Capture& capture);
void parse_power_json(std::string_view text, const std::string& file, Capture& capture);

/// The name of configs/ that stands for the GPU of `capture`: what it names itself, else by the name of the card. Empty
/// where there is none.
std::string architecture_of(const Capture& capture);

}  // namespace sptc::check::capture
