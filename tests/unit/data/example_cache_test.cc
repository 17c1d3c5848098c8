// Passes that come from memory are those that come from the file, whatever is kept and whatever fits.
#include "data/example_cache.h"

#include "base/text.h"
#include "data/records.h"
#include "data_test.h"
#include "support/environment.h"

namespace ps::example_cache_test {

using testing::StartsWith;

namespace {

constexpr int kPasses = 3;

// A few pieces of the store and some examples more.
constexpr int kExamples = 3 * ExampleStore::kPiece + 100;

struct Sample {
  DataOptions options;
  std::string bytes;
};

template <class Line>
std::string lines(Line line) {
  std::string out;
  for (int i = 0; i < kExamples; ++i) out += line(i) + "\n";
  return out;
}

// Values, weights, groups and ids beyond 32 bits only in some of the pieces.
Sample libsvm_sample() {
  return {options_for("libsvm"), lines([](int i) {
            if (i < ExampleStore::kPiece) return cat(i % 2, " ", i, ":1 ", i + 7, ":1");
            if (i < 2 * ExampleStore::kPiece)
              return cat(i % 2, ":", i % 3, " qid:", i % 5, " ", i, ":0.", i % 7);
            return cat(i % 2, " ", i % 9 == 0 ? "18446744073709551615" : "4", ":1 5:", i % 2 + 1);
          })};
}

Sample multislot_sample() {
  DataOptions options = options_for("multislot");
  options.slots = {{"age", "dense", 2}, {"city", "sparse", 0}, {"words", "sparse", 0}, {"click", "dense", 1}};
  return {options,
          lines([](int i) { return cat("2 0.5 ", i, " 1 ", i, i % 2 ? " 0" : " 2 5 6", " 1 ", i % 2); })};
}

Sample criteo_sample() {
  return {options_for("criteo", 1000), lines([](int i) {
            return cat(i % 2, "\t", i) + std::string(36, '\t') + cat("\tdb", i % 10, "\t");
          })};
}

Sample text_sample() {
  return {options_for("text"), lines([](int i) { return cat("word", i % 11, " other", i % 7, " the"); })};
}

// The options are read by themselves: what libsvm_sample holds, written as records.
Sample records_sample(const std::string& path) {
  BatchReader reader(libsvm_sample().options, {path}, {});
  Sample sample{options_for("records"), {}};
  encode_records_header(reader.schema(), sample.bytes);
  Batch batch;
  reader.begin_pass(0);
  while (reader.next(batch)) encode_records_chunk(reader.schema(), batch, sample.bytes);
  encode_records_end(sample.bytes);
  return sample;
}

void expect_same(const Batch& found, const Batch& expected, const std::string& where) {
  ASSERT_EQ(found.labels, expected.labels) << where;
  ASSERT_EQ(found.weights, expected.weights) << where;
  ASSERT_EQ(found.groups, expected.groups) << where;
  ASSERT_EQ(found.slots.size(), expected.slots.size()) << where;
  for (size_t s = 0; s < expected.slots.size(); ++s) {
    ASSERT_EQ(found.slots[s].offsets, expected.slots[s].offsets) << where;
    ASSERT_EQ(found.slots[s].keys, expected.slots[s].keys) << where;
    ASSERT_EQ(found.slots[s].values, expected.slots[s].values) << where;
  }
}

}  // namespace

class ExampleCacheTest : public DataTest {
 protected:
  static BatchReader make_reader(DataOptions options, const std::string& path, const std::string& cache,
                                 int threads = 1) {
    options.cache = cache;
    return BatchReader(options, {path}, {.threads = threads, .passes = kPasses, .seed = 3});
  }

  // Reads a pass of both side by side, and says whether `found` read the file for it.
  static bool compare_pass(BatchReader& found, BatchReader& expected, int pass, const std::string& where) {
    found.begin_pass(pass);
    expected.begin_pass(pass);
    Batch a, b;
    while (expected.next(b)) {
      EXPECT_TRUE(found.next(a)) << where;
      expect_same(a, b, where);
      if (testing::Test::HasFailure()) return true;
    }
    EXPECT_FALSE(found.next(a)) << where;
    return found.progress().bytes_read > 0;
  }

  // The passes of a cache against those of a reader that keeps as little as it can.
  void compare(Sample sample, const std::string& cache, bool kept, int threads) {
    std::string path = put_file("sample", sample.bytes);
    sample.options.batch_size = 37;
    sample.options.shuffle_window = 500;
    for (const char* shuffle : {"none", "window", "full"}) {
      sample.options.shuffle = shuffle;
      std::string where = cat(sample.options.format, ", shuffle ", shuffle, ", cache ", cache);
      BatchReader found = make_reader(sample.options, path, cache, threads);
      DataOptions plain = sample.options;
      plain.memory_limit.clear();
      BatchReader expected = make_reader(plain, path, "none");
      for (int pass = 0; pass < kPasses; ++pass) {
        bool read = compare_pass(found, expected, pass, cat(where, ", pass ", pass));
        EXPECT_EQ(read, pass == 0 || !(kept || sample.options.shuffle == "full")) << where;
      }
    }
  }
};

TEST_F(ExampleCacheTest, LaterPassesOfEveryFormatAreThoseOfTheFile) {
  std::string path = put_file("libsvm", libsvm_sample().bytes);
  Sample binary = {options_for("paddle_sparse_binary"),
                   lines([](int i) { return cat("0,", i % 2, ",", i, " 1"); })};
  Sample floats = {options_for("paddle_sparse_float"),
                   lines([](int i) { return cat(i, ",", i, " 0.5,9 1"); })};
  for (const Sample& sample : {libsvm_sample(), multislot_sample(), criteo_sample(), text_sample(), binary,
                               floats, records_sample(path)}) {
    if (try_every() == 1) compare(sample, "memory", true, 1);
    compare(sample, "memory", true, 3);
  }
}

TEST_F(ExampleCacheTest, TransformedExamplesAreKeptAsTheyAreHandedOut) {
  Sample sample = libsvm_sample();
  sample.options.unit_length = sample.options.log_counts = true;
  sample.options.hash_bits = 20;
  compare(sample, "auto", true, 1);
}

TEST_F(ExampleCacheTest, NoneReadsTheFileInEveryPass) {
  compare(libsvm_sample(), "none", false, 1);
}

TEST_F(ExampleCacheTest, AutoReadsTheFileAgainWhenTheExamplesDoNotFit) {
  Sample sample = libsvm_sample();
  sample.options.memory_limit = "40K";
  std::string path = put_file("sample", sample.bytes);
  BatchReader found = make_reader(sample.options, path, "auto"),
              expected = make_reader(sample.options, path, "none");
  for (int pass = 0; pass < kPasses; ++pass) {
    EXPECT_TRUE(compare_pass(found, expected, pass, cat("pass ", pass)));
  }
}

TEST_F(ExampleCacheTest, MemoryIsRefusedWhenTheExamplesDoNotFit) {
  DataOptions options = libsvm_sample().options;
  options.cache = "memory";
  options.memory_limit = "40K";
  std::string bytes = libsvm_sample().bytes;
  EXPECT_THAT(error_of(options, bytes, {.passes = kPasses}),
              StartsWith("6: the examples kept in memory take more than 40.0 KiB (data.memory_limit)"));
  EXPECT_EQ(error_of(options, bytes, {.passes = 1}), "");
}

TEST_F(ExampleCacheTest, AStreamOfSeveralPassesNeedsIt) {
  DataOptions options = options_for("libsvm");
  options.cache = "none";
  FedPipe pipe({"1 1\n"});
  EXPECT_EQ(
      error_from([&] { BatchReader(options, {"-"}, {.passes = 2, .stdin_descriptor = pipe.descriptor()}); }),
      "2: standard input and pipes can be read once, 2 passes need them in memory, and data.cache is "
      "'none': use 'auto'");
}

TEST_F(ExampleCacheTest, APassLeftBeforeItsEndIsNotTakenForTheWhole) {
  for (const char* shuffle : {"none", "window", "full"}) {
    Sample sample = libsvm_sample();
    sample.options.shuffle = shuffle;
    std::string path = put_file("sample", sample.bytes);
    BatchReader found = make_reader(sample.options, path, "auto"),
                expected = make_reader(sample.options, path, "none");
    found.begin_pass(0);
    Batch batch;
    ASSERT_TRUE(found.next(batch));
    for (int pass = 1; pass < kPasses; ++pass)
      compare_pass(found, expected, pass, cat(shuffle, ", pass ", pass));
    EXPECT_EQ(found.progress().bytes_read, 0u) << shuffle;
  }
}

TEST_F(ExampleCacheTest, BadLinesAreCountedInEveryPass) {
  Sample sample = libsvm_sample();
  sample.options.max_bad_lines = 2;
  BatchReader reader =
      make_reader(sample.options, put_file("sample", "bad\n" + sample.bytes + "bad\n"), "memory");
  for (int pass = 0; pass < kPasses; ++pass) {
    read_batches(reader, pass);
    EXPECT_EQ(reader.bad_lines(), 2) << "pass " << pass;
    EXPECT_EQ(reader.progress().examples, static_cast<uint64_t>(kExamples));
  }
}

// 4 bytes for an id, its offset and label besides, and little else.
TEST(ExampleStore, TakesLittleMoreThanItsExamplesPacked) {
  constexpr int64_t kKeys = 40, kBatch = 1000, kBatches = 200;
  DataSchema schema{{{"features", false, 0}}};
  Batch batch;
  batch.clear(schema);
  for (int64_t i = 0; i < kBatch * kKeys; ++i) batch.slots[0].keys.push_back(static_cast<Key>(i * 1000));
  for (uint32_t b = 1; b <= kBatch; ++b) batch.slots[0].offsets.push_back(b * kKeys);
  batch.labels.resize(kBatch, 1.0f);
  ExampleStore store(schema);
  for (int64_t i = 0; i < kBatches; ++i) store.append_range(batch, 0, kBatch);
  EXPECT_EQ(store.size(), kBatch * kBatches);
  EXPECT_LT(static_cast<double>(store.memory_bytes()), 1.1 * kBatch * kBatches * (4 * kKeys + 4 + 4));
}

TEST(ExampleStore, SaysWhenItsExamplesTakeMoreThanTheLimit) {
  DataSchema schema{{{"features", true, 1000}}};
  Batch batch;
  batch.clear(schema);
  batch.labels = {1};
  batch.slots[0].values.resize(1000);
  ExampleStore store(schema, 1 << 20);
  int64_t fitted = 0;
  for (; store.fits(); ++fitted) store.append_range(batch, 0, 1);
  EXPECT_GT(fitted, 100);
  EXPECT_LT(fitted, 300);
  EXPECT_THROW(store.check_fits(), Error);
}

}  // namespace ps::example_cache_test
