// gzip and zstd, by their first bytes.
#include <zstd.h>

#include "base/text.h"
#include "data_test.h"
#include "support/environment.h"

namespace ps::compression_test {

using testing::HasSubstr;
using testing::StartsWith;

class Compression : public DataTest {
 protected:
  static DataOptions libsvm() { return options_for("libsvm"); }

  // A skippable frame of zstd: magic, length, and so many bytes.
  static std::string skippable(std::string_view bytes) {
    std::string frame("\x5a\x2a\x4d\x18", 4);
    frame += static_cast<char>(bytes.size());
    return frame + std::string(3, '\0') + std::string(bytes);
  }

  std::vector<std::string> read_in_pieces(std::string_view bytes, size_t piece) {
    std::vector<std::string> pieces;
    for (size_t i = 0; i < bytes.size(); i += piece) pieces.emplace_back(bytes.substr(i, piece));
    FedPipe pipe(std::move(pieces));
    BatchReader reader(libsvm(), {"-"}, {.stdin_descriptor = pipe.descriptor()});
    return read_batches(reader);
  }

  std::vector<std::string> read_plain(std::string_view text) {
    BatchReader reader(libsvm(), {put_file("plain", text)}, {});
    return read_batches(reader);
  }
};

TEST_F(Compression, FilesAndPipesAreReadWhateverTheirNameSays) {
  std::string text = sample_lines(3000);
  std::vector<std::string> expected = read_plain(text);
  for (const std::string& stored : {gzip(text), zstd(text)}) {
    BatchReader reader(libsvm(), {put_file("data.txt", stored)}, {});
    EXPECT_TRUE(read_batches(reader) == expected);
    EXPECT_EQ(reader.progress().bytes_read, stored.size());
    EXPECT_EQ(reader.progress().total_bytes, stored.size());
    EXPECT_TRUE(read_in_pieces(stored, 1) == expected);
    EXPECT_TRUE(read_in_pieces(stored, 1000) == expected);
  }
}

TEST_F(Compression, MembersAndFramesFollowEachOther) {
  std::string a = sample_lines(700), b = "1 5:2\n";
  std::vector<std::string> expected = read_plain(a + b);
  EXPECT_EQ(read_in_pieces(gzip(a) + gzip("") + gzip(b), 4096), expected);
  EXPECT_EQ(read_in_pieces(skippable("hello") + zstd(a) + skippable("") + zstd(b) + skippable("end"), 4096),
            expected);
}

// CheckpointStep anywhere but between members, the file must be refused, after the lines that were whole.
TEST_F(Compression, AFileCutShortIsCorrupt) {
  std::string text = sample_lines(12);
  for (const std::string& stored :
       {gzip(text), zstd(text), skippable("skip me"), zstd("") + skippable("x")}) {
    for (size_t size = 4; size < stored.size(); size += static_cast<size_t>(try_every())) {
      if (size == zstd("").size() && stored.starts_with(zstd(""))) continue;
      ASSERT_EQ(error_of(libsvm(), stored.substr(0, size)), "5: data: cut short")
          << size << " of " << stored.size();
    }
  }
}

TEST_F(Compression, DamageIsCorrupt) {
  std::string text = sample_lines(2000), zipped = gzip(text), frame = zstd(text);
  zipped[zipped.size() / 2] = static_cast<char>(zipped[zipped.size() / 2] ^ 0x55);
  frame[frame.size() / 2] = static_cast<char>(frame[frame.size() / 2] ^ 0x55);
  EXPECT_THAT(error_of(libsvm(), gzip(text) + "junk"), StartsWith("5: data: damaged gzip data"));
  EXPECT_THAT(error_of(libsvm(), zstd(text) + "junk"), StartsWith("5: data: damaged zstd data"));
  EXPECT_THAT(error_of(libsvm(), std::string("\x28\xb5\x2f\xfd\x00\x00\x00\x00\x00\x00\x00\x00", 12)),
              StartsWith("5: data: "));
}

TEST_F(Compression, AWindowThatTakesTooMuchMemoryIsRefused) {
  // A frame header that asks for a window of 2^31 bytes.
  std::string frame("\x28\xb5\x2f\xfd\x00\xa8", 6);
  EXPECT_THAT(error_of(libsvm(), frame + std::string(100, '\0')),
              HasSubstr("damaged zstd data: Frame requires too much memory"));
}

// 1 GiB of a few kilobytes is read in constant memory: the longest line ends it.
TEST_F(Compression, ABombOfOneLineEndsAtTheLongestLine) {
  EXPECT_EQ(error_of(libsvm(), zstd(std::string(64 << 20, '1'))), "3: data:1: line is longer than 16 MiB");
}

}  // namespace ps::compression_test
