// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/events.h"
#include "sim/workload/readers.h"

#include <charconv>
#include <sqlite3.h>

namespace sptc::workload::profile {
namespace {

constexpr double kUsPerNs = 1e-3;
constexpr std::string_view kNoShapes =
    "nsys records no shapes: NVTX ranges of torch.autograd.profiler.emit_nvtx(record_shapes=True) say them";

class Database {
 public:
  Database(std::string bytes, std::string file) : bytes_(std::move(bytes)), file_(std::move(file)) {
    sqlite3* handle = nullptr;
    const int opened = sqlite3_open(":memory:", &handle);
    handle_.reset(handle);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    const auto size = static_cast<sqlite3_int64>(bytes_.size());
    if (opened != SQLITE_OK || sqlite3_deserialize(handle, "main", reinterpret_cast<unsigned char*>(bytes_.data()),
                                                   size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
      fail();
    }
  }

  bool has(const std::string& table, const std::string& column) const {
    bool found = false;
    each("SELECT 1 FROM sqlite_master t, pragma_table_info('" + table + "') c WHERE t.type = 'table' AND t.name = '" +
             table + "' AND c.name = '" + column + "'",
         [&found](sqlite3_stmt*) { found = true; });
    return found;
  }

  void each(const std::string& query, const std::function<void(sqlite3_stmt*)>& row) const {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(handle_.get(), query.c_str(), -1, &raw, nullptr) != SQLITE_OK) {
      fail();
    }
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement(raw, sqlite3_finalize);
    int status = SQLITE_ROW;
    while ((status = sqlite3_step(raw)) == SQLITE_ROW) {
      row(raw);
    }
    if (status != SQLITE_DONE) {
      fail();
    }
  }

  static std::string text(sqlite3_stmt* row, int column) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
    return bytes == nullptr ? "" : bytes;
  }

 private:
  [[noreturn]] void fail() const {
    io::refuse("{}: this SQLite file cannot be read: {}", file_, io::printable(sqlite3_errmsg(handle_.get())));
  }

  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  };
  std::string bytes_;
  std::string file_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// "aten::addmm, seq = 5, op_id = 5, sizes = [[512], [141, 512], [512, 512], [], []]"
TorchCall call_of(std::string_view text) {
  constexpr std::string_view kSizes = "sizes = [";
  TorchCall call;
  call.name = text.substr(0, text.find(','));
  const std::size_t sizes = text.find(kSizes);
  if (sizes == std::string_view::npos) {
    return call;
  }
  int depth = 1;
  const char* end = text.data() + text.size();
  for (const char* at = text.data() + sizes + kSizes.size(); at != end && depth > 0;) {
    if (*at == '[' && ++depth == 2) {
      call.dims.emplace_back();
    }
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc() && depth == 2) {
      call.dims.back().push_back(value);
    }
    depth -= *at == ']' ? 1 : 0;
    at = next == at ? at + 1 : next;
  }
  return call;
}

using Names = std::unordered_map<std::int64_t, std::string>;

/// The first name of each id of StringIds. A join would multiply rows where ids repeat.
Names names_of(const Database& database) {
  Names names;
  database.each("SELECT id, value FROM StringIds",
                [&](sqlite3_stmt* row) { names.emplace(sqlite3_column_int64(row, 0), Database::text(row, 1)); });
  return names;
}

/// The string whose id `column` holds; none where it is NULL or unknown.
std::string name_of(const Names& names, sqlite3_stmt* row, int column) {
  const bool known = sqlite3_column_type(row, column) != SQLITE_NULL;
  const auto found = known ? names.find(sqlite3_column_int64(row, column)) : names.end();
  return found == names.end() ? std::string() : found->second;
}

/// The process of a global id of a process or a thread: its low bits count threads.
std::uint64_t process_of(sqlite3_stmt* row, int column) {
  constexpr int kThreadBits = 24;
  return static_cast<std::uint64_t>(sqlite3_column_int64(row, column)) >> kThreadBits;
}

/// After the calls, whose processes are known then.
void read_kernels(const Database& database, const Names& names, ProfileEvents& events) {
  const std::string kTable = "CUPTI_ACTIVITY_KIND_KERNEL";
  const std::string process = database.has(kTable, "globalPid") ? "globalPid" : "NULL";
  database.each("SELECT start, end, correlationId, demangledName, " + process + " FROM " + kTable + " ORDER BY start",
                [&](sqlite3_stmt* row) {
                  const double begin = sqlite3_column_double(row, 0) * kUsPerNs;
                  const double duration = sqlite3_column_double(row, 1) * kUsPerNs - begin;
                  const bool known = sqlite3_column_type(row, 4) != SQLITE_NULL;
                  std::string name = name_of(names, row, 3);
                  ProfileEvents::Kernel kernel{begin, duration, 0, sqlite3_column_int64(row, 2)};
                  kernel.process = known ? events.process_index(process_of(row, 4)) : ProfileEvents::kUnknownProcess;
                  events.add_kernel(kernel, name);
                });
}

void read_calls(const Database& database, ProfileEvents& events) {
  database.each("SELECT start, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME", [&](sqlite3_stmt* row) {
    events.add_call(process_of(row, 1), static_cast<std::uint64_t>(sqlite3_column_int64(row, 1)),
                    sqlite3_column_double(row, 0) * kUsPerNs, sqlite3_column_int64(row, 2));
  });
}

void read_ranges(const Database& database, const std::string& file, const Names& names, ProfileEvents& events) {
  const std::string id = database.has("NVTX_EVENTS", "textId") ? "textId" : "NULL";
  database.each("SELECT start, end, globalTid, text, rowid, " + id + " FROM NVTX_EVENTS WHERE end IS NOT NULL",
                [&](sqlite3_stmt* row) {
                  const bool has_text = sqlite3_column_type(row, 3) != SQLITE_NULL;
                  TorchCall call = call_of(has_text ? Database::text(row, 3) : name_of(names, row, 5));
                  const double begin = sqlite3_column_double(row, 0) * kUsPerNs;
                  const double duration = sqlite3_column_double(row, 1) * kUsPerNs - begin;
                  events.add_op(
                      process_of(row, 2), static_cast<std::uint64_t>(sqlite3_column_int64(row, 2)), begin, duration, 0,
                      call, [&] { return fmt::format("{}: NVTX_EVENTS row {}", file, sqlite3_column_int64(row, 4)); });
                });
}

void read(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  constexpr std::size_t kMaxBytes = std::size_t{2} << 30;
  const Database database(input.rest(kMaxBytes), input.name());
  if (!database.has("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName") || !database.has("StringIds", "value")) {
    io::refuse("{}: this SQLite file has no kernels of Nsight Systems (nsys export --type sqlite writes them)",
               input.name());
  }
  ProfileEvents events;
  const Names names = names_of(database);
  if (database.has("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid")) {
    read_calls(database, events);
  }
  if (database.has("NVTX_EVENTS", "globalTid")) {
    read_ranges(database, input.name(), names, events);
  }
  read_kernels(database, names, events);
  if (database.has("TARGET_INFO_GPU", "name")) {
    database.each("SELECT name FROM TARGET_INFO_GPU",
                  [&](sqlite3_stmt* row) { events.add_gpu(Database::text(row, 0)); });
  }
  events.one_after_other = false;  // in tables of their own
  take_profile(events, input.name(), kNoShapes, options.tf32, recording);
}

}  // namespace

const Reader kNsys{"export of Nsight Systems",
                   [](const Head& head) { return head.text.starts_with("SQLite format 3"); }, read};

}  // namespace sptc::workload::profile
