// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/io/scratch_file.h"
#include "sim/io/text_file.h"
#include "sim/sweep/store/results_file.h"
#include "sim/sweep/store/sweep_store.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <set>
#include <unistd.h>
#include <utility>

namespace sptc::sweep::store {
namespace {

/// One file to merge, standing at a point and at the first of its operations.
struct Part {
  files::Database database;
  SweepEntries entries;
  std::optional<ResultRows> points, operations;
  bool at_point = false, at_operation = false;

  explicit Part(const std::filesystem::path& file)
      : database(open_sweep(file)), entries(read_entries(database)) {}

  const std::string& file() const { return database.file(); }
  void next_operation() { at_operation = operations->step(); }
  void next_point() {
    at_point = points->step();
    if (at_operation && !(at_point && points->position() <= operations->position())) {
      operations->refuse("belongs to no point");
    }
  }
};

/// The columns of a table of the result in their order.
struct MergedTable {
  TableLayout layout;
  std::set<std::string> figures;

  MergedTable(TableLayout table, std::vector<Part>& parts) : layout(std::move(table)) {
    for (Part& part : parts) {
      figures.merge(columns_of(part.database, layout.table));
    }
  }

  files::Statement insert(files::Database& out) const {
    out.execute(layout.create(figures));
    return out.prepare(insert_sql(layout.table, layout.columns(figures)));
  }
};

void require_same_sweep(std::vector<Part>& parts, bool mixed_builds) {
  Part& first = parts.front();
  for (Part& part : parts) {
    const auto same = [&](const std::string& key) {
      return part.entries.text(key) == first.entries.text(key);
    };
    if (!same("digest") || !same("version") || !same("axes")) {
      throw base::InputError(
          fmt::format("{} and {} are not of one sweep", first.file(), part.file()));
    }
    if (!same("build") && !mixed_builds) {
      throw base::InputError(fmt::format(
          "{} and {} come from different builds of the program, whose results may differ; "
          "--mixed-builds merges them all the same",
          first.file(), part.file()));
    }
  }
}

bool same_row(const files::Statement& a, const files::Statement& b) {
  for (int column = 0; column < a.columns(); ++column) {
    if (a.type(column) != b.type(column) || a.text(column) != b.text(column)) {
      return false;
    }
  }
  return true;
}

/// Of two rows of one point the one that counts.
Part* better(Part* a, Part* b) {
  constexpr int kStatus = 2;
  constexpr int kReason = 3;
  const files::Statement& row_a = a->points->row();
  const files::Statement& row_b = b->points->row();
  const bool a_done = row_a.text(kStatus) == "done";
  const bool b_done = row_b.text(kStatus) == "done";
  if (a_done && b_done && !same_row(row_a, row_b)) {
    throw base::InputError(fmt::format("{} and {} have different results for point {}", a->file(),
                                       b->file(), a->points->position()));
  }
  if (a_done != b_done) {
    return a_done ? a : b;
  }
  return a_done || row_a.text(kReason) <= row_b.text(kReason) ? a : b;
}

void copy_row(const files::Statement& from, files::Statement& to) {
  for (int column = 0; column < from.columns(); ++column) {
    switch (from.type(column)) {
      case files::Statement::Type::kNull:
        to.bind_null(column + 1);
        break;
      case files::Statement::Type::kInteger:
        to.bind(column + 1, from.integer(column));
        break;
      case files::Statement::Type::kReal:
        to.bind(column + 1, from.real(column));
        break;
      case files::Statement::Type::kText:
        to.bind(column + 1, from.text(column));
        break;
      case files::Statement::Type::kBlob:
        throw base::InternalError("a row of results was not checked");
    }
  }
  to.step();
  to.reset();
}

/// The part whose row of the lowest position counts; null where no rows are left.
Part* choose(std::vector<Part>& parts) {
  Part* chosen = nullptr;
  for (Part& part : parts) {
    if (!part.at_point) {
      continue;
    }
    if (chosen == nullptr || part.points->position() < chosen->points->position()) {
      chosen = &part;
    } else if (part.points->position() == chosen->points->position()) {
      chosen = better(chosen, &part);
    }
  }
  return chosen;
}

std::size_t copy_rows(std::vector<Part>& parts, files::Statement& point,
                      files::Statement& operation) {
  std::size_t count = 0;
  while (Part* const chosen = choose(parts)) {
    const std::int64_t position = chosen->points->position();
    copy_row(chosen->points->row(), point);
    ++count;
    for (Part& part : parts) {
      if (!part.at_point || part.points->position() != position) {
        continue;
      }
      for (; part.at_operation && part.operations->position() == position; part.next_operation()) {
        if (&part == chosen) {
          copy_row(part.operations->row(), operation);
        }
      }
      part.next_point();
    }
  }
  return count;
}

std::size_t write_merged(std::vector<Part>& parts, const std::filesystem::path& file) {
  files::Database out(file, files::Database::Mode::kCreate);
  out.execute("PRAGMA journal_mode = OFF");  // the file has no name that matters yet
  out.execute("BEGIN");
  set_finished(out, true);
  write_entries(out, parts.front().entries.texts);
  const MergedTable points(points_layout(parts.front().entries.axes), parts);
  const MergedTable operations(operations_layout(), parts);
  files::Statement point = points.insert(out);
  files::Statement operation = operations.insert(out);
  for (Part& part : parts) {
    part.points.emplace(part.database, points.layout, points.figures);
    part.operations.emplace(part.database, operations.layout, operations.figures);
    part.next_operation();
    part.next_point();
  }
  const std::size_t count = copy_rows(parts, point, operation);
  out.execute("COMMIT");
  return count;
}

}  // namespace

std::size_t merge_sweeps(std::span<const std::filesystem::path> files,
                         const std::filesystem::path& out, bool mixed_builds) {
  std::vector<Part> parts;
  for (const std::filesystem::path& file : files) {
    parts.emplace_back(file);
  }
  require_same_sweep(parts, mixed_builds);
  const std::filesystem::path target = io::behind_link(out);
  // A name of its own: another merge may write the same results.
  io::ScratchFile beside(target, [](const char* name) { return io::open_new(name, 0644); });
  if (beside.made() < 0) {
    throw base::InputError(fmt::format("{}: cannot be written: {}", io::printable(target.string()),
                                       std::strerror(beside.error())));
  }
  ::close(beside.made());
  const std::size_t count = write_merged(parts, beside.path());
  parts.clear();
  io::put_in_place(beside.path(), target);
  beside.keep();
  return count;
}

}  // namespace sptc::sweep::store
