// Every kind of synthetic data, written in every format and read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"
#include "data/number_text.h"
#include "data/output.h"
#include "data/reader.h"
#include "data/synth/generator.h"
#include "data/synth/stream.h"
#include "data/writer.h"

namespace ps {
namespace {

constexpr int64_t kSamples = 700;

std::unique_ptr<Generator> make_generator(std::string_view kind) {
  const GeneratorEntry& entry = find_generator(kind);
  SynthOptions options = entry.defaults();
  if (kind == "language") options.dim = 500;
  return entry.make(options, 1);
}

// A folder that goes when the test ends.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "datagen_formats." + std::to_string(getpid())) {
    make_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return join_path(path_, name); }

 private:
  std::string path_;
};

void write_data(const Generator& generator, const WriterEntry& format, const std::string& path,
                Compression compression = Compression::kNone) {
  OutputStream output(path, compression, format.binary);
  auto sink = [&](std::string_view bytes, int64_t) { return output.write(bytes); };
  StreamOptions options{.samples = kSamples, .threads = 2, .sorted = format.sorted};
  generate_stream(generator, *make_writer(format, generator.traits()), options, sink, nullptr);
  output.finish();
}

// Returns the options with which a job file reads such data.
DataOptions options_to_read(const DataTraits& traits, std::string_view format) {
  DataOptions options;
  options.format = format;
  options.batch_size = 100000;
  const std::vector<SlotSchema>& slots = traits.schema.slots;
  if (format == "multislot") {
    for (const SlotSchema& slot : slots)
      options.slots.push_back({slot.name, slot.dense ? "dense" : "sparse", slot.dim});
    options.slots.push_back({"label", "dense", 1});
  } else if (slots.size() == 1) {
    options.dim = slots[0].dim;
    options.dense = slots[0].dense;
  }
  options.text.vocabulary_size = 1000;
  return options;
}

Batch read_data(const DataOptions& options, const std::string& path) {
  BatchReader reader(options, {path}, {});
  reader.begin_pass(0);
  Batch batch;
  EXPECT_TRUE(reader.next(batch));
  return batch;
}

// Features of an example as (id, value), whatever the slots: ids of dense slot s are its places.
using Features = std::multiset<std::pair<Key, float>>;

Features features_of(const DataSchema& schema, const Batch& batch, size_t b) {
  Features out;
  for (size_t s = 0; s < schema.slots.size(); ++s) {
    const SlotData& slot = batch.slots[s];
    size_t dim = static_cast<size_t>(schema.slots[s].dim);
    for (size_t i = 0; schema.slots[s].dense && i < dim; ++i) {
      if (slot.values[b * dim + i] != 0) out.emplace(i, slot.values[b * dim + i]);
    }
    for (size_t k = schema.slots[s].dense ? 1 : slot.offsets[b];
         !schema.slots[s].dense && k < slot.offsets[b + 1]; ++k) {
      out.emplace(slot.keys[k], slot.valued() ? slot.values[k] : 1.0f);
    }
  }
  return out;
}

// Criteo's reader gives categories the hash of their digits; multislot pads empty slots with id 0.
Features as_read(Features features, std::string_view kind, std::string_view format) {
  Features out;
  for (auto [key, value] : features) {
    if (format == "multislot" && key == 0 && value == 1.0f) continue;
    uint64_t column = key >> 32;
    if (kind == "criteo" && format == "criteo" && column > 0) {
      char digits[9];
      std::snprintf(digits, sizeof digits, "%08x", static_cast<uint32_t>(key));
      key = hash_bytes(digits, column);
    }
    out.emplace(key, value);
  }
  return out;
}

void expect_round_trip(std::string_view kind, const WriterEntry& format) {
  Folder folder;
  std::string path = folder / "data";
  std::unique_ptr<Generator> generator = make_generator(kind);
  write_data(*generator, format, path);
  DataOptions options = options_to_read(generator->traits(), format.name);
  DataSchema schema = format.name == "records" ? generator->traits().schema : options.schema(options.format);
  Batch batch = read_data(options, path);
  Sample sample;
  generator->generate(0, kSamples, sample);
  ASSERT_EQ(batch.labels, sample.batch.labels);
  for (size_t b = 0; b < kSamples; ++b) {
    Features written = features_of(generator->traits().schema, sample.batch, b);
    Features read = features_of(schema, batch, b);
    if (format.name == "multislot") read = as_read(read, "", format.name);
    ASSERT_EQ(read, as_read(written, kind, format.name)) << "example " << b;
  }
}

TEST(DatagenFormats, EveryKindReadsBackInEveryFormatThatCanHoldIt) {
  const std::set<std::pair<std::string_view, std::string_view>> expressible = {
      {"sparse-binary", "paddle_sparse_binary"},
      {"sparse-binary", "paddle_sparse_float"},
      {"sparse-binary", "libsvm"},
      {"sparse-binary", "multislot"},
      {"sparse-binary", "records"},
      {"sparse-float", "paddle_sparse_float"},
      {"sparse-float", "libsvm"},
      {"sparse-float", "records"},
      {"ctr", "paddle_sparse_binary"},
      {"ctr", "paddle_sparse_float"},
      {"ctr", "libsvm"},
      {"ctr", "multislot"},
      {"ctr", "records"},
      {"criteo", "criteo"},
      {"criteo", "multislot"},
      {"criteo", "records"},
      {"dense", "libsvm"},
      {"dense", "multislot"},
      {"dense", "records"},
      {"language", "text"},
  };
  for (const GeneratorEntry* kind : generator_catalog()) {
    for (const WriterEntry* format : writer_catalog()) {
      SCOPED_TRACE(cat(kind->name, " as ", format->name));
      if (!expressible.contains({kind->name, format->name})) {
        EXPECT_THROW(make_writer(*format, make_generator(kind->name)->traits()), Error);
      } else if (kind->name != "language") {
        expect_round_trip(kind->name, *format);
      }
    }
  }
}

TEST(DatagenFormats, SentencesReadBackWordByWord) {
  Folder folder;
  std::string path = folder / "text";
  std::unique_ptr<Generator> generator = make_generator("language");
  write_data(*generator, find_writer("text"), path);
  BatchReader reader(options_to_read(generator->traits(), "text"), {path}, {});
  Batch batch;
  reader.begin_pass(0);
  ASSERT_TRUE(reader.next(batch));
  Sample sample;
  generator->generate(0, kSamples, sample);
  std::vector<std::string> written, read;
  for (Key key : sample.batch.slots[0].keys) written.push_back(cat("w", key));
  for (float label : batch.labels)
    read.push_back(reader.vocabulary()->word(static_cast<uint32_t>(label)).word);
  EXPECT_EQ(read, written);
}

TEST(DatagenFormats, CompressedDataReadBack) {
  Folder folder;
  std::unique_ptr<Generator> generator = make_generator("ctr");
  const WriterEntry& format = find_writer("libsvm");
  DataOptions options = options_to_read(generator->traits(), "libsvm");
  write_data(*generator, format, folder / "plain");
  write_data(*generator, format, folder / "zstd", Compression::kZstd);
  write_data(*generator, format, folder / "gzip", Compression::kGzip);
  EXPECT_LT(read_file(folder / "zstd").size(), read_file(folder / "plain").size() / 2);
  Batch plain = read_data(options, folder / "plain");
  for (std::string_view name : {"zstd", "gzip"}) {
    Batch batch = read_data(options, folder / name);
    EXPECT_EQ(batch.labels, plain.labels);
    EXPECT_EQ(batch.slots[0].keys, plain.slots[0].keys);
  }
}

TEST(Writers, LibsvmRowsAreInAscendingOrder) {
  DataSchema schema{{{"a", false, 0}, {"b", false, 0}}};
  Random random(1, 0);
  Batch batch;
  batch.clear(schema);
  for (size_t count : {0, 1, 2, 40, 100, 3000}) {
    batch.labels.push_back(0);
    for (SlotData& slot : batch.slots) {
      // One slot spread over all numbers, one crowded below 1000.
      for (size_t k = 0; k < count; ++k)
        slot.keys.push_back(&slot == &batch.slots[0] ? random.next64() : random.below(1000));
      slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
    }
  }
  Batch sorted = batch;
  sort_rows(schema, sorted);
  for (size_t s = 0; s < 2; ++s) {
    for (size_t b = 0; b + 1 < batch.slots[s].offsets.size(); ++b) {
      auto begin = batch.slots[s].keys.begin() + batch.slots[s].offsets[b];
      std::sort(begin, batch.slots[s].keys.begin() + batch.slots[s].offsets[b + 1]);
    }
    EXPECT_EQ(sorted.slots[s].keys, batch.slots[s].keys);
  }
}

TEST(Writers, LibsvmHoldsWeightsAndGroups) {
  DataSchema schema{{{"features", false, 0}}};
  Batch batch;
  batch.clear(schema);
  batch.labels = {-1};
  batch.weights = {0.5f};
  batch.groups = {7};
  batch.slots[0] = {{0, 2}, {3, UINT64_MAX}, {1.0f, -2.5f}};
  std::string out;
  make_writer(find_writer("libsvm"), {.schema = schema, .valued = true})->format(batch, out);
  EXPECT_EQ(out, "-1:0.5 qid:7 3:1 18446744073709551615:-2.5\n");
}

template <class Number>
std::string text_of(char* (*write)(char*, Number), Number value) {
  char buffer[kMaxFloatText];
  return std::string(buffer, write(buffer, value));
}

TEST(NumberText, IntegersAreThoseOfPrintf) {
  Random random(2, 0);
  std::vector<uint64_t> values = {0, UINT64_MAX};
  for (uint64_t power = 1; power <= 1'000'000'000'000'000'000; power *= 10) {
    for (uint64_t value : {power - 1, power, power + 1}) values.push_back(value);
  }
  for (int i = 0; i < 20000; ++i) values.push_back(random.next64() >> random.below(64));
  for (uint64_t value : values) ASSERT_EQ(text_of(write_uint, value), std::to_string(value));
}

TEST(NumberText, SixDecimalsAreThoseOfPrintf) {
  Random random(3, 0);
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1e-7f,
                               5e-7f,
                               0.0000005f,
                               0.9999999f,
                               1e9f,
                               5e9f,
                               -1e20f,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::denorm_min()};
  for (int i = 0; i < 20000; ++i) {
    values.push_back(
        std::ldexp(static_cast<float>(random.normal()), static_cast<int>(random.below(60)) - 30));
  }
  for (float value : values) {
    char expected[64];
    std::snprintf(expected, sizeof expected, "%.6f", static_cast<double>(value));
    ASSERT_EQ(text_of(write_fixed6, value), expected);
  }
}

TEST(NumberText, FloatsReadBackAsThemselves) {
  Random random(4, 0);
  for (int i = 0; i < 20000; ++i) {
    float value = std::bit_cast<float>(random.next32());
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(std::stod(text_of(write_float, value)), std::stod(text_internal::number(value)));
  }
  EXPECT_EQ(text_of(write_float, -0.0f), "-0");
  EXPECT_EQ(text_of(write_float, 16777215.0f), "16777215");
}

}  // namespace
}  // namespace ps
