#include "table/key_admission.h"

#include "base/hash.h"
#include "base/random.h"
#include "table/table_partition.h"

namespace ps {

namespace {

// Makes these random numbers independent of those of initial weights, which use the same seed.
constexpr uint64_t kStream = 0x61646d697373696f;

}  // namespace

KeyAdmission::KeyAdmission(const Admission& rule, uint64_t seed)
    : rule_(rule), seed_(hash_key(seed ^ kStream)), counted_(rule.count ? kPartitions : 0) {}

// By probability, nothing is kept of a key that is not admitted, so its row begins with the counts of this
// step.  By count, the key waits in its partition until it has occurred rule_.count times, and its row gets
// all of them.
std::optional<KeyCount> KeyAdmission::occur(uint64_t key, const KeyCount& count, int64_t step) {
  if (rule_.probability) return draw(key, count.shows, step) ? std::optional(count) : std::nullopt;
  CountedKeys& counted = counted_[key_partition(key)];
  const KeyCount total = counted.add(key, count);
  if (static_cast<int64_t>(total.shows) < *rule_.count) return std::nullopt;
  counted.remove(key);
  return total;
}

// Draws a number in [0, 1) from (seed, key, step, occurrence) for each occurrence.  Returns true if one is
// below the probability of admission.
bool KeyAdmission::draw(uint64_t key, uint32_t shows, int64_t step) const {
  constexpr uint32_t kAtOnce = 4;
  const uint64_t step_seed = seed_ ^ hash_key(static_cast<uint64_t>(step));
  for (uint32_t i = 0; i < shows; i += kAtOnce) {
    const std::array<uint32_t, kAtOnce> numbers = philox(step_seed, key, i / kAtOnce);
    for (uint32_t j = 0; j < kAtOnce && i + j < shows; ++j) {
      if (static_cast<double>(numbers[j]) * 0x1p-32 < *rule_.probability) return true;
    }
  }
  return false;
}

void KeyAdmission::end_step() {
  for (CountedKeys& counted : counted_)
    counted.halve_to(static_cast<uint64_t>(rule_.max_waiting) / kPartitions);
}

void KeyAdmission::save(std::string& out) const {
  for (const CountedKeys& counted : counted_) counted.save(out);
}

// All partitions are read, since their lengths are not known; those of other shards into a scratch object.
void KeyAdmission::load(ByteReader& in, const std::function<bool(uint32_t)>& mine) {
  for (uint32_t partition = 0; partition < counted_.size(); ++partition) {
    CountedKeys others;
    (mine(partition) ? counted_[partition] : others).load(in);
  }
}

uint64_t KeyAdmission::waiting() const {
  uint64_t keys = 0;
  for (const CountedKeys& counted : counted_) keys += counted.size();
  return keys;
}

uint64_t KeyAdmission::memory_bytes() const {
  uint64_t bytes = 0;
  for (const CountedKeys& counted : counted_) bytes += counted.memory_bytes();
  return bytes;
}

}  // namespace ps
