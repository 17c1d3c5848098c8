#include "ps/log/push_log_reader.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "config/spec.h"

namespace ps {

namespace {

// The first batch of a segment, parsed.
struct SegmentBegin {
  SegmentHeader header;
  std::string snapshot, events;
};

// Reads one segment, batch after batch.  One owner thread.
class SegmentReader {
 public:
  // With `end`, all bytes before that offset were synced, and bytes behind it do not count.
  SegmentReader(std::string path, std::optional<uint64_t> end)
      : path_(std::move(path)), in_(path_, std::ios::binary), is_last_(!end) {
    std::error_code error;
    size_ = std::filesystem::file_size(path_, error);
    if (!in_ || error) fail_errno(Code::kCorrupt, "cannot open", path_, errno);
    if (end && *end > size_) fail_at(size_, cat("the file ends, expected ", *end, " bytes"));
    if (end) size_ = *end;
  }

  uint64_t offset() const { return offset_; }  // offset of the batch that next() returned

  // Returns the bytes of the next batch, or nullopt at the end.  A batch that is not whole is the end only
  // if a crash can have left it: it lies in the last segment, and no batch begins behind it.
  std::optional<std::string> next() {
    offset_ = next_;
    if (offset_ == size_) return std::nullopt;
    if (std::optional<std::string> bytes = batch()) return bytes;
    if (!is_last_ || is_batch_behind(offset_ + kBatchAlignment)) {
      fail_at(offset_, "the log is damaged: a batch does not have its checksum");
    }
    return std::nullopt;
  }

  // Returns the beginning of the segment, or nullopt if a crash came before it was whole.
  std::optional<SegmentBegin> begin() {
    const bool begins = read(0, kSegmentMagic.size()) == kSegmentMagic;
    offset_ = next_ = kBatchAlignment;
    const std::optional<std::string> bytes = batch();
    if (begins && bytes) return parse(*bytes);
    // If the first batch is whole, and only the magic is wrong, next_ is behind that batch.
    if (!is_last_ || is_batch_behind(std::max(next_, 2 * kBatchAlignment))) {
      fail_at(0, "the log is damaged: its segment does not begin as one");
    }
    return std::nullopt;
  }

  // Returns the bytes behind the last batch of the last segment, up to the last that is not zero.  If the
  // segment has no whole first batch, these are all its bytes.
  TornBytes torn(bool begun) {
    constexpr uint64_t kPiece = uint64_t{1} << 20;
    TornBytes torn{path_, begun ? next_ : 0, 0};
    for (uint64_t at = torn.offset; at < size_; at += kPiece) {
      const std::string piece = read(at, kPiece);
      const size_t last = piece.find_last_not_of('\0');
      if (last != std::string::npos) torn.bytes = at + last + 1 - torn.offset;
    }
    return torn;
  }

  [[noreturn]] void fail_at(uint64_t offset, const std::string& what, Code code = Code::kCorrupt) const {
    fail(code, path_, ": offset ", offset, ": ", what);
  }

 private:
  // Decodes the first batch, whose checksum is right.  JSON that makes no sense is therefore damage too,
  // and not a mistake of the user.
  SegmentBegin parse(const std::string& bytes) const {
    const std::string name = cat(path_, ": offset ", kBatchAlignment);
    ByteReader in(bytes);
    const std::string_view text = in.get_bytes(in.get<uint64_t>()),
                           snapshot = in.get_bytes(in.get<uint64_t>());
    try {
      SegmentHeader header = SegmentHeader::spec().parse(parse_json(text, name), name);
      return {std::move(header), std::string(snapshot), std::string(in.get_bytes(in.remaining()))};
    } catch (const Error& error) {
      throw Error(Code::kCorrupt, error.message());
    }
  }

  // Reads bytes at an offset; returns fewer at the end of the file.
  std::string read(uint64_t offset, uint64_t size) {
    std::string bytes(offset < size_ ? std::min(size, size_ - offset) : 0, '\0');
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(offset));
    in_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!in_) fail_at(offset, "cannot be read");
    return bytes;
  }

  // Returns the batch at next_ and moves next_ behind it, or nullopt if it is not whole.
  std::optional<std::string> batch() {
    const std::string head = read(next_, kBatchHeadBytes);
    const std::optional<uint64_t> size = decode_batch_head(next_, head);
    if (!size || *size > size_ - next_ - kBatchHeadBytes) return std::nullopt;
    const uint64_t end = next_ + kBatchHeadBytes + *size;
    std::string bytes = read(next_ + kBatchHeadBytes, *size);
    // The padding up to the next multiple of 64 belongs to the batch: a crash may have cut it off.
    const std::string rest = read(end, -end % kBatchAlignment);
    const bool whole = rest.size() == -end % kBatchAlignment &&
                       std::ranges::count(rest, '\0') == static_cast<std::ptrdiff_t>(rest.size());
    if (!whole || !batch_is_whole(head, bytes)) return std::nullopt;
    next_ = end + rest.size();
    return bytes;
  }

  // Returns true if a batch begins at `begin` or behind it.  Then all bytes before that batch were on the disk
  // when it was written.
  bool is_batch_behind(uint64_t begin) {
    constexpr uint64_t kPiece = uint64_t{1} << 20;
    for (uint64_t at = begin; at < size_; at += kPiece) {
      // The piece reaches into the next one, so that a head at its end is whole.
      const std::string piece = read(at, kPiece + kBatchHeadBytes);
      for (uint64_t i = 0; i < kPiece && i + kBatchHeadBytes <= piece.size(); i += kBatchAlignment) {
        if (decode_batch_head(at + i, std::string_view(piece).substr(i, kBatchHeadBytes))) return true;
      }
    }
    return false;
  }

  const std::string path_;
  std::ifstream in_;
  const bool is_last_;
  uint64_t size_ = 0;
  uint64_t offset_ = 0, next_ = 0;
};

// Calls body(event, rank, bytes) for each event of a batch.
template <class Body>
void for_each_event(std::string_view batch, Body&& body) {
  ByteReader in(batch);
  while (in.remaining() > 0) {
    const ShardEvent event = in.get<ShardEvent>();
    const int rank = in.get<int32_t>();
    const uint64_t size = in.get<uint64_t>();
    if (!in.has(size)) fail(Code::kCorrupt, "an event is cut short");
    body(event, rank, in.get_bytes(size));
  }
}

// Returns the header of a segment that continues the given one, of which the bytes up to `end` count.
SegmentHeader continuation(const SegmentHeader& header, uint64_t end) {
  SegmentHeader next;
  next.prior = header.number;
  next.prior_end = end;
  next.owner = header.owner;
  return next;
}

// Returns the newest segment that has a whole first batch.  Newer ones are removed from `numbers`, and their
// bytes are added to `torn`.
std::optional<SegmentBegin> last_segment(const std::string& folder, std::vector<uint64_t>& numbers,
                                         std::vector<TornBytes>& torn) {
  for (; !numbers.empty(); numbers.pop_back()) {
    SegmentReader reader(join_path(folder, segment_file(numbers.back())), std::nullopt);
    if (std::optional<SegmentBegin> begin = reader.begin()) return begin;
    if (TornBytes all = reader.torn(/*begun=*/false); all.bytes > 0) torn.push_back(std::move(all));
  }
  return std::nullopt;
}

}  // namespace

std::vector<uint64_t> log_segments(const std::string& folder) {
  std::vector<uint64_t> numbers;
  if (!is_directory(folder)) return numbers;
  for (const std::string& name : list_directory(folder)) {
    if (std::optional<uint64_t> number = segment_number(name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

// Follows the chain backwards from the newest segment, until a base that belongs to the checkpoint is found.
std::optional<PushLogReader> PushLogReader::open(const std::string& folder,
                                                 const std::optional<CheckpointStep>& checkpoint,
                                                 std::string& why) {
  PushLogReader log(folder);
  std::vector<uint64_t> numbers = log_segments(folder);
  std::optional<SegmentBegin> segment = last_segment(folder, numbers, log.torn_);
  if (!segment && !log.torn_.empty()) why = log.torn_.back().text();
  if (!segment) return std::nullopt;
  for (;;) {
    const SegmentHeader& header = segment->header;
    log.chain_.insert(log.chain_.begin(), header);
    if (header.is_base && header.checkpoint == checkpoint) break;
    const bool has_prior = header.prior != 0 && header.prior < header.number &&
                           std::ranges::binary_search(numbers, header.prior);
    if (!has_prior) {
      why = cat(folder, " goes on from ",
                header.checkpoint ? cat("the checkpoint at step ", header.checkpoint->step) : "the beginning",
                ", not from ", checkpoint ? cat("that at step ", checkpoint->step) : "there");
      return std::nullopt;
    }
    // With an end, begin throws for a segment that is not whole, so that there always is one.
    SegmentReader reader(join_path(folder, segment_file(header.prior)), header.prior_end);
    segment = reader.begin();
  }
  log.snapshot_ = std::move(segment->snapshot);
  return log;
}

// Reads the segments of the chain in order; each counts up to the offset that the next one names.  The last
// batch of the last segment may not have been synced, so it goes into `end` to be written again at the head of
// the next segment.
LogEnd PushLogReader::read(const std::function<void(ShardEvent, int rank, std::string_view body)>& on_event) {
  LogEnd end;
  for (size_t i = 0; i < chain_.size(); ++i) {
    const bool last = i + 1 == chain_.size();
    const std::optional<uint64_t> limit = last ? std::nullopt : std::optional(chain_[i + 1].prior_end);
    SegmentReader reader(join_path(folder_, segment_file(chain_[i].number)), limit);
    auto give = [&](std::string_view events) {
      try {
        for_each_event(events, on_event);
      } catch (const Error& error) {
        reader.fail_at(reader.offset(), error.message(), error.code());
      }
    };
    std::optional<SegmentBegin> begin = reader.begin();
    give(begin->events);
    if (last) {  // without a further batch, the first batch is written again
      end = {{chain_.begin(), chain_.end() - 1},
             chain_[i],
             std::move(begin->snapshot),
             std::move(begin->events)};
    }
    while (std::optional<std::string> batch = reader.next()) {
      give(*batch);
      if (last) end = {chain_, continuation(chain_[i], reader.offset()), "", std::move(*batch)};
    }
    if (TornBytes torn = last ? reader.torn(/*begun=*/true) : TornBytes(); torn.bytes > 0)
      torn_.push_back(std::move(torn));
  }
  end.torn = torn_;
  return end;
}

}  // namespace ps
