// Shared by the harnesses of data formats: reads bytes through a BatchReader, as one file.
#ifndef PS_TESTS_FUZZ_FUZZ_READER_H_
#define PS_TESTS_FUZZ_FUZZ_READER_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "data/options.h"
#include "data/reader.h"

namespace ps {

inline void check_slot(const SlotSchema& schema, const SlotData& slot, int64_t examples) {
  for (float value : slot.values) PS_CHECK(std::isfinite(value));
  if (schema.dense) {
    PS_CHECK(slot.keys.empty() && slot.offsets.empty());
    PS_CHECK(static_cast<int64_t>(slot.values.size()) == examples * schema.dim);
    return;
  }
  PS_CHECK(static_cast<int64_t>(slot.offsets.size()) == examples + 1);
  PS_CHECK(slot.offsets.front() == 0 && slot.offsets.back() == slot.keys.size());
  for (size_t b = 0; b + 1 < slot.offsets.size(); ++b) PS_CHECK(slot.offsets[b] <= slot.offsets[b + 1]);
  for (Key key : slot.keys) PS_CHECK(schema.dim == 0 || key < static_cast<Key>(schema.dim));
  PS_CHECK(slot.values.empty() || slot.values.size() == slot.keys.size());
}

inline void check_batch(const DataSchema& schema, const Batch& batch) {
  for (float label : batch.labels) PS_CHECK(std::isfinite(label));
  PS_CHECK(batch.weights.empty() || batch.weights.size() == batch.labels.size());
  PS_CHECK(batch.groups.empty() || batch.groups.size() == batch.labels.size());
  PS_CHECK(batch.slots.size() == schema.slots.size());
  for (size_t s = 0; s < schema.slots.size(); ++s) check_slot(schema.slots[s], batch.slots[s], batch.size());
}

inline void read_all(const DataOptions& options, int descriptor,
                     const std::shared_ptr<const Vocabulary>& vocabulary) {
  lseek(descriptor, 0, SEEK_SET);
  try {
    BatchReader reader(options, {"-"}, {.stdin_descriptor = descriptor, .vocabulary = vocabulary});
    reader.begin_pass(0);
    Batch batch;
    while (reader.next(batch)) check_batch(reader.schema(), batch);
  } catch (const Error&) {
  }
}

// Reads `data` once as the options say, and once with bad lines skipped, all transformations and a shuffle.
// Any ps::Error is a good answer; a batch that breaks the rules of batch.h ends the program.
inline void fuzz_reader(DataOptions options, const uint8_t* data, size_t size,
                        const std::shared_ptr<const Vocabulary>& vocabulary = nullptr) {
  int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  PS_CHECK(write(descriptor, data, size) == static_cast<ssize_t>(size));
  options.batch_size = 3;
  read_all(options, descriptor, vocabulary);
  options.max_bad_lines = 1000;
  options.unit_length = options.log_counts = true;
  options.hash_bits = options.dense ? 0 : 7;
  options.shuffle = "full";
  read_all(options, descriptor, vocabulary);
  close(descriptor);
}

}  // namespace ps

#endif  // PS_TESTS_FUZZ_FUZZ_READER_H_
