// SPDX-License-Identifier: Apache-2.0
// Rates of the batched engine against Eigen's sgemm in the same process. items_per_second counts
// multiply-accumulates, for sparse A the executed half. scripts/bench_table.sh makes the table.
#include "models/base/random.h"
#include "models/batched/gemm.h"
#include "models/mma/dot_step.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <benchmark/benchmark.h>
#include <hwy/targets.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

void eigen_sgemm_avx2(const float* a, const float* b, float* c, long n);
void eigen_sgemm_native(const float* a, const float* b, float* c, long n);

namespace {

using namespace sptc;
using base::Matrix;
using base::RandomStream;
using numerics::DataType;
using numerics::Word;

constexpr std::size_t kExtent = 1024;
constexpr std::int64_t kMacs = std::int64_t{kExtent} * kExtent * kExtent;

void eigen(benchmark::State& state, void (*gemm)(const float*, const float*, float*, long)) {
  const RandomStream random(1);
  std::vector<float> a(kExtent * kExtent);
  std::vector<float> b(a.size());
  std::vector<float> c(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(random.normal(i));
    b[i] = static_cast<float>(random.normal(i + a.size()));
  }
  for (auto _ : state) {
    gemm(a.data(), b.data(), c.data(), kExtent);
    benchmark::DoNotOptimize(c.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kMacs);
}

struct Case {
  std::string name;
  std::string architecture;
  mma::MmaInstruction instruction;
};

mma::MmaInstruction instruction(int k, DataType operand, DataType accumulator, bool sparse,
                                mma::MmaFamily family = mma::MmaFamily::kMma) {
  mma::MmaInstruction result;
  result.shape = family == mma::MmaFamily::kWgmma ? mma::MmaShape{64, 8, k} : mma::MmaShape{16, 8, k};
  result.a_type = operand;
  result.b_type = operand;
  result.accumulator = accumulator;
  result.sparse = sparse;
  result.family = family;
  return result;
}

std::vector<Case> cases() {
  using enum DataType;
  return {
      {"a100_f16_f32", "ampere", instruction(16, kF16, kF32, false)},
      {"a100_f16_f32_sparse", "ampere", instruction(32, kF16, kF32, true)},
      {"a100_f16_f16", "ampere", instruction(16, kF16, kF16, false)},
      {"a100_bf16", "ampere", instruction(16, kBf16, kF32, false)},
      {"a100_tf32", "ampere", instruction(8, kTf32, kF32, false)},
      {"a100_tf32_sparse", "ampere", instruction(16, kTf32, kF32, true)},
      {"a100_s8", "ampere", instruction(32, kS8, kS32, false)},
      {"a100_s8_sparse", "ampere", instruction(64, kS8, kS32, true)},
      {"v100_f16_f32", "volta",
       [] {
         mma::MmaInstruction volta = instruction(4, kF16, kF32, false);
         volta.shape = {8, 8, 4};
         return volta;
       }()},
      {"h100_f16_f32", "hopper", instruction(16, kF16, kF32, false)},
      {"h100_f16_f32_sparse", "hopper", instruction(32, kF16, kF32, true)},
      {"h100_tf32", "hopper", instruction(8, kTf32, kF32, false)},
      {"h100_mma_e4m3_lowered", "hopper", instruction(32, kE4m3, kF32, false)},
      {"h100_wgmma_e4m3", "hopper", instruction(32, kE4m3, kF32, false, mma::MmaFamily::kWgmma)},
  };
}

enum class Data { kNormal, kSpecials };

struct Operands {
  Operands(const Case& which, std::size_t extent, Data data) {
    const RandomStream random(7);
    const DataType type = which.instruction.a_type;
    const double scale = numerics::info(type).is_float() ? 1.0 : 30.0;
    const std::size_t depth = which.instruction.sparse ? extent / 2 : extent;
    a = Matrix<Word>(extent, depth);
    b = Matrix<Word>(extent, extent);
    const auto word = [&](std::uint64_t i) {
      if (data == Data::kNormal) {
        return numerics::from_double(scale * random.normal(i), type);
      }
      const double infinity = std::numeric_limits<double>::infinity();
      const double specials[] = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 1.0};
      return numerics::from_double(specials[random.below(i, 4)], type);
    };
    for (std::size_t i = 0; i < a.size(); ++i) {
      a.data()[i] = word(i);
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
      b.data()[i] = word(i + (std::uint64_t{1} << 32));
    }
    if (which.instruction.sparse) {
      constexpr std::uint8_t kLegal[] = {4, 8, 9, 12, 13, 14};
      compressed.type = type;
      compressed.pattern = sparsity::hardware_pattern(type);
      compressed.logical_k = extent;
      compressed.values = a;
      compressed.nibbles = Matrix<std::uint8_t>(extent, extent / static_cast<std::size_t>(compressed.pattern.group));
      for (std::size_t i = 0; i < compressed.nibbles.size(); ++i) {
        compressed.nibbles.data()[i] =
            compressed.pattern.group == 2 ? (random.bits(i) & 1 ? 4 : 14) : kLegal[random.below(i, 6)];
      }
    }
  }

  sptc::batched::GemmOperands operands(bool sparse) const {
    return {sparse ? nullptr : &a, sparse ? &compressed : nullptr, &b, nullptr};
  }

  Matrix<Word> a;
  sparsity::CompressedMatrix compressed;
  Matrix<Word> b;
};

void engine_gemm(benchmark::State& state, const Case& which, int threads, std::int64_t target, Data data,
                 std::size_t extent) {
  if (target != 0 && (hwy::SupportedTargets() & target) == 0) {
    state.SkipWithError("this machine does not have the instructions");
    return;
  }
  hwy::SetSupportedTargetsForTest(target);
  const mma::StepRules rules = mma::step_rules(which.architecture, which.instruction);
  const Operands operands(which, extent, data);
  for (auto _ : state) {
    const Matrix<Word> d =
        sptc::batched::gemm(which.instruction, rules, operands.operands(which.instruction.sparse), {threads, 1});
    benchmark::DoNotOptimize(d.data());
  }
  const auto macs = static_cast<std::int64_t>(extent * extent * operands.a.cols());
  state.SetItemsProcessed(state.iterations() * macs);
  hwy::SetSupportedTargetsForTest(0);
}

void plain_gemm(benchmark::State& state, const Case& which, Data data, std::size_t extent) {
  const mma::StepRules rules = mma::step_rules(which.architecture, which.instruction);
  const Operands operands(which, extent, data);
  for (auto _ : state) {
    for (std::size_t i = 0; i < extent; ++i) {
      for (std::size_t j = 0; j < extent; ++j) {
        benchmark::DoNotOptimize(mma::dense_dot(operands.a.row(i), operands.b.row(j), 0, which.instruction, rules));
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(extent * extent * extent));
}

/// m16n8k16 instructions, one call of gemm() each.
void one_instruction(benchmark::State& state, const Case& which) {
  const mma::StepRules rules = mma::step_rules(which.architecture, which.instruction);
  const RandomStream random(3);
  Matrix<Word> a(16, 16);
  Matrix<Word> b(8, 16);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a.data()[i] = numerics::from_double(random.normal(i), DataType::kF16);
    b.data()[i % b.size()] = numerics::from_double(random.normal(i + 999), DataType::kF16);
  }
  Matrix<Word> c(16, 8);
  for (auto _ : state) {
    c = sptc::batched::gemm(which.instruction, rules, {&a, nullptr, &b, &c});
    benchmark::DoNotOptimize(c.data());
  }
  state.SetItemsProcessed(state.iterations());
}

template <typename Body>
void add(const std::string& name, Body body, bool many_threads = false) {
  auto* bench = benchmark::RegisterBenchmark(name.c_str(), body);
  bench->Unit(benchmark::kMillisecond);
  if (many_threads) {
    bench->MeasureProcessCPUTime()->UseRealTime();
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  add("eigen_sgemm/avx2", [](auto& state) { eigen(state, eigen_sgemm_avx2); });
  add("eigen_sgemm/native", [](auto& state) { eigen(state, eigen_sgemm_native); });
  static const std::vector<Case> all = cases();
  for (const Case& which : all) {
    add("engine/" + which.name, [&](auto& state) { engine_gemm(state, which, 1, 0, Data::kNormal, kExtent); });
    add("engine_avx2/" + which.name,
        [&](auto& state) { engine_gemm(state, which, 1, HWY_AVX2, Data::kNormal, kExtent); });
  }
  const Case& f16 = all.front();
  for (const int threads : {1, 2}) {
    add(
        "threads/" + std::to_string(threads),
        [&, threads](auto& state) { engine_gemm(state, f16, threads, 0, Data::kNormal, kExtent); }, true);
  }
  constexpr std::size_t kSmall = 128;
  add("plain/normal", [&](auto& state) { plain_gemm(state, f16, Data::kNormal, kSmall); });
  add("plain/specials", [&](auto& state) { plain_gemm(state, f16, Data::kSpecials, kSmall); });
  add("engine_specials/f16", [&](auto& state) { engine_gemm(state, f16, 1, 0, Data::kSpecials, kSmall); });
  add("one_instruction/a100_f16_f32", [&](auto& state) { one_instruction(state, f16); });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
