// Times BatchReader, which reads a file in memory, divides it into blocks, parses them and puts batches
// together as in training; and the passes after the first, which take the examples that it keeps.
#include "data/reader.h"

#include <climits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/memory_file.h"
#include "bench/parse/suite.h"
#include "bench/parse/text.h"

namespace ps {

namespace {

// Returns a reader of batches of 1024 that reads `file` like standard input, so that neither a disk nor a
// path is part of the time.  With more than one pass it keeps the examples.
std::unique_ptr<BatchReader> reader_of(const SyntheticData& data, const MemoryFile& file, int threads,
                                       int passes) {
  DataOptions options = data.options;
  options.batch_size = 1024;
  ReaderSettings settings;
  settings.threads = threads;
  settings.passes = passes;
  settings.stdin_descriptor = file.rewound();
  return std::make_unique<BatchReader>(options, std::vector<std::string>{"-"}, settings);
}

template <class Look>
void read_pass(BatchReader& reader, int pass, Batch& batch, Look look) {
  reader.begin_pass(pass);
  while (reader.next(batch)) look(batch);
}

void count(const Batch& batch, Digest& found) {
  found.examples += static_cast<uint64_t>(batch.size());
  for (const SlotData& slot : batch.slots) found.keys += slot.keys.size();
}

// The first pass over a file.  A run makes a new reader with its threads and ends with the last batch.  It
// looks at counts alone; the check reads once more and digests every id.  One owner thread.
class ReadBatches final : public Workload {
 public:
  ReadBatches(const BenchSettings& settings, SyntheticData data, bool keeps_ids)
      : data_(std::move(data)), keeps_ids_(keeps_ids), file_(data_.bytes), threads_(settings.threads) {}

  void run() override {
    found_ = {};
    read_all([&](const Batch& batch) { count(batch, found_); });
  }

  void check() override {
    expect_equal("examples read", found_.examples, data_.digest.examples);
    expect_equal("ids read", found_.keys, data_.digest.keys);
    found_ = {};
    read_all([&](const Batch& batch) { found_.add(batch); });
    found_.expect(data_.digest, keeps_ids_);
  }

  Work work() const override { return data_.parsing(); }

 private:
  template <class Look>
  void read_all(Look look) {
    std::unique_ptr<BatchReader> reader = reader_of(data_, file_, threads_, 1);
    read_pass(*reader, 0, batch_, look);
  }

  const SyntheticData data_;
  const bool keeps_ids_;
  const MemoryFile file_;
  const int threads_;
  Batch batch_;
  Digest found_;
};

// Passes over kept examples.  The first run, which is not timed, reads the file.  The digest of each kept
// pass must be that of the generator too: what is kept is packed.  One owner thread.
class KeptBatches final : public Workload {
 public:
  KeptBatches(const BenchSettings& settings, const SyntheticKind& kind)
      : data_(make_synthetic(kind, settings.scale, kParsedExamples)),
        file_(data_.bytes),
        reader_(reader_of(data_, file_, settings.threads, INT_MAX)) {}

  void run() override {
    found_ = {};
    read_pass(*reader_, pass_++, batch_, [&](const Batch& batch) { count(batch, found_); });
  }

  void check() override {
    expect_equal("examples read", found_.examples, data_.digest.examples);
    expect_equal("ids read", found_.keys, data_.digest.keys);
    found_ = {};
    read_pass(*reader_, pass_++, batch_, [&](const Batch& batch) { found_.add(batch); });
    found_.expect(data_.digest, true);
  }

  // Counts the bytes of the batches: ids, labels and offsets.
  Work work() const override {
    double ids = static_cast<double>(data_.digest.keys),
           examples = static_cast<double>(data_.digest.examples);
    return {.bytes = ids * sizeof(Key) + examples * (sizeof(float) + sizeof(uint32_t)), .items = examples};
  }

 private:
  const SyntheticData data_;
  const MemoryFile file_;
  const std::unique_ptr<BatchReader> reader_;
  int pass_ = 0;
  Batch batch_;
  Digest found_;
};

Benchmark read_as(const std::string& name, const std::string& help, MakeWorkload make,
                  const std::string& limit) {
  return {.name = cat("parse/batches/", name),
          .help = cat("a file to batches of 1024: ", help),
          .unit = "B",
          .make = std::move(make),
          .threaded = true,
          .limit = limit};
}

Benchmark read(const std::string& name, const std::string& help, const SyntheticKind& kind,
               const std::string& limit) {
  auto make = [kind](const BenchSettings& settings) {
    return std::make_unique<ReadBatches>(settings, make_synthetic(kind, settings.scale, kParsedExamples),
                                         true);
  };
  return read_as(name, help, make, limit);
}

Benchmark read_census(const std::string& name, const std::string& help, bool quoted) {
  auto make = [quoted](const BenchSettings& settings) {
    return std::make_unique<ReadBatches>(settings, make_census_table(quoted, settings.scale, kParsedExamples),
                                         false);
  };
  return read_as(name, help, make, "limits/read");
}

}  // namespace

std::vector<Benchmark> reader_benchmarks() {
  return {read("libsvm-binary", "libsvm, every value 1", kLibsvmBinary, "limits/read"),
          read("libsvm-values", "libsvm, values of 4 digits", kLibsvmValues, "limits/read"),
          read("records", "records, which are copied more than parsed",
               {"sparse-binary", "records", forty_ids()}, "limits/copy"),
          read_census("csv-census", "csv, 13 words and integers, as in a census", false),
          read_census("csv-quoted", "the same, words in quotes", true),
          {.name = "parse/kept/libsvm-binary",
           .help = "examples kept in memory to batches of 1024: ids of 4 bytes become 8",
           .unit = "B",
           .make =
               [](const BenchSettings& settings) {
                 return std::make_unique<KeptBatches>(settings, kLibsvmBinary);
               },
           .limit = "limits/copy"}};
}

}  // namespace ps
