#include "data/output.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/error.h"

namespace ps {
namespace {

constexpr size_t kEncodeBuffer = size_t{1} << 16;

// Encodes one frame of zstd with a checksum.  One owner thread.
class ZstdEncoder : public Encoder {
 public:
  ZstdEncoder() : context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdEncoder() override { ZSTD_freeCCtx(context_); }
  ZstdEncoder(const ZstdEncoder&) = delete;
  ZstdEncoder& operator=(const ZstdEncoder&) = delete;

  void write(std::string_view bytes, std::string& out) override { encode(bytes, ZSTD_e_continue, out); }
  void finish(std::string& out) override { encode({}, ZSTD_e_end, out); }

 private:
  // Appends the output in pieces of kEncodeBuffer bytes, which are cut to what zstd has written.  To
  // continue, it suffices that all input is taken, as zstd keeps the rest; to end, nothing may be left in
  // it.
  void encode(std::string_view bytes, ZSTD_EndDirective directive, std::string& out) {
    ZSTD_inBuffer input = {bytes.data(), bytes.size(), 0};
    for (;;) {
      size_t begin = out.size();
      out.resize(begin + kEncodeBuffer);
      ZSTD_outBuffer output = {out.data() + begin, kEncodeBuffer, 0};
      size_t left = ZSTD_compressStream2(context_, &output, &input, directive);
      out.resize(begin + output.pos);
      if (ZSTD_isError(left)) fail(Code::kInternal, "zstd: ", ZSTD_getErrorName(left));
      if (directive == ZSTD_e_end ? left == 0 : input.pos == input.size) return;
    }
  }

  ZSTD_CCtx* context_;
};

// Encodes one member of gzip by zlib.  One owner thread.
class GzipEncoder : public Encoder {
 public:
  GzipEncoder() {
    constexpr int kGzipWindow = 15 + 16;  // 32 KiB, with a gzip header
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~GzipEncoder() override { deflateEnd(&stream_); }
  GzipEncoder(const GzipEncoder&) = delete;
  GzipEncoder& operator=(const GzipEncoder&) = delete;

  // Compresses in pieces, since zlib counts in 32 bits.
  void write(std::string_view bytes, std::string& out) override {
    constexpr size_t kMaxPiece = size_t{1} << 30;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kMaxPiece, bytes.size()))) {
      encode(bytes.substr(0, kMaxPiece), Z_NO_FLUSH, out);
    }
  }
  void finish(std::string& out) override { encode({}, Z_FINISH, out); }

 private:
  // A piece that zlib has filled to the end may not have been enough; the first that has room left was.
  void encode(std::string_view bytes, int flush, std::string& out) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      size_t begin = out.size();
      out.resize(begin + kEncodeBuffer);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
      stream_.avail_out = static_cast<uInt>(kEncodeBuffer);
      deflate(&stream_, flush);
      out.resize(begin + kEncodeBuffer - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
};

int open_output(const std::string& path) {
  if (path == "-") return STDOUT_FILENO;
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail_errno(Code::kUsage, "cannot write", path, errno);
  return file;
}

// Makes an encoder; null for kNone.
std::unique_ptr<Encoder> make_encoder(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return nullptr;
    case Compression::kZstd:
      return std::make_unique<ZstdEncoder>();
    case Compression::kGzip:
      return std::make_unique<GzipEncoder>();
  }
  return nullptr;
}

}  // namespace

OutputStream::OutputStream(const std::string& path, Compression compression, bool binary)
    : name_(path == "-" ? "standard output" : path),
      file_(open_output(path)),
      owned_(path != "-"),
      encoder_(make_encoder(compression)) {
  if ((binary || encoder_) && isatty(file_)) {
    fail(Code::kUsage,
         "binary data do not go to a terminal; redirect standard output, or name a file with --output");
  }
}

OutputStream::~OutputStream() {
  if (owned_) close(file_);
}

bool OutputStream::write(std::string_view bytes) {
  if (!encoder_) return write_raw(bytes);
  encoded_.clear();
  encoder_->write(bytes, encoded_);
  return write_raw(encoded_);
}

bool OutputStream::finish() {
  if (!encoder_) return true;
  encoded_.clear();
  encoder_->finish(encoded_);
  return write_raw(encoded_);
}

// A pipe that nobody reads any more is no error: the caller stops, as programs before `head` do.
bool OutputStream::write_raw(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      return false;
    } else if (errno != EINTR) {
      fail_errno(Code::kUnavailable, "cannot write", name_, errno);
    }
  }
  return true;
}

}  // namespace ps
