#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/hash.h"
#include "chunk/chunk_reader.h"
#include "chunk/chunk_writer.h"
#include "support/damage.h"
#include "support/faulty_files.h"
#include "support/scratch_folder.h"

namespace ps::chunk_test {
namespace {

using testing::HasSubstr;

constexpr ChunkFileKind kKind{"test", 2, 1};
constexpr uint32_t kWords = chunk_id("WORD"), kFloats = chunk_id("FLTS");

std::string floats(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) put(bytes, static_cast<float>(std::sin(static_cast<double>(i))));
  return bytes;
}

class ChunkTest : public testing::Test {
 protected:
  ChunkFileSum write(const ChunkWriting& writing = {}, const ChunkFileKind& kind = kKind) {
    ChunkWriter writer(path_, kind, writing);
    writer.add(kWords, "some words");
    writer.add(kFloats, floats(50), 4);
    writer.add(kWords, "");
    return writer.finish();
  }

  // Reads everything; the Error of the first damage.
  Error read_error(const ChunkFileKind& kind = kKind) {
    return error_of([&] {
      ChunkReader reader(path_, kind);
      ChunkBuffers buffers;
      for (size_t i = 0; i < reader.chunks().size(); ++i) reader.read(i, buffers);
    });
  }

  ScratchFolder folder_;
  const std::string path_ = folder_.path("file");
};

TEST_F(ChunkTest, WhatWasWrittenIsRead) {
  for (int level : {0, 1, 3}) {
    ChunkWriting writing;
    writing.zstd_level = level;
    const ChunkFileSum sum = write(writing);
    ChunkReader reader(path_, kKind);
    ChunkBuffers buffers;
    ASSERT_EQ(reader.chunks().size(), 3u);
    EXPECT_EQ(reader.chunks()[1].id, kFloats);
    EXPECT_EQ(reader.read(1, buffers), floats(50));
    EXPECT_EQ(reader.read(0, buffers), "some words");
    EXPECT_EQ(reader.read(2, buffers), "");
    EXPECT_EQ(reader.sum(), sum);
    EXPECT_EQ(read_file(path_).size(), sum.bytes);
  }
}

TEST_F(ChunkTest, FloatsCompressBetterInPlanes) {
  std::string bytes;  // a megabyte of weights as they are started
  for (uint64_t i = 0; i < 262144; ++i) {
    const double uniform = static_cast<double>(hash_key(i)) / 0x1p64;
    put(bytes, static_cast<float>(2e-3 * uniform - 1e-3));
  }
  auto size = [&](int planes) {
    ChunkWriter writer(path_, kKind, {});
    writer.add(kFloats, bytes, planes);
    return writer.finish().bytes;
  };
  EXPECT_LT(static_cast<double>(size(4)), 0.92 * static_cast<double>(size(1)));
}

TEST_F(ChunkTest, EveryBitThatChangesIsFound) {
  for (int level : {0, 1}) {
    ChunkWriting writing;
    writing.zstd_level = level;
    write(writing);
    with_each_bit_flipped(path_, [&](const std::string& what) {
      const Error error = read_error();
      ASSERT_EQ(error.code(), Code::kCorrupt) << what;
      ASSERT_THAT(error.message(), HasSubstr(path_ + ": "));
      ASSERT_THAT(error.message(), HasSubstr("offset "));
    });
    EXPECT_EQ(read_error().message(), "");
  }
}

TEST_F(ChunkTest, EveryCutAndEveryAdditionIsFound) {
  write();
  with_each_cut(path_,
                [&](const std::string& what) { ASSERT_EQ(read_error().code(), Code::kCorrupt) << what; });
  EXPECT_EQ(read_error().message(), "");
  const std::string whole = read_file(path_);
  write_file(path_, whole + "x");
  EXPECT_EQ(read_error().code(), Code::kCorrupt);
  write_file(path_, whole + whole);
  EXPECT_EQ(read_error().code(), Code::kCorrupt);
}

TEST_F(ChunkTest, AChunkCountsOnlyWhereItWasWritten) {
  ChunkWriting plain;
  plain.zstd_level = 0;
  ChunkWriter writer(path_, kKind, plain);
  writer.add(kWords, "first");
  writer.add(kWords, "other");
  writer.finish();
  std::string bytes = read_file(path_);
  const size_t chunk = 32 + 5;
  std::string swapped = bytes.substr(0, 32) + bytes.substr(32 + chunk, chunk) + bytes.substr(32, chunk) +
                        bytes.substr(32 + 2 * chunk);
  write_file(path_, swapped);
  EXPECT_THAT(read_error().message(), HasSubstr("chunk 0 at offset 32: "));
}

TEST_F(ChunkTest, AnotherKindAndANewerVersionAreRefused) {
  write();
  EXPECT_THAT(read_error({"other", 2, 1}).message(), HasSubstr("of kind 'test', expected 'other'"));
  write({}, {"test", 9, 3});
  EXPECT_THAT(read_error().message(), HasSubstr("written for readers of version 3, this one is 2"));
  write({}, {"test", 9, 2});
  EXPECT_EQ(read_error().message(), "");
}

TEST_F(ChunkTest, OnlyOptionalChunksAreSkipped) {
  ChunkWriter writer(path_, kKind, {});
  writer.add(kWords, "needed");
  writer.add(kWords | kOptionalChunk, "not needed");
  writer.finish();
  ChunkReader reader(path_, kKind);
  EXPECT_THAT(error_of([&] { reader.skip_unknown(0); }).message(), HasSubstr("unknown chunk 'WORD'"));
  reader.skip_unknown(1);
}

// A file whose checksums are all right, but whose table says what no writer would.
TEST_F(ChunkTest, LengthsAreBoundedBeforeMemoryIsTaken) {
  for (uint64_t raw : {kMaxChunkBytes + 1, UINT64_MAX, uint64_t{1} << 40}) {
    using namespace chunk_internal;
    std::string bytes = encode_header(kKind);
    const uint64_t header = ByteReader(std::string_view(bytes).substr(24)).get<uint64_t>();
    ChunkInfo chunk{bytes.size(), kFloats, kZstdChunk, raw, 4, 0};
    chunk.checksum = chunk_checksum(chunk, "abcd");
    bytes += encode_head(chunk);
    put(bytes, chunk.checksum);
    bytes += "abcd";
    const std::string entries = encode_table({chunk});
    ChunkInfo table{bytes.size(), kTableId, 0, entries.size(), entries.size(), 0};
    table.checksum = chunk_checksum(table, entries);
    bytes += encode_head(table);
    put(bytes, table.checksum);
    bytes += entries;
    bytes += encode_footer(table.offset, bytes.size() + kFooterBytes, header ^ table.checksum);
    write_file(path_, bytes);
    EXPECT_THAT(read_error().message(), HasSubstr("chunk 0 at offset 32: claims"));
  }
}

TEST_F(ChunkTest, AFailureOfAnyCallIsAnErrorAndTheFileIsGivenUp) {
  FaultyFiles files(folder_.path());
  ChunkWriting writing;
  writing.files = &files;
  write(writing);
  const int64_t calls = files.calls();
  ASSERT_GT(calls, 5);
  for (int64_t call = 0; call < calls; ++call) {
    for (auto [error, code] : {std::pair(ENOSPC, Code::kExhausted), std::pair(EIO, Code::kUnavailable)}) {
      files.fail_at(call, error);
      EXPECT_EQ(error_of([&] { write(writing); }).code(), code) << "call " << call;
    }
  }
  files.heal();
  ChunkWriter writer(path_, kKind, writing);
  files.fail_at(0, EIO);
  EXPECT_EQ(error_of([&] { writer.add(kWords, "x"); }).code(), Code::kUnavailable);
  EXPECT_THAT(error_of([&] { writer.add(kWords, "x"); }).message(), HasSubstr("given up"));
  EXPECT_THAT(error_of([&] { writer.finish(); }).message(), HasSubstr("given up"));
}

TEST_F(ChunkTest, EveryByteIsAnnouncedBeforeItIsWritten) {
  uint64_t announced = 0;
  ChunkWriting writing;
  writing.before_write = [&](uint64_t bytes) { announced += bytes; };
  EXPECT_EQ(write(writing).bytes, announced);
}

}  // namespace
}  // namespace ps::chunk_test
