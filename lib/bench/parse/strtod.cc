// Times a plain program's way to read libsvm: strtof and strtoull on the same text.
#include <cstdlib>

#include "bench/parse/suite.h"
#include "bench/parse/text.h"
#include "data/splitter.h"

namespace ps {

namespace {

// A loop over all lines.  It makes the same examples as the parsers, in the same arrays, on one thread, and
// does not check the text.  One owner thread.
class PlainParse final : public Workload {
 public:
  PlainParse(const BenchSettings& settings, const SyntheticKind& kind)
      : data_(make_synthetic(kind, settings.scale, kParsedExamples)) {}

  void run() override {
    found_ = {};
    parse_all([&](const Batch& batch) {
      found_.examples += static_cast<uint64_t>(batch.size());
      found_.keys += batch.slots[0].keys.size();
    });
  }

  void check() override {
    expect_equal("examples parsed", found_.examples, data_.digest.examples);
    expect_equal("ids parsed", found_.keys, data_.digest.keys);
    found_ = {};
    parse_all([&](const Batch& batch) { found_.add(batch); });
    found_.expect(data_.digest, true);
  }

  Work work() const override { return data_.parsing(); }

 private:
  // Hands the examples to `look` in batches as large as the parser's, which stay in the cache as the parser's
  // do.
  template <class Look>
  void parse_all(Look look) {
    const char *p = data_.bytes.c_str(), *end = p + data_.bytes.size();
    const DataSchema schema{{{"features", false, data_.options.dim}}};
    while (p < end) {
      const char* block_end = p + LineSplitter::kBlockBytes < end ? p + LineSplitter::kBlockBytes : end;
      batch_.clear(schema);
      while (p < block_end) p = parse_line(p, batch_);
      look(batch_);
    }
  }

  static const char* parse_line(const char* p, Batch& batch) {
    char* next;
    float label = std::strtof(p, &next);
    SlotData& slot = batch.slots[0];
    while (*next == ' ') {
      slot.keys.push_back(std::strtoull(next, &next, 10));
      slot.values.push_back(*next == ':' ? std::strtof(next + 1, &next) : 1.0f);
    }
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
    batch.labels.push_back(label);
    return next + 1;  // after the line feed
  }

  const SyntheticData data_;
  Batch batch_;
  Digest found_;
};

Benchmark plain(const std::string& name, const SyntheticKind& kind) {
  return {
      .name = name,
      .help = "the same text by a loop of strtof and strtoull",
      .unit = "B",
      .make = [kind](const BenchSettings& settings) { return std::make_unique<PlainParse>(settings, kind); },
      .limit = "limits/read"};
}

}  // namespace

std::vector<Benchmark> strtod_benchmarks() {
  return {plain("parse/libsvm-binary/strtod", kLibsvmBinary),
          plain("parse/libsvm-values/strtod", kLibsvmValues)};
}

}  // namespace ps
