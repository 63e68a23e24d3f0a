// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::workload::blas {
namespace {

Recording read(const std::string& text) {
  input::InputStream input(text, "x");
  return importer::read_recording(input);
}

const std::string kHeader =
    "Problem,Provider,OperationKind,Operation,Disposition,Status,gemm_kind,m,n,k,A,B,C,"
    "batch_count,op_class,Runtime\n";

/// A row of one kernel.
std::string row(const std::string& kind, const std::string& operation, const std::string& status,
                const std::string& extents, const std::string& type, const std::string& op_class,
                const std::string& runtime) {
  return "1,CUTLASS," + kind + "," + operation + ",passed," + status + ",universal," + extents + "," + type +
         ":column," + type + ":row," + "f32:column,1," + op_class + "," + runtime + "\n";
}

TEST(CutlassProfile, OfEachProblemTheFastestKernelIsTaken) {
  const Recording recording =
      read("some output\n" + kHeader + row("gemm", "slow", "success", "512,256,128", "f16", "tensorop", "0.5") +
           row("gemm", "fast", "success", "512,256,128", "f16", "tensorop", "0.25") +
           row("gemm", "slower", "success", "512,256,128", "f16", "tensorop", "0.75") +
           row("spgemm", "sparse", "success", "512,256,128", "f16", "tensorop", "0.125"));
  ASSERT_EQ(recording.workload.operations.size(), 2);
  EXPECT_EQ(recording.workload.operations[0].recorded.kernel, "fast");
  EXPECT_EQ(recording.workload.operations[0].recorded.time_us, 250);
  EXPECT_EQ(recording.workload.operations[0].shape, (base::GemmShape{512, 256, 128}));
  EXPECT_EQ(recording.workload.operations[0].recorded.d_dtype, "f32");
  EXPECT_FALSE(recording.workload.operations[0].recorded.sparse);
  EXPECT_TRUE(recording.workload.operations[1].recorded.sparse);
  ASSERT_EQ(recording.workload.not_taken.size(), 1);
  EXPECT_EQ(recording.workload.not_taken[0].count, 2);
}

TEST(CutlassProfile, WhatFailedOrIsNoTensorCoreIsNotTaken) {
  const Recording recording = read(kHeader + row("gemm", "a", "success", "512,256,128", "f16", "tensorop", "0.5") +
                                   row("gemm", "b", "error", "512,256,128", "f16", "tensorop", "0") +
                                   row("gemm", "c", "success", "512,256,128", "f32", "simt", "9"));
  ASSERT_EQ(recording.workload.not_taken.size(), 2);
  EXPECT_EQ(recording.workload.not_taken[0].reason, "its status is 'error'");
  EXPECT_EQ(recording.workload.not_taken[1].reason, "f32 on SIMT units, not on tensor cores");
}

TEST(CutlassProfile, ConvolutionsHaveTheirOwnColumns) {
  const Recording recording = read(
      "Problem,Provider,OperationKind,Operation,Disposition,Status,conv_kind,n,h,w,c,k,r,s,pad_h,"
      "pad_w,stride_h,stride_w,Activation,Filter,Output,Runtime\n"
      "1,CUTLASS,conv2d,x,passed,success,fprop,2,8,8,16,32,3,3,1,1,2,2,f16:nhwc,f16:nhwc,f16:nhwc,"
      "0.5\n");
  EXPECT_EQ(recording.workload.operations.at(0).shape, (base::GemmShape{32, 2 * 4 * 4, 144}));
}

TEST(CutlassProfile, FaultsAreNamedByLine) {
  support::expect_input_error(
      [] { read("\n\n" + kHeader + row("gemm", "a", "success", "512,,1", "f16", "tensorop", "1")); },
      {"x:4: n must be an integer from 0 to 2147483647, not ''"});
  support::expect_input_error([] { read(kHeader + row("gemm", "a", "success", "5,6,-7", "f16", "tensorop", "1")); },
                              {"x:2: k must be an integer from 0 to 2147483647, not '-7'"});
  support::expect_input_error([] { read(kHeader + row("gemm", "a", "success", "5,6,7", "f16", "tensorop", "soon")); },
                              {"x:2: Runtime must be milliseconds, not 'soon'"});
  support::expect_input_error([] { read(kHeader); }, {"x: no GEMM was found in this profile of CUTLASS"});
}

}  // namespace
}  // namespace sptc::workload::blas
