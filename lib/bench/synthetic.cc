#include "bench/synthetic.h"

#include <algorithm>
#include <cmath>

#include "bench/benchmark.h"
#include "data/writer.h"

namespace ps {

namespace {

constexpr uint64_t kSeed = 1;
constexpr int64_t kLeastIds = 10000;      // enough for rows without repeats
constexpr int64_t kBlockExamples = 1024;  // examples that are generated at a time

// Describes the examples to the format's reader, as a job would.
DataOptions reading_options(const std::string& format, const DataSchema& schema) {
  DataOptions options;
  options.format = format;
  if (schema.slots.size() == 1) options.dim = schema.slots[0].dim;
  if (format != "multislot") return options;
  for (const SlotSchema& slot : schema.slots) {
    options.slots.push_back({slot.name, slot.dense ? "dense" : "sparse", slot.dim});
  }
  options.slots.push_back({"label", "dense", 1});
  return options;
}

void round_values(Batch& batch) {
  for (SlotData& slot : batch.slots) {
    for (float& value : slot.values) value = std::round(value * 1000) / 1000;
  }
}

}  // namespace

// A slot without values counts as values of 1, since formats such as libsvm write them so.
void Digest::add(const Batch& batch) {
  examples += static_cast<uint64_t>(batch.size());
  for (float label : batch.labels) label_sum += label;
  for (const SlotData& slot : batch.slots) {
    keys += slot.keys.size();
    for (Key key : slot.keys) key_sum += key;
    for (float value : slot.values) value_sum += value;
    if (!slot.valued()) value_sum += static_cast<double>(slot.keys.size());
  }
}

void Digest::expect(const Digest& expected, bool ids) const {
  // Text holds all digits of a float, so only the order of the sums may differ.
  constexpr double kRounding = 1e-9;
  expect_equal("examples", examples, expected.examples);
  expect_equal("ids", keys, expected.keys);
  if (ids) expect_equal("sum of ids", key_sum, expected.key_sum);
  expect_near("sum of labels", label_sum, expected.label_sum, kRounding);
  expect_near("sum of values", value_sum, expected.value_sum, kRounding);
}

Work SyntheticData::parsing() const {
  return {.bytes = static_cast<double>(bytes.size()), .items = static_cast<double>(digest.examples)};
}

Work SyntheticData::training() const {
  const double ids = static_cast<double>(digest.keys);
  return {.bytes = ids * sizeof(Key), .items = static_cast<double>(digest.examples), .of_limit = ids};
}

SynthOptions forty_ids() {
  SynthOptions options;
  options.dim = 18000000;
  options.nnz = {40, 40};
  options.zipf = 1.1;
  return options;
}

uint64_t scaled_samples(double scale, uint64_t full) {
  return std::max<uint64_t>(1, static_cast<uint64_t>(scale * static_cast<double>(full)));
}

std::unique_ptr<Generator> make_generator(const SyntheticKind& kind, double scale) {
  const GeneratorEntry& entry = find_generator(kind.kind);
  SynthOptions options = entry.defaults();
  SynthOptions chosen = kind.chosen;
  if (chosen.dim) {
    chosen.dim = std::max<int64_t>(kLeastIds, static_cast<int64_t>(scale * static_cast<double>(*chosen.dim)));
  }
  options.apply(chosen, kind.kind);
  return entry.make(options, kSeed);
}

// Generates blocks of examples, writes each in the format and adds it to the digest before it is forgotten.
// The digest counts examples that have been rounded and sorted like those in the text.
SyntheticData make_synthetic(const SyntheticKind& kind, double scale, uint64_t full_samples) {
  const uint64_t samples = scaled_samples(scale, full_samples);
  std::unique_ptr<Generator> generator = make_generator(kind, scale);
  const WriterEntry& format = find_writer(kind.format);
  std::unique_ptr<Writer> writer = make_writer(format, generator->traits());

  SyntheticData data;
  data.options = reading_options(kind.format, generator->traits().schema);
  Sample sample;
  writer->begin(data.bytes);
  for (uint64_t first = 0; first < samples; first += kBlockExamples) {
    generator->generate(first, std::min<int64_t>(kBlockExamples, static_cast<int64_t>(samples - first)),
                        sample);
    if (kind.four_digits) round_values(sample.batch);
    if (format.sorted) sort_rows(writer->schema(), sample.batch);
    writer->format(sample.batch, data.bytes);
    data.digest.add(sample.batch);
  }
  writer->end(data.bytes);
  return data;
}

}  // namespace ps
