// A small full table under mixed calls, each in an order of its own, does what a sequential table does: the
// same rows, evictions, counts and exports, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "gpu/device_data.h"
#include "optim/step_kernels.h"
#include "table/cuda/device_table.h"
#include "test_device.h"

namespace ps {

namespace {

using Step = AdagradStep<float>;
using device_table::kSlots;

constexpr Step kStep = {0.1f, 1e-6f, {0.001f, 0.0005f}};
constexpr uint32_t kWidth = 3, kRowFloats = 2 * kWidth;
constexpr size_t kMaxBatch = 40;

struct Taken {
  uint64_t key, score;
  std::array<float, kRowFloats> row;

  bool operator==(const Taken&) const = default;
};

// One call's keys, scores, and rows or gradients.
struct Call {
  std::vector<uint64_t> keys, scores;
  std::vector<float> values;
};

// A reference implementation of the documented behaviour of DeviceTable, which works on one key after the
// other.
class SequentialTable {
 public:
  explicit SequentialTable(const DeviceTableOptions& options, uint32_t num_buckets)
      : options_(options), buckets_(num_buckets) {}

  // Makes the rows of a call; where each key's row is, null for those refused.
  std::map<uint64_t, Taken*> claim(const Call& call) {
    ++num_calls_;
    evicted.clear();
    std::map<uint64_t, std::vector<size_t>> by_hash;
    for (size_t i = 0; i < call.keys.size(); ++i) by_hash[hash_key(call.keys[i])].push_back(i);
    std::map<uint64_t, Taken*> rows;
    std::vector<const Taken*> touched;
    for (const auto& [hash, places] : by_hash) {
      if (Taken* row = find(call.keys[places[0]])) touched.push_back(row);
    }
    for (const auto& [hash, places] : by_hash) {
      Taken* row = claim_one(call, places, touched);
      rows[call.keys[places[0]]] = row;
      if (row != nullptr) touched.push_back(row);
      if (row == nullptr) ++counts.refused;
    }
    return rows;
  }

  Taken* find(uint64_t key) {
    for (auto& slot : bucket_of(key)) {
      if (slot && slot->key == key) return &*slot;
    }
    return nullptr;
  }

  void erase(const Call& call) {
    for (uint64_t key : call.keys) {
      for (auto& slot : bucket_of(key)) {
        if (!slot || slot->key != key) continue;
        slot.reset();
        ++counts.erased;
        --counts.rows;
      }
    }
  }

  void clear() {
    for (auto& bucket : buckets_) bucket = {};
    counts.erased += std::exchange(counts.rows, 0);
  }

  std::vector<Taken> all() const {
    std::vector<Taken> rows;
    for (const auto& bucket : buckets_) {
      for (const auto& slot : bucket) {
        if (slot) rows.push_back(*slot);
      }
    }
    return rows;
  }

  std::array<float, kRowFloats> new_row(uint64_t key) const {
    std::array<float, kRowFloats> row = {};
    options_.initializer.fill(key, std::span(row).first(kWidth), best_cpu_level());
    return row;
  }

  DeviceTableCounts counts;
  std::vector<Taken> evicted;  // by the last call

 private:
  using Bucket = std::array<std::optional<Taken>, kSlots>;

  Bucket& bucket_of(uint64_t key) { return buckets_[(hash_key(key) >> 32) * buckets_.size() >> 32]; }

  uint64_t score_of(const Call& call, const std::vector<size_t>& places) const {
    if (options_.score == EvictionScore::kAge) return num_calls_;
    return options_.score == EvictionScore::kCount ? places.size() : call.scores[places.back()];
  }

  Taken* claim_one(const Call& call, const std::vector<size_t>& places,
                   const std::vector<const Taken*>& touched) {
    const uint64_t key = call.keys[places[0]], score = score_of(call, places);
    if (Taken* row = find(key)) {
      row->score = score + (options_.score == EvictionScore::kCount ? row->score : 0);
      return row;
    }
    Bucket& bucket = bucket_of(key);
    auto place = std::find(bucket.begin(), bucket.end(), std::nullopt);
    if (place == bucket.end()) {
      for (auto slot = bucket.begin(); slot != bucket.end(); ++slot) {
        if (std::find(touched.begin(), touched.end(), &**slot) != touched.end()) continue;
        if (place == bucket.end() || (*slot)->score < (*place)->score) place = slot;
      }
      if (place == bucket.end()) return nullptr;
      if (options_.score == EvictionScore::kGiven && score < (*place)->score) return nullptr;
      evicted.push_back(**place);
      ++counts.evicted;
      --counts.rows;
    }
    *place = Taken{key, score, new_row(key)};
    ++counts.rows;
    ++counts.inserted;
    return &**place;
  }

  const DeviceTableOptions options_;
  std::vector<Bucket> buckets_;
  uint64_t num_calls_ = 0;
};

// Rows as a call takes them out, in device memory.
struct RowsTaken {
  RowsTaken(gpu::Device& device, int64_t most)
      : keys(device, most), scores(device, most), rows(device, most * kRowFloats), count(device, 1) {}

  RowsOut out() const { return {keys.data(), scores.data(), rows.data(), count.data()}; }

  std::vector<Taken> fetch(gpu::Stream& stream) const {
    const std::vector<uint64_t> all_keys = download(stream, keys), all_scores = download(stream, scores);
    const std::vector<float> all_rows = download(stream, rows);
    std::vector<Taken> taken(download(stream, count)[0]);
    for (size_t i = 0; i < taken.size(); ++i) {
      taken[i] = {all_keys[i], all_scores[i], {}};
      std::copy_n(all_rows.begin() + static_cast<ptrdiff_t>(i * kRowFloats), kRowFloats,
                  taken[i].row.begin());
    }
    return taken;
  }

  gpu::DeviceArray<uint64_t> keys, scores;
  gpu::DeviceArray<float> rows;
  gpu::DeviceArray<uint32_t> count;
};

// One seed's table and its twin.
class Schedule {
 public:
  explicit Schedule(uint64_t seed)
      : random_(seed, 11),
        options_(draw_options()),
        device_(test_device::disorderly(seed)),
        table_(device_, stream_, options_),
        twin_(options_, table_.num_buckets()),
        evicted_(device_, kMaxBatch) {}

  void run() {
    for (int call = 0; call < 6 && !testing::Test::HasFatalFailure(); ++call) {
      // Fills it before anything else.
      const uint64_t kind = call < 2 ? 0 : random_.below(25);
      if (kind < 5)
        pull();
      else if (kind < 11)
        push();
      else if (kind < 14)
        insert();
      else if (kind < 16)
        find();
      else if (kind < 19)
        erase();
      else if (kind < 20)
        clear();
      else if (kind < 23)
        load();
      else
        find_rows();
    }
    if (!testing::Test::HasFatalFailure()) compare_all();
  }

 private:
  DeviceTableOptions draw_options() {
    DeviceTableOptions options;
    options.width = kWidth;
    options.arrays = 1;
    options.rows = 1 + random_.below(2 * kSlots);
    options.max_batch = kMaxBatch;
    options.score = static_cast<EvictionScore>(random_.below(3));
    options.initializer = {Distribution::kUniform, 0, 1, random_.next64()};
    return options;
  }

  Call draw_call(size_t floats_a_key) {
    Call call;
    call.keys.resize(random_.below(4) == 0 ? kMaxBatch : random_.below(16));
    for (uint64_t& key : call.keys) key = random_.below(70) - 1;  // the highest key is one of them
    for (size_t i = 0; i < call.keys.size(); ++i) call.scores.push_back(random_.below(6));
    call.values.resize(call.keys.size() * floats_a_key);
    for (float& value : call.values) value = static_cast<float>(random_.normal());
    return call;
  }

  DeviceKeys on_device(const Call& call) {
    keys_ = upload(stream_, call.keys);
    scores_ = upload(stream_, call.scores);
    values_ = upload(stream_, call.values);
    return {keys_.data(), keys_.size(), scores_.data()};
  }

  void compare_evicted() {
    ASSERT_EQ(evicted_.fetch(stream_) == twin_.evicted, true) << "evicted rows differ";
  }

  void pull() {
    const Call call = draw_call(0);
    gpu::DeviceArray<float> weights(device_, static_cast<int64_t>(call.keys.size() * kWidth));
    const DeviceKeys keys = on_device(call);
    table_.pull(stream_, keys, weights.data(), evicted_.out());
    const std::map<uint64_t, Taken*> rows = twin_.claim(call);
    std::vector<float> expected;
    for (uint64_t key : call.keys) {
      const auto row = rows.at(key) != nullptr ? rows.at(key)->row : twin_.new_row(key);
      expected.insert(expected.end(), row.begin(), row.begin() + kWidth);
    }
    ASSERT_EQ(download(stream_, weights), expected);
    compare_evicted();
  }

  void push() {
    const Call call = draw_call(kWidth);
    const DeviceKeys keys = on_device(call);
    table_.push(stream_, keys, values_.data(), kStep, 0.5f, 1.0f, evicted_.out());
    std::map<uint64_t, std::array<float, kWidth>> sums;
    for (size_t i = 0; i < call.keys.size(); ++i) {
      auto [sum, is_new] = sums.try_emplace(call.keys[i]);
      for (size_t c = 0; c < kWidth; ++c) {
        const float value = call.values[i * kWidth + c];
        sum->second[c] = is_new ? value : sum->second[c] + value;
      }
    }
    for (const auto& [key, row] : twin_.claim(call)) {
      if (row == nullptr) continue;
      float* weights = row->row.data();
      step_kernels<Step>(best_cpu_level())
          .row(kStep, {weights, weights + kWidth, kWidth, kWidth, sums[key].data(), 0.5f, 1.0f});
    }
    compare_evicted();
  }

  void insert() {
    Call call = draw_call(kRowFloats);
    for (float& value : call.values) value = std::abs(value);  // a state of squares
    const DeviceKeys keys = on_device(call);
    table_.insert_and_evict(stream_, keys, values_.data(), evicted_.out());
    const std::map<uint64_t, Taken*> rows = twin_.claim(call);
    for (size_t i = 0; i < call.keys.size(); ++i) {
      Taken* row = rows.at(call.keys[i]);
      if (row == nullptr) continue;
      std::copy_n(call.values.begin() + static_cast<ptrdiff_t>(i * kRowFloats), kRowFloats, row->row.begin());
    }
    compare_evicted();
  }

  // Some keys have a source, in any order; the others keep their rows, or get new ones.
  void load() {
    Call call = draw_call(kRowFloats);
    for (float& value : call.values) value = std::abs(value);
    std::vector<uint32_t> sources(call.keys.size());
    for (uint32_t& source : sources) {
      const bool has_one = random_.below(3) > 0;
      source = has_one ? static_cast<uint32_t>(random_.below(call.keys.size())) : device_table::kNoSource;
    }
    const DeviceKeys keys = on_device(call);
    const gpu::DeviceArray<uint32_t> on_device = upload(stream_, sources);
    table_.load(stream_, keys, on_device.data(), values_.data(), evicted_.out());
    std::map<uint64_t, uint32_t> last;
    for (size_t i = 0; i < call.keys.size(); ++i) last[call.keys[i]] = sources[i];
    for (const auto& [key, row] : twin_.claim(call)) {
      if (row == nullptr || last[key] == device_table::kNoSource) continue;
      std::copy_n(call.values.begin() + static_cast<ptrdiff_t>(last[key] * kRowFloats), kRowFloats,
                  row->row.begin());
    }
    compare_evicted();
  }

  void find_rows() {
    const Call call = draw_call(0);
    const int64_t size = static_cast<int64_t>(call.keys.size());
    gpu::DeviceArray<uint8_t> found(device_, size);
    gpu::DeviceArray<uint64_t> scores(device_, size);
    gpu::DeviceArray<float> rows(device_, size * kRowFloats);
    const bool with_rows = random_.below(4) > 0;
    table_.find_rows(stream_, on_device(call),
                     {found.data(), scores.data(), with_rows ? rows.data() : nullptr});
    std::vector<uint8_t> expected_found;
    std::vector<uint64_t> expected_scores;
    std::vector<float> expected;
    for (uint64_t key : call.keys) {
      const Taken* row = twin_.find(key);
      const auto values = row != nullptr ? row->row : std::array<float, kRowFloats>{};
      expected_found.push_back(row != nullptr);
      expected_scores.push_back(row != nullptr ? row->score : 0);
      expected.insert(expected.end(), values.begin(), values.end());
    }
    ASSERT_EQ(download(stream_, found), expected_found);
    ASSERT_EQ(download(stream_, scores), expected_scores);
    if (with_rows) {
      ASSERT_EQ(download(stream_, rows), expected);
    }
  }

  void find() {
    const Call call = draw_call(0);
    gpu::DeviceArray<uint8_t> found(device_, static_cast<int64_t>(call.keys.size()));
    gpu::DeviceArray<float> weights(device_, found.size() * kWidth);
    const DeviceKeys keys = on_device(call);
    table_.find(stream_, keys, found.data(), weights.data());
    std::vector<uint8_t> expected_found;
    std::vector<float> expected;
    for (uint64_t key : call.keys) {
      const Taken* row = twin_.find(key);
      const auto values = row != nullptr ? row->row : std::array<float, kRowFloats>{};
      expected_found.push_back(row != nullptr);
      expected.insert(expected.end(), values.begin(), values.begin() + kWidth);
    }
    ASSERT_EQ(download(stream_, found), expected_found);
    ASSERT_EQ(download(stream_, weights), expected);
  }

  void erase() {
    Call call = draw_call(0);
    const DeviceKeys keys = on_device(call);
    table_.erase(stream_, keys);
    twin_.erase(call);
    stream_.synchronize();
  }

  void clear() {
    table_.clear(stream_);
    twin_.clear();
  }

  // Everything there is, a bucket at a time, and the counts.
  void compare_all() {
    std::vector<Taken> found;
    for (uint32_t bucket = 0; bucket < table_.num_buckets(); ++bucket) {
      RowsTaken block(device_, kSlots);
      table_.export_rows(stream_, bucket, 1, block.out());
      const std::vector<Taken> rows = block.fetch(stream_);
      found.insert(found.end(), rows.begin(), rows.end());
    }
    ASSERT_TRUE(found == twin_.all()) << "rows differ";
    DeviceTableCounts counts;
    table_.copy_counts(stream_, counts);
    stream_.synchronize();
    EXPECT_EQ(counts.rows, twin_.counts.rows);
    EXPECT_EQ(counts.inserted, twin_.counts.inserted);
    EXPECT_EQ(counts.evicted, twin_.counts.evicted);
    EXPECT_EQ(counts.erased, twin_.counts.erased);
    EXPECT_EQ(counts.refused, twin_.counts.refused);
  }

  Random random_;
  const DeviceTableOptions options_;
  gpu::Device device_;
  gpu::Stream stream_{device_};
  DeviceTable table_;
  SequentialTable twin_;
  RowsTaken evicted_;
  gpu::DeviceArray<uint64_t> keys_, scores_;
  gpu::DeviceArray<float> values_;
};

// A thousand, or those that the environment asks for; sanitizers are slower, and see more in each.
uint64_t num_seeds() {
  const char* asked = std::getenv("PS_GPU_SEEDS");
  if (asked != nullptr) return std::strtoull(asked, nullptr, 10);
  return test_device::is_slow() ? 40 : 1000;
}

TEST(DeviceTableSchedules, FullTableDoesWhatASequentialOneDoes) {
  for (uint64_t seed = 0; seed < num_seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(Schedule(seed).run());
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace

}  // namespace ps
