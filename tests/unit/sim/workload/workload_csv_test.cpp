// SPDX-License-Identifier: Apache-2.0
#include "sim/io/csv.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"

namespace sptc::workload {
namespace {

using numerics::DataType;

Workload parse(const std::string& text) {
  return parse_workload_csv(text, "dir/list.csv");
}

void expect_refused(const std::string& text, std::initializer_list<std::string_view> parts) {
  support::expect_input_error([&] { parse(text); }, parts);
}

TEST(WorkloadCsv, ReadsTheThreeRequiredColumns) {
  const Workload workload = parse("m,n,k\n4096,8,1024\n");
  EXPECT_EQ(workload.name, "list");
  ASSERT_EQ(workload.operations.size(), 1u);
  const Operation& op = workload.operations[0];
  EXPECT_EQ(op.shape, (base::GemmShape{4096, 8, 1024}));
  EXPECT_EQ(op.name, "4096x8x1024");
  EXPECT_EQ(op.dtype, DataType::kF16);
  EXPECT_EQ(op.batch, 1);
  EXPECT_EQ(op.count, 1);
  EXPECT_TRUE(op.prunable) << "as in sptcsim gemm";
}

TEST(WorkloadCsv, NamesOfColumnsAndTypesAreThoseOfOthersToo) {
  const Workload workload = parse(
      "Name, M ,N,K,DType,Sparsity\n"
      "a,16,8,32,FP16,\nb,16,8,32,half,dense\nc,16,8,32,bfloat16,\nd,16,8,32,int8,\n"
      "e,16,8,32,fp8,\nf,16,8,32,float8_e5m2,\ng,16,8,32,TF32,\n");
  const DataType types[] = {DataType::kF16,  DataType::kF16,  DataType::kBf16, DataType::kS8,
                            DataType::kE4m3, DataType::kE5m2, DataType::kTf32};
  ASSERT_EQ(workload.operations.size(), std::size(types));
  for (std::size_t i = 0; i < std::size(types); ++i) {
    EXPECT_EQ(workload.operations[i].dtype, types[i]) << i;
    EXPECT_EQ(workload.operations[i].shape, (base::GemmShape{16, 8, 32}));
  }
  EXPECT_FALSE(workload.operations[1].prunable);
  EXPECT_TRUE(workload.notes.empty());
}

TEST(WorkloadCsv, ColumnsThatAreNotReadAreNotedOnce) {
  const Workload workload = parse("m,n,k,layer_id,sparcity\n4096,8,1024,7,2:4\n1,1,1,8,2:4\n");
  EXPECT_EQ(workload.notes, (std::vector<std::string>{"columns that are not read: 'layer_id', 'sparcity' (like "
                                                      "'sparsity')"}));
}

TEST(WorkloadCsv, ATypeMayNameTheScalesOfItsBlocks) {
  const Workload workload = parse("m,n,k,dtype\n16,8,32,nvfp4\n16,8,32,mxfp8\n16,8,32,fp8\n");
  EXPECT_EQ(workload.operations[0].dtype, DataType::kE2m1);
  EXPECT_EQ(workload.operations[0].storage.scale_block, 16);
  EXPECT_EQ(workload.operations[1].storage.scale_block, 32);
  EXPECT_EQ(workload.operations[2].storage.scale_block, 0);
}

constexpr const char* kTokensFirst = "M,N,K\n384,3072,1024\n384,1024,4096\n384,4096,1024\n";

TEST(WorkloadCsv, TokensFirstSwapsMAndN) {
  const Workload swapped = parse_workload_csv(kTokensFirst, "list.csv", Convention::kTokensFirst);
  EXPECT_EQ(swapped.operations[0].shape, (base::GemmShape{3072, 384, 1024}));
  EXPECT_TRUE(swapped.notes.empty());
  EXPECT_EQ(parse_convention("tokens-first"), Convention::kTokensFirst);
  support::expect_input_error([] { parse_convention("tokens"); },
                              {"--convention: unknown convention 'tokens' (nearest valid: 'tokens-first'"});
}

TEST(WorkloadCsv, AnMThatLooksLikeTokensIsNoted) {
  const Workload workload = parse(kTokensFirst);
  EXPECT_EQ(workload.operations[0].shape, (base::GemmShape{384, 3072, 1024}));
  ASSERT_EQ(workload.notes.size(), 1);
  EXPECT_NE(workload.notes[0].find("m looks like tokens"), std::string::npos);
  EXPECT_NE(workload.notes[0].find("--convention tokens-first"), std::string::npos);
  EXPECT_TRUE(parse("m,n,k\n3072,384,1024\n1024,384,4096\n4096,384,1024\n").notes.empty());
  EXPECT_TRUE(parse("m,n,k\n512,512,512\n").notes.empty());
}

TEST(WorkloadCsv, ReadsAllColumnsInAnyOrder) {
  const Workload workload = parse(
      "name,k,n,m,count,batch,sparsity,dtype\r\n"
      "\"ffn \"\"up\"\", fused\",64,32,16,3,2,2:4,bf16\r\n"
      "head,64,32,16,,,dense,tf32\r\n");
  ASSERT_EQ(workload.operations.size(), 2u);
  const Operation& op = workload.operations[0];
  EXPECT_EQ(op.name, "ffn \"up\", fused");
  EXPECT_EQ(op.shape, (base::GemmShape{16, 32, 64}));
  EXPECT_EQ(op.count, 3);
  EXPECT_EQ(op.batch, 2);
  EXPECT_TRUE(op.prunable);
  EXPECT_EQ(op.dtype, DataType::kBf16);
  EXPECT_EQ(workload.operations[1].batch, 1);
  EXPECT_EQ(workload.operations[1].dtype, DataType::kTf32);
}

TEST(WorkloadCsv, SkipsAByteOrderMarkAndBlankLines) {
  EXPECT_EQ(parse("\xEF\xBB\xBFm,n,k\n\n1,2,3\n\n").operations.size(), 1u);
}

TEST(WorkloadCsv, RefusesSizesThatAreNoPositive32BitInteger) {
  for (const char* bad :
       {"0", "-4", "2147483648", "99999999999999999999", "1.5", "x", "", "1e3", "NaN", " 4", "0x10"}) {
    expect_refused("m,n,k\n1,1,1\n8," + std::string(bad) + ",8\n",
                   {"dir/list.csv:3: n must be an integer from 1 to 2147483647, not '" + std::string(bad) + "'"});
  }
}

TEST(WorkloadCsv, ReadsWhatSurroundsAnOperation) {
  const Workload workload = parse(
      "m,n,k,b,group,rest_ns,rest_bytes\n"
      "16,32,64,zeros,layer 0,1500,9007199254740992\n16,32,64,,,,\n16,32,64,,,1500,\n");
  const Operation& op = workload.operations[0];
  EXPECT_TRUE(op.b_is_zero);
  EXPECT_EQ(op.group, "layer 0");
  EXPECT_EQ(op.rest.ns, 1500);
  EXPECT_EQ(op.rest.bytes, 9007199254740992);
  EXPECT_FALSE(workload.operations[1].b_is_zero);
  EXPECT_EQ(workload.operations[1].group, "");
  EXPECT_FALSE(workload.operations[1].rest.any());
  EXPECT_EQ(workload.operations[2].rest.bytes, 0);
}

TEST(WorkloadCsv, RefusesSurroundingsThatMakeNoSense) {
  const std::string header = "m,n,k,b,rest_ns,rest_bytes\n1,1,1,";
  expect_refused(header + "ones,,\n", {"list.csv:2", "b must be 'zeros' or empty, not 'ones'"});
  expect_refused(header + ",,64\n", {"rest_bytes without rest_ns"});
  for (const char* bad : {"-1", "1.5", "1e3", "9007199254740993", "NaN", " 1", "\x1b[2J"}) {
    expect_refused(header + "," + bad + ",\n", {"rest_ns must be an integer from 0"});
    expect_refused(header + ",1," + bad + "\n", {"rest_bytes must be an integer from 0"});
  }
}

TEST(WorkloadCsv, RefusesMacsBeyond64Bits) {
  expect_refused("m,n,k\n2147483647,2147483647,2147483647\n", {":2:", "exceeds 64 bits"});
  expect_refused("m,n,k,batch\n2147483647,2147483647,1,2\n2147483647,2147483647,1,1\n", {":3:", "exceeds 64 bits"});
}

TEST(WorkloadCsv, RefusesAHeaderThatIsWrong) {
  expect_refused("", {"empty"});
  expect_refused("m,n\n1,2\n", {":1: the first line must name the columns, and 'k' is missing"});
  expect_refused("m,n,k,m\n1,2,3,4\n", {":1: the column 'm' stands twice"});
  expect_refused("16,32,64\n", {":1: the first line must name the columns"});
}

TEST(WorkloadCsv, RefusesAFileWithoutOperations) {
  expect_refused("m,n,k\n", {"no operations"});
}

TEST(WorkloadCsv, RefusesRowsWithAnotherNumberOfFields) {
  expect_refused("m,n,k\n1,2\n", {":2: 2 fields, but the header has 3"});
  expect_refused("m,n,k\n1,2,3,\n", {":2: 4 fields, but the header has 3"});
}

TEST(WorkloadCsv, NamesTheNearestType) {
  expect_refused("m,n,k,dtype\n1,2,3,f61\n", {":2: unknown operand type 'f61'", "'f16'"});
  expect_refused("m,n,k,dtype\n1,2,3,float32\n", {":2: unknown operand type 'float32'", "'tf32'"});
}

TEST(WorkloadCsv, RefusesAPatternThatTheTypeDoesNotExecute) {
  expect_refused("m,n,k,sparsity\n8,8,8,1:4\n", {":2: sparsity", "'2:4'", "'1:4'"});
  expect_refused("m,n,k,dtype,sparsity\n8,8,8,tf32,2:4\n", {"for tf32, '1:2', not '2:4'"});
  EXPECT_TRUE(parse("m,n,k,dtype,sparsity\n8,8,8,tf32,1:2\n").operations[0].prunable);
}

TEST(WorkloadCsv, RefusesQuotesThatRfc4180Forbids) {
  expect_refused("m,n,k,name\n1,2,3,\"open\n4,5,6,x\n", {":2: a quoted field that never ends"});
  expect_refused("m,n,k,name\n1,2,3,\"a\"b\n", {":2: text after a closing quote"});
  expect_refused("m,n,k,name\n1,2,3,a\"b\n", {":2: a quote inside a field"});
}

TEST(WorkloadCsv, CountsLinesAcrossQuotedLineBreaks) {
  expect_refused("m,n,k,name\n1,2,3,\"two\nlines\"\n0,1,1,x\n", {":4: m must be"});
}

}  // namespace
}  // namespace sptc::workload
