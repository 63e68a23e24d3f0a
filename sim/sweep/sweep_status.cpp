// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_status.h"

#include "sim/io/text_file.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <ranges>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

namespace sptc::sweep {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunMark, host, pid, since, shard, points, done, seconds_left)

namespace {

using nlohmann::json;

constexpr std::chrono::seconds kInterval{2};
constexpr std::uint64_t kMaxBytes = 1 << 12;

constexpr const char* kEnd = ".run";

std::filesystem::path mark_of(const std::filesystem::path& results) {
  return io::behind_link(results).string() + kEnd;
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
    if (std::size_t value = 0; number.size() < 10 && io::parse_whole(number, value)) {
      found.emplace_back(value, results.string() + "." + number);
    }
  }
  std::ranges::sort(found);
  const auto files = std::views::values(found);
  return {files.begin(), files.end()};
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
      io::refuse("{0}: no such file, and no shard {0}.1, {0}.2, ...", io::printable(file.string()));
    }
    all.insert(all.end(), shards.begin(), shards.end());
  }
  return all;
}

/// Counts the rows of a part. `seen`: whether each point is done in any part.
void count_rows(Database& database, PartStatus& part, std::unordered_map<std::int64_t, bool>& seen) {
  if (columns_of(database, "points").empty()) {
    return;
  }
  Statement rows = database.prepare("SELECT position, status FROM points");
  while (rows.step()) {
    const bool done = rows.text(1) == "done";
    ++(done ? part.done : part.failed);
    bool& any = seen[rows.integer(0)];
    any = any || done;
  }
}

}  // namespace

RunMarker::RunMarker(const std::filesystem::path& results, const SweepShard& shard)
    : results_(io::behind_link(results)), file_(mark_of(results)) {
  std::array<char, 256> name{};
  mark_.host = ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
  mark_.pid = ::getpid();
  mark_.since = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  mark_.shard = fmt::format("{}/{}", shard.index, shard.count);
}

RunMarker::~RunMarker() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

void RunMarker::update(const SweepProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (mark_.points > 0 && now - written_ < kInterval) {
    return;
  }
  written_ = now;
  mark_.points = progress.total;
  mark_.done = progress.reused + progress.done;
  mark_.seconds_left = progress.seconds_left;
  try {
    size_beside(results_, kEnd);  // no link that would lead elsewhere
    io::write_file(file_, io::json_text(json(mark_)) + "\n");
  } catch (const base::InputError&) {  // of a full disk the results will say so
  }
}

std::optional<RunMark> read_run_mark(const std::filesystem::path& results) {
  try {
    if (size_beside(io::behind_link(results), kEnd) == 0) {
      return std::nullopt;
    }
    return json::parse(io::read_text_file(mark_of(results), kMaxBytes)).get<RunMark>();
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
  const bool running = std::ranges::any_of(parts, [](const PartStatus& part) { return part.running; });
  if (missing() != 0 || parts.empty()) {
    return running ? "running" : "stopped";
  }
  return failed > 0 ? "failed" : "done";
}

SweepStatus sweep_status(std::span<const std::filesystem::path> files) {
  SweepStatus status;
  std::string digest, first;
  std::unordered_map<std::int64_t, bool> seen;
  for (const std::filesystem::path& file : all_of(files)) {
    PartStatus& part = status.parts.emplace_back(PartStatus{file, 0, 0, is_being_written(file), read_run_mark(file)});
    std::error_code error;
    if (part.running && std::filesystem::file_size(file, error) == 0) {
      continue;  // it begins
    }
    Database database = open_sweep(file);
    const SweepEntries entries = read_entries(database);
    if (digest.empty()) {
      digest = entries.text("digest");
      first = database.file();
      status.name = entries.text("name");
      status.version = entries.text("version");
      status.points = entries.points;
    } else if (digest != entries.text("digest")) {
      io::refuse("{} and {} are not of one sweep", first, database.file());
    }
    count_rows(database, part, seen);
  }
  for (const auto& [position, done] : seen) {
    ++(done ? status.done : status.failed);
  }
  return status;
}

std::string status_text(const SweepStatus& status) {
  std::string text =
      fmt::format("{}: {}; {} points planned, {} done, {} failed, {} missing\n\n", io::printable(status.name),
                  status.state(), status.points ? std::to_string(*status.points) : "unknown", status.done,
                  status.failed, status.missing() ? std::to_string(*status.missing()) : "unknown");
  text += fmt::format("{:>10} {:>10}  {:<8} {:<44} {}\n", "done", "failed", "shard", "where", "file");
  for (const PartStatus& part : status.parts) {
    std::string where = part.running ? "runs" : "";
    std::string shard;
    if (part.run) {
      shard = io::printable(part.run->shard);
      where = fmt::format("{} {} pid {}", part.running ? "runs on" : "was stopped on", io::printable(part.run->host),
                          part.run->pid);
      if (part.running) {
        where += fmt::format(", {} of {}", part.run->done, part.run->points);
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
    parts.push_back({{"file", part.file.string()},
                     {"done", part.done},
                     {"failed", part.failed},
                     {"running", part.running},
                     {"run", part.run ? json(*part.run) : json()}});
  }
  const json root{{"schema", "sptcsim-sweep-status/0.1"},
                  {"name", status.name},
                  {"version", status.version},
                  {"state", status.state()},
                  {"points", status.points ? json(*status.points) : json()},
                  {"done", status.done},
                  {"failed", status.failed},
                  {"missing", status.missing() ? json(*status.missing()) : json()},
                  {"parts", parts}};
  return io::json_text(root, 2) + "\n";
}

}  // namespace sptc::sweep
