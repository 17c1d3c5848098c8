#include "data/moved_examples.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/start_thread.h"
#include "data/batch_bytes.h"

namespace ps {

namespace {

constexpr int64_t kExamplesAtOnce = 4096;  // examples of each trainer in one exchange

// The trainer that holds an example, and the number of the example among those that it holds.
struct Holder {
  size_t rank = 0;
  int64_t index = 0;
};

// The holders of the examples of all trainers.  Examples are numbered in the order of the files.  Constant
// after construction; any thread may use it.
class Holders {
 public:
  // `sizes` are the sizes of files; trainer r holds files r, r + W, ….
  Holders(const std::vector<int64_t>& sizes, size_t num_trainers) : num_trainers_(num_trainers) {
    std::vector<int64_t> held(num_trainers);
    for (size_t file = 0; file < sizes.size(); ++file) {
      begins_.push_back(total_);
      held_before_.push_back(held[file % num_trainers]);
      held[file % num_trainers] += sizes[file];
      total_ += sizes[file];
    }
  }

  // The batches of the data are dealt out in turn.
  Holders(int64_t total, int64_t batch_size, size_t num_trainers)
      : num_trainers_(num_trainers), batch_size_(batch_size), total_(total) {}

  int64_t total() const { return total_; }

  Holder of(int64_t example) const {
    const int64_t trainers = static_cast<int64_t>(num_trainers_);
    if (begins_.empty()) {
      const int64_t batch = example / batch_size_;
      return {static_cast<size_t>(batch % trainers), batch / trainers * batch_size_ + example % batch_size_};
    }
    const auto next = std::upper_bound(begins_.begin(), begins_.end(), example);
    const size_t file = static_cast<size_t>(next - begins_.begin()) - 1;
    return {file % num_trainers_, held_before_[file] + example - begins_[file]};
  }

 private:
  const size_t num_trainers_;
  const int64_t batch_size_ = 1;
  int64_t total_ = 0;
  std::vector<int64_t> begins_;  // the first example of each file; empty: batches are dealt out
  // by file: number of examples that its holder has of the files before it
  std::vector<int64_t> held_before_;
};

// Tells the others how many examples this trainer holds, and receives their numbers.
//   share := batch_size:i64 total:i64 files:u32 size:i64[files]         (total: 0 if files are dealt out)
// File f of trainer r is file f * W + r of all, where W is the number of trainers.  Throws kData unless all
// trainers have the same batch size and total: else they would cut the same permutation into different
// batches.
Holders find_holders(const HeldShare& share, ExampleExchange& exchange) {
  std::string own_share;
  put(own_share, share.batch_size);
  put(own_share, share.total);
  put(own_share, static_cast<uint32_t>(share.file_sizes.size()));
  put_array<int64_t>(own_share, share.file_sizes);
  const size_t num_trainers = static_cast<size_t>(exchange.size());
  const std::vector<std::string> all = exchange.exchange(std::vector<std::string>(num_trainers, own_share));
  std::vector<int64_t> sizes;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    ByteReader in(all[rank]);
    const bool same = in.get<int64_t>() == share.batch_size && in.get<int64_t>() == share.total;
    const size_t files = in.get<uint32_t>();
    std::vector<int64_t> own(std::min(files, in.remaining() / sizeof(int64_t)));
    in.get_array(std::span<int64_t>(own));
    if (!in.ok() || in.remaining() > 0 || own.size() != files || !same) {
      fail(Code::kData, "trainer ", rank, " has other data, or shuffles them in another way");
    }
    sizes.resize(std::max(sizes.size(), own.empty() ? 0 : (own.size() - 1) * num_trainers + rank + 1));
    for (size_t file = 0; file < own.size(); ++file) sizes[file * num_trainers + rank] = own[file];
  }
  return share.total > 0 ? Holders(share.total, share.batch_size, num_trainers)
                         : Holders(sizes, num_trainers);
}

// The order of one trainer.  Its thread draws the permutation, which is the same on all trainers.  In each
// round it sends every trainer the examples of that trainer's next batches that are held here, receives its
// own, and puts its batches together in the order of the permutation.  One owner thread takes batches.
class MovedExamples : public ExampleOrder {
 public:
  MovedExamples(HeldShare share, ExampleExchange& exchange, Random random)
      : share_(std::move(share)),
        schema_(share_.held->schema()),
        exchange_(exchange),
        rank_(exchange.rank()),
        num_trainers_(exchange.size()),
        random_(random) {
    thread_ = start_thread([this] { work(); });
  }

  // The exchange is stopped only while the thread still needs it: an order that has come to its end leaves
  // it to the next pass.  done_ cannot change under the lock, so that the decision stays right.
  ~MovedExamples() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!done_) exchange_.stop();
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Batches of other trainers stay empty, without a wait.  When the thread is done and no batch is left,
  // the data have ended, or error_ says why they have not.  A batch that was taken makes room for the
  // thread.
  void take(int64_t, Batch& batch) override {
    if (number_++ % num_trainers_ != rank_) return;
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || done_; });
    if (ready_.empty()) return error_ ? std::rethrow_exception(error_) : void();
    batch.append_range(schema_, ready_.front(), 0, ready_.front().size());
    ready_.pop_front();
    changed_.notify_all();
  }

 private:
  // ---- the thread

  void work() {
    std::exception_ptr error;
    try {
      move_all();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    error_ = error;
    done_ = true;
    changed_.notify_all();
  }

  // Exchanges the examples of at_once batches of each trainer in a round.
  // Trainer r uses the batches r, r + W, … of the permutation `order`, so that the batches [first, first +
  // at_once * W) are those of a round.  given[r] has the examples of trainer r's batches that lie here.
  // All trainers make the same number of rounds, as `first` and num_batches are the same everywhere: a
  // trainer without a batch in the last round still gives its examples to the others.  Before the next
  // round the thread waits until fewer than 2 * at_once batches are ready, so that it is at most two rounds
  // ahead of the owner.
  void move_all() {
    const Holders holders = find_holders(share_, exchange_);
    const std::vector<uint32_t> order = random_order(holders.total(), random_);
    const int64_t size = share_.batch_size, at_once = std::max<int64_t>(1, kExamplesAtOnce / size);
    const int64_t num_batches = (holders.total() + size - 1) / size;
    for (int64_t first = 0; first < num_batches; first += at_once * num_trainers_) {
      std::vector<std::string> given;
      for (int rank = 0; rank < num_trainers_; ++rank) {
        given.push_back(examples_of(holders, batches_of(order, first + rank, at_once)));
      }
      append_received(holders, batches_of(order, first + rank_, at_once),
                      exchange_.exchange(std::move(given)));
      std::unique_lock<std::mutex> lock(mutex_);
      const size_t most = 2 * static_cast<size_t>(at_once);
      changed_.wait(lock, [&] { return closing_ || ready_.size() < most; });
      if (closing_) return;
    }
  }

  // Returns the examples of a trainer's next batches, starting with batch `first`.
  std::vector<std::span<const uint32_t>> batches_of(std::span<const uint32_t> order, int64_t first,
                                                    int64_t count) const {
    std::vector<std::span<const uint32_t>> batches;
    for (int64_t n = 0; n < count; ++n) {
      const size_t begin = static_cast<size_t>((first + n * num_trainers_) * share_.batch_size);
      if (begin >= order.size()) break;
      batches.push_back(
          order.subspan(begin, std::min(order.size() - begin, static_cast<size_t>(share_.batch_size))));
    }
    return batches;
  }

  // Returns the encoded examples of these batches that this trainer holds, in the order of their use.
  std::string examples_of(const Holders& holders,
                          const std::vector<std::span<const uint32_t>>& batches) const {
    Batch held;
    held.clear(schema_);
    for (std::span<const uint32_t> batch : batches) {
      for (uint32_t example : batch) {
        const Holder holder = holders.of(example);
        if (holder.rank == static_cast<size_t>(rank_)) share_.held->append_to(holder.index, held);
      }
    }
    std::string bytes;
    encode_batch(held, std::vector<bool>(schema_.slots.size()), bytes);
    return bytes;
  }

  // Puts this trainer's batches together.  given[r] has the examples of trainer r in the order of their
  // use, as examples_of wrote them, so next[r] goes through them once: each example of a batch is the next
  // one of its holder.  The bytes come from outside, and are checked before they are used.
  void append_received(const Holders& holders, const std::vector<std::span<const uint32_t>>& batches,
                       const std::vector<std::string>& given) {
    std::vector<Batch> examples(given.size());
    std::vector<int64_t> next(given.size());
    for (size_t rank = 0; rank < given.size(); ++rank) {
      ByteReader in(given[rank]);
      decode_batch(in, schema_.slots.size(), examples[rank]);
      check_batch(examples[rank], schema_);
    }
    for (std::span<const uint32_t> each : batches) {
      Batch batch;
      batch.clear(schema_);
      for (uint32_t example : each) {
        const size_t rank = holders.of(example).rank;
        if (next[rank] == examples[rank].size()) {
          fail(Code::kData, "trainer ", rank, " has sent fewer examples than it holds of these batches");
        }
        batch.append(schema_, examples[rank], next[rank]++);
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      ready_.push_back(std::move(batch));
      changed_.notify_all();
    }
  }

  const HeldShare share_;
  const DataSchema schema_;
  ExampleExchange& exchange_;
  const int rank_, num_trainers_;
  const Random random_;
  int64_t number_ = 0;  // number of batches asked for, of all trainers; owner thread only

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;              // guarded by mutex_: complete batches of this trainer, in turn
  bool done_ = false, closing_ = false;  // guarded by mutex_: set by the thread, and by the owner
  std::exception_ptr error_;             // guarded by mutex_: the error that ended the thread
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ExampleOrder> moved_between_trainers(HeldShare share, ExampleExchange& exchange,
                                                     Random random) {
  return std::make_unique<MovedExamples>(std::move(share), exchange, random);
}

}  // namespace ps
