#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/bytes.h"
#include "base/error.h"
#include "support/damage.h"
#include "support/scratch_folder.h"

namespace ps::safetensors_test {
namespace {

using testing::HasSubstr;

class SafetensorsTest : public testing::Test {
 protected:
  std::string path_ = testing::TempDir() + "safetensors_test.safetensors";

  void write_sample() {
    std::vector<uint64_t> keys = {3, 9};
    std::vector<float> rows = {1, 2, 3, 4, 5, 6};
    SafetensorsWriter writer(path_, {{"t.keys", "U64", {2}, 0, 0}, {"t.rows", "F32", {2, 3}, 0, 0}},
                             {{"format", "ps"}});
    writer.write_array<uint64_t>(keys);
    writer.write_array<float>(rows);
    writer.commit();
  }

  void expect_corrupt(const std::string& bytes, const std::string& what) {
    write_file(path_, bytes);
    try {
      SafetensorsReader reader(path_);
      ADD_FAILURE() << "accepted " << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt) << what;
      EXPECT_THAT(error.message(), HasSubstr(path_));
    }
  }

  static std::string with_header(const std::string& header, size_t buffer_bytes) {
    std::string out;
    put(out, static_cast<uint64_t>(header.size()));
    return out + header + std::string(buffer_bytes, '\0');
  }
};

TEST_F(SafetensorsTest, ReadsWhatWasWritten) {
  write_sample();
  SafetensorsReader reader(path_);
  EXPECT_EQ(reader.metadata().at("format"), "ps");
  ASSERT_NE(reader.find("t.rows"), nullptr);
  std::vector<float> part(2);
  reader.read<float>(*reader.find("t.rows"), 3, part);
  EXPECT_THAT(part, testing::ElementsAre(4, 5));
  EXPECT_EQ(reader.find("missing"), nullptr);
}

void read_all(const std::string& path) {
  SafetensorsReader reader(path);
  for (const TensorInfo& tensor : reader.tensors()) reader.verify(tensor);
}

TEST_F(SafetensorsTest, EveryFlippedBitIsFound) {
  write_sample();
  read_all(path_);
  with_each_bit_flipped(path_, [&](const std::string& what) {
    const Error error = error_of([&] { read_all(path_); });
    EXPECT_EQ(error.code(), Code::kCorrupt) << what << ": " << error.message();
  });
}

TEST_F(SafetensorsTest, WhatIsReadInOrderIsCheckedAtItsEnd) {
  write_sample();
  std::string whole = read_file(path_);
  whole[whole.size() - 24] ^= 1;  // in the first row
  write_file(path_, whole);
  SafetensorsReader reader(path_);
  std::vector<float> row(3);
  reader.read<float>(*reader.find("t.rows"), 0, row);
  const Error error = error_of([&] { reader.read<float>(*reader.find("t.rows"), 3, row); });
  EXPECT_EQ(error.code(), Code::kCorrupt);
  EXPECT_THAT(error.message(), HasSubstr("tensor 't.rows': its checksum is"));
}

TEST_F(SafetensorsTest, FilesOfOthersNeedNoChecksums) {
  write_file(path_, with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  EXPECT_NO_THROW(read_all(path_));
}

TEST_F(SafetensorsTest, ARefusedFileIsClosed) {
  write_file(path_, with_header("[]", 0));
  const size_t before = list_directory("/proc/self/fd").size();
  for (int i = 0; i < 10; ++i) EXPECT_THROW(SafetensorsReader reader(path_), Error);
  EXPECT_EQ(list_directory("/proc/self/fd").size(), before);
}

TEST_F(SafetensorsTest, FilesOfOtherFormatsAreCalledWhatTheyAre) {
  write_file(path_, "PK\x03\x04\x14\x01\x01\x01 weights.npy and so on");
  EXPECT_THAT(
      error_of([&] { read_all(path_); }).message(),
      testing::AllOf(HasSubstr("is not a safetensors file"), HasSubstr("as npz and other ZIP files do")));
  write_file(path_, "score.weight0 17 0.25\nscore.weight0 18 0.5\n");
  EXPECT_THAT(error_of([&] { read_all(path_); }).message(),
              HasSubstr("it begins with 'score.we', as a text does"));
}

TEST_F(SafetensorsTest, BufferIsAligned) {
  write_sample();
  std::string whole = read_file(path_);
  EXPECT_EQ(ByteReader(whole).get<uint64_t>() % 8, 0);
}

TEST_F(SafetensorsTest, EveryCutIsFound) {
  write_sample();
  std::string whole = read_file(path_);
  for (size_t size = 0; size < whole.size(); ++size)
    expect_corrupt(whole.substr(0, size), cat("cut at ", size));
}

TEST_F(SafetensorsTest, HolesOverlapsAndLiesAreFound) {
  expect_corrupt(with_header("{}", 4), "bytes after the last tensor");
  expect_corrupt(with_header("[]", 0), "an array for a header");
  expect_corrupt(with_header("{\"a\": 3}", 0), "a number for a tensor");
  expect_corrupt(with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8), "a hole");
  expect_corrupt(with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                             12),
                 "an overlap");
  expect_corrupt(with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                             12),
                 "a hole between two");
  expect_corrupt(with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
                 "the wrong size");
  expect_corrupt(
      with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[18446744073709551612,0]}})", 4),
      "a length that overflows");
  expect_corrupt(
      with_header(R"({"a":{"dtype":"F32","shape":[0,4611686018427387905],"data_offsets":[0,4]}})", 4),
      "an empty tensor with bytes");
  expect_corrupt(with_header(R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", 4),
                 "an unknown type");
  expect_corrupt(with_header(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
                 "a negative extent");
  expect_corrupt(
      with_header(R"({"a":{"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,16]}})", 16),
      "a product that overflows");
  expect_corrupt(
      with_header(
          R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
          4),
      "a name used twice");
}

// The format allows headers of 100 MB: one that claims more is refused before it is read.
TEST_F(SafetensorsTest, ALargerHeaderIsRefusedBeforeMemoryIsTaken) {
  for (uint64_t size : {uint64_t{100'000'001}, uint64_t{1} << 62, UINT64_MAX}) {
    std::string head;
    put(head, size);
    write_file(path_, head + "{}");
    std::filesystem::resize_file(path_, 200'000'000);  // a hole: it takes no room
    try {
      SafetensorsReader reader(path_);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt);
      EXPECT_THAT(error.message(), testing::HasSubstr(cat("header of ", size, " bytes")));
    }
  }
}

// Deep nesting would take a hundred times the header's memory.
TEST_F(SafetensorsTest, AHeaderOf99MegabytesOfBracketsIsRefusedAtOnce) {
  expect_corrupt(with_header(std::string(99'000'000, '['), 0), "brackets");
}

TEST_F(SafetensorsTest, UncommittedFileLeavesNothing) {
  std::string path = testing::TempDir() + "never.safetensors";
  { SafetensorsWriter writer(path, {{"a", "F32", {1}, 0, 0}}, {}); }
  EXPECT_FALSE(exists(path));
}

}  // namespace
}  // namespace ps::safetensors_test
