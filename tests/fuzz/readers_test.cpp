// SPDX-License-Identifier: Apache-2.0
// Whatever a file holds, a reader gives a value or throws InputError: nothing else leaves it, and
// it ends.
#include "models/base/error.h"
#include "sim/compare/capture/capture.h"
#include "sim/compare/kernel/kernel_file.h"
#include "sim/compare/times/measurements.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/io/tensor_file.h"
#include "sim/io/text_file.h"
#include "sim/workload/workload_text.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <sstream>

namespace sptc::fuzz {
namespace {

const std::string kSource = SPTC_SOURCE_DIR;

struct Outcome {
  int accepted = 0;
  int refused = 0;
};

/// Reads `inputs` mutations of `seed_text`, fewer where the time is up, but some on any machine.
Outcome fuzz(const std::string& seed_text, std::uint64_t inputs,
             const std::function<void(const std::string&)>& read) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kAtLeast = 200;
  const auto end = Clock::now() + std::chrono::seconds(2);
  const Mutator mutator(seed_text, 20260101);
  Outcome outcome;
  for (std::uint64_t index = 0; index < inputs && (index < kAtLeast || Clock::now() < end);
       ++index) {
    try {
      read(mutator.mutation(index));
      ++outcome.accepted;
    } catch (const base::InputError& error) {
      ++outcome.refused;
      EXPECT_FALSE(std::string_view(error.what()).empty()) << "mutation " << index;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "mutation " << index << " made the reader throw: " << error.what();
      break;
    }
  }
  EXPECT_GT(outcome.accepted, 0) << "the mutations never reach past the first check";
  EXPECT_GT(outcome.refused, 0);
  return outcome;
}

TEST(FuzzReaders, WorkloadJson) {
  const std::string text = R"({"schema": "gemm-workload/0.1", "name": "n", "default_dtype": "f16",
    "network": {"file": "x.safetensors", "input": "i", "labels": "l", "classes": 10},
    "ops": [{"name": "c", "kind": "conv2d", "m": 8, "n": 64, "k": 9, "batch": 1, "count": 1,
             "conv": {"N": 1, "C": 1, "H": 8, "W": 8, "K": 8, "R": 3, "S": 3, "stride": [1, 1],
                      "pad": [1, 1], "dilation": [1, 1], "groups": 1, "P": 8, "Q": 8},
             "activation": "relu", "tensors": {"weight": "w", "bias": "b"}},
            {"name": "g", "kind": "gemm", "m": 16, "n": 1, "k": 512, "weight_operand": "A",
             "prunable_2_4": true, "tensors": {"weight": "w2", "sparse_weight": "s2"}}]})";
  fuzz(text, 20000,
       [](const std::string& input) { workload::parse_workload_json(input, "f/f.json"); });
}

TEST(FuzzReaders, WorkloadJsonWithDimensions) {
  const std::string text = R"json({"schema": "gemm-workload/0.2",
    "dims": {"batch": 2, "seq": "4*batch", "experts": "min(8, max(batch, 2))"},
    "ops": [{"name": "c", "conv": {"N": "batch", "C": 8, "H": "seq", "W": "seq/2", "K": 8, "R": 3,
             "S": 3, "stride": ["1", 1], "pad": ["2 - 1", 1]}},
            {"name": "g", "m": 16, "n": "ceil_div(batch*(seq + 1), experts)", "k": "512",
             "batch": "experts", "count": "2*batch", "rest_ns": "seq"}]})json";
  fuzz(text, 20000, [](const std::string& input) {
    workload::parse_workload_json(input, "f.json", {{"batch", 3}});
  });
}

TEST(FuzzReaders, WorkloadCsv) {
  const std::string text =
      "m,n,k,dtype,sparsity,batch,count,name\n16,32,64,f16,2:4,1,2,\"a, \"\"b\"\"\"\r\n"
      "8,8,8,tf32,1:2,,,x\n1,2,3,s8,dense,4,5,y\n";
  fuzz(text, 50000, [](const std::string& input) { workload::parse_workload_csv(input, "f.csv"); });
}

TEST(FuzzReaders, Measurements) {
  const std::string text =
      "m,n,k,dtype,sparsity,d_dtype,time_us_median,l2,launch,algorithm,warmup,repeat,operands,"
      "clock_mhz,power_w,power_limit_w,batch,extra,source\r\n"
      "16,32,64,f16,2:4,f32,9.5,rotate:6,graph,best,25,50,zeros,1200,300.5,400,1,x,\"a, "
      "\"\"b\"\"\"\r\n"
      "8,8,8,,,,1,,,,,,,,,,,,\n1,2,3,s8,64:2:8,s8,4,warm,eager,heuristic,0,1,relu,,,,,,y\n";
  fuzz(text, 50000, [](const std::string& input) {
    for (const compare::times::Measurement& row :
         compare::times::parse_measurements(input, "f.csv")) {
      EXPECT_GT(row.time_us, 0);
      EXPECT_GT(row.launch.shape.m, 0);
      EXPECT_FALSE(row.launch.sparsity().empty());
    }
  });
}

TEST(FuzzReaders, Architecture) {
  const std::string text = io::read_text_file(kSource + "/configs/a100-sxm4-80gb.json", 1 << 20);
  fuzz(text, 5000, [](const std::string& input) { config::parse_architecture(input, "f.json"); });
}

TEST(FuzzReaders, Energies) {
  const std::string text = io::read_text_file(kSource + "/configs/energy/h800-pcie.json", 1 << 20);
  fuzz(text, 5000, [](const std::string& input) { config::parse_energy(input, "f.json"); });
}

TEST(FuzzReaders, KernelFile) {
  const support::TemporaryDirectory directory;
  const base::Matrix<numerics::Word> half(16, 16, 0x3C00);
  io::write_npy(directory.path() / "h.npy", half, numerics::DataType::kF16);
  io::write_npy(directory.path() / "f.npy", half, numerics::DataType::kF32);
  const std::string text = R"({"schema": "sptcsim-kernel/0.1", "name": "n", "architecture": "A100",
    "types": {"a": "f16", "b": "f16", "accumulator": "f32"}, "sparse": false,
    "a": {"file": "h.npy", "order": "row"}, "b": {"file": "h.npy", "order": "column"},
    "c": {"file": "f.npy"}, "d": {"file": "f.npy", "type": "f32"},
    "k_order": {"split_k": 2, "reduction": "tree", "c": "epilogue", "tile_k": 32,
                "slices": "contiguous"}})";
  fuzz(text, 5000, [&](const std::string& input) {
    compare::kernel::parse_kernel_file(input, "f.json", directory.path());
  });
}

TEST(FuzzReaders, Capture) {
  fuzz(R"({"schema": "sptcsim-capture/0.1", "origin": "measured", "source": "s",
    "gpu": {"name": "NVIDIA A100", "target": "sm_80", "sm_count": 108, "architecture": "x"},
    "date": "2026-01-01", "bits": ["bits", "../x"],
    "items": [{"name": "bits/x", "status": "failed", "reason": "why", "seconds": 1.5}]})",
       20000, [](const std::string& input) {
         compare::capture::Capture capture;
         compare::capture::parse_capture_json(input, "f.json", capture);
         compare::capture::architecture_of(capture);
       });
  const auto rows = [](auto parser, const std::string& row) {
    fuzz(R"({"schema": "sptcsim-capture/0.1", "rows": [)" + row + "]}", 10000,
         [&](const std::string& input) {
           compare::capture::Capture capture;
           parser(input, "f.json", capture);
         });
  };
  rows(compare::capture::parse_microbench_json,
       R"({"instruction": "mma.m16n8k16.f32.f16.f16.f32", "warps": 4,
    "ilp": 3, "data": "zeros", "latency_cycles": 27.4, "fma_per_clk_per_sm": 897.6, "status": "ok",
    "reason": null, "source": "s"})");
  rows(compare::capture::parse_memory_json,
       R"({"kind": "ld_shared", "conflict_ways": 2, "latency_cycles": 25,
    "status": "ok", "reason": null})");
  rows(compare::capture::parse_gemm_json,
       R"({"name": "n", "m": 64, "n": 64, "k": 64, "dtype": "f16",
    "variant": "sparse", "library": "own", "time_us_median": 2.5, "clock_mhz": 1410,
    "check": {"mode": "bits", "elements": 4096, "mismatches": 0}, "status": "ok", "reason": null})");
  fuzz(R"({"schema": "sptcsim-capture/0.1", "probes": [{"name": "n", "instruction": "i",
    "applies": true, "d": "0x1", "supports": ["a"], "status": "ok", "reason": null}]})",
       10000, [](const std::string& input) {
         compare::capture::Capture capture;
         compare::capture::parse_probes_json(input, "f.json", capture);
       });
  rows(compare::capture::parse_power_json,
       R"({"name": "n", "m": 64, "n": 64, "k": 64, "dtype": "f16",
    "variant": "dense", "library": "own", "time_us_mean": 2.5, "power_w_mean": 300.5,
    "clock_mhz_mean": 1300, "status": "ok", "reason": null})");
}

/// The bytes that `write` puts into a file called `name`.
std::string written(const std::string& name,
                    const std::function<void(const std::filesystem::path&)>& write) {
  const support::TemporaryDirectory directory;
  write(directory.path() / name);
  return io::read_text_file(directory.path() / name, 1 << 20);
}

/// Reads everything that a tensor file offers.
void use(const io::TensorFile& file) {
  for (const io::Tensor& tensor : file.tensors()) {
    io::as_doubles(tensor);
    io::as_matrix(tensor, numerics::DataType::kBf16);
    io::as_matrix(tensor, numerics::DataType::kS8);
  }
}

TEST(FuzzReaders, Npy) {
  const std::string bytes = written("x.npy", [](const auto& path) {
    io::write_npy(path, base::Matrix<numerics::Word>(2, 3, 0x3C00), numerics::DataType::kF16);
  });
  fuzz(bytes, 50000, [](const std::string& input) {
    std::istringstream stream(input);
    use(io::TensorFile::read_npy(stream, input.size(), "f.npy"));
  });
}

TEST(FuzzReaders, Safetensors) {
  const std::string bytes = written("x.safetensors", [](const auto& path) {
    const base::Matrix<numerics::Word> words(2, 3, 5);
    const io::Tensor tensors[] = {io::make_tensor("w", words, numerics::DataType::kF16),
                                  io::make_tensor("b", words, numerics::DataType::kF32),
                                  io::make_tensor("q", words, numerics::DataType::kS32)};
    io::write_safetensors(path, tensors);
  });
  fuzz(bytes, 50000, [](const std::string& input) {
    std::istringstream stream(input);
    use(io::TensorFile::read_safetensors(stream, input.size(), "f.safetensors"));
  });
}

}  // namespace
}  // namespace sptc::fuzz
