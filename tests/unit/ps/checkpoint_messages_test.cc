// The messages of checkpoints say the same after their way, and bodies of other lengths are refused.
#include "ps/wire/checkpoint_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/scratch_folder.h"

namespace ps::checkpoint_messages_test {
namespace {

// Calls decode() with every prefix of a body; returns how many it accepts.
template <class Decode>
size_t accepted_prefixes(const std::string& body, Decode&& decode) {
  size_t accepted = 0;
  for (size_t size = 0; size < body.size(); ++size) {
    const Error error = error_of([&] { decode(body.substr(0, size)); });
    if (error.message().empty()) {
      ++accepted;
    } else {
      EXPECT_EQ(error.code(), Code::kData) << size << " bytes: " << error.message();
    }
  }
  return accepted;
}

TEST(CheckpointMessages, ARequestNamesAPassOrNone) {
  for (int64_t pass : {int64_t{-1}, int64_t{0}, int64_t{INT32_MAX}}) {
    EXPECT_EQ(decode_checkpoint_request(encode_checkpoint_request(pass)), pass);
  }
}

TEST(CheckpointMessages, RequestsOfAnotherLengthAreRefused) {
  EXPECT_EQ(accepted_prefixes(encode_checkpoint_request(3), decode_checkpoint_request), 0u);
  EXPECT_EQ(accepted_prefixes(encode_shard_request(3), decode_shard_request), 0u);
  EXPECT_EQ(error_of([] { decode_checkpoint_request(encode_checkpoint_request(3) + '\0'); }).code(),
            Code::kData);
  EXPECT_EQ(error_of([] { decode_shard_request(encode_shard_request(3) + '\0'); }).code(), Code::kData);
}

TEST(CheckpointMessages, AnAnswerSaysWhichCheckpointCountsOrWhyNoneDoes) {
  for (const AskedCheckpoint& answer : {AskedCheckpoint{true, "step-12", ~uint64_t{0}},
                                        AskedCheckpoint{false, "the disk is full", 3}, AskedCheckpoint{}}) {
    const AskedCheckpoint again = decode_asked_checkpoint(encode_asked_checkpoint(answer));
    EXPECT_EQ(again.counts, answer.counts);
    EXPECT_EQ(again.text, answer.text);
    EXPECT_EQ(again.run, answer.run);
  }
}

// The text is the rest of the body, so that a shorter body is another text.
TEST(CheckpointMessages, AnAnswerWithoutAWholeRunIsRefused) {
  EXPECT_EQ(accepted_prefixes(encode_asked_checkpoint({true, "step", 7}), decode_asked_checkpoint), 4u);
}

TEST(CheckpointMessages, AShardAnswersWithItsManifestOrWithTheReason) {
  EXPECT_EQ(decode_shard_request(encode_shard_request(~uint64_t{0})), ~uint64_t{0});
  const Manifest manifest{.step = 9, .generation = 4, .files = {{.path = "rows.psc", .sum = {.bytes = 5}}}};
  const CheckpointShardAnswer there = decode_shard_answer(encode_shard_answer({manifest, ""}));
  ASSERT_TRUE(there.manifest);
  EXPECT_EQ(there.manifest->step, 9);
  EXPECT_EQ(there.manifest->generation, 4u);
  EXPECT_EQ(there.manifest->files, manifest.files);
  const CheckpointShardAnswer gone =
      decode_shard_answer(encode_shard_answer({std::nullopt, "it was removed"}));
  EXPECT_FALSE(gone.manifest);
  EXPECT_EQ(gone.why, "it was removed");
}

TEST(CheckpointMessages, AManifestThatIsCutIsRefused) {
  EXPECT_EQ(accepted_prefixes(encode_shard_answer({Manifest{.step = 9}, ""}), decode_shard_answer), 0u);
}

// A peer's manifest is data, not a damaged file of this process.
TEST(CheckpointMessages, AManifestWithFlippedBytesIsNeverTakenForADamagedFile) {
  std::string body = encode_shard_answer({Manifest{.step = 9, .generation = 4}, ""});
  for (size_t at = 1; at < body.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      body[at] = static_cast<char>(body[at] ^ 1 << bit);
      const Error error = error_of([&] { decode_shard_answer(body); });
      EXPECT_TRUE(error.message().empty() || error.code() == Code::kData) << error.message();
      body[at] = static_cast<char>(body[at] ^ 1 << bit);
    }
  }
}

TEST(CheckpointMessages, ASliceNamesItsFileAndItsBytes) {
  const CheckpointShardSlice slice{~uint64_t{0}, uint64_t{1} << 40, kShardSliceBytes, "rows.psc"};
  const CheckpointShardSlice again = decode_shard_slice(encode_shard_slice(slice));
  EXPECT_EQ(again.step, slice.step);
  EXPECT_EQ(again.offset, slice.offset);
  EXPECT_EQ(again.size, slice.size);
  EXPECT_EQ(again.file, slice.file);
  EXPECT_EQ(accepted_prefixes(encode_shard_slice(slice), decode_shard_slice), slice.file.size());
}

TEST(CheckpointMessages, BytesThatAreNotThereAnyMoreAreNotEmptyOnes) {
  const std::string bytes = encode_shard_bytes(true, std::string_view("a\0b", 3)),
                    none = encode_shard_bytes(true, ""), gone = encode_shard_bytes(false, "");
  EXPECT_EQ(decode_shard_bytes(bytes), std::string_view("a\0b", 3));
  EXPECT_EQ(decode_shard_bytes(none), "");
  EXPECT_EQ(decode_shard_bytes(gone), std::nullopt);
}

}  // namespace
}  // namespace ps::checkpoint_messages_test
