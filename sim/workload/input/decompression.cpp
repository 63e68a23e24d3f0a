// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/decompression.h"

#include "models/base/error.h"
#include "sim/workload/input/byte_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <lzma.h>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <zlib.h>
#include <zstd.h>

namespace sptc::workload::input {
namespace {

using Bytes = std::span<const std::uint8_t>;

/// Room for what a step makes.
struct Room {
  std::uint8_t* to = nullptr;
  std::size_t size = 0;
};

/// A library that decompresses step by step.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Takes from the front of `input` and fills the front of `output`; both shrink. `last`: no input
  /// follows. Throws InputError for damaged data.
  virtual void step(Bytes& input, Room& output, bool last) = 0;
  /// Whether the data may end here.
  virtual bool may_end() const = 0;
};

class Gzip : public Decoder {
 public:
  explicit Gzip(std::string name) : name_(std::move(name)) {
    constexpr int kGzipFormat = 16 + MAX_WBITS;
    if (::inflateInit2(&state_, kGzipFormat) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Gzip() override { ::inflateEnd(&state_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void step(Bytes& input, Room& output, bool /*last*/) override {
    if (between_members_ && !input.empty() && input[0] != 0x1F) {
      input = {};  // what follows the last member is padding
      return;
    }
    if (input.empty()) {
      return;
    }
    between_members_ = false;
    state_.next_in = const_cast<Bytef*>(input.data());
    state_.avail_in = static_cast<uInt>(input.size());
    state_.next_out = output.to;
    state_.avail_out = static_cast<uInt>(std::min<std::size_t>(output.size, 1U << 30));
    const uInt room = state_.avail_out;
    const int status = ::inflate(&state_, Z_NO_FLUSH);
    input = input.last(state_.avail_in);
    output = {state_.next_out, output.size - (room - state_.avail_out)};
    if (status == Z_STREAM_END) {
      ::inflateReset(&state_);
      between_members_ = true;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw base::InputError(fmt::format("{}: the gzip data are damaged: {}", name_,
                                         state_.msg != nullptr ? state_.msg : "unknown reason"));
    }
  }

  bool may_end() const override { return between_members_; }

 private:
  std::string name_;
  z_stream state_{};
  bool between_members_ = false;
};

class Xz : public Decoder {
 public:
  explicit Xz(std::string name) : name_(std::move(name)) {
    constexpr std::uint64_t kMostMemory = 256U << 20;  // xz -9 needs 65 MiB
    if (::lzma_stream_decoder(&state_, kMostMemory, LZMA_CONCATENATED) != LZMA_OK) {
      throw std::bad_alloc();
    }
  }
  ~Xz() override { ::lzma_end(&state_); }
  Xz(const Xz&) = delete;
  Xz& operator=(const Xz&) = delete;

  void step(Bytes& input, Room& output, bool last) override {
    state_.next_in = input.data();
    state_.avail_in = input.size();
    state_.next_out = output.to;
    state_.avail_out = output.size;
    const lzma_ret status = ::lzma_code(&state_, last ? LZMA_FINISH : LZMA_RUN);
    input = input.last(state_.avail_in);
    output = {state_.next_out, state_.avail_out};
    ended_ = status == LZMA_STREAM_END;
    if (status == LZMA_MEMLIMIT_ERROR) {
      throw base::InputError(name_ + ": the xz data need more than 256 MiB to be unpacked");
    }
    if (status != LZMA_OK && status != LZMA_STREAM_END && status != LZMA_BUF_ERROR) {
      throw base::InputError(name_ + ": the xz data are damaged");
    }
  }

  bool may_end() const override { return ended_; }

 private:
  std::string name_;
  lzma_stream state_ = LZMA_STREAM_INIT;
  bool ended_ = false;
};

class Zstd : public Decoder {
 public:
  explicit Zstd(std::string name) : name_(std::move(name)), state_(::ZSTD_createDStream()) {
    if (state_ == nullptr) {
      throw std::bad_alloc();
    }
  }
  ~Zstd() override { ::ZSTD_freeDStream(state_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  void step(Bytes& input, Room& output, bool /*last*/) override {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output.to, output.size, 0};
    if (in.size == 0 && frame_ended_) {
      return;
    }
    const std::size_t status = ::ZSTD_decompressStream(state_, &out, &in);
    if (::ZSTD_isError(status) != 0) {
      throw base::InputError(
          fmt::format("{}: the zstd data are damaged: {}", name_, ::ZSTD_getErrorName(status)));
    }
    input = input.subspan(in.pos);
    output = {output.to + out.pos, output.size - out.pos};
    frame_ended_ = status == 0;
  }

  bool may_end() const override { return frame_ended_; }

 private:
  std::string name_;
  ZSTD_DStream* state_;
  bool frame_ended_ = false;
};

class DecodedSource : public ByteSource {
 public:
  DecodedSource(std::unique_ptr<ByteSource> source, std::unique_ptr<Decoder> decoder,
                std::string name)
      : source_(std::move(source)), decoder_(std::move(decoder)), name_(std::move(name)) {}

  std::size_t read(char* to, std::size_t size) override {
    Room room{reinterpret_cast<std::uint8_t*>(to), size};
    while (room.size == size && size > 0) {
      if (waiting_.empty() && !last_) {
        const std::size_t got = source_->read(input_.data(), input_.size());
        waiting_ = Bytes{reinterpret_cast<const std::uint8_t*>(input_.data()), got};
        last_ = got == 0;
        taken_ += got;
      }
      const std::size_t before = waiting_.size();
      decoder_->step(waiting_, room, last_);
      if (last_ && room.size == size && waiting_.size() == before) {
        if (!decoder_->may_end()) {
          throw base::InputError(name_ + ": the compressed data end early: the file is cut off");
        }
        break;
      }
    }
    given_ += size - room.size;
    require_ratio();
    return size - room.size;
  }

 private:
  /// Refuses a small file that unpacks to so much that nobody recorded it.
  void require_ratio() const {
    constexpr std::uint64_t kSmall = 64U << 20, kMostRatio = 500;
    if (given_ > kSmall && given_ / kMostRatio > taken_) {
      throw base::InputError(fmt::format(
          "{}: the compressed data unpack to more than {} times their size, as no recording does; "
          "unpack the file first where it is one",
          name_, kMostRatio));
    }
  }

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<Decoder> decoder_;
  std::string name_;
  std::array<char, 65536> input_{};
  Bytes waiting_;
  bool last_ = false;
  std::uint64_t taken_ = 0, given_ = 0;  ///< bytes, compressed and not
};

}  // namespace

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         const std::string& name) {
  constexpr std::string_view kGzipMagic = "\x1F\x8B";
  constexpr std::string_view kXzMagic(
      "\xFD"
      "7zXZ");
  constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";
  std::string magic = take(*source, kXzMagic.size());
  std::unique_ptr<Decoder> decoder;
  if (magic.starts_with(kGzipMagic)) {
    decoder = std::make_unique<Gzip>(name);
  } else if (magic.starts_with(kXzMagic)) {
    decoder = std::make_unique<Xz>(name);
  } else if (magic.starts_with(kZstdMagic)) {
    decoder = std::make_unique<Zstd>(name);
  }
  source = with_head(std::move(magic), std::move(source));
  return decoder ? std::make_unique<DecodedSource>(std::move(source), std::move(decoder), name)
                 : std::move(source);
}

}  // namespace sptc::workload::input
