#include "data/shuffle.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace ps {

// Copies the examples piece by piece, so that a source needs no more memory than one piece.
bool StoreSource::next(const Batch*& batch, int64_t& begin, int64_t& end) {
  batch_.clear(store_.schema());
  begin = 0;
  end = std::min(store_.size() - next_, ExampleStore::kPiece);
  store_.append_range_to(next_, next_ + end, batch_);
  next_ += end;
  batch = &batch_;
  return end > 0;
}

namespace {

// Gives the examples of a source in order.  One owner thread.
class InOrder : public ExampleOrder {
 public:
  InOrder(const DataSchema& schema, std::unique_ptr<ExampleSource> source)
      : schema_(schema), source_(std::move(source)) {}

  void take(int64_t size, Batch& batch) override {
    while (size > 0 && (begin_ < end_ || source_->next(from_, begin_, end_))) {
      int64_t part = std::min(size, end_ - begin_);
      batch.append_range(schema_, *from_, begin_, begin_ + part);
      begin_ += part;
      size -= part;
    }
  }

 private:
  const DataSchema schema_;
  const std::unique_ptr<ExampleSource> source_;
  const Batch* from_ = nullptr;
  int64_t begin_ = 0, end_ = 0;  // examples of from_ that are not taken yet
};

// Gives the examples of a store in order.  One owner thread.
class StoredInOrder : public ExampleOrder {
 public:
  explicit StoredInOrder(const ExampleStore& store) : store_(store) {}

  void take(int64_t size, Batch& batch) override {
    int64_t end = std::min(store_.size(), next_ + size);
    store_.append_range_to(next_, end, batch);
    next_ = end;
  }

  void skip(int64_t size, Batch&) override { next_ = std::min(store_.size(), next_ + size); }

 private:
  const ExampleStore& store_;
  int64_t next_ = 0;
};

// Keeps the examples of the window in a store, to which examples are only appended, and a list of those that
// are not drawn yet.  To draw an example is to swap a random element of the list to its end and remove it.
// When most of the store has been drawn, the rest is copied to a new store: each example is copied about once
// more.  One owner thread.
class ShuffledWindow : public ExampleOrder {
 public:
  ShuffledWindow(const DataSchema& schema, std::unique_ptr<ExampleSource> source, int64_t window,
                 uint64_t memory_limit, Random random)
      : schema_(schema),
        source_(std::move(source)),
        window_(window),
        memory_limit_(memory_limit),
        random_(random) {
    store_ = std::make_unique<ExampleStore>(schema_, memory_limit_);
  }

  void take(int64_t size, Batch& batch) override {
    for (; size > 0; --size) {
      fill();
      if (waiting_.empty()) return;
      int64_t& drawn = waiting_[random_.below(waiting_.size())];
      store_->append_to(drawn, batch);
      drawn = waiting_.back();
      waiting_.pop_back();
    }
  }

 private:
  // Reads until the window is full, or the source has ended.  Examples are taken one at a time, because the
  // window may be full, and the store may have to be compacted, within a batch of the source.
  void fill() {
    while (static_cast<int64_t>(waiting_.size()) < window_ &&
           (begin_ < end_ || source_->next(from_, begin_, end_))) {
      if (store_->size() > 2 * window_ + ExampleStore::kPiece) compact();
      waiting_.push_back(store_->size());
      store_->append_range(*from_, begin_, begin_ + 1);
      store_->check_fits();
      ++begin_;
    }
  }

  // Copies the examples that wait to a new store, and lets `waiting_` refer to their places there.
  void compact() {
    auto kept = std::make_unique<ExampleStore>(schema_, memory_limit_);
    Batch one;
    for (int64_t& example : waiting_) {
      one.clear(schema_);
      store_->append_to(example, one);
      example = kept->size();
      kept->append_range(one, 0, 1);
    }
    store_ = std::move(kept);
  }

  const DataSchema schema_;
  const std::unique_ptr<ExampleSource> source_;
  const int64_t window_;
  const uint64_t memory_limit_;
  Random random_;
  std::unique_ptr<ExampleStore> store_;
  std::vector<int64_t> waiting_;  // examples of store_ in the window
  const Batch* from_ = nullptr;
  int64_t begin_ = 0, end_ = 0;
};

// Gives the examples of a store in a random order.  One owner thread.
class Permuted : public ExampleOrder {
 public:
  Permuted(const ExampleStore& store, Random random)
      : store_(store), order_(random_order(store.size(), random)) {}

  void take(int64_t size, Batch& batch) override {
    for (; size > 0 && next_ < order_.size(); --size) store_.append_to(order_[next_++], batch);
  }

  void skip(int64_t size, Batch&) override {
    next_ = std::min(order_.size(), next_ + static_cast<size_t>(size));
  }

 private:
  const ExampleStore& store_;
  const std::vector<uint32_t> order_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<ExampleOrder> in_order(const DataSchema& schema, std::unique_ptr<ExampleSource> source) {
  return std::make_unique<InOrder>(schema, std::move(source));
}

std::unique_ptr<ExampleOrder> in_order(const ExampleStore& store) {
  return std::make_unique<StoredInOrder>(store);
}

std::unique_ptr<ExampleOrder> shuffled_window(const DataSchema& schema, std::unique_ptr<ExampleSource> source,
                                              int64_t window, uint64_t memory_limit, Random random) {
  return std::make_unique<ShuffledWindow>(schema, std::move(source), window, memory_limit, random);
}

// Fisher and Yates's shuffle, from the back: each turn puts one of the first i numbers, all equally likely,
// at place i - 1.
std::vector<uint32_t> random_order(int64_t size, Random random) {
  if (size > UINT32_MAX) fail(Code::kExhausted, "more than 2^32 examples to shuffle: use shuffle 'window'");
  std::vector<uint32_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), uint32_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

std::unique_ptr<ExampleOrder> permuted(const ExampleStore& store, Random random) {
  return std::make_unique<Permuted>(store, random);
}

}  // namespace ps
