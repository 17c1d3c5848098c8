#include "chunk/chunk_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>

#include "base/bytes.h"
#include "base/direct_input.h"
#include "base/error.h"
#include "base/hash.h"
#include "chunk/planes.h"

namespace ps {

using namespace chunk_internal;

namespace {

// A buffer that is not set to zero when it is allocated, which would cost as much as filling it.
class Bytes {
 public:
  // Returns room for `size` bytes, without those that were there.
  char* take(size_t size) {
    if (size > capacity_) {
      capacity_ = size;
      bytes_ = std::make_unique_for_overwrite<char[]>(size);
    }
    return bytes_.get();
  }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t capacity_ = 0;
};

}  // namespace

struct ChunkBuffers::State {
  struct Free {
    void operator()(ZSTD_DCtx* freed) const { ZSTD_freeDCtx(freed); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context;
  Bytes stored, planes, raw;
  const ChunkReader* file = nullptr;   // the file that `ahead` reads
  std::unique_ptr<DirectInput> ahead;  // null: chunks are read through the page cache
};

ChunkBuffers::ChunkBuffers() : state_(std::make_unique<State>()) {}
ChunkBuffers::~ChunkBuffers() = default;
ChunkBuffers::ChunkBuffers(ChunkBuffers&&) noexcept = default;

namespace {

// Closes a file whose reader could not be made.
struct Closer {
  int* file;
  ~Closer() {
    if (file != nullptr) close(*file);
  }
};

std::string against(uint64_t found, uint64_t expected) {
  return cat("checksum ", checksum_text(found), ", expected ", checksum_text(expected));
}

ChunkInfo decode_entry(ByteReader& in) {
  ChunkInfo chunk;
  chunk.offset = in.get<uint64_t>();
  chunk.id = in.get<uint32_t>();
  chunk.flags = in.get<uint32_t>();
  chunk.raw_bytes = in.get<uint64_t>();
  chunk.stored_bytes = in.get<uint64_t>();
  chunk.checksum = in.get<uint64_t>();
  return chunk;
}

}  // namespace

// The header is checked first, then footer and table, whose checksums build on the header's, and last the
// entries of the table.  Only then may chunks be read, at places that are known to lie in the file.
ChunkReader::ChunkReader(const std::string& path, const ChunkFileKind& kind) : path_(path) {
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) fail_errno(Code::kUsage, "cannot open", path_, errno);
  Closer closer{&file_};
  struct stat status;
  if (fstat(file_, &status) != 0) fail_errno(Code::kUsage, "cannot read", path_, errno);
  file_bytes_ = static_cast<uint64_t>(status.st_size);
  const uint64_t header_checksum = check_header(kind);
  check_entries(check_table(header_checksum));
  closer.file = nullptr;
}

ChunkReader::~ChunkReader() {
  close(file_);
}

void ChunkReader::fail_at(uint64_t offset, const std::string& what) const {
  fail(Code::kCorrupt, path_, ": offset ", offset, ": ", what);
}

void ChunkReader::fail_chunk(size_t index, const std::string& what) const {
  fail(Code::kCorrupt, path_, ": chunk ", index, " at offset ", chunks_[index].offset, ": ", what);
}

void ChunkReader::skip_unknown(size_t index) const {
  if ((chunks_[index].id & kOptionalChunk) != 0) return;
  fail_chunk(index, cat("unknown chunk ", chunk_name(chunks_[index].id), ", of a newer version"));
}

void ChunkReader::read_bytes(uint64_t offset, uint64_t size, char* out) const {
  while (size > 0) {
    ssize_t count = pread(file_, out, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno(Code::kUnavailable, "cannot read", path_, errno);
    if (count == 0) fail_at(offset, "the file ends here");
    out += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<uint64_t>(count);
  }
}

std::string ChunkReader::read_piece(uint64_t offset, uint64_t size) const {
  std::string bytes(size, '\0');
  read_bytes(offset, size, bytes.data());
  return bytes;
}

// Returns the header's checksum.
uint64_t ChunkReader::check_header(const ChunkFileKind& kind) const {
  if (file_bytes_ < kHeaderBytes + kChunkHeadBytes + kFooterBytes) {
    fail_at(file_bytes_, cat("the file ends here, shorter than any file of its kind"));
  }
  const std::string header = read_piece(0, kHeaderBytes);
  if (!header.starts_with(kHeaderMagic)) fail_at(0, "not a chunk file");
  ByteReader in(std::string_view(header).substr(16));
  const uint32_t oldest_reader = in.get<uint32_t>();
  in.get<uint32_t>();
  const uint64_t checksum = in.get<uint64_t>();
  const uint64_t computed = hash_bytes(std::string_view(header).substr(0, kHeaderBytes - 8));
  if (checksum != computed) fail_at(0, cat("header: ", against(computed, checksum)));
  // Bytes 8 to 15 are the kind of the file, filled up with zeros.
  const std::string expected = encode_header(kind);
  if (header.substr(8, 8) != expected.substr(8, 8)) {
    fail_at(8, cat("a file of kind ", quote(header.substr(8, 8).c_str()), ", expected ", quote(kind.name)));
  }
  if (oldest_reader > kind.version) {
    fail_at(16, cat("written for readers of version ", oldest_reader, ", this one is ", kind.version));
  }
  return checksum;
}

// Reads footer and table into sum_ and chunks_; returns where the table is.
uint64_t ChunkReader::check_table(uint64_t header_checksum) {
  const uint64_t footer_offset = file_bytes_ - kFooterBytes;
  const std::string footer = read_piece(footer_offset, kFooterBytes);
  if (!footer.ends_with(kFooterMagic)) fail_at(footer_offset, "no footer: the file was cut short or changed");
  ByteReader in(footer);
  ChunkInfo table{in.get<uint64_t>(), kTableId, 0, 0, 0, 0};
  sum_.bytes = in.get<uint64_t>();
  sum_.checksum = in.get<uint64_t>();
  if (sum_.bytes != file_bytes_)
    fail_at(footer_offset, cat("written as ", sum_.bytes, " bytes, are ", file_bytes_));
  // The footer is not trusted until its checksum is known to fit, which needs the table: so the place and
  // the size of the table are checked before anything is allocated for it.  The table ends where the footer
  // begins.
  const uint64_t last = footer_offset - kChunkHeadBytes;
  if (table.offset < kHeaderBytes || table.offset > last) fail_at(footer_offset, "table out of place");
  table.raw_bytes = table.stored_bytes = last - table.offset;
  const std::string bytes = read_piece(table.offset, footer_offset - table.offset);
  if (!bytes.starts_with(encode_head(table))) fail_at(table.offset, "not the head of a table of chunks");
  table.checksum = ByteReader(std::string_view(bytes).substr(kChunkHeadBytes - 8)).get<uint64_t>();
  const std::string_view entries = std::string_view(bytes).substr(kChunkHeadBytes);
  const uint64_t computed = chunk_checksum(table, entries);
  if (computed != table.checksum) fail_at(table.offset, cat("table: ", against(computed, table.checksum)));
  if (encode_footer(table.offset, file_bytes_, header_checksum ^ table.checksum) != footer) {
    fail_at(footer_offset, "footer: its checksum is not that of this file");
  }
  if (entries.size() % kTableEntryBytes != 0) fail_at(table.offset, "table: part of an entry");
  ByteReader rest(entries);
  chunks_.resize(entries.size() / kTableEntryBytes);
  for (ChunkInfo& chunk : chunks_) chunk = decode_entry(rest);
  return table.offset;
}

// Chunks follow each other from the header to the table, which is at `end`.
void ChunkReader::check_entries(uint64_t end) const {
  uint64_t next = kHeaderBytes;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    if (chunks_[i].offset != next) fail_chunk(i, cat("a hole or overlap, expected offset ", next));
    check_entry(i, end);
    next += kChunkHeadBytes + chunks_[i].stored_bytes;
  }
  if (next != end) fail_at(next, "bytes that are no chunk");
}

// Checks all that the reader relies on before it allocates memory for a chunk or unpacks it.  Sizes are
// compared as differences, which cannot overflow.  Unknown flags are the business of a newer version: the
// chunk may be skipped if its id is optional.
void ChunkReader::check_entry(size_t index, uint64_t end) const {
  const ChunkInfo& chunk = chunks_[index];
  if (end - chunk.offset < kChunkHeadBytes || chunk.stored_bytes > end - chunk.offset - kChunkHeadBytes) {
    fail_chunk(index, cat(chunk.stored_bytes, " bytes reach past offset ", end));
  }
  if (chunk.raw_bytes > kMaxChunkBytes) fail_chunk(index, cat("claims ", chunk.raw_bytes, " bytes"));
  const uint32_t planes = chunk.flags >> kPlanesShift & kPlanesMask;
  if ((chunk.flags & ~kKnownChunkFlags) != 0) {
    if ((chunk.id & kOptionalChunk) == 0) fail_chunk(index, cat("unknown flags ", chunk.flags));
    return;
  }
  const bool valid = planes == 0 || planes == 2 || planes == 4 || planes == 8;
  if (!valid || (planes > 0 && chunk.raw_bytes % planes != 0)) fail_chunk(index, cat(planes, " byte planes"));
  if ((chunk.flags & kZstdChunk) == 0 && chunk.raw_bytes != chunk.stored_bytes) {
    fail_chunk(index, cat(chunk.stored_bytes, " bytes stored of ", chunk.raw_bytes));
  }
}

// head [kChunkHeadBytes], out [stored_bytes] <- a chunk as it is in the file.
void ChunkReader::read_unchecked(const ChunkInfo& chunk, ChunkBuffers& buffers, char* head, char* out) const {
  const ChunkBuffers::State& state = *buffers.state_;
  const uint64_t body = chunk.offset + kChunkHeadBytes;
  if (state.ahead && state.file == this && state.ahead->read(chunk.offset, {head, kChunkHeadBytes}) &&
      state.ahead->read(body, {out, chunk.stored_bytes})) {
    return;
  }
  // Head and body lie one behind the other and come with one system call.  A read that gives less is done
  // again in loops, which tell errors and the end of the file.
  iovec pieces[] = {{head, kChunkHeadBytes}, {out, chunk.stored_bytes}};
  const ssize_t count = preadv(file_, pieces, 2, static_cast<off_t>(chunk.offset));
  if (count == static_cast<ssize_t>(kChunkHeadBytes + chunk.stored_bytes)) return;
  read_bytes(chunk.offset, kChunkHeadBytes, head);
  read_bytes(body, chunk.stored_bytes, out);
}

// out [stored_bytes] <- the checked stored bytes of a chunk.
void ChunkReader::read_stored(size_t index, ChunkBuffers& buffers, char* out) const {
  const ChunkInfo& chunk = chunks_[index];
  char found[kChunkHeadBytes];
  read_unchecked(chunk, buffers, found, out);
  std::string head = encode_head(chunk);
  put(head, chunk.checksum);
  if (head != std::string_view(found, kChunkHeadBytes)) {
    fail_chunk(index, "its head is not what the table of chunks says");
  }
  const uint64_t computed = chunk_checksum(chunk, {out, chunk.stored_bytes});
  if (computed != chunk.checksum) fail_chunk(index, against(computed, chunk.checksum));
}

// This is advice to the system only: its errors do not matter.
void ChunkReader::read_ahead() const {
  posix_fadvise(file_, 0, 0, POSIX_FADV_WILLNEED);
}

// A direct input reads past the system's cache, which a checkpoint that is read once would only fill.
// Where direct access gains nothing, the system is asked to read ahead instead.
void ChunkReader::read_ahead(size_t begin, size_t end, ChunkBuffers& buffers) const {
  if (begin >= end) return;
  const ChunkInfo& last = chunks_[end - 1];
  const uint64_t from = chunks_[begin].offset, to = last.offset + kChunkHeadBytes + last.stored_bytes;
  buffers.state_->file = this;
  buffers.state_->ahead = DirectInput::open(file_, from, to);
  if (buffers.state_->ahead) return;
  posix_fadvise(file_, static_cast<off_t>(from), static_cast<off_t>(to - from), POSIX_FADV_WILLNEED);
}

void ChunkReader::verify(size_t index, ChunkBuffers& buffers) const {
  read_stored(index, buffers, buffers.state_->stored.take(chunks_[index].stored_bytes));
}

std::string_view ChunkReader::read(size_t index, ChunkBuffers& buffers) const {
  char* raw = buffers.state_->raw.take(chunks_[index].raw_bytes);
  read(index, buffers, raw);
  return {raw, chunks_[index].raw_bytes};
}

// A chunk is checked, unpacked and put together from its planes, in this order.  Steps that the flags leave
// out take no copy: the step before then writes to `out` itself.
void ChunkReader::read(size_t index, ChunkBuffers& buffers, char* out) const {
  const ChunkInfo& chunk = chunks_[index];
  const int planes = static_cast<int>(chunk.flags >> kPlanesShift & kPlanesMask);
  ChunkBuffers::State& state = *buffers.state_;
  char* const plain = planes > 1 ? state.planes.take(chunk.raw_bytes) : out;
  if ((chunk.flags & kZstdChunk) != 0) {
    unpack(index, buffers, plain);
  } else {
    read_stored(index, buffers, plain);
  }
  if (planes > 1) join_planes({plain, chunk.raw_bytes}, planes, out);
}

// out [raw_bytes] <- what a chunk's zstd frame holds.
void ChunkReader::unpack(size_t index, ChunkBuffers& buffers, char* out) const {
  const ChunkInfo& chunk = chunks_[index];
  ChunkBuffers::State& state = *buffers.state_;
  char* const stored = state.stored.take(chunk.stored_bytes);
  read_stored(index, buffers, stored);
  // The frame's own size must agree with the table, whose bound has been checked, before it may fill `out`.
  if (ZSTD_getFrameContentSize(stored, chunk.stored_bytes) != chunk.raw_bytes) {
    fail_chunk(index, cat("not a zstd frame of ", chunk.raw_bytes, " bytes"));
  }
  if (!state.context) state.context.reset(ZSTD_createDCtx());
  if (!state.context) fail(Code::kExhausted, path_, ": no memory to decompress with");
  const size_t size =
      ZSTD_decompressDCtx(state.context.get(), out, chunk.raw_bytes, stored, chunk.stored_bytes);
  if (ZSTD_isError(size)) fail_chunk(index, cat("zstd: ", ZSTD_getErrorName(size)));
  if (size != chunk.raw_bytes) fail_chunk(index, cat(size, " bytes unpacked, expected ", chunk.raw_bytes));
}

}  // namespace ps
