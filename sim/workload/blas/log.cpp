// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/blas/call.h"
#include "sim/workload/readers.h"

namespace sptc::workload::blas {
namespace {

constexpr std::string_view kBlasWeightGround =
    "the logs do not say which operand is the weight: A is taken for it where the launch has one batch and B is not "
    "transposed, as in the gradient of a weight";
constexpr std::string_view kFailedCallsGround = "calls that fail are logged, too";

/// What cuBLAS logs of one call: a line of its own per argument.
class CublasCall {
 public:
  /// Takes a line; false where it is not of cuBLAS.
  bool take(std::string_view line) {
    constexpr std::string_view kBegin = "function cublasStatus_t ";
    if (line.starts_with("I! cuBLAS")) {
      const std::size_t at = line.find(kBegin);
      const std::string_view rest = at == std::string_view::npos ? "" : line.substr(at + kBegin.size());
      function_ = rest.substr(0, rest.find('('));
      values_.clear();
      return true;
    }
    if (!line.starts_with("i!")) {
      return false;
    }
    const std::size_t colon = line.find(": type=");
    const std::size_t value = line.find("val=");
    if (colon != std::string_view::npos && value != std::string_view::npos) {
      std::string_view name = line.substr(2, colon - 2);
      name.remove_prefix(std::min(name.size(), name.find_first_not_of(' ')));
      const std::size_t begin = value + 4;
      values_[std::string(name)] = line.substr(begin, line.find_first_of("(\r", begin) - begin);
    }
    return true;
  }

  /// The call that ended; nothing where it was no GEMM.
  std::optional<BlasCall> finish(const std::string& place) {
    const std::string function = std::exchange(function_, "");
    const bool gemm = function.find("gemm") != std::string::npos || function.find("Gemm") != std::string::npos;
    if (!gemm) {
      return std::nullopt;
    }
    const auto value = [&](std::string_view name) -> std::optional<std::string_view> {
      const auto found = values_.find(name);
      return found == values_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
    };
    for (const std::string_view name : {"m", "n", "k"}) {
      if (!values_.contains(name)) {
        io::refuse("{}: the call of {} has no {}: the log is cut off, or several programs wrote it", place,
                   io::printable(function), name);
      }
    }
    return call_of_arguments(function.substr(0, function.find("_v2")), value,
                             {"m", "n", "k", "batchCount", "Atype", "Btype", "Ctype", "computeType", "transb"}, place);
  }

 private:
  std::string function_;
  std::map<std::string, std::string, std::less<>> values_;
};

/// "7617" of "[date][cublasLt][7617][Trace]..", where the level is "][Trace]".
std::string_view process_of(std::string_view line, std::string_view of_level) {
  const std::size_t level = line.find(of_level);
  const std::size_t open = level == std::string_view::npos ? level : line.rfind('[', level);
  return open == std::string_view::npos ? "" : line.substr(open + 1, level - open - 1);
}

/// The function of "[date][cublasLt][7617][Api][cublasLtMatmul] .." behind "[Api]["; empty in other
/// lines.
std::string_view function_behind(std::string_view line, std::string_view level) {
  const std::size_t at = line.find(level);
  const std::string_view rest = at == std::string_view::npos ? "" : line.substr(at + level.size());
  return rest.substr(0, rest.find(']'));
}

/// Whether a call of `function` is a question that launches nothing.
bool asks(std::string_view function) {
  return function.ends_with("MatmulAlgoGetHeuristic") || function.ends_with("MatmulAlgoCheck") ||
         function.ends_with("MatmulAlgoGetIds");
}

/// Whether the launch of that process before this line failed.
bool is_failure(std::string_view line) {
  const std::string_view function = function_behind(line, "][Error][");
  return function.starts_with("cublasLt") && function.ends_with("Matmul");
}

class LogReader {
 public:
  explicit LogReader(input::InputStream& input) : input_(input) {
    constexpr std::size_t kMaxLine = 1 << 20;
    while (const std::optional<std::string_view> line = input.line(kMaxLine)) {
      take(*line);
    }
    finish_cublas();
  }

  /// What one library logs of another's calls counts once.
  LaunchList take_launches(std::vector<std::string>& notes) {
    add(lt_, "");
    const bool untraced = calls_without_trace_ > 0;
    if (lt_.empty() && (untraced || (heuristics_ > 0 && cublas_.empty()))) {
      RecordedLaunch left;
      left.op.name = untraced ? "cublasLtMatmul" : heuristic_;
      left.op.count = untraced ? calls_without_trace_ : heuristics_;
      left.reason = untraced ? "the log has no [Trace] line of the call, which says its shape"
                             : "heuristic calls only, no launch";
      list_.add(std::move(left), input_.name());
    }
    if (descriptors_.empty()) {
      descriptors_ = std::move(descriptor_inputs_);
    }
    add(cusparselt_calls_, "");
    add(cusparselt_calls_.empty() ? descriptors_ : std::vector<Placed>(), "");
    add_once(cublas_, logged({&lt_}), "the same launch is logged by cuBLASLt");
    add_once(rocblas_, logged({&lt_}), "the same launch is logged by hipBLASLt");
    add_once(bench_, logged({&lt_, &rocblas_}), "the same launch is logged as a trace");
    if (cusparselt_calls_.empty() && !descriptors_.empty()) {
      notes.emplace_back("no call of cusparseLtMatmul says its shape: each descriptor counts as one launch");
    }
    const auto scaled =
        std::ranges::count_if(lt_, [](const Placed& placed) { return has_unmodelled_scales(placed.first); });
    if (scaled > 0) {
      notes.push_back(
          fmt::format("{} of 8 bits with scales of rows or blocks of 128: the cost of scaling is not simulated",
                      scaled == 1 ? "a launch" : std::to_string(scaled) + " launches"));
    }
    if (last_of_.size() > 1) {
      notes.push_back(fmt::format("launches of {} processes are counted together", last_of_.size()));
    }
    return std::move(list_);
  }

 private:
  using Placed = std::pair<BlasCall, std::string>;  ///< and its line
  using Extents = std::array<std::int64_t, 4>;

  void take(std::string_view line) {
    if (line.starts_with("I! cuBLAS")) {
      finish_cublas();
      cublas_place_ = input_.place();
    }
    constexpr std::size_t kShortest = 16;  // of what follows
    if (cublas_call_.take(line) || line.size() < kShortest) {
      return;
    }
    if (const std::string_view function = function_behind(line, "[Api]["); asks(function)) {
      heuristic_ = io::printable(function);
      ++heuristics_;
      return;
    }
    const std::string place = input_.place();
    calls_without_trace_ += line.find("[Api][cublasLtMatmul]") != std::string_view::npos ? 1 : 0;
    if (auto call = read_lt_line(line, place)) {
      const std::string process(process_of(line, "][Trace]"));
      last_of_[process] = lt_.size();
      lt_.emplace_back(std::move(*call), place);
    } else if (is_failure(line)) {
      const auto last = last_of_.find(std::string(process_of(line, "][Error]")));
      if (last != last_of_.end()) {
        lt_[last->second].first.failed = true;
      }
    } else if (auto sparse = read_cusparselt_line(line, place)) {
      const bool launch = line.find("][cusparseLtMatmul]") != std::string_view::npos;
      const bool created = line.find("matmulDescr[out]") != std::string_view::npos;
      if (launch || created) {
        std::vector<Placed>& list = launch                ? cusparselt_calls_
                                    : sparse->inputs_only ? descriptor_inputs_
                                                          : descriptors_;
        list.emplace_back(std::move(*sparse), place);
      }
    } else if (auto bench = read_bench_line(line, place)) {
      bench_.emplace_back(std::move(*bench), place);
    } else if (auto rocblas = read_rocblas_line(line, place)) {
      rocblas_.emplace_back(std::move(*rocblas), place);
    }
  }

  void finish_cublas() {
    if (auto call = cublas_call_.finish(cublas_place_)) {
      cublas_.emplace_back(std::move(*call), cublas_place_);
    }
  }

  void add(const std::vector<Placed>& calls, const std::string& reason) {
    for (const auto& [call, place] : calls) {
      RecordedLaunch launch = launch_of(call);
      launch.reason = reason.empty() ? launch.reason : reason;
      list_.add(std::move(launch), place);
    }
  }

  static Extents extents(const BlasCall& call) { return {call.m, call.n, call.k, call.batch}; }

  /// Launches of `lists` by extents.
  static std::map<Extents, std::int64_t> logged(std::initializer_list<const std::vector<Placed>*> lists) {
    std::map<Extents, std::int64_t> launches;
    for (const std::vector<Placed>* list : lists) {
      for (const auto& [call, place] : *list) {
        launches[extents(call)] += std::max<std::int64_t>(call.count, 0);
      }
    }
    return launches;
  }

  /// A launch of the extents of one that is `logged` elsewhere is the same, for `reason` not taken.
  void add_once(const std::vector<Placed>& calls, std::map<Extents, std::int64_t> logged, const std::string& reason) {
    for (const auto& [call, place] : calls) {
      std::int64_t& left = logged[extents(call)];
      BlasCall same = call, own = call;
      same.count = std::min(left, std::max<std::int64_t>(call.count, 0));
      own.count -= same.count;
      left -= same.count;
      if (same.count > 0) {
        add({{same, place}}, reason);
      }
      if (own.count != 0 || same.count == 0) {
        add({{own, place}}, "");
      }
    }
  }

  input::InputStream& input_;
  std::string cublas_place_;
  std::int64_t calls_without_trace_ = 0, heuristics_ = 0;
  std::string heuristic_;  ///< what asked for them
  CublasCall cublas_call_;
  std::vector<Placed> lt_, cublas_, cusparselt_calls_, descriptors_, descriptor_inputs_, bench_, rocblas_;
  std::map<std::string, std::size_t> last_of_;  ///< by process: its last launch in lt_
  LaunchList list_;
};

bool recognises(const Head& head) {
  static constexpr std::string_view kMarks[] = {"][cublasLt][",   "[cublasLt][",       "][CUSPARSELT][",
                                                "][HIPBLASLT][",  "I! cuBLAS (",       "hipblaslt-bench ",
                                                "rocblas-bench ", "rocblas_function: "};
  return std::ranges::any_of(kMarks,
                             [&](std::string_view mark) { return head.text.find(mark) != std::string_view::npos; });
}

void read_log(input::InputStream& input, const ImportOptions& /*options*/, Recording& recording) {
  LogReader reader(input);
  LaunchList list = reader.take_launches(recording.account.notes);
  recording.account.notes.emplace_back(kBlasWeightGround);
  recording.account.notes.emplace_back(kFailedCallsGround);
  std::move(list).move_to(recording, input.name());
}

}  // namespace

const Reader kLog{"log of a BLAS library", recognises, read_log};

}  // namespace sptc::workload::blas
