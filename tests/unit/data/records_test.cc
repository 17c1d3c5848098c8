// `records`: what is written is read, and damage is found.
#include "data/records.h"

#include "base/text.h"
#include "data_test.h"
#include "support/environment.h"

namespace ps::records_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class Records : public DataTest {
 protected:
  // A stream of the examples that `options` read from `text`, in batches.
  std::string convert(DataOptions options, std::string_view text) {
    BatchReader reader(options, {put_file("text", text)}, {});
    reader.begin_pass(0);
    std::string out;
    encode_records_header(reader.schema(), out);
    Batch batch;
    while (reader.next(batch)) encode_records_chunk(reader.schema(), batch, out);
    encode_records_end(out);
    return out;
  }

  static DataOptions slots() {
    DataOptions options = options_for("multislot");
    options.slots = {{"age", "dense", 2}, {"city", "sparse", 0}, {"click", "dense", 1}};
    options.batch_size = 3;
    return options;
  }
  static std::string slot_lines() {
    return "2 0.5 -1 2 17 18446744073709551615 1 1\n2 1 2 0 1 0\n2 0 0 1 3 1 1\n2 0 0 1 3 1 7\n";
  }
};

TEST_F(Records, GiveBackWhatWasWritten) {
  DataOptions libsvm = options_for("libsvm", 200000);
  std::string text = sample_lines(5000) + "1:2 qid:7 3:4\n";
  EXPECT_TRUE(read(options_for("auto"), convert(libsvm, text), {.threads = 3}) == read(libsvm, text));
  EXPECT_EQ(read(options_for("records"), convert(slots(), slot_lines())), read(slots(), slot_lines()));
}

TEST_F(Records, CarryTheirSchema) {
  BatchReader reader(options_for("records"), {put_file("data", convert(slots(), slot_lines()))}, {});
  ASSERT_EQ(reader.schema().slots.size(), 2u);
  EXPECT_EQ(reader.schema().slots[0].name, "age");
  EXPECT_EQ(reader.schema().slots[0].dim, 2);
  EXPECT_TRUE(reader.schema().slots[0].dense);
  EXPECT_EQ(reader.schema().slots[1].name, "city");
}

TEST_F(Records, StreamsFollowEachOtherInOneFileOrMany) {
  DataOptions options = options_for("libsvm", 10);
  std::string a = convert(options, "1 1\n"), b = convert(options, "2 2:5\n");
  EXPECT_THAT(read(options_for("records"), a + b), ElementsAre("1 features:1=1", "2 features:2=5"));
  EXPECT_EQ(error_of(options_for("records"), a + convert(slots(), slot_lines())),
            cat("3: data: offset ", a.size(), ": the slots are not those of the first file"));
}

TEST_F(Records, LargeBatchesAreCutIntoChunks) {
  DataOptions options = options_for("libsvm");
  options.batch_size = 1 << 20;
  std::string stream = convert(options, sample_lines(60000));
  size_t chunks = 0;
  for (size_t at = stream.find("PSRC"); at != std::string::npos; at = stream.find("PSRC", at + 1)) ++chunks;
  EXPECT_GT(chunks, 2u);
  EXPECT_EQ(read(options_for("records"), stream).size(), 60000u);
}

TEST_F(Records, EveryFlippedByteIsFound) {
  std::string good = convert(slots(), slot_lines());
  for (size_t i = 0; i < good.size(); i += static_cast<size_t>(try_every())) {
    for (int flip : {0x01, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      ASSERT_THAT(error_of(options_for("records"), bad), StartsWith("5: data: "))
          << "byte " << i << " flip " << flip;
    }
  }
}

TEST_F(Records, EveryCutIsFound) {
  std::string good = convert(slots(), slot_lines());
  for (size_t size = 1; size < good.size(); size += static_cast<size_t>(try_every())) {
    ASSERT_THAT(error_of(options_for("records"), good.substr(0, size)), StartsWith("5: data: ")) << size;
  }
  EXPECT_THAT(error_of(options_for("records"), good.substr(0, good.size() - 1)), HasSubstr("cut short"));
}

TEST_F(Records, IdsAndValuesAreCheckedBehindARightChecksum) {
  DataSchema schema{{SlotSchema{"features", false, 10}}};
  auto stream = [&](Key key, float value) {
    Batch batch;
    batch.clear(schema);
    batch.labels = {1};
    batch.slots[0] = {{0, 1}, {key}, {value}};
    std::string out;
    encode_records_header(schema, out);
    encode_records_chunk(schema, batch, out);
    encode_records_end(out);
    return out;
  };
  EXPECT_THAT(read(options_for("records"), stream(9, 2)), ElementsAre("1 features:9=2"));
  EXPECT_THAT(error_of(options_for("records"), stream(10, 1)),
              HasSubstr("id 10 of slot 'features' is outside dim 10"));
  EXPECT_THAT(error_of(options_for("records", 5), stream(9, 1)), HasSubstr("is outside dim 5"));
  EXPECT_THAT(error_of(options_for("records"), stream(1, 1.0f / 0.0f)), HasSubstr("not finite"));
}

}  // namespace ps::records_test
