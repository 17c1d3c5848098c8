// Times the generation of streams of synthetic examples.
#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "bench/datagen/suite.h"
#include "bench/synthetic.h"
#include "data/synth/stream.h"
#include "data/writer.h"

namespace ps {

namespace {

constexpr uint64_t kStreamSamples = 200000;

// Streams of one kind.  The sink counts and forgets, so that a run is generation and formatting alone.  Any
// number of threads must make the same bytes, since examples depend on their numbers.  One owner thread,
// which the stream's own threads help.
class Stream final : public Workload {
 public:
  Stream(const BenchSettings& settings, const SyntheticKind& kind)
      : samples_(scaled_samples(settings.scale, kStreamSamples)),
        threads_(settings.threads),
        generator_(make_generator(kind, settings.scale)) {
    const WriterEntry& format = find_writer(kind.format);
    sorted_ = format.sorted;
    writer_ = make_writer(format, generator_->traits());
  }

  void run() override {
    bytes_ = 0, examples_ = 0;
    stream(threads_, [this](std::string_view bytes, int64_t examples) {
      bytes_ += bytes.size(), examples_ += static_cast<uint64_t>(examples);
      return true;
    });
  }

  // Compares the bytes with those that one thread makes; the runs count the examples alone.
  void check() override {
    expect_equal("examples written", examples_, samples_);
    uint64_t expected_bytes = 0;
    uint64_t expected = digest(1, expected_bytes), found_bytes = 0;
    expect_equal("bytes written", bytes_, expected_bytes);
    expect_equal("hash of the bytes", digest(threads_, found_bytes), expected);
  }

  Work work() const override {
    return {.bytes = static_cast<double>(bytes_), .items = static_cast<double>(samples_)};
  }

 private:
  void stream(int threads, const StreamSink& sink) const {
    generate_stream(*generator_, *writer_, {.samples = samples_, .threads = threads, .sorted = sorted_}, sink,
                    nullptr);
  }

  // Returns a hash of the stream, and its size.  Blocks end in other places with another number of threads,
  // so the hash is computed over pieces of one size.
  uint64_t digest(int threads, uint64_t& size) const {
    std::string piece;
    uint64_t hash = 0;
    auto hash_piece = [&](size_t bytes) {
      hash = hash_bytes(std::string_view(piece).substr(0, bytes), hash);
      piece.erase(0, bytes);
    };
    stream(threads, [&](std::string_view bytes, int64_t) {
      size += bytes.size();
      piece += bytes;
      while (piece.size() >= kPieceBytes) hash_piece(kPieceBytes);
      return true;
    });
    hash_piece(piece.size());
    return hash;
  }

  static constexpr size_t kPieceBytes = size_t{1} << 20;

  const uint64_t samples_;
  const int threads_;
  const std::unique_ptr<Generator> generator_;
  std::unique_ptr<Writer> writer_;
  bool sorted_ = false;
  uint64_t bytes_ = 0, examples_ = 0;  // sizes of the last run
};

Benchmark stream(const std::string& help, const SyntheticKind& kind) {
  return {.name = cat("datagen/", kind.kind, "/", kind.format),
          .help = help,
          .unit = "examples",
          .make = [kind](const BenchSettings& settings) { return std::make_unique<Stream>(settings, kind); },
          .threaded = true};
}

}  // namespace

// Ids in ascending order cost a sort, and records spare the formatting of numbers.
std::vector<Benchmark> datagen_benchmarks() {
  return {
      stream("40 ids in ascending order", {"sparse-binary", "libsvm", forty_ids()}),
      stream("40 ids in random order", {"sparse-binary", "paddle_sparse_binary", forty_ids()}),
      stream("40 ids, not written as text", {"sparse-binary", "records", forty_ids()}),
      stream("40 ids with values", {"sparse-float", "libsvm", forty_ids()}),
      stream("clicks: 20 slots of an id", {"ctr", "multislot"}),
      stream("13 integers, 26 categories", {"criteo", "criteo"}),
      stream("sentences of 5 to 35 words", {"language", "text"}),
      stream("images of 256 pixels", {"dense", "libsvm"}),
  };
}

}  // namespace ps
