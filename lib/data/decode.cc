#include "data/decode.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace ps {

namespace {

constexpr size_t kInputBytes = size_t{1} << 17;
constexpr int kMaxWindowLog = 27;  // 128 MiB, zstd's own limit; its program needs a flag beyond it too
constexpr std::string_view kGzip("\x1f\x8b", 2), kZstd("\x28\xb5\x2f\xfd", 4), kSkippable("\x2a\x4d\x18", 3);

[[noreturn]] void fail_cut(const RawFile& raw) {
  fail(Code::kCorrupt, raw.name(), ": cut short");
}

// Returns stored bytes as they are.  One owner thread.
class PlainDecoder : public Decoder {
 public:
  explicit PlainDecoder(std::string head) : head_(std::move(head)) {}

  size_t read(RawFile& raw, char* out, size_t size) override {
    if (used_ == head_.size()) return raw.read(out, size);
    size_t part = std::min(size, head_.size() - used_);
    std::memcpy(out, head_.data() + used_, part);
    used_ += part;
    return part;
  }

  bool pending() const override { return used_ < head_.size(); }

 private:
  std::string head_;
  size_t used_ = 0;
};

// The common part of the gzip and zstd decoders: a buffer of stored bytes, and input_, the part of it that is
// not decoded yet.  One owner thread.
class CompressedDecoder : public Decoder {
 public:
  explicit CompressedDecoder(std::string head) : buffer_(kInputBytes, '\0') {
    head.copy(buffer_.data(), head.size());
    input_ = std::string_view(buffer_).substr(0, head.size());
  }

  // Decodes until there is at least one byte of output, reading stored bytes whenever input_ is used up.  The
  // end of the file between two members or frames is the end of the data; anywhere else the file is cut short.
  size_t read(RawFile& raw, char* out, size_t size) override {
    for (;;) {
      if (input_.empty() && !flushing_ && !refill(raw)) {
        if (!between_) fail_cut(raw);
        return 0;
      }
      size_t got = decode(raw, out, size);
      // When the output was full, the decoder may hold further bytes, which the next call must fetch before
      // it reads more input.
      flushing_ = got == size && !between_;
      if (got > 0) return got;
    }
  }

  bool pending() const override { return flushing_ || !input_.empty(); }

 protected:
  // Uses some of input_, sets between_, and returns how many bytes it wrote.
  virtual size_t decode(RawFile& raw, char* out, size_t size) = 0;

  std::string_view input_;
  bool between_ = true;  // no member or frame is open

 private:
  bool refill(RawFile& raw) {
    size_t got = raw.read(buffer_.data(), buffer_.size());
    input_ = std::string_view(buffer_).substr(0, got);
    return got > 0;
  }

  std::string buffer_;
  bool flushing_ = false;
};

// Decodes members of gzip by zlib.  One owner thread.
class GzipDecoder : public CompressedDecoder {
 public:
  explicit GzipDecoder(std::string head) : CompressedDecoder(std::move(head)) {
    constexpr int kGzipOnly = 15 + 16;  // largest window, gzip wrapper
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) fail(Code::kExhausted, "no memory to read gzip data");
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }

 private:
  // A new member begins with the call after the end of the last one.  Z_BUF_ERROR says only that nothing
  // could be done without more input or room, which read() takes care of.
  size_t decode(RawFile& raw, char* out, size_t size) override {
    if (between_) inflateReset(&stream_);
    between_ = false;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));
    stream_.avail_in = static_cast<uInt>(input_.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    uInt room = static_cast<uInt>(std::min<size_t>(size, 1 << 30));
    stream_.avail_out = room;
    int result = inflate(&stream_, Z_NO_FLUSH);
    input_.remove_prefix(input_.size() - stream_.avail_in);
    if (result == Z_STREAM_END) {
      between_ = true;
    } else if (result == Z_MEM_ERROR) {
      fail(Code::kExhausted, raw.name(), ": no memory to read gzip data");
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail(Code::kCorrupt, raw.name(), ": damaged gzip data: ", stream_.msg ? stream_.msg : zError(result));
    }
    return room - stream_.avail_out;
  }

  z_stream stream_{};
};

// Decodes frames of zstd.  One owner thread.
class ZstdDecoder : public CompressedDecoder {
 public:
  explicit ZstdDecoder(std::string head) : CompressedDecoder(std::move(head)), stream_(ZSTD_createDStream()) {
    if (!stream_) fail(Code::kExhausted, "no memory to read zstd data");
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kMaxWindowLog);
  }
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

 private:
  // zstd begins the next frame by itself; the result is 0 exactly at the end of a frame whose output is all
  // written.
  size_t decode(RawFile& raw, char* out, size_t size) override {
    ZSTD_inBuffer input = {input_.data(), input_.size(), 0};
    ZSTD_outBuffer output = {out, size, 0};
    size_t result = ZSTD_decompressStream(stream_, &output, &input);
    if (ZSTD_isError(result)) {
      fail(Code::kCorrupt, raw.name(), ": damaged zstd data: ", ZSTD_getErrorName(result));
    }
    between_ = result == 0;
    input_.remove_prefix(input.pos);
    return output.pos;
  }

  ZSTD_DStream* stream_;
};

bool is_zstd(std::string_view head) {
  bool skippable = head.size() >= 4 && (head[0] & 0xf0) == 0x50 && head.substr(1).starts_with(kSkippable);
  return skippable || head.starts_with(kZstd);
}

}  // namespace

bool decoder_needs_more(std::string_view head) {
  if (head.size() >= 4) return false;
  bool may_be_skippable =
      head.empty() || ((head[0] & 0xf0) == 0x50 && kSkippable.starts_with(head.substr(1)));
  return may_be_skippable || (kGzip.starts_with(head) && head != kGzip) || kZstd.starts_with(head);
}

std::unique_ptr<Decoder> make_decoder(std::string head) {
  if (head.starts_with(kGzip)) return std::make_unique<GzipDecoder>(std::move(head));
  if (is_zstd(head)) return std::make_unique<ZstdDecoder>(std::move(head));
  return std::make_unique<PlainDecoder>(std::move(head));
}

}  // namespace ps
