// A trainer that trains rows of servers itself, before the real shards of a simulated cluster: when rows are at the servers,
// and when they are here.  tests/sim/device.cc proves that the job has the bits of one without a device.
#include "ps/client/remote_lender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simulate/shard_cluster.h"

namespace ps::remote_lender_test {
namespace {

using testing::Each;

// Has the rows that a test has changed, and puts them back when it is asked to.
class Borrower final : public RowBorrower {
 public:
  Borrower(RowLender& lender, int parameter) : lender_(lender), parameter_(parameter) {}
  void put_back() override {
    ++num_asked;
    if (changed.size() > 0) lender_.put_rows(parameter_, changed);
    changed.clear();
  }
  void return_all() override { put_back(); }
  std::vector<uint64_t> missing(std::span<const uint64_t> keys) override {
    return {keys.begin(), keys.end()};
  }

  RowBlock changed;
  int num_asked = 0;

 private:
  RowLender& lender_;
  const int parameter_;
};

// Runs `body` as the trainer of a job with two servers, which lends the rows of one table.
class RemoteLenderTest : public testing::Test {
 protected:
  RemoteLenderTest() {
    job_.small = true;
    job_.steps = {{1}};
    job_.device = DeviceOptions{};  // so that the trainer says that it trains sparse rows itself
    specs_ = job_.parameters();
    table_ = static_cast<int>(std::ranges::find(specs_, true, &ParameterSpec::sparse) - specs_.begin());
  }

  void run(const std::function<void(RemoteLender&, RemoteStore&, Borrower&)>& body, size_t window = 0) {
    ShardCluster cluster(job_, {.servers = 2});
    cluster.spawn(0, [&](RemoteStore& remote) {
      const OptimizerPlan optimizers = job_.plan();
      Device device(1, best_cpu_level());
      LocalStore local(sparse_parameters(specs_), optimizers, UINT64_MAX, device);
      RemoteLender lender(specs_, optimizers, remote, local, window);
      Borrower borrower(lender, table_);
      lender.lend_rows(table_, borrower);
      body(lender, remote, borrower);
      remote.run().end_run();
    });
    cluster.run();
  }

  size_t cols() const { return static_cast<size_t>(specs_[static_cast<size_t>(table_)].cols); }
  std::vector<float> at_servers(RemoteStore& remote, std::span<const uint64_t> keys) const {
    std::vector<float> weights(keys.size() * cols());
    remote.read_rows(table_, keys, weights.data());
    return weights;
  }

  SyntheticJob job_;
  std::vector<ParameterSpec> specs_;
  int table_ = 0;
};

TEST_F(RemoteLenderTest, OnlyRowsOfSparseParametersAreLent) {
  const std::vector<ParameterSpec> sparse = sparse_parameters(specs_);
  ASSERT_FALSE(sparse.empty());
  for (const ParameterSpec& spec : sparse) EXPECT_TRUE(spec.sparse) << spec.name;
  EXPECT_LT(sparse.size(), specs_.size());
}

TEST_F(RemoteLenderTest, RowsThatChangedAreAtTheServersBeforeWeightsAreRead) {
  const std::vector<uint64_t> keys = {3};
  run([&](RemoteLender& lender, RemoteStore& remote, Borrower& borrower) {
    std::vector<float> row(static_cast<size_t>(lender.layout(table_).values()));
    lender.fetch_rows(table_, keys, row.data());
    borrower.changed.keys = keys;
    borrower.changed.values.assign(row.size(), 5);
    EXPECT_NE(at_servers(remote, keys)[0], 5);
    std::vector<float> read(cols());
    lender.read_rows(table_, keys, read.data());
    EXPECT_EQ(borrower.num_asked, 1);
    EXPECT_THAT(read, Each(5));
    EXPECT_THAT(at_servers(remote, keys), Each(5));
    lender.end_pass(0);
  });
}

TEST_F(RemoteLenderTest, RowsThatChangedAreAtTheServersAtTheEndOfAPass) {
  const std::vector<uint64_t> keys = {3, 4};
  run([&](RemoteLender& lender, RemoteStore& remote, Borrower& borrower) {
    const size_t values = static_cast<size_t>(lender.layout(table_).values());
    std::vector<float> rows(keys.size() * values);
    lender.fetch_rows(table_, keys, rows.data());
    borrower.changed.keys = {4};
    borrower.changed.values.assign(values, 7);
    lender.end_pass(0);
    EXPECT_EQ(borrower.num_asked, 1);
    const std::vector<uint64_t> changed = {4};
    EXPECT_THAT(at_servers(remote, changed), Each(7));
  });
}

// The servers have only row 5 of these.
TEST_F(RemoteLenderTest, RowsOfTheNextBatchComeAlsoIfNobodyHasTrainedThem) {
  const std::vector<uint64_t> some = {4, 5, 6, 7};
  const auto plans_with = [&](const std::vector<uint64_t>& keys) {
    std::vector<KeyPlan> plans(specs_.size());
    plans[static_cast<size_t>(table_)].keys = keys;
    return plans;
  };
  run(
      [&](RemoteLender& lender, RemoteStore& remote, Borrower&) {
        std::vector<float> loaded(cols(), 9);
        remote.load_rows(table_, std::vector<uint64_t>{5}, loaded.data());
        const std::vector<float> expected = at_servers(remote, some);
        lender.look_ahead(plans_with({3}));
        lender.look_ahead(plans_with({4, 5, 6}));
        remote.wait_for([&] { return lender.next_has_come(); });
        RowBlock rows;
        lender.take_stored(table_, std::vector<uint64_t>{4, 6}, /*untrained=*/false, rows);
        EXPECT_EQ(rows.size(), 0u);
        lender.take_stored(table_, some, /*untrained=*/true, rows);
        EXPECT_EQ(rows.keys, (std::vector<uint64_t>{4, 5, 6})) << "no batch uses 7";
        const size_t values = static_cast<size_t>(lender.layout(table_).values());
        for (size_t i = 0; i < rows.size(); ++i) {
          const auto row = rows.values.begin() + static_cast<ptrdiff_t>(i * values);
          const auto first = expected.begin() + static_cast<ptrdiff_t>(i * cols());
          EXPECT_TRUE(std::equal(row, row + static_cast<ptrdiff_t>(cols()), first)) << rows.keys[i];
        }
        EXPECT_EQ(rows.values[values], 9);
        EXPECT_EQ(lender.rows_ahead(), 3u);
        std::vector<float> made(values);
        lender.fetch_rows(table_, std::vector<uint64_t>{4}, made.data());
        EXPECT_TRUE(std::equal(made.begin(), made.end(), rows.values.begin()))
            << "the borrower did not keep it";
        lender.end_pass(0);
      },
      /*window=*/2);
}

}  // namespace
}  // namespace ps::remote_lender_test
