// BatchReader: a file in memory to batches, read, cut, parsed and put together as in training.
#include "data/reader.h"
#include "bench/memory_file.h"
#include "bench/parse/suite.h"
#include "bench/parse/text.h"

namespace ps {

namespace {

class ReadBatches final : public Workload {
 public:
  ReadBatches(const BenchSettings& settings, const SyntheticKind& kind)
      : data_(make_synthetic(kind, settings.scale, kParsedExamples)),
        file_(data_.bytes),
        threads_(settings.threads) {}

  void run() override {
    found_ = {};
    read_all([&](const Batch& batch) {
      found_.examples += static_cast<uint64_t>(batch.size());
      found_.keys += batch.slots[0].keys.size();
    });
  }

  void check() override {
    expect_equal("examples read", found_.examples, data_.digest.examples);
    expect_equal("ids read", found_.keys, data_.digest.keys);
    found_ = {};
    read_all([&](const Batch& batch) { found_.add(batch); });
    found_.expect(data_.digest, true);
  }

  Work work() const override {
    return {.bytes = static_cast<double>(data_.bytes.size()),
            .items = static_cast<double>(data_.digest.examples)};
  }

 private:
  template <class Look>
  void read_all(Look look) {
    DataOptions options = data_.options;
    options.batch_size = 1024;
    ReaderSettings settings;
    settings.threads = threads_;
    settings.stdin_descriptor = file_.rewound();
    BatchReader reader(options, {"-"}, settings);
    reader.begin_pass(0);
    while (reader.next(batch_)) look(batch_);
  }

  const SyntheticData data_;
  const MemoryFile file_;
  const int threads_;
  Batch batch_;
  Digest found_;
};

Benchmark read(const std::string& name, const std::string& help, const SyntheticKind& kind,
               const std::string& limit) {
  return {
      .name = cat("parse/batches/", name),
      .help = cat("a file to batches of 1024: ", help),
      .unit = "B",
      .make = [kind](const BenchSettings& settings) { return std::make_unique<ReadBatches>(settings, kind); },
      .threaded = true,
      .limit = limit};
}

}  // namespace

std::vector<Benchmark> reader_benchmarks() {
  return {read("libsvm-binary", "libsvm, every value 1", kLibsvmBinary, "limits/read"),
          read("libsvm-values", "libsvm, values of 4 digits", kLibsvmValues, "limits/read"),
          read("records", "records, which are copied more than parsed",
               {"sparse-binary", "records", forty_ids()}, "limits/copy")};
}

}  // namespace ps
