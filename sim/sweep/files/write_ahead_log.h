// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace sptc::sweep::files {

/// The size of a file that SQLite has beside `file`, whose name ends with `end` ("-wal"); 0 where
/// it is not there. SQLite would wait for a pipe, and write through a link: throws InputError where
/// the name stands for anything but a regular file that has no other name.
std::uintmax_t size_beside(const std::filesystem::path& file, std::string_view end);

/// The open database `descriptor` of SQLite with what its log `file`-wal holds, as one that needs
/// no log: one state, whoever writes meanwhile. Nothing where there is no log, or an empty one.
/// Throws InputError where the log is damaged, or a program writes more than can be read.
std::optional<std::string> with_log(int descriptor, const std::filesystem::path& file);

/// `database` after the transactions of `log` that are whole. Throws InputError, which begins with
/// `shown`, where the log is of another database.
void apply_log(std::string& database, std::string_view log, const std::string& shown);

}  // namespace sptc::sweep::files
