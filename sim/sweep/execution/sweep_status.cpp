// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/execution/sweep_status.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/sweep/files/write_ahead_log.h"
#include "sim/sweep/store/results_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace sptc::sweep::execution {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kInterval{2};
constexpr std::uint64_t kMaxBytes = 1 << 12;

constexpr const char* kEnd = ".run";

std::filesystem::path mark_of(const std::filesystem::path& results) {
  return io::behind_link(results).string() + kEnd;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// RESULTS.1, RESULTS.2, ... in order of their numbers.
std::vector<std::filesystem::path> shards_of(const std::filesystem::path& results) {
  const std::filesystem::path folder = results.has_parent_path() ? results.parent_path() : ".";
  const std::string begin = results.filename().string() + ".";
  std::vector<std::pair<std::size_t, std::filesystem::path>> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const std::string number = name.starts_with(begin) ? name.substr(begin.size()) : "";
    const bool whole = !number.empty() && number.size() < 10 &&
                       std::all_of(number.begin(), number.end(), [](char c) {
                         return std::isdigit(static_cast<unsigned char>(c)) != 0;
                       });
    if (whole) {
      found.emplace_back(std::stoul(number), results.string() + "." + number);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::filesystem::path> files;
  for (auto& [number, file] : found) {
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<std::filesystem::path> all_of(std::span<const std::filesystem::path> files) {
  std::vector<std::filesystem::path> all;
  std::error_code error;
  for (const std::filesystem::path& file : files) {
    if (std::filesystem::exists(file, error)) {
      all.push_back(file);
      continue;
    }
    const std::vector<std::filesystem::path> shards = shards_of(file);
    if (shards.empty()) {
      throw base::InputError(fmt::format("{0}: no such file, and no shard {0}.1, {0}.2, ...",
                                         io::printable(file.string())));
    }
    all.insert(all.end(), shards.begin(), shards.end());
  }
  return all;
}

/// Reads one part; `seen` is whether each point of any part is done.
class Reader {
 public:
  explicit Reader(SweepStatus& status) : status_(status) {}

  void read(const std::filesystem::path& file) {
    PartStatus part{file, 0, 0, is_being_written(file), read_run_mark(file)};
    std::error_code error;
    const bool begins = part.running && std::filesystem::file_size(file, error) == 0;
    if (!begins) {
      files::Database database = store::open_sweep(file);
      const store::SweepEntries entries = store::read_entries(database);
      identify(entries, database.file());
      if (!store::columns_of(database, "points").empty()) {
        count(database, part);
      }
    }
    status_.parts.push_back(std::move(part));
  }

  void finish() {
    for (const auto& [position, done] : seen_) {
      ++(done ? status_.done : status_.failed);
    }
  }

 private:
  void identify(const store::SweepEntries& entries, const std::string& file) {
    if (digest_.empty()) {
      digest_ = entries.text("digest");
      first_ = file;
      status_.name = entries.text("name");
      status_.version = entries.text("version");
      status_.points = entries.points;
    } else if (digest_ != entries.text("digest")) {
      throw base::InputError(fmt::format("{} and {} are not of one sweep", first_, file));
    }
  }

  void count(files::Database& database, PartStatus& part) {
    files::Statement rows = database.prepare("SELECT position, status FROM points");
    while (rows.step()) {
      const bool done = rows.text(1) == "done";
      ++(done ? part.done : part.failed);
      bool& any = seen_[rows.integer(0)];
      any = any || done;
    }
  }

  SweepStatus& status_;
  std::string digest_, first_;
  std::unordered_map<std::int64_t, bool> seen_;
};

json part_json(const PartStatus& part) {
  json result{{"file", part.file.string()},
              {"done", part.done},
              {"failed", part.failed},
              {"running", part.running},
              {"run", nullptr}};
  if (part.run) {
    result["run"] = {{"host", part.run->host},
                     {"pid", part.run->pid},
                     {"since", part.run->since},
                     {"shard", fmt::format("{}/{}", part.run->shard.index, part.run->shard.count)},
                     {"points", part.run->total},
                     {"done", part.run->done},
                     {"seconds_left", part.run->seconds_left}};
  }
  return result;
}

}  // namespace

RunMarker::RunMarker(const std::filesystem::path& results, const SweepShard& shard)
    : results_(io::behind_link(results)), file_(mark_of(results)) {
  mark_.host = host_name();
  mark_.pid = ::getpid();
  mark_.since = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  mark_.shard = shard;
}

RunMarker::~RunMarker() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

void RunMarker::update(const SweepProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (mark_.total > 0 && now - written_ < kInterval) {
    return;
  }
  written_ = now;
  mark_.total = progress.total;
  mark_.done = progress.reused + progress.done;
  mark_.seconds_left = progress.seconds_left;
  const json text{{"host", mark_.host},
                  {"pid", mark_.pid},
                  {"since", mark_.since},
                  {"shard", {mark_.shard.index, mark_.shard.count}},
                  {"total", mark_.total},
                  {"done", mark_.done},
                  {"seconds_left", mark_.seconds_left}};
  try {
    files::size_beside(results_, kEnd);  // no link that would lead elsewhere
    io::write_file(file_, text.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  } catch (const base::InputError&) {  // of a full disk the results will say so
  }
}

std::optional<RunMark> read_run_mark(const std::filesystem::path& results) {
  try {
    if (files::size_beside(io::behind_link(results), kEnd) == 0) {
      return std::nullopt;
    }
    const json text = json::parse(io::read_text_file(mark_of(results), kMaxBytes));
    RunMark mark;
    mark.host = text.at("host").get<std::string>();
    mark.pid = text.at("pid").get<std::int64_t>();
    mark.since = text.at("since").get<std::string>();
    mark.shard.index = text.at("shard").at(0).get<std::uint64_t>();
    mark.shard.count = text.at("shard").at(1).get<std::uint64_t>();
    mark.total = text.at("total").get<std::uint64_t>();
    mark.done = text.at("done").get<std::uint64_t>();
    mark.seconds_left = text.at("seconds_left").get<double>();
    return mark;
  } catch (const base::InputError&) {  // gone since, or no mark of a sweep
    return std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

bool is_being_written(const std::filesystem::path& results) {
  const int descriptor = ::open(results.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) {
    return false;
  }
  const bool locked = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return locked;
}

std::optional<std::size_t> SweepStatus::missing() const {
  if (!points) {
    return std::nullopt;
  }
  const std::size_t rows = done + failed;
  return *points > rows ? *points - rows : 0;
}

std::string SweepStatus::state() const {
  const bool running =
      std::any_of(parts.begin(), parts.end(), [](const PartStatus& part) { return part.running; });
  if (missing() != 0 || parts.empty()) {
    return running ? "running" : "stopped";
  }
  return failed > 0 ? "failed" : "done";
}

SweepStatus sweep_status(std::span<const std::filesystem::path> files) {
  SweepStatus status;
  Reader reader(status);
  for (const std::filesystem::path& file : all_of(files)) {
    reader.read(file);
  }
  reader.finish();
  return status;
}

namespace {

std::string number(const std::optional<std::uint64_t>& count) {
  return count ? std::to_string(*count) : "unknown";
}

json json_number(const std::optional<std::uint64_t>& count) {
  return count ? json(*count) : json(nullptr);
}

}  // namespace

std::string status_text(const SweepStatus& status) {
  std::string text = fmt::format("{}: {}; {} points planned, {} done, {} failed, {} missing\n\n",
                                 io::printable(status.name), status.state(), number(status.points),
                                 status.done, status.failed, number(status.missing()));
  text +=
      fmt::format("{:>10} {:>10}  {:<8} {:<44} {}\n", "done", "failed", "shard", "where", "file");
  for (const PartStatus& part : status.parts) {
    std::string where = part.running ? "runs" : "";
    std::string shard;
    if (part.run) {
      shard = fmt::format("{}/{}", part.run->shard.index, part.run->shard.count);
      where = fmt::format("{} {} pid {}", part.running ? "runs on" : "was stopped on",
                          io::printable(part.run->host), part.run->pid);
      if (part.running) {
        where += fmt::format(", {} of {}", part.run->done, part.run->total);
      }
    }
    text += fmt::format("{:>10} {:>10}  {:<8} {:<44} {}\n", part.done, part.failed, shard, where,
                        io::printable(part.file.string()));
  }
  return text;
}

std::string status_json(const SweepStatus& status) {
  json parts = json::array();
  for (const PartStatus& part : status.parts) {
    parts.push_back(part_json(part));
  }
  const json root{{"schema", "sptcsim-sweep-status/0.1"},
                  {"name", status.name},
                  {"version", status.version},
                  {"state", status.state()},
                  {"points", json_number(status.points)},
                  {"done", status.done},
                  {"failed", status.failed},
                  {"missing", json_number(status.missing())},
                  {"parts", parts}};
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace sptc::sweep::execution
