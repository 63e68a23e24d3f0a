// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sparsity/compress.h"

namespace sptc::sparsity {

/// How torch.sparse names the places of groups that hold fewer non-zeros than they may: before and
/// since PyTorch began to compress float32. Full groups are the same for all encoders.
enum class PyTorchEncoder { kOld, kNew };

/// `matrix` as torch.sparse.to_sparse_semi_structured compresses it (torch/sparse/
/// _semi_structured_conversions.py, commits 08cac22e and fcf28a29). Throws InputError for types of
/// 4 bits, and for tf32 with the old encoder, which did not have it.
CompressedMatrix encode_as_pytorch(const CompressedMatrix& matrix, PyTorchEncoder encoder);

}  // namespace sptc::sparsity
