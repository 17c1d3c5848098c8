#include "net/frame_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include "base/hash.h"

namespace ps::frame_reader_test {
namespace {

constexpr uint16_t kUnknownType = 99;
constexpr uint64_t kLongest = 300000;

// A stream of given pieces: a read never takes more than the first of them, and blocks once after each.
class PiecesStream final : public Stream {
 public:
  explicit PiecesStream(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {
    std::ranges::reverse(pieces_);
  }

  IoResult read(std::span<const MutableBytes> into) override {
    ++num_reads_;
    if (blocks_ || pieces_.empty()) return blocks_ = false, IoResult{.error = EAGAIN};
    std::string& piece = pieces_.back();
    size_t taken = 0;
    for (MutableBytes each : into) {
      const size_t bytes = std::min(each.size(), piece.size() - taken);
      std::copy_n(piece.data() + taken, bytes, each.data());
      taken += bytes;
    }
    piece.erase(0, taken);
    if (piece.empty()) pieces_.pop_back(), blocks_ = true;
    return {.bytes = taken};
  }
  IoResult write(std::span<const ConstBytes>) override { return {.error = EPIPE}; }
  void wait_readable() override {}
  void wait_writable() override {}
  void shutdown_write() override {}
  void set_events(Events*) override {}
  const std::string& peer() const override { return peer_; }

  bool ended() const { return pieces_.empty(); }
  int num_reads() const { return num_reads_; }

 private:
  std::vector<std::string> pieces_;  // the next one last
  bool blocks_ = false;
  int num_reads_ = 0;
  std::string peer_ = "peer";
};

std::string frame_bytes(uint16_t type, const std::string& body) {
  FrameHeader header{.type = type, .body_bytes = body.size(), .body_checksum = hash_bytes(body)};
  std::string bytes(kFrameHeaderBytes, '\0');
  encode_header(header, std::span<char, kFrameHeaderBytes>(bytes.data(), kFrameHeaderBytes));
  return bytes + body;
}

std::string random_body(std::mt19937& random, size_t size) {
  std::string body(size, '\0');
  for (char& each : body) each = static_cast<char>(random());
  return body;
}

std::optional<uint64_t> limit(const FrameHeader& header) {
  if (header.type == kUnknownType) return std::nullopt;
  return kLongest;
}

// Reads until the stream has no more; before each frame the reader is told to expect what `expected` returns.
// Returns the bodies, and "refused" for each frame that was.
template <class Expected>
std::vector<std::string> read_all(PiecesStream& stream, BufferPool& pool, Expected&& expected) {
  FrameReader reader(pool, limit);
  std::vector<std::string> got;
  reader.expect(expected());
  for (;;) {
    Frame frame;
    switch (reader.next(stream, frame)) {
      case ReadState::kFrame:
        got.emplace_back(text_of(frame.body.bytes()));
        break;
      case ReadState::kRefused:
        got.emplace_back("refused");
        break;
      case ReadState::kBlocked:
        if (stream.ended()) return got;
        reader.resume();
        continue;
      default:
        return got.emplace_back("the reader gave up"), got;
    }
    reader.expect(expected());
  }
}

TEST(FrameReader, AnExpectedBodyCostsOneRead) {
  std::mt19937 random(1);
  const std::string body = random_body(random, 100000);
  BufferPool pool;
  for (uint64_t expected : {uint64_t{0}, uint64_t{100000}}) {
    PiecesStream stream({frame_bytes(16, body)});
    FrameReader reader(pool, limit);
    reader.expect(expected);
    Frame frame;
    ASSERT_EQ(reader.next(stream, frame), ReadState::kFrame);
    EXPECT_EQ(text_of(frame.body.bytes()), body);
    EXPECT_EQ(stream.num_reads(), expected == 0 ? 2 : 1);
    EXPECT_EQ(reader.next(stream, frame), ReadState::kBlocked);
    EXPECT_EQ(stream.num_reads(), expected == 0 ? 2 : 1);  // the last read has shown that the stream is empty
    EXPECT_FALSE(reader.inside_frame());
  }
}

// Whatever is expected, and however the bytes come, the frames are those that were sent.
TEST(FrameReader, GuessesChangeNoFrame) {
  std::mt19937 random(7);
  auto below = [&](size_t end) { return random() % end; };
  const std::vector<size_t> sizes = {0, 1, 100, 8144, 8145, 20000, 20001, 100000, 262144, 262145, kLongest};
  for (int turn = 0; turn < 500; ++turn) {
    std::vector<std::string> sent;
    std::string bytes;
    for (size_t frames = 1 + below(6); frames > 0; --frames) {
      const std::string body = random_body(random, sizes[below(sizes.size())]);
      const size_t kind = below(10);
      std::string whole = frame_bytes(kind == 0 ? kUnknownType : 16, body);
      if (kind == 1 && !body.empty()) whole[whole.size() - 1 - below(body.size())] ^= 1;
      bytes += whole;
      sent.push_back(kind == 0 || (kind == 1 && !body.empty()) ? "refused" : body);
    }
    std::vector<std::string> pieces;
    for (size_t at = 0; at < bytes.size();) {
      const size_t most = std::vector<size_t>{3, 60, 30000, bytes.size()}[below(4)];
      pieces.push_back(bytes.substr(at, 1 + below(most)));
      at += pieces.back().size();
      if (pieces.size() > 200) pieces.back() += bytes.substr(at), at = bytes.size();
    }
    PiecesStream stream(std::move(pieces));
    BufferPool pool;
    size_t next = 0;
    auto expected = [&]() -> uint64_t {
      const size_t number = next++;
      if (below(3) == 0 || number >= sent.size()) return sizes[below(sizes.size())];
      return sent[number].size();
    };
    ASSERT_EQ(read_all(stream, pool, expected), sent) << "turn " << turn;
    EXPECT_EQ(pool.bytes_in_use(), 0u);
  }
}

TEST(FrameReader, AGuessTakesNoMemoryThatThePoolDoesNotHave) {
  std::mt19937 random(3);
  const std::string body = random_body(random, 10000);
  BufferPool pool(uint64_t{64} << 10);
  PiecesStream stream({frame_bytes(16, body)});
  EXPECT_EQ(read_all(stream, pool, [] { return uint64_t{100000}; }), std::vector{body});
}

}  // namespace
}  // namespace ps::frame_reader_test
