// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/temporary_directory.h"

#include <fstream>
#include <iterator>
#include <sqlite3.h>
#include <stdexcept>
#include <string>

namespace sptc::support {

/// The bytes of an SQLite file that `statements` make.
inline std::string sqlite_file(const std::string& statements) {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "x.sqlite").string();
  sqlite3* database = nullptr;
  const bool made = sqlite3_open(path.c_str(), &database) == SQLITE_OK &&
                    sqlite3_exec(database, statements.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  const std::string problem = sqlite3_errmsg(database);
  sqlite3_close(database);
  if (!made) {
    throw std::runtime_error(problem);
  }
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// An export of Nsight Systems: one addmm of 141 x 512 x 2048 with the time of its kernel, 5 us,
/// and a kernel of a graph, 7 us. `ranges`: the NVTX ranges are there.
inline std::string nsys_file(bool ranges) {
  return sqlite_file(std::string("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
                                 "INSERT INTO StringIds VALUES(1, 'nvjet_tst_64x8_64x16_4x1_v_bz_TNN'), (2, "
                                 "'nvjet_hsh_64x8_64x16_4x1_v_bz_TNN');"
                                 "CREATE TABLE TARGET_INFO_GPU(name TEXT, smCount INT);"
                                 "INSERT INTO TARGET_INFO_GPU VALUES('NVIDIA H100 80GB HBM3', 132);"
                                 "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, demangledName INT, "
                                 "correlationId INT, graphNodeId INT);"
                                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(900000, 905000, 1, 70, NULL), "
                                 "(910000, 917000, 2, 71, 5);"
                                 "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, "
                                 "correlationId INT);"
                                 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(200500, 200600, 8, 70), "
                                 "(500000, 500100, 8, 71);") +
                     (ranges ? "CREATE TABLE NVTX_EVENTS(start INT, end INT, text TEXT, globalTid INT, textId INT);"
                               "INSERT INTO NVTX_EVENTS VALUES(200000, 201000, 'aten::addmm, seq = 5, op_id = 5, "
                               "sizes = [[512], [141, 2048], [2048, 512], [], []]', 8, NULL);"
                             : ""));
}

}  // namespace sptc::support
