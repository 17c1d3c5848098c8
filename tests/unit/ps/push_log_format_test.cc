// The bytes of a log: a batch is known by its head, its place and its sums.
#include "ps/log/push_log_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "ps/log/shard_event.h"
#include "support/scratch_folder.h"

namespace ps::push_log_format_test {
namespace {

std::string_view head_of(std::string_view batch) {
  return batch.substr(0, kBatchHeadBytes);
}

// The size of the batch, when its head is one for this offset and its bytes are those of the head.
std::optional<uint64_t> read_batch(uint64_t offset, std::string_view batch) {
  const std::optional<uint64_t> size = decode_batch_head(offset, head_of(batch));
  if (!size || *size > batch.size() - kBatchHeadBytes) return std::nullopt;
  if (!batch_is_whole(head_of(batch), batch.substr(kBatchHeadBytes, *size))) return std::nullopt;
  return size;
}

TEST(PushLogFormat, ABatchIsReadWhereItWasWrittenAndNowhereElse) {
  const std::string batch = encode_batch(640, "bytes of events");
  EXPECT_EQ(read_batch(640, batch), 15u);
  EXPECT_EQ(read_batch(704, batch), std::nullopt);
  EXPECT_EQ(read_batch(0, batch), std::nullopt);
}

TEST(PushLogFormat, BatchesEndAtMultiplesOfTheAlignment) {
  for (size_t size : {0, 1, 39, 40, 41, 1000}) {
    const std::string batch = encode_batch(64, std::string(size, 'x'));
    EXPECT_EQ(batch.size() % kBatchAlignment, 0u) << size;
    EXPECT_LT(batch.size(), kBatchHeadBytes + size + kBatchAlignment) << size;
    EXPECT_EQ(read_batch(64, batch), size);
  }
}

TEST(PushLogFormat, EveryFlippedBitOfABatchIsFound) {
  std::string batch = encode_batch(128, "some bytes of events");
  for (size_t bit = 0; bit < (kBatchHeadBytes + 20) * 8; ++bit) {
    batch[bit / 8] = static_cast<char>(batch[bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(read_batch(128, batch), std::nullopt) << "bit " << bit;
    batch[bit / 8] = static_cast<char>(batch[bit / 8] ^ 1 << bit % 8);
  }
  EXPECT_EQ(read_batch(128, batch), 20u);
}

TEST(PushLogFormat, AHeadThatIsCutIsNone) {
  const std::string batch = encode_batch(64, "bytes");
  for (size_t size = 0; size < kBatchHeadBytes; ++size) {
    EXPECT_EQ(decode_batch_head(64, std::string_view(batch).substr(0, size)), std::nullopt) << size;
  }
}

TEST(PushLogFormat, ZerosAreNoBatch) {
  EXPECT_EQ(decode_batch_head(64, std::string(kBatchHeadBytes, '\0')), std::nullopt);
}

TEST(PushLogFormat, EventsFollowEachOther) {
  std::string bytes;
  append_event(ShardEvent::kPush, 3, "a body", bytes);
  append_event(ShardEvent::kCheckpoint, -1, "", bytes);
  ByteReader in(bytes);
  EXPECT_EQ(in.get<ShardEvent>(), ShardEvent::kPush);
  EXPECT_EQ(in.get<int32_t>(), 3);
  EXPECT_EQ(in.get<uint64_t>(), 6u);
  EXPECT_EQ(in.get_bytes(6), "a body");
  EXPECT_EQ(in.get<ShardEvent>(), ShardEvent::kCheckpoint);
  EXPECT_EQ(in.get<int32_t>(), -1);
  EXPECT_EQ(in.get<uint64_t>(), 0u);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(ShardEvent, KeepsItsNumbersOnDisk) {
  EXPECT_EQ(static_cast<int>(ShardEvent::kRun), 1);
  EXPECT_EQ(static_cast<int>(ShardEvent::kPush), 5);
  EXPECT_EQ(static_cast<int>(ShardEvent::kCheckpoint), 11);
}

SegmentHeader full_header() {
  SegmentHeader header;
  header.number = 7;
  header.prior = 6;
  header.prior_end = 640;
  header.is_base = true;
  header.checkpoint = CheckpointStep{5, 12};
  header.has_snapshot = true;
  header.full_step = 9;
  header.since_full = 2;
  header.owner = {{{"job", 1}}, {{"schema", 2}}, {{"place", 3}}, "avx2", true, "step-9"};
  return header;
}

TEST(PushLogFormat, ASegmentBeginsWithItsHeaderItsSnapshotAndItsEvents) {
  const std::string segment = encode_segment(full_header(), "the snapshot", "the events");
  ASSERT_TRUE(segment.starts_with(kSegmentMagic));
  const std::string_view batch = std::string_view(segment).substr(kBatchAlignment);
  const std::optional<uint64_t> size = read_batch(kBatchAlignment, batch);
  ASSERT_TRUE(size);
  ByteReader in(batch.substr(kBatchHeadBytes, *size));
  const SegmentHeader again =
      SegmentHeader::spec().parse(Json::parse(in.get_bytes(in.get<uint64_t>())), "header");
  EXPECT_EQ(SegmentHeader::spec().to_json(again), SegmentHeader::spec().to_json(full_header()));
  EXPECT_EQ(again.number, 7u);
  EXPECT_EQ(again.prior_end, 640u);
  EXPECT_EQ(again.checkpoint, full_header().checkpoint);
  EXPECT_EQ(again.owner.cpu, "avx2");
  EXPECT_TRUE(again.owner.recovers);
  EXPECT_EQ(in.get_bytes(in.get<uint64_t>()), "the snapshot");
  EXPECT_EQ(in.get_bytes(in.remaining()), "the events");
}

TEST(PushLogFormat, HeadersOfOtherVersionsAndImpossibleNumbersAreRefused) {
  const Json good = SegmentHeader::spec().to_json(full_header());
  EXPECT_NO_THROW(SegmentHeader::spec().parse(good, "header"));
  for (const auto& [key, value] : std::vector<std::pair<std::string, Json>>{{"version", 3},
                                                                            {"version", 5},
                                                                            {"number", 0},
                                                                            {"full_step", -2},
                                                                            {"since_full", -1},
                                                                            {"owner", 1}}) {
    Json bad = good;
    bad[key] = value;
    EXPECT_EQ(error_of([&] { SegmentHeader::spec().parse(bad, "header"); }).code(), Code::kUsage)
        << key << value;
  }
}

TEST(PushLogFormat, FilesOfSegmentsAreThoseThatANumberNames) {
  for (uint64_t number : {uint64_t{1}, uint64_t{999'999'999}, uint64_t{1'000'000'000}}) {
    EXPECT_EQ(segment_number(segment_file(number)), number);
  }
  EXPECT_LT(segment_file(9), segment_file(10)) << "names are in the order of numbers";
  for (const char* name : {"", ".psl", "000000000.psl", "-00000001.psl", "000000001.psc", "x00000001.psl",
                           "000000001.psl.tmp3", "99999999999999999999.psl", "1.psl", "0000000001.psl"}) {
    EXPECT_EQ(segment_number(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace ps::push_log_format_test
