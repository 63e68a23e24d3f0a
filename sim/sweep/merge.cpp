// SPDX-License-Identifier: Apache-2.0
#include "sim/io/scratch_file.h"
#include "sim/io/text_file.h"
#include "sim/sweep/sweep_store.h"

#include <cstring>
#include <unistd.h>

namespace sptc::sweep {
namespace {

/// One file to merge, standing at a point and at the first of its operations.
struct Part {
  Database database;
  SweepEntries entries;
  std::optional<ResultRows> points, operations;
  bool at_point = false, at_operation = false;

  explicit Part(const std::filesystem::path& file) : database(open_sweep(file)), entries(read_entries(database)) {}

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

  Statement insert(Database& out) const {
    const std::vector<std::string> columns = layout.columns(figures);
    out.execute(layout.create(columns));
    return out.prepare(insert_sql(layout.table, columns));
  }
};

void require_same_sweep(std::vector<Part>& parts, bool mixed_builds) {
  Part& first = parts.front();
  for (Part& part : parts) {
    const auto same = [&](const std::string& key) { return part.entries.text(key) == first.entries.text(key); };
    if (!same("digest") || !same("version") || !same("axes")) {
      io::refuse("{} and {} are not of one sweep", first.file(), part.file());
    }
    if (!same("build") && !mixed_builds) {
      io::refuse(
          "{} and {} come from different builds of the program, whose results may differ; --mixed-builds merges them "
          "all the same",
          first.file(), part.file());
    }
  }
}

bool same_row(const Statement& a, const Statement& b) {
  for (int column = 0; column < a.columns(); ++column) {
    if (a.type(column) != b.type(column) || a.text(column) != b.text(column)) {
      return false;
    }
  }
  return true;
}

/// The one of two rows of one point that counts.
Part* better(Part* a, Part* b) {
  constexpr int kStatus = 2;
  constexpr int kReason = 3;
  const Statement& row_a = a->points->row();
  const Statement& row_b = b->points->row();
  const bool a_done = row_a.text(kStatus) == "done";
  const bool b_done = row_b.text(kStatus) == "done";
  if (a_done && b_done && !same_row(row_a, row_b)) {
    io::refuse("{} and {} have different results for point {}", a->file(), b->file(), a->points->position());
  }
  if (a_done != b_done) {
    return a_done ? a : b;
  }
  return a_done || row_a.text(kReason) <= row_b.text(kReason) ? a : b;
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

std::size_t copy_rows(std::vector<Part>& parts, Statement& point, Statement& operation) {
  std::size_t count = 0;
  while (Part* const chosen = choose(parts)) {
    const std::int64_t position = chosen->points->position();
    point.insert(chosen->points->row());
    ++count;
    for (Part& part : parts) {
      if (!part.at_point || part.points->position() != position) {
        continue;
      }
      for (; part.at_operation && part.operations->position() == position; part.next_operation()) {
        if (&part == chosen) {
          operation.insert(part.operations->row());
        }
      }
      part.next_point();
    }
  }
  return count;
}

std::size_t write_merged(std::vector<Part>& parts, const std::filesystem::path& file) {
  Database out(file, Database::Mode::kCreate);
  out.execute("PRAGMA journal_mode = OFF");  // the file has no name that matters yet
  out.execute("BEGIN");
  set_finished(out, true);
  write_entries(out, parts.front().entries.texts);
  const MergedTable points(points_layout(parts.front().entries.axes), parts);
  const MergedTable operations(operations_layout(), parts);
  Statement point = points.insert(out);
  Statement operation = operations.insert(out);
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

std::size_t merge_sweeps(std::span<const std::filesystem::path> files, const std::filesystem::path& out,
                         bool mixed_builds) {
  std::vector<Part> parts;
  for (const std::filesystem::path& file : files) {
    parts.emplace_back(file);
  }
  require_same_sweep(parts, mixed_builds);
  const std::filesystem::path target = io::behind_link(out);
  // A name of its own: another merge may write the same results.
  io::ScratchFile beside(target, [](const char* name) { return io::open_new(name, 0644); });
  if (beside.made() < 0) {
    io::refuse("{}: cannot be written: {}", io::printable(target.string()), std::strerror(beside.error()));
  }
  ::close(beside.made());
  const std::size_t count = write_merged(parts, beside.path());
  parts.clear();
  io::put_in_place(beside.path(), target);
  beside.keep();
  return count;
}

}  // namespace sptc::sweep
