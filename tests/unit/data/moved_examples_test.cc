// Trainers that hold a share of the examples each, and give each other those of their batches: threads, and a table through
// which they exchange.
#include "data/moved_examples.h"

#include <condition_variable>
#include <future>
#include <mutex>
#include <numeric>

#include "base/text.h"
#include "data_test.h"

namespace ps::moved_examples_test {

using testing::HasSubstr;

// The last to come hands all what was given; a stop ends the exchange for all.
class Table {
 public:
  explicit Table(int size) : given_(static_cast<size_t>(size)) {}

  std::vector<std::string> exchange(int rank, std::vector<std::string> bytes) {
    std::unique_lock<std::mutex> lock(mutex_);
    given_[static_cast<size_t>(rank)] = std::move(bytes);
    const int round = round_;
    if (++num_given_ == static_cast<int>(given_.size())) {
      num_given_ = 0;
      ++round_;
      taken_ = given_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round || stopped_; });
    if (stopped_) fail(Code::kUnavailable, "a trainer is gone");
    std::vector<std::string> own;
    for (const std::vector<std::string>& each : taken_) own.push_back(each[static_cast<size_t>(rank)]);
    return own;
  }

  void stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  int size() const { return static_cast<int>(given_.size()); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<std::string>> given_, taken_;
  int num_given_ = 0, round_ = 0;
  bool stopped_ = false;
};

class Seat final : public ExampleExchange {
 public:
  Seat(Table& table, int rank) : table_(table), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return table_.size(); }
  std::vector<std::string> exchange(std::vector<std::string> bytes) override {
    return table_.exchange(rank_, std::move(bytes));
  }
  void stop() override { table_.stop(); }

 private:
  Table& table_;
  const int rank_;
};

class MovedExamplesTest : public DataTest {
 protected:
  // Files of `sizes` examples, whose ids go on from file to file.
  std::vector<std::string> put_files(const std::vector<int>& sizes) {
    std::vector<std::string> paths;
    int id = 0;
    for (size_t f = 0; f < sizes.size(); ++f) {
      std::string lines;
      for (int n = 0; n < sizes[f]; ++n, ++id)
        lines += cat(id % 3, " ", id, ":", id % 5 + 1, " ", id + 1, ":1\n");
      paths.push_back(put_file(cat("data", f), lines));
    }
    return paths;
  }

  DataOptions options(const std::string& shuffle, int64_t batch_size = 7) {
    DataOptions options = options_for("libsvm");
    options.batch_size = batch_size;
    options.shuffle = shuffle;
    return options;
  }
};

TEST_F(MovedExamplesTest, BatchesAreThoseOfOnePermutationOfAllFilesAndEachTrainerHoldsItsShare) {
  constexpr int kTrainers = 3, kPasses = 3;
  const std::vector<std::vector<int>> kinds = {{100},    {1},   {0, 0, 0}, {20, 0, 31}, {5, 17, 0, 44, 3},
                                               {40, 40}, {9000}};
  for (const std::vector<int>& sizes : kinds) {
    SCOPED_TRACE(testing::PrintToString(sizes));
    const std::vector<std::string> paths = put_files(sizes);
    BatchReader whole(options("full"), paths, {.passes = kPasses});
    std::vector<std::vector<std::string>> expected;
    for (int pass = 0; pass < kPasses; ++pass) expected.push_back(read_batches(whole, pass));
    const uint64_t total = static_cast<uint64_t>(std::accumulate(sizes.begin(), sizes.end(), 0));
    Table table(kTrainers);
    auto train = [&](int rank) {
      BatchReader reader(options("global"), paths,
                         {.passes = kPasses, .share = rank, .num_shares = kTrainers});
      reader.exchange_through(std::make_shared<Seat>(table, rank));
      for (int pass = 0; pass < kPasses; ++pass) {
        std::vector<std::string> own;
        for (size_t b = static_cast<size_t>(rank); b < expected[static_cast<size_t>(pass)].size();
             b += kTrainers)
          own.push_back(expected[static_cast<size_t>(pass)][b]);
        EXPECT_EQ(read_batches(reader, pass), own) << "trainer " << rank << ", pass " << pass;
      }
      reader.begin_pass(kPasses);
      return reader.progress().total_examples;
    };
    std::vector<std::future<uint64_t>> trainers;
    for (int rank = 0; rank < kTrainers; ++rank)
      trainers.push_back(std::async(std::launch::async, train, rank));
    uint64_t held = 0;
    for (std::future<uint64_t>& trainer : trainers) held += trainer.get();
    EXPECT_EQ(held, total) << "every example is held by one trainer";
  }
}

TEST_F(MovedExamplesTest, ATrainerThatEndsInThePassEndsTheOthers) {
  const std::vector<std::string> paths = put_files({30000, 30000});
  Table table(2);
  auto reader = [&](int rank) {
    auto made = std::make_unique<BatchReader>(options("global"), paths,
                                              ReaderSettings{.share = rank, .num_shares = 2});
    made->exchange_through(std::make_shared<Seat>(table, rank));
    made->begin_pass(0);
    return made;
  };
  auto leaves = std::async(std::launch::async, [&] {
    auto own = reader(0);
    Batch batch;
    EXPECT_TRUE(own->next(batch));
  });
  auto stays = std::async(std::launch::async, [&] {
    auto own = reader(1);
    Batch batch;
    while (own->next(batch)) {
    }
  });
  leaves.get();
  EXPECT_THAT(error_from([&] { stays.get(); }), HasSubstr("a trainer is gone"));
}

TEST_F(MovedExamplesTest, TrainersWithOtherDataAreRefused) {
  const std::vector<std::string> paths = put_files({30});
  Table table(2);
  auto read = [&](int rank) {
    BatchReader own(options("global", 7 + rank), paths, {.share = rank, .num_shares = 2});
    own.exchange_through(std::make_shared<Seat>(table, rank));
    own.begin_pass(0);
    Batch batch;
    own.next(batch);
  };
  auto first = std::async(std::launch::async, read, 0), second = std::async(std::launch::async, read, 1);
  for (std::future<void>* each : {&first, &second}) {
    EXPECT_THAT(error_from([&] { each->get(); }), HasSubstr("has other data"));
  }
}

}  // namespace ps::moved_examples_test
