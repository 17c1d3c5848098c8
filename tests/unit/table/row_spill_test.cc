#include "table/row_spill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "config/catalog.h"
#include "config/json.h"
#include "config/spec.h"
#include "support/environment.h"
#include "table/sparse_table.h"

namespace ps::row_spill_test {
namespace {

constexpr int64_t kWidth = 8;

class RowSpillTest : public testing::TestWithParam<const OptimizerEntry*> {
 protected:
  std::unique_ptr<SparseTable> make_table(RowSpill* spill,
                                          const std::optional<RowPolicy>& policy = std::nullopt) {
    return std::make_unique<SparseTable>(kWidth, 0, Initializer{Distribution::kNormal, 0, 1, 7},
                                         GetParam()->make_float({{"l2", 0.01}}, {}, best_cpu_level()), policy,
                                         spill);
  }

  static KeyPlan plan_of(const std::set<uint64_t>& keys) {
    KeyPlan plan;
    plan.keys.assign(keys.begin(), keys.end());
    for (uint64_t key : keys) plan.counts.push_back({1, key % 3 == 0});
    return plan;
  }

  // A few keys that come often, and any others.
  static std::set<uint64_t> draw(Random& random) {
    std::set<uint64_t> keys;
    while (keys.size() < 20) keys.insert(random.below(50));
    while (keys.size() < 60) keys.insert(random.below(20'000));
    return keys;
  }

  std::vector<float> train(SparseTable& table, const KeyPlan& plan) {
    std::vector<float*> rows;
    table.pull(plan, device_, rows);
    std::vector<float> pulled, gradients(rows.size() * kWidth);
    for (const float* row : rows) pulled.insert(pulled.end(), row, row + kWidth);
    for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = pulled[i] + static_cast<float>(i % 5);
    table.push(plan, rows, gradients.data(), 0.1f, 0.1, device_);
    if (table.policy() != nullptr) table.policy()->end_step(/*shrink_asked=*/false, device_);
    return pulled;
  }

  // The floats of all rows, as bits.
  static std::map<uint64_t, std::vector<uint32_t>> rows_of(const SparseTable& table) {
    std::map<uint64_t, std::vector<uint32_t>> out;
    const size_t floats = static_cast<size_t>(table.rows().layout().floats());
    for (uint32_t p = 0; p < 1u << kPartitionBits; ++p) {
      table.rows().for_each_row(p, [&](uint64_t key, const float* row) {
        out[key].resize(floats);
        std::memcpy(out[key].data(), row, floats * sizeof(float));
      });
    }
    return out;
  }

  Device device_{1, best_cpu_level()};
};

TEST_P(RowSpillTest, TableLargerThanMemoryHoldsTheSameBits) {
  constexpr uint64_t kMaxBytes = 200'000;
  RowSpill spill(testing::TempDir(), kMaxBytes);
  std::unique_ptr<SparseTable> spilled = make_table(&spill), whole = make_table(nullptr);
  Random random(5, 6);
  for (int step = 0; step < 200; ++step) {
    const KeyPlan plan = plan_of(draw(random));
    ASSERT_EQ(train(*spilled, plan), train(*whole, plan)) << step;
    if (step % 10 == 0) {
      const std::vector<uint64_t> some(plan.keys.begin(), plan.keys.begin() + 30);
      ASSERT_EQ(spilled->erase(some), whole->erase(some));
    }
    const KeyPlan others = plan_of(draw(random));
    std::vector<float> read(others.keys.size() * kWidth), expected(read.size());
    spilled->read_rows(others.keys, read.data());
    whole->read_rows(others.keys, expected.data());
    ASSERT_EQ(read, expected) << step;
  }
  EXPECT_GT(spill.blocks_read(), 1000u);
  EXPECT_GT(spill.file_bytes(), 2 * kMaxBytes) << "most of the rows had to leave";
  EXPECT_LT(spill.memory_bytes(), 2 * kMaxBytes);
  EXPECT_EQ(spilled->sorted_keys(), whole->sorted_keys());
  EXPECT_TRUE(rows_of(*spilled) == rows_of(*whole));
}

// Keys that come have new or old rows, or get none; rows that go are on disk and in memory.
TEST_P(RowSpillTest, RowsComeAndGoAsTheyDoInMemory) {
  constexpr uint64_t kMaxBytes = 100'000;
  const char* const kPolicies[] = {
      R"({"limit": 4096, "when_full": "evict", "decay": 0.5, "expire": {"unseen": 3}, "shrink_steps": 20})",
      R"({"admission": {"count": 2}, "limit": 640, "expire": {"below_score": 0.5}, "shrink_steps": 50})"};
  for (const char* text : kPolicies) {
    SCOPED_TRACE(text);
    const RowPolicy policy = RowPolicy::spec().parse(parse_json(text, "rows"), "rows");
    RowSpill spill(testing::TempDir(), kMaxBytes);
    std::unique_ptr<SparseTable> spilled = make_table(&spill, policy), whole = make_table(nullptr, policy);
    Random random(7, 8);
    for (int step = 0; step < 160; ++step) {
      const KeyPlan plan = plan_of(draw(random));
      ASSERT_EQ(train(*spilled, plan), train(*whole, plan)) << step;
      ASSERT_EQ(spilled->policy()->report(), whole->policy()->report()) << step;
    }
    EXPECT_GT(whole->policy()->report().expired, 0u);
    EXPECT_GT(whole->policy()->report().evicted + whole->policy()->report().refused, 0u);
    EXPECT_GT(spill.blocks_read(), 500u);
    EXPECT_LT(spill.memory_bytes(), 2 * kMaxBytes);
    EXPECT_EQ(spilled->sorted_keys(), whole->sorted_keys());
    EXPECT_TRUE(rows_of(*spilled) == rows_of(*whole));
  }
}

// Rows that come in every second request are hardly ever what leaves: were the blocks that came first those
// to leave first, they would 66 times.
TEST_P(RowSpillTest, RowsInUseStay) {
  RowSpill spill(testing::TempDir(), 1 << 20);
  std::unique_ptr<SparseTable> table = make_table(&spill);
  std::set<uint64_t> hot;
  while (hot.size() < 50) hot.insert(hot.size());
  train(*table, plan_of(hot));
  uint64_t reads = 0;
  for (uint64_t cold = 1000; cold < 60'000; cold += 500) {
    std::set<uint64_t> keys;
    for (uint64_t key = cold; key < cold + 500; ++key) keys.insert(key);
    train(*table, plan_of(keys));
    const uint64_t before = spill.blocks_read();
    train(*table, plan_of(hot));
    reads += spill.blocks_read() - before;
  }
  EXPECT_GT(spill.file_bytes(), uint64_t{1} << 20);
  EXPECT_LT(reads, 20u);
}

std::string name_of(const testing::TestParamInfo<const OptimizerEntry*>& test) {
  return std::string(test.param->name);
}

// All, or one in three.
std::vector<const OptimizerEntry*> optimizers_to_try() {
  const int64_t every = try_every(3);
  int64_t number = 0;
  std::vector<const OptimizerEntry*> out;
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    if (number++ % every == 0) out.push_back(entry);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Optimizers, RowSpillTest, testing::ValuesIn(optimizers_to_try()), name_of);

// An index takes some 23 bytes a row; of a block there are its record, and at the table its number and a null pointer.
TEST(RowSpillMemory, OfRowsOnDiskTheirIndexAndAFewBytesABlockStay) {
  constexpr uint64_t kMaxBytes = 64 << 10, kRows = 64'000, kAtOnce = 1000, kRowsOfABlock = 4;
  constexpr int64_t kWide = 250;
  RowSpill spill(testing::TempDir(), kMaxBytes);
  const OptimizerEntry& sgd =
      find_entry(optimizer_catalog(), Json{{"type", "sgd"}}, "optimizer", "optimizer");
  SparseTable table(kWide, 0, Initializer{Distribution::kNormal, 0, 1, 7},
                    sgd.make_float({{"type", "sgd"}, {"l2", 0.01}}, {}, best_cpu_level()), std::nullopt,
                    &spill);
  Device device(1, best_cpu_level());
  std::vector<float> weights(kAtOnce * kWide, 1.0f);
  for (uint64_t key = 0; key < kRows; key += kAtOnce) {
    std::vector<uint64_t> keys(kAtOnce);
    std::iota(keys.begin(), keys.end(), key);
    table.load_rows(keys, weights.data(), device);
  }
  const uint64_t row_bytes = static_cast<uint64_t>(table.rows().layout().stride()) * sizeof(float);
  ASSERT_EQ(row_bytes * kRowsOfABlock, RowSpill::kPage);
  ASSERT_LT(spill.resident_bytes(), kRows * row_bytes / 32) << "the rest is on disk";
  const uint64_t blocks = kRows / kRowsOfABlock + kPartitions;
  EXPECT_LT(table.memory_bytes() - spill.resident_bytes(), 25 * kRows + 40 * blocks);
  EXPECT_LT(spill.memory_bytes() - spill.resident_bytes(), 27 * blocks);
}

TEST(RowSpillFile, LeavesNoNameBehind) {
  const std::filesystem::path directory = std::filesystem::path(testing::TempDir()) / "ps-row-spill-test";
  std::filesystem::create_directories(directory);
  RowSpill spill(directory, 0);
  std::vector<float*> slabs;
  uint64_t resident = 0;
  const uint32_t owner = spill.enter({&slabs, &resident, RowSpill::kPage});
  for (int i = 0; i < 10; ++i) {
    spill.add(owner);
    spill.release();
  }
  EXPECT_EQ(resident, RowSpill::kPage) << "the last";
  EXPECT_GT(spill.file_bytes(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove(directory);
}

TEST(RowSpillFile, FolderThatIsNotThereIsNamed) {
  try {
    RowSpill spill("/nowhere/at-all", 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_THAT(error.message(), testing::HasSubstr("/nowhere/at-all"));
  }
}

// The largest that a file of this process may be, until the end of the scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit lower{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &lower);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_;
};

// Calls body(descriptor) for the files of all spills.
template <class Body>
void for_each_spill_file(Body&& body) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    if (std::filesystem::read_symlink(entry.path(), none).filename().string().starts_with("ps-spill-")) {
      body(std::stoi(entry.path().filename()));
    }
  }
}

class RowsOfAdagrad : public testing::Test {
 protected:
  std::unique_ptr<SparseTable> make_table(RowSpill* spill) {
    const OptimizerEntry& adagrad = find_entry(optimizer_catalog(), {{"type", "adagrad"}}, "", "optimizer");
    return std::make_unique<SparseTable>(kWidth, 0, Initializer{},
                                         adagrad.make_float(Json::object(), {}, best_cpu_level()),
                                         std::nullopt, spill);
  }

  // A step of keys begin to begin + 99.
  void train(SparseTable& table, uint64_t begin) {
    KeyPlan plan;
    for (uint64_t key = begin; key < begin + 100; ++key) plan.keys.push_back(key);
    std::vector<float*> rows;
    table.pull(plan, device_, rows);
    const std::vector<float> gradients(rows.size() * kWidth, 1.0f);
    table.push(plan, rows, gradients.data(), 1, 0.1, device_);
  }

  std::vector<float> weights_of(const SparseTable& table) {
    const std::vector<uint64_t> keys = table.sorted_keys();
    std::vector<float> weights(keys.size() * kWidth);
    table.read_rows(keys, weights.data());
    return weights;
  }

  Device device_{1, best_cpu_level()};
};

TEST_F(RowsOfAdagrad, OfARequestThatADiskHasNoRoomForThereAreNone) {
  RowSpill spill(testing::TempDir(), 100'000);
  std::unique_ptr<SparseTable> spilled = make_table(&spill), whole = make_table(nullptr);
  uint64_t begin = 0;
  {
    const FileSizeLimit limit(300'000);
    EXPECT_THROW(
        for (; begin < 100'000; begin += 100) {
          train(*spilled, begin);
          train(*whole, begin);
        },
        Error);
  }
  ASSERT_GT(begin, 1000u);
  EXPECT_EQ(spilled->sorted_keys(), whole->sorted_keys());
  EXPECT_EQ(weights_of(*spilled), weights_of(*whole));
  for (uint64_t again : {begin, uint64_t{0}}) {
    train(*spilled, again);
    train(*whole, again);
  }
  EXPECT_EQ(weights_of(*spilled), weights_of(*whole)) << "with room it goes on";
}

TEST_F(RowsOfAdagrad, ThatCannotBeReadEndTheSnapshotAndNotWhoWrites) {
  RowSpill spill(testing::TempDir(), 100'000);
  std::unique_ptr<SparseTable> table = make_table(&spill);
  for (uint64_t begin = 0; begin < 10'000; begin += 100) train(*table, begin);
  for_each_spill_file([](int file) { ASSERT_EQ(ftruncate(file, 0), 0); });
  table->begin_snapshot(1 << 28, {.rows = [](uint32_t, SnapshotRows&&) {}});
  const std::vector<uint64_t> oldest = {0, 1, 2, 3};
  EXPECT_EQ(table->erase(oldest), oldest.size());
  EXPECT_THROW(while (table->sweep_snapshot(1000)){}, Error);
  table->end_snapshot();
  EXPECT_EQ(table->size(), 10'000 - oldest.size());
}

// Whoever reads it: as a whole to be written, or a piece.
TEST(RowSpillFile, DamageIsNoticed) {
  constexpr uint64_t kBytes = 4096;
  RowSpill spill(testing::TempDir(), kBytes);
  std::vector<float*> slabs;
  uint64_t resident = 0;
  const uint32_t owner = spill.enter({&slabs, &resident, kBytes}), first = spill.add(owner);
  std::fill_n(slabs[0], kBytes / sizeof(float), 1.0f);
  spill.release();
  spill.add(owner);
  ASSERT_EQ(slabs[0], nullptr);
  for_each_spill_file([](int file) { ASSERT_EQ(pwrite(file, "x", 1, kBytes - 3), 1); });

  spill.release();
  spill.pin(first);
  try {
    spill.load();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    EXPECT_THAT(error.what(), testing::HasSubstr("are damaged at offset 0"));
  }
  EXPECT_EQ(slabs[0], nullptr) << "nobody may use it";
  float head;
  spill.plan_read(first, 0, sizeof head, &head);
  EXPECT_THROW(spill.read(), Error);
}

// Blocks of any size, also of no whole pages.
TEST(RowSpillFile, GivesBackWhatItTook) {
  RowSpill spill(testing::TempDir(), 50'000);
  std::vector<float*> slabs;
  uint64_t resident = 0;
  std::vector<uint32_t> blocks;
  auto floats_of = [](uint32_t n) { return size_t{500} + 37 * n; };
  for (uint32_t n = 0; n < 60; ++n) {
    blocks.push_back(spill.add(spill.enter({&slabs, &resident, floats_of(n) * sizeof(float)})));
    std::fill_n(slabs.back(), floats_of(n), static_cast<float>(n));
    spill.release();
  }
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 60; ++i) {
      const uint32_t n = i * 23 % 60;
      const float expected = static_cast<float>(n + 100 * round);
      if (slabs[n] == nullptr) {
        std::vector<float> last(7);
        spill.plan_read(blocks[n], (floats_of(n) - 7) * sizeof(float), 7 * sizeof(float), last.data());
        spill.read();
        ASSERT_THAT(last, testing::Each(expected));
      }
      spill.pin(blocks[n]);
      spill.load();
      ASSERT_THAT(std::span(slabs[n], floats_of(n)), testing::Each(expected));
      std::fill_n(slabs[n], floats_of(n), expected + 100);
      spill.release();
    }
  }
}

}  // namespace
}  // namespace ps::row_spill_test
