#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/random.h"
#include "config/catalog.h"
#include "config/spec.h"
#include "plain_plans.h"
#include "support/environment.h"
#include "table/dense_table.h"
#include "table/sparse_table.h"

namespace ps::snapshot_test {
namespace {

using testing::ElementsAreArray;

constexpr int64_t kWidth = 3;
constexpr uint64_t kKeys = 6000;     // that there may be
constexpr uint64_t kMuch = 1 << 28;  // bytes for a snapshot

// A plan whose keys occur once each.
KeyPlan counted_plan(const std::vector<uint64_t>& keys) {
  KeyPlan plan = plan_of(keys);
  plan.counts.assign(plan.keys.size(), {1, 0});
  return plan;
}

// The floats of a row, as bits: stamps are no numbers.
using Bits = std::vector<uint32_t>;

Bits bits_of(const float* row, int64_t floats) {
  Bits bits(static_cast<size_t>(floats));
  std::memcpy(bits.data(), row, bits.size() * sizeof(uint32_t));
  return bits;
}

// The rows that a snapshot gave, in its order.
struct Given {
  std::vector<uint64_t> keys;
  std::vector<Bits> rows;

  std::map<uint64_t, Bits> by_key() const {
    std::map<uint64_t, Bits> map;
    for (size_t i = 0; i < keys.size(); ++i) map[keys[i]] = rows[i];
    return map;
  }
  bool operator==(const Given&) const = default;
};

struct Case {
  const OptimizerEntry* optimizer;
  const char* store;  // any, bounded, spilled, or evicting: rows come and go, and are spilled
};

// Names of failing cases.
void PrintTo(const Case& value, std::ostream* out) {
  *out << value.optimizer->name << ", " << value.store;
}

class SnapshotTest : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<SparseTable> make_table() {
    const Json options = {{"l2", 0.01}};
    const std::string_view store = GetParam().store;
    std::optional<RowPolicy> policy;
    if (store == "evicting") {
      policy = RowPolicy::spec().parse({{"limit", 4096}, {"when_full", "evict"}}, "rows");
    }
    const bool spills = store == "spilled" || store == "evicting";
    return std::make_unique<SparseTable>(
        kWidth, store == "bounded" ? kKeys : 0, Initializer{Distribution::kNormal, 0, 1, 7},
        GetParam().optimizer->make_float(options, {}, best_cpu_level()), policy, spills ? &spill_ : nullptr);
  }

  // Any way in which rows change.
  void write(SparseTable& table, Random& random) {
    const size_t count = random.below(8) == 0 ? 600 : 40;  // more than are written at once, or fewer
    std::set<uint64_t> chosen;
    while (chosen.size() < count) chosen.insert(random.below(kKeys));
    std::vector<uint64_t> keys(chosen.begin(), chosen.end());
    const uint32_t way = random.next32() % 8;
    if (way == 0) {
      table.erase(keys);
    } else if (way == 1) {
      const std::vector<float> weights(keys.size() * kWidth, 0.25f);
      table.load_rows(keys, weights.data(), device_);
    } else if (way == 2) {
      const uint32_t partition = random.next32() % (1u << kPartitionBits);
      std::vector<uint64_t> there;
      table.rows().for_each_row(partition, [&there](uint64_t key, const float*) { there.push_back(key); });
      table.rows().visit(there, /*writes=*/true, [](uint64_t, float* row) { row[0] += 1; });
    } else {
      train(table, keys);
    }
  }

  void train(SparseTable& table, const std::vector<uint64_t>& keys) {
    std::vector<float*> rows;
    KeyPlan plan = counted_plan(keys);
    table.pull(plan, device_, rows);
    std::vector<float> gradients(rows.size() * kWidth);
    for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = static_cast<float>(i % 7) - 2.5f;
    table.push(plan, rows, gradients.data(), 0.1f, 0.1, device_);
  }

  static std::map<uint64_t, Bits> copy_of(const SparseTable& table) {
    std::map<uint64_t, Bits> copy;
    for (uint32_t p = 0; p < 1u << kPartitionBits; ++p) {
      table.rows().for_each_row(p, [&](uint64_t key, const float* row) {
        copy[key] = bits_of(row, table.rows().layout().floats());
      });
    }
    return copy;
  }

  SnapshotSink into(Given& given, const SparseTable& table) {
    return [&](uint32_t partition, SnapshotRows&& rows) {
      std::vector<float> row(static_cast<size_t>(table.rows().layout().stride()));
      rows.sorted(10, [&](const RowBlock& block) {
        ASSERT_LE(block.size(), 10);
        for (size_t i = 0; i < block.size(); ++i) {
          ASSERT_EQ(key_partition(block.keys[i]), partition);
          given.keys.push_back(block.keys[i]);
          copy_row(table.rows().layout(), block, i, row.data());
          given.rows.push_back(bits_of(row.data(), table.rows().layout().floats()));
        }
      });
    };
  }

  // A whole snapshot, with writes in between that come from `seed`.
  Given snapshot(SparseTable& table, uint64_t seed) {
    Random random(seed, 1);
    Given given;
    table.begin_snapshot(kMuch, {.rows = into(given, table)});
    do {
      for (uint64_t writes = random.below(4); writes > 0; --writes) write(table, random);
    } while (table.sweep_snapshot(random.below(2000)));
    EXPECT_FALSE(table.has_snapshot());
    return given;
  }

  void write_much(SparseTable& table, uint64_t seed) {
    Random random(seed, 2);
    for (int i = 0; i < 150; ++i) write(table, random);
  }

  Device device_{1, best_cpu_level()};
  RowSpill spill_{testing::TempDir(), 64 << 10};  // a tenth of the blocks
};

TEST_P(SnapshotTest, GivesTheRowsAsTheyWereWhateverIsWrittenMeanwhile) {
  std::unique_ptr<SparseTable> table = make_table();
  for (uint64_t seed = 0; seed < 2; ++seed) {
    write_much(*table, seed);
    const std::map<uint64_t, Bits> expected = copy_of(*table);
    const Given given = snapshot(*table, seed);
    EXPECT_EQ(given.keys.size(), expected.size()) << "each key once";
    EXPECT_TRUE(given.by_key() == expected) << "seed " << seed;
    EXPECT_FALSE(copy_of(*table) == expected) << "the table went on";
  }
}

TEST_P(SnapshotTest, ComesInOneOrderHoweverItIsSwept) {
  std::unique_ptr<SparseTable> first = make_table(), second = make_table();
  write_much(*first, 1);
  write_much(*second, 1);
  const Given given = snapshot(*first, 10);
  EXPECT_TRUE(given == snapshot(*second, 11)) << "other writes, other steps";
  auto place = [](uint64_t key) { return std::pair(key_partition(key), key); };
  EXPECT_TRUE(std::is_sorted(given.keys.begin(), given.keys.end(),
                             [&](uint64_t a, uint64_t b) { return place(a) < place(b); }));
}

TEST_P(SnapshotTest, EndsByTheWritersAloneWhenThereIsNoRoom) {
  std::unique_ptr<SparseTable> table = make_table();
  write_much(*table, 5);
  const std::map<uint64_t, Bits> expected = copy_of(*table);
  Given given;
  table->begin_snapshot(0, {.rows = into(given, *table)});
  train(*table, {1, 2, 3, 4, 5});
  EXPECT_TRUE(given.by_key() == expected);
  EXPECT_FALSE(table->sweep_snapshot(1));
}

TEST_P(SnapshotTest, RestoredTableHoldsTheSameBits) {
  std::unique_ptr<SparseTable> table = make_table(), restored = make_table();
  write_much(*table, 8);
  auto restore = [&](uint32_t, SnapshotRows&& rows) {
    rows.sorted(100, [&](const RowBlock& block) { restored->restore_rows(block, device_); });
  };
  table->begin_snapshot(kMuch, {.rows = restore});
  while (table->sweep_snapshot(100)) continue;
  EXPECT_TRUE(copy_of(*restored) == copy_of(*table));
}

// As checkpoints are restored: partitions by several threads at once, where the table's rows allow it.
TEST_P(SnapshotTest, PartitionsRestoredAtOnceHoldTheSameBits) {
  std::unique_ptr<SparseTable> table = make_table(), restored = make_table();
  write_much(*table, 8);
  EXPECT_EQ(table->restores_partitions(), std::string_view(GetParam().store) == "any");
  if (!table->restores_partitions()) return;
  const KeyLists lists = table->list_keys();
  Device threads(4, best_cpu_level());
  threads.run(1u << kPartitionBits, [&](int64_t index) {
    const uint32_t partition = static_cast<uint32_t>(index);
    table->save_rows(partition, lists, 7, [&](const RowBlock& rows) {
      EXPECT_LE(rows.size(), 7);
      restored->restore_partition(partition, rows, partition % 2 == 0 ? 1000 : 0);
    });
  });
  EXPECT_TRUE(copy_of(*restored) == copy_of(*table));
  EXPECT_EQ(restored->sorted_keys(), table->sorted_keys());
}

// Each optimizer with each store; or one in three of these, in which every optimizer and every store is.
std::vector<Case> cases() {
  const int64_t every = try_every(3);
  int64_t number = 0;
  std::vector<Case> out;
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    for (const char* store : {"any", "bounded", "spilled", "evicting"}) {
      if (number++ % every == 0) out.push_back({entry, store});
    }
  }
  return out;
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return cat(test.param.optimizer->name, "_", test.param.store);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, SnapshotTest, testing::ValuesIn(cases()), name_of);

// A writer of ever new rows, that gives sweeps no time: the memory is enough for a tenth of the rows.
TEST(SnapshotMemory, StaysWithinItsBound) {
  constexpr uint64_t kRows = 100'000, kMaxBytes = 2 << 20, kPartitionBytes = 256 << 10;
  const RowLayout layout(16, 1, false);
  std::unique_ptr<RowStorage> store = make_hashed_rows(layout);
  Device device(1, best_cpu_level());
  std::vector<uint64_t> keys(kRows);
  for (uint64_t i = 0; i < kRows; ++i) keys[i] = i * 7919;
  std::vector<float*> rows(kRows);
  store->insert(keys, rows.data(), device);
  for (size_t i = 0; i < kRows; ++i) std::fill_n(rows[i], layout.floats(), static_cast<float>(keys[i]));
  uint64_t given = 0, most = 0, most_at_once = 0;
  SparseSnapshot snapshot(layout, *store, kMaxBytes, [&](uint32_t, SnapshotRows&& taken) {
    taken.sorted(taken.size(), [&](const RowBlock& block) {
      for (size_t i = 0; i < block.size(); ++i) {
        ASSERT_EQ(block.values[i * 32], static_cast<float>(block.keys[i]));
      }
    });
    given += taken.size();
  });
  for (size_t begin = 0; begin < kRows; begin += 100) {
    const uint64_t before = given;
    snapshot.keep(std::span(keys).subspan(begin, 100));
    for (size_t i = begin; i < begin + 100; ++i) rows[i][0] = -1;
    most = std::max(most, snapshot.memory_bytes());
    most_at_once = std::max(most_at_once, given - before);
  }
  while (snapshot.sweep(1000)) continue;
  EXPECT_EQ(given, kRows);
  EXPECT_LE(most, kMaxBytes + kPartitionBytes);
  EXPECT_GT(most, kMaxBytes / 2) << "the bound was put to the test";
  EXPECT_LE(most_at_once, kRows / 20) << "and none of the writers had to wait for all";
}

class DenseSnapshotTest : public testing::Test {
 protected:
  static std::unique_ptr<Optimizer<float>> momentum() {
    const OptimizerEntry& entry = find_entry(optimizer_catalog(), {{"type", "momentum"}}, "", "optimizer");
    return entry.make_float({{"momentum", 0.9}}, {}, best_cpu_level());
  }

  static TableSink into(std::vector<float>& given) {
    return {.whole = [&given](std::vector<float> floats) { given = std::move(floats); }};
  }

  static std::vector<float> copy_of(DenseTable& table) {
    std::vector<float> copy;
    table.begin_snapshot(0, into(copy));
    while (table.sweep_snapshot(1 << 12)) continue;
    return copy;
  }

  Device device_{2, best_cpu_level()};
  Initializer initializer_{Distribution::kNormal, 0, 1, 3};
  DenseTable table_{BlockCyclicRows::whole(1000), 70, initializer_, momentum(), device_};
  std::vector<float> gradient_ = std::vector<float>(70'000, 0.5f);
};

TEST_F(DenseSnapshotTest, GivesTheFloatsAsTheyWereWhateverIsWrittenMeanwhile) {
  table_.whole()->push_all(gradient_.data(), 1, 0.1, device_);
  const std::vector<float> weights(table_.whole()->values(), table_.whole()->values() + 70'000);
  const std::vector<float> expected = copy_of(table_);
  ASSERT_EQ(expected.size(), 2 * 70'000) << "weights and one state array";
  ASSERT_THAT(std::span(expected).first(70'000), ElementsAreArray(weights));
  const KeyPlan plan = counted_plan({5, 17});
  std::vector<float*> rows;
  RowBlock block;
  for (int writer = 0; writer < 8; ++writer) {
    const std::vector<float> before = copy_of(table_);
    table_.pull(plan, device_, rows);
    table_.copy_rows(std::vector<uint64_t>{3}, block);
    for (float& value : block.values) value += 1;
    std::vector<float> given;
    table_.begin_snapshot(0, into(given));
    table_.sweep_snapshot(4);
    if (writer == 0) table_.whole()->push_all(gradient_.data(), 1, 0.1, device_);
    if (writer == 1) table_.push(plan, rows, gradient_.data(), 1, 0.1, device_);
    if (writer == 2) table_.whole()->values()[69'999] = 7;
    if (writer == 3) table_.restore_rows(block, device_);
    if (writer == 4) table_.whole()->load_range(998, 2, gradient_.data(), device_);
    if (writer == 5) table_.whole()->set_stored(998, 2, weights.data());
    if (writer == 6) table_.whole()->set_stored(999, 1000, gradient_.data());
    if (writer == 7) {
      table_.begin_step(0.1);
      table_.whole()->push_range(35'000, 7'000, gradient_.data(), 1, device_);
      EXPECT_TRUE(table_.sweep_snapshot(4));
      table_.whole()->push_range(0, 35'000, gradient_.data(), 1, device_);
      table_.whole()->push_range(42'000, 28'000, gradient_.data(), 1, device_);
      table_.end_step();
    }
    while (table_.sweep_snapshot(4)) continue;
    EXPECT_FALSE(table_.has_snapshot());
    EXPECT_TRUE(given == before) << writer;
    EXPECT_FALSE(copy_of(table_) == before) << writer;
  }
}

// A write that copied the whole table would hold a shard for as long as that takes.
TEST_F(DenseSnapshotTest, AWriteCopiesOnlyTheBlocksThatItWrites) {
  std::vector<float> given;
  const DenseValues& values = *table_.whole();
  EXPECT_EQ(table_.whole()->num_snapshot_copies(), 0u);
  table_.begin_snapshot(0, into(given));
  table_.begin_step(0.1);
  EXPECT_EQ(values.num_snapshot_copies(), 0u);
  table_.whole()->push_range(70, 140, gradient_.data(), 1, device_);
  EXPECT_EQ(values.num_snapshot_copies(), 2u) << "of weights and of momentum";
  table_.whole()->push_range(210, 70, gradient_.data(), 1, device_);
  EXPECT_EQ(values.num_snapshot_copies(), 2u) << "the same blocks";
  table_.sweep_snapshot(1);
  EXPECT_EQ(values.num_snapshot_copies(), 1u) << "the weights were given";
  table_.whole()->push_range(280, 70, gradient_.data(), 1, device_);
  EXPECT_EQ(values.num_snapshot_copies(), 1u);
  table_.whole()->load_range(999, 1, gradient_.data(), device_);
  EXPECT_EQ(values.num_snapshot_copies(), 3u);
}

TEST(DenseTableRows, RestoredRowsHoldTheSameBits) {
  Device device(1, best_cpu_level());
  const Initializer initializer{Distribution::kNormal, 0, 1, 3};
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), {{"type", "momentum"}}, "", "optimizer");
  DenseTable table(BlockCyclicRows::whole(100), 7, initializer,
                   entry.make_float({{"momentum", 0.9}}, {}, best_cpu_level()), device);
  DenseTable restored(BlockCyclicRows::whole(100), 7, initializer,
                      entry.make_float({{"momentum", 0.9}}, {}, best_cpu_level()), device);
  const std::vector<float> gradient(700, 0.5f);
  table.whole()->push_all(gradient.data(), 1, 0.1, device);
  uint64_t rows = 0;
  table.save_rows(0, {}, 9, [&](const RowBlock& block) {
    EXPECT_LE(block.size(), 9);
    rows += restored.restore_rows(block, device);
  });
  EXPECT_EQ(rows, 100);
  RowBlock expected, found;
  table.copy_rows(table.sorted_keys(), expected);
  restored.copy_rows(table.sorted_keys(), found);
  EXPECT_EQ(found.values, expected.values);
}

}  // namespace
}  // namespace ps::snapshot_test
