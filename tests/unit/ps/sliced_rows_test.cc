// Tables of every kind whose steps, ends of passes and pulls a shard works on in slices: the same bits, decisions and states
// as at once, and as of the table alone, with readers in every pause.
#include <cstring>
#include <map>
#include <utility>

#include "base/random.h"
#include "config/spec.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/slice_work.h"
#include "shard_test.h"
#include "support/scratch_folder.h"
#include "table/row_policy_state.h"

namespace ps::sliced_rows_test {
namespace {

struct SlicedKind {
  const char* name;
  const char* policy = nullptr;
  bool sparse = true, spilled = false;
  uint64_t stride = 1;  // between two keys: those of a table by number are in different blocks
};

const SlicedKind kSlicedKinds[] = {
    {.name = "rows"},
    {.name = "spilled", .spilled = true},
    {.name = "by number", .sparse = false, .stride = 100},
    {.name = "plain policy", .policy = "{}"},
    {.name = "expiry", .policy = R"({"expire": {"unseen": 0, "below_score": 0.3}, "shrink_steps": 4})"},
    {.name = "count and eviction",
     .policy = R"({"admission": {"count": 2}, "limit": 64, "when_full": "evict", "decay": 0.5,
                   "expire": {"unseen": 1}})"},
    {.name = "probability and refusal",
     .policy = R"({"admission": {"probability": 0.3}, "limit": 64, "expire": {"below_score": 0.3}})"},
    {.name = "eviction on disk", .policy = R"({"limit": 64, "when_full": "evict"})", .spilled = true},
    {.name = "refusal on disk",
     .policy = R"({"limit": 64, "expire": {"unseen": 1}, "shrink_passes": 1})",
     .spilled = true},
};

// All that a shard has at the end.
struct TrainedTable {
  std::vector<uint64_t> keys;
  std::vector<float> weights;
  RowReport report;
  std::map<std::string, std::string> states;
};

bool same_bits(const TrainedTable& a, const TrainedTable& b) {
  const size_t bytes = a.weights.size() * sizeof(float);
  return a.weights.size() == b.weights.size() && std::memcmp(a.weights.data(), b.weights.data(), bytes) == 0;
}

class SlicedRowsTest : public ShardTest {
 protected:
  static constexpr uint64_t kKeys = 100;

  static ParameterSpec spec_of(const SlicedKind& kind) {
    ParameterSpec table = synthetic_parameter("table", ParameterKind::kRows, kind.sparse,
                                              kind.sparse ? 0 : kKeys * kind.stride, 2);
    if (kind.policy != nullptr) {
      table.row_policy = RowPolicy::spec().parse(parse_json(kind.policy, "rows"), "rows");
    }
    return table;
  }

  void make_kind(const SlicedKind& kind, uint64_t work, Consistency consistency, int trainers = 2) {
    kind_ = kind;
    limits_.slice_work = work;
    limits_.spill = kind.spilled ? SpillSettings{folder_.path(), uint64_t{16} << 10} : SpillSettings();
    shard_ = std::make_unique<Shard>(std::vector{spec_of(kind)}, make_optimizer_plan(optimizer_, "sum"),
                                     place_, consistency, loss_, limits_);
    for (int rank = 0; rank < trainers; ++rank) join(rank, trainers, 1);
    shard_->runner().on_busy([this] { ++num_slices_; });
  }
  static KeyCount count_of(uint64_t key) { return {1, static_cast<uint32_t>(key % 2)}; }
  bool has_policy() const { return kind_.policy != nullptr; }

  OutcomePtr push_counted(int rank, const PushHeader& header, const std::vector<uint64_t>& keys,
                          float gradient) {
    if (!has_policy()) return push_slice(rank, header, keys, gradient);
    std::vector<KeyCount> counts;
    for (uint64_t key : keys) counts.push_back(count_of(key));
    std::string parts;
    encode_counted_slice(0, keys, counts, parts);
    std::string body = encode_push(header, 1, parts);
    for (size_t i = 0; i < 2 * keys.size(); ++i) put(body, gradient);
    return push_body(rank, body);
  }

  // Reads in the pauses, until there are no more.
  void go_on() {
    while (shard_->runner().busy()) {
      weights({kind_.stride * reader_.below(kKeys)});
      if (has_policy()) shard_->tables().row_report(0);
      if (kind_.sparse) shard_->tables().keys({.parameter = 0, .cursor = {}, .most = 10});
      shard_->runner().go_on();
    }
  }

  std::vector<uint64_t> draw_keys(Random& random) const {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < kKeys; ++i) {
      if (random.below(3) == 0) keys.push_back(i * kind_.stride);
    }
    return keys;
  }
  std::vector<uint64_t> all_keys() const {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(i * kind_.stride);
    return keys;
  }

  static float draw_gradient(Random& random) { return 0.25f + static_cast<float>(random.below(99)) / 64; }

  // The same steps and passes, by the table alone.
  TrainedTable train_directly(const SlicedKind& kind) {
    kind_ = kind;
    Device device(1, best_cpu_level());
    ParameterTables tables({spec_of(kind)}, make_optimizer_plan(optimizer_, "sum"), {}, device);
    Table& table = *tables.table(0);
    Random random(7, 3);
    for (int pass = 0; pass < 3; ++pass) {
      for (int i = 0; i < 12; ++i) {
        std::map<uint64_t, std::pair<float, KeyCount>> sums;
        for (int rank = 0; rank < 2; ++rank) {
          const std::vector<uint64_t> keys = draw_keys(random);
          const float gradient = draw_gradient(random);
          for (uint64_t key : keys) {
            auto [sum, is_new] = sums.try_emplace(key, gradient, count_of(key));
            if (is_new) continue;
            sum->second.first += gradient;
            sum->second.second.shows += count_of(key).shows;
            sum->second.second.clicks += count_of(key).clicks;
          }
        }
        KeyPlan plan;
        std::vector<float> gradients;
        for (const auto& [key, sum] : sums) {
          plan.keys.push_back(key);
          plan.counts.push_back(sum.second);
          gradients.insert(gradients.end(), 2, sum.first);
        }
        std::vector<float*> rows;
        table.pull(plan, device, rows);
        table.push(plan, rows, gradients.data(), 1, optimizer_["learning_rate"].get<double>(), device);
        if (has_policy()) table.policy()->end_step(i == 7, device);
      }
      tables.end_pass(pass);
    }
    TrainedTable trained{table.sorted_keys(), std::vector<float>(2 * kKeys), {}, {}};
    table.read_rows(all_keys(), trained.weights.data());
    if (has_policy()) trained.report = table.policy()->report();
    return trained;
  }

  // Three passes of steps of two trainers, some of which ask for a shrink.
  TrainedTable train(const SlicedKind& kind, uint64_t work, Consistency consistency) {
    make_kind(kind, work, consistency);
    Random random(7, 3);
    uint64_t step = 0;
    for (int pass = 0; pass < 3; ++pass) {
      for (int i = 0; i < 12; ++i, ++step) {
        for (int rank = 0; rank < 2; ++rank) {
          const std::vector<uint64_t> keys = draw_keys(random);
          const OutcomePtr pulled = pull(rank, step, keys, /*number=*/step + 1);
          go_on();
          EXPECT_FALSE(pulled->waits());
          const StepInfo info{1, pass, i == 7};
          push_counted(rank, {.step = step, .info = info}, keys, draw_gradient(random));
          go_on();
        }
      }
      for (int rank = 0; rank < 2; ++rank) {
        push_body(rank, encode_push({.step = step, .info = {0, pass}, .ended = true}, 0, ""));
        go_on();
      }
      ++step;
      EXPECT_EQ(shard_->steps().pass(), static_cast<uint64_t>(pass) + 1);
    }
    const Table& table = *shard_->tables().parameters().table(0);
    TrainedTable outcome{table.sorted_keys(), std::vector<float>(2 * kKeys), {}, {}};
    table.read_rows(all_keys(), outcome.weights.data());
    if (has_policy()) outcome.report = shard_->tables().row_report(0);
    outcome.states = shard_->tables().parameters().states();
    return outcome;
  }

  const ScratchFolder folder_;
  SlicedKind kind_{};
  Random reader_{7, 4};
  int num_slices_ = 0;
};

TEST_F(SlicedRowsTest, SlicesOfAnySizeGiveTheSameBitsAndDecisions) {
  RowReport happened;
  for (const SlicedKind& kind : kSlicedKinds) {
    for (const Json& optimizer : {Json{{"type", "adagrad"}, {"learning_rate", 0.1}},
                                  Json{{"type", "momentum"}, {"learning_rate", 0.01}, {"l2", 0.01}}}) {
      for (const bool async : {false, true}) {
        SCOPED_TRACE(cat(kind.name, " ", optimizer.dump(), " ", async));
        optimizer_ = optimizer;
        num_slices_ = 0;
        const TrainedTable at_once = train(kind, SliceWork::kUnlimited, {.async = async});
        EXPECT_EQ(num_slices_, 0);
        happened.add(at_once.report);
        if (!async) {
          const TrainedTable direct = train_directly(kind);
          EXPECT_EQ(direct.keys, at_once.keys);
          EXPECT_TRUE(same_bits(direct, at_once));
          EXPECT_EQ(direct.report, at_once.report);
        }
        for (const uint64_t work : {1, 100, 700}) {
          num_slices_ = 0;
          const TrainedTable sliced = train(kind, work, {.async = async});
          EXPECT_GT(num_slices_, work < 700 ? 70 : 5) << work;
          EXPECT_EQ(at_once.keys, sliced.keys) << work;
          EXPECT_TRUE(same_bits(at_once, sliced)) << work;
          EXPECT_EQ(at_once.report, sliced.report) << work;
          EXPECT_EQ(at_once.states, sliced.states) << work;
        }
      }
    }
  }
  for (const uint64_t* figure : happened.figures()) EXPECT_GT(*figure, 0u);
}

// With momentum an idle step changes a row too.
TEST_F(SlicedRowsTest, ARowReadsAsBeforeTheStepOrAsAfterIt) {
  for (const SlicedKind& kind : kSlicedKinds) {
    if (kind.policy != nullptr && kind.policy != std::string("{}")) continue;
    SCOPED_TRACE(kind.name);
    optimizer_ = {{"type", "momentum"}, {"learning_rate", 1}, {"momentum", 0.5}};
    make_kind(kind, 1, {}, /*trainers=*/1);
    push_counted(0, {.step = 0, .info = {1, 0}}, all_keys(), 1);
    go_on();
    const std::vector<float> before = weights(all_keys());
    push_counted(0, {.step = 1, .info = {1, 0}}, all_keys(), 1);
    std::vector<std::vector<float>> seen;
    while (shard_->runner().busy()) {
      seen.push_back(weights(all_keys()));
      shard_->runner().go_on();
    }
    const std::vector<float> after = weights(all_keys());
    bool some_were_mixed = false;
    for (const std::vector<float>& rows : seen) {
      size_t num_before = 0, num_after = 0;
      for (size_t i = 0; i < kKeys; ++i) num_before += rows[i] == before[i], num_after += rows[i] == after[i];
      EXPECT_EQ(num_before + num_after, kKeys);
      some_were_mixed |= num_before > 0 && num_after > 0;
    }
    EXPECT_TRUE(some_were_mixed);
    EXPECT_NE(before, after);
  }
}

TEST_F(SlicedRowsTest, ThePassEndsWhenAllRowsAreJudged) {
  for (const bool async : {false, true}) {
    make_kind({.name = "expiry", .policy = R"({"expire": {"below_score": 9}})"}, 1, {.async = async}, 1);
    push_counted(0, {.step = 0, .info = {1, 0}}, all_keys(), 1);
    go_on();
    EXPECT_EQ(shard_->tables().row_report(0).rows, kKeys);
    const OutcomePtr ended = push_end(0, 1);
    ASSERT_TRUE(shard_->runner().busy());
    EXPECT_TRUE(ended->waits());
    EXPECT_EQ(shard_->steps().pass(), 0u);
    uint64_t fewest = kKeys;
    while (shard_->tables().row_report(0).rows > 50) {
      ASSERT_TRUE(shard_->runner().busy());
      EXPECT_LE(shard_->tables().row_report(0).rows, fewest);
      fewest = shard_->tables().row_report(0).rows;
      shard_->runner().go_on();
    }
    EXPECT_GT(fewest, 0u);
    ASSERT_TRUE(shard_->runner().busy()) << "some rows are gone, not all";
    EXPECT_EQ(pull(0, 2, {1})->floats(2).size(), 2u) << "a trainer's request has the pass ended";
    EXPECT_FALSE(ended->waits());
    EXPECT_EQ(shard_->steps().pass(), 1u);
    EXPECT_EQ(shard_->tables().row_report(0).expired, kKeys);
  }
}

// ---- pulls

TEST_F(SlicedRowsTest, APullIsAnsweredInSlices) {
  for (const SlicedKind& kind : kSlicedKinds) {
    SCOPED_TRACE(kind.name);
    make_kind(kind, SliceWork::kUnlimited, {}, 1);
    const std::vector<float> at_once = pull(0, 0, all_keys())->floats(2 * kKeys);
    make_kind(kind, 60, {}, 1);
    num_slices_ = 0;
    const OutcomePtr pulled = pull(0, 0, all_keys());
    EXPECT_TRUE(pulled->waits());
    EXPECT_EQ(shard_->num_waiting(), 1u);
    go_on();
    EXPECT_GT(num_slices_, 20);
    ASSERT_FALSE(pulled->waits());
    EXPECT_EQ(pulled->floats(2 * kKeys), at_once);
    EXPECT_EQ(shard_->num_waiting(), 0u);
  }
}

TEST_F(SlicedRowsTest, PullsThatHaveWaitedForAStepAreAnsweredInTheirOrder) {
  make_kind({.name = "rows"}, 60, {});
  push(0, 0, all_keys(), 1);
  const OutcomePtr first = pull(0, 1, all_keys());
  EXPECT_FALSE(shard_->runner().busy());
  const OutcomePtr pushed = push(1, 0, all_keys(), 1);
  bool alone = false;
  while (shard_->runner().busy()) {
    alone |= !pushed->waits() && first->waits();
    shard_->runner().go_on();
  }
  EXPECT_TRUE(alone) << "the step was over before its pull was answered";
  EXPECT_FALSE(first->waits());
  push(0, 1, all_keys(), 1);
  go_on();
  const OutcomePtr second = pull(0, 2, all_keys()), third = pull(1, 2, {1, 2, 3});
  push(1, 1, all_keys(), 1);
  while (shard_->runner().busy()) {
    EXPECT_TRUE(third->waits() || !second->waits());
    shard_->runner().go_on();
  }
  EXPECT_FALSE(third->waits());
}

TEST_F(SlicedRowsTest, AnotherRequestHasThePullAnsweredFirst) {
  make_kind({.name = "rows"}, 60, {}, 1);
  const OutcomePtr pulled = pull(0, 0, all_keys(), /*number=*/1);
  ASSERT_TRUE(shard_->runner().busy());
  const OutcomePtr pushed = push_pulled(0, 0, 1, std::vector<float>(2 * kKeys, 1));
  EXPECT_FALSE(pulled->waits());
  go_on();
  EXPECT_FALSE(pushed->waits());
  const OutcomePtr last = pull(0, 1, all_keys());
  ASSERT_TRUE(last->waits());
  shard_->membership().refuse_waiting(Error(Code::kUnavailable, "the server is ending"));
  EXPECT_FALSE(shard_->runner().busy());
  ASSERT_TRUE(last->answer) << "it was under way";
}

}  // namespace
}  // namespace ps::sliced_rows_test
