#include "net/frame_writer.h"

#include <algorithm>

namespace ps {

ConstBytes FrameWriter::Outgoing::piece(size_t index) const {
  if (index == 0) return header;
  return index == 1 ? payload->head.bytes() : payload->parts[index - 2];
}

void FrameWriter::add(FrameHeader header, std::shared_ptr<const Payload> payload) {
  static const Payload kNothing;
  const Payload& body = payload ? *payload : kNothing;
  header.body_bytes = body.size();
  header.body_checksum = body.checksum();
  Outgoing& added = queue_.emplace_back();
  encode_header(header, added.header);
  added.payload = std::move(payload);
  queued_bytes_ += kFrameHeaderBytes + header.body_bytes;
}

// Each round writes as many pieces as one call takes, and moves the position by the bytes that the stream
// took.
int FrameWriter::flush(Stream& stream) {
  std::array<ConstBytes, Stream::kMaxSpans> spans;
  while (!queue_.empty()) {
    size_t count = gather(spans);
    IoResult result = stream.write(std::span(spans).first(count));
    if (result.error != 0) return result.blocked() ? EAGAIN : result.error;
    advance(result.bytes);
  }
  return 0;
}

// The pieces that are next, as many as one write takes.
size_t FrameWriter::gather(std::array<ConstBytes, Stream::kMaxSpans>& spans) const {
  // Only the first frame begins in the middle: at piece `first`, behind `skipped` bytes of it.
  size_t count = 0, first = piece_index_, skipped = piece_sent_;
  for (const Outgoing& frame : queue_) {
    for (size_t i = first; i < frame.num_pieces() && count < Stream::kMaxSpans; ++i) {
      ConstBytes rest = frame.piece(i).subspan(skipped);
      skipped = 0;
      if (!rest.empty()) spans[count++] = rest;
    }
    if (count == Stream::kMaxSpans) break;
    first = 0;
  }
  return count;
}

// Moves the position by `bytes`, over whole pieces and frames, whose payloads are released as they end.
// Empty pieces are passed with `rest` = 0.
void FrameWriter::advance(size_t bytes) {
  bytes_sent_ += bytes;
  queued_bytes_ -= bytes;
  while (!queue_.empty()) {
    const Outgoing& frame = queue_.front();
    size_t rest = frame.piece(piece_index_).size() - piece_sent_;
    if (bytes < rest) {
      piece_sent_ += bytes;
      return;
    }
    bytes -= rest;
    piece_sent_ = 0;
    if (++piece_index_ < frame.num_pieces()) continue;
    piece_index_ = 0;
    queue_.pop_front();
  }
}

void FrameWriter::clear() {
  queue_.clear();
  piece_index_ = piece_sent_ = queued_bytes_ = 0;
}

}  // namespace ps
