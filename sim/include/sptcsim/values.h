// SPDX-License-Identifier: Apache-2.0
//
// Bits: what comes out of a matrix instruction and of a GEMM that is built from it; 2:4 pruning and
// compression; which instructions a GPU has. Link sptcsim::values. No SystemC, no files, no threads
// but those that a call asks for.
//
// Matrices are row-major. Elements are words: the storage bits of one element in the low bits of a
// Word, 16 for f16, 8 for e4m3. Sparsity is along K: of each group of a row of A at most N of M are
// kept. GPUs are called by a compilation target ("sm_80"), a generation ("ampere") or a name of
// their vendor ("A100").
//
// Functions throw InputError, one clear sentence, where shapes, types or names do not fit. They may
// be called from several threads at once.
#pragma once

#include "models/base/error.h"
#include "models/base/matrix.h"
#include "models/mma/catalogue.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/prune.h"

#include <string_view>

namespace sptcsim {

using sptc::base::InputError;
using sptc::base::InternalError;
using sptc::base::Matrix;

using sptc::numerics::DataType;
using sptc::numerics::from_double;
using sptc::numerics::parse_data_type;
using sptc::numerics::to_double;
using sptc::numerics::Word;

using sptc::sparsity::compress;
using sptc::sparsity::CompressedMatrix;
using sptc::sparsity::decompress;
using sptc::sparsity::hardware_pattern;
using sptc::sparsity::Pattern;
using sptc::sparsity::prune_by_magnitude;

/// Metadata of a compressed matrix: canonical, as registers of mma.sp, as CUTLASS and PyTorch store
/// it.
using sptc::sparsity::MetadataForm;
using sptc::sparsity::MetadataOrder;
using sptc::sparsity::pack_metadata;
using sptc::sparsity::unpack_metadata;

/// The catalogue: every matrix instruction of a target, dense and sparse.
using sptc::mma::CatalogueEntry;
using sptc::mma::find_target;
using sptc::mma::instructions;
using sptc::mma::MmaInstruction;
using sptc::mma::StepRules;
using sptc::mma::Target;
using sptc::mma::targets;

/// An instruction and how a GPU adds up its products.
struct Arithmetic {
  MmaInstruction instruction;
  StepRules rules;
};

/// The arithmetic of the instruction which PTX calls `instruction`, or in short
/// "mma.sp.m16n8k32.f32.f16.f16.f32". Throws InputError that names the nearest instructions of the
/// GPU, or that says that its arithmetic is not known.
Arithmetic arithmetic_of(std::string_view gpu, std::string_view instruction);

/// The arithmetic of the deepest mma.sync for operands of `type`. Kernels of Hopper and Blackwell have wgmma and
/// tcgen05.mma, which add fp8 in another way: arithmetic_of().
Arithmetic gemm_arithmetic(std::string_view gpu, DataType type, bool sparse);

/// D[m, n] = A[m, k] B[k, n] + C[m, n] with a dense instruction, bit by bit as the GPU computes it:
/// K in increasing order, the accumulator rounded at every step, a last step that is not full
/// padded with zeros. A and B hold words of the operand types, C and D of the accumulator; no C is
/// +0. `threads` of the host share the rows. Not for f64 and block-scaled instructions.
Matrix<Word> gemm(const Arithmetic& arithmetic, const Matrix<Word>& a, const Matrix<Word>& b,
                  const Matrix<Word>* c = nullptr, int threads = 1);

/// The same with a sparse instruction and A compressed; B is [logical k, n].
Matrix<Word> gemm(const Arithmetic& arithmetic, const CompressedMatrix& a, const Matrix<Word>& b,
                  const Matrix<Word>* c = nullptr, int threads = 1);

}  // namespace sptcsim
