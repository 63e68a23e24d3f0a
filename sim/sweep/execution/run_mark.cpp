// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/execution/run_mark.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/sweep/files/write_ahead_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

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

}  // namespace sptc::sweep::execution
