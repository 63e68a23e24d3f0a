// SPDX-License-Identifier: Apache-2.0
#pragma once

// Of the toolkit that compiles this file, 1208 for 12.8; the host compiler knows every instruction.
#ifndef SPTC_CUDA_VERSION
#ifdef __CUDACC_VER_MAJOR__
#define SPTC_CUDA_VERSION (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__)
#else
#define SPTC_CUDA_VERSION 9999
#endif
#endif
