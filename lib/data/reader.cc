#include "data/reader.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/data_set.h"
#include "data/example_cache.h"
#include "data/moved_examples.h"
#include "data/parse_pipeline.h"
#include "data/shuffle.h"
#include "data/transform.h"

namespace ps {

namespace {

constexpr uint64_t kShuffleStream = 0x73687566;  // "shuf": no other use of the seed has this stream
constexpr int64_t kBadLinesShown = 10;

// Counts the bad lines of a pass, in the order of the data.  One owner thread.
class BadLineCounter {
 public:
  BadLineCounter(int64_t most, Log* log) : most_(most), log_(log) {}

  int64_t count() const { return count_; }
  // Returns true if the next bad line is one too many.
  bool is_last_straw() const { return count_ == most_; }

  void skip(const BadLine& line) {
    ++count_;
    if (!log_ || count_ > kBadLinesShown) return;
    log_->warning("skipped bad line ", line.message);
    if (count_ == kBadLinesShown && most_ > count_) log_->warning("further bad lines are counted, not shown");
  }

  [[noreturn]] void refuse(const BadLine& line) const {
    if (most_ == 0) fail(Code::kData, line.message);
    fail(Code::kData, line.message, " (after ", most_, " bad lines that were skipped)");
  }

 private:
  int64_t most_;
  Log* log_;
  int64_t count_ = 0;
};

// The share of all examples that the cache gets: all, or those of every num_shares-th batch.  It counts them by
// file.  One owner thread.
class KeptShare {
 public:
  void deal_batches(int64_t batch_size, int share, int num_shares) {
    batch_size_ = batch_size;
    share_ = share;
    num_shares_ = num_shares;
  }

  // Appends those of the block's examples [0, end) that are of this share.  Example `total_` of all shares
  // is in batch total_ / batch_size_ of the data, so that the loop cuts the block where a batch ends: each
  // turn deals with `part` examples of one batch, which are all of one share.  Blocks need not begin where
  // batches do.  If there is one share, the first turn takes all.
  void append(const Parsed& parsed, int64_t end, ExampleCache& cache) {
    if (parsed.file_number >= file_sizes_.size()) file_sizes_.resize(parsed.file_number + 1);
    file_sizes_[parsed.file_number] += end;
    for (int64_t begin = 0; begin < end;) {
      const int64_t batch = total_ / batch_size_;
      const int64_t part = num_shares_ == 1 ? end : std::min(end - begin, (batch + 1) * batch_size_ - total_);
      if (batch % num_shares_ == share_) cache.append(parsed.batch, begin, begin + part);
      begin += part;
      total_ += part;
    }
  }

  // `num_files` files are read.
  HeldShare held(const ExampleStore& store, size_t num_files, int64_t batch_size) const {
    if (num_shares_ > 1) return {&store, {}, total_, batch_size};
    std::vector<int64_t> sizes = file_sizes_;
    sizes.resize(num_files);
    return {&store, std::move(sizes), 0, batch_size};
  }

 private:
  int64_t batch_size_ = 1;
  int share_ = 0, num_shares_ = 1;
  int64_t total_ = 0;
  std::vector<int64_t> file_sizes_;
};

// The examples of a pipeline, up to the first bad line beyond max_bad_lines.  One owner thread.
class PipelineSource : public ExampleSource {
 public:
  // `cache` gets the examples of `kept` as well, and is finished at the end.
  PipelineSource(ParsePipeline& pipeline, BadLineCounter& counter, KeptShare& kept, ExampleCache& cache)
      : pipeline_(pipeline), counter_(counter), kept_(kept), cache_(cache) {}

  // Gives the examples of the next block that has some.  The block with the line that ends the run is given
  // up to that line, and the error is thrown by the next call, so that all examples before it are used.  If
  // none come before it in its block, the error is thrown at once.  The cache is finished only when the
  // pipeline has ended well.
  bool next(const Batch*& batch, int64_t& begin, int64_t& end) override {
    if (refused_) counter_.refuse(*refused_);
    const Parsed* parsed = nullptr;
    do {
      parsed = pipeline_.next();
      if (!parsed) {
        cache_.finish();
        return false;
      }
      batch = &parsed->batch;
      begin = 0;
      end = count_bad_lines(*parsed);
    } while (end == 0 && !refused_);
    kept_.append(*parsed, end, cache_);
    if (end == 0) counter_.refuse(*refused_);
    return true;
  }

 private:
  // Returns how many of the block's examples come before the line that ends the run.
  int64_t count_bad_lines(const Parsed& parsed) {
    for (const BadLine& line : parsed.bad) {
      if (counter_.is_last_straw()) {
        refused_ = &line;
        return line.before;
      }
      counter_.skip(line);
    }
    return parsed.batch.size();
  }

  ParsePipeline& pipeline_;
  BadLineCounter& counter_;
  KeptShare& kept_;
  ExampleCache& cache_;
  // The bad line that ends the pass; it is in the last block that was given.
  const BadLine* refused_ = nullptr;
};

}  // namespace

// Everything that a reader consists of.  One owner thread; the reading thread and the parsers use only the
// members that say so.
class BatchReader::Impl {
 public:
  Impl(const DataOptions& options, const std::vector<std::string>& paths, const ReaderSettings& settings)
      : options_(options),
        settings_(settings),
        context_{settings.stdin_descriptor, &interrupt_, &bytes_read_, settings.stdin_head},
        data_(open_data_set(options_, paths, context_, settings.vocabulary)),
        cache_(options_, data_.schema, data_.stream, settings_.passes) {
    if (settings_.num_shares > 1) skips_batches_ = options_.shuffle == "global" || !deal_files();
  }

  void exchange_through(std::shared_ptr<ExampleExchange> exchange) {
    PS_CHECK(!begun_ && options_.shuffle == "global" && exchange->size() == settings_.num_shares);
    exchange_ = std::move(exchange);
    if (!deal_files()) kept_.deal_batches(options_.batch_size, settings_.share, settings_.num_shares);
  }

  // Shuts down from the source forward.
  ~Impl() {
    interrupt_.set();
    order_.reset();
    pipeline_.reset();
  }

  // Each pass has random numbers of its own, so that its order does not depend on what was drawn before.
  // finish_cache comes before the pipeline is dropped, since it may read the rest of the data from it.
  // order_ reads from the pipeline, and goes first.  The bytes that the constructor has read of the first
  // file count for the first pass, and bytes_read_ is set to 0 for later ones alone.
  void begin_pass(int pass) {
    random_ = Random(settings_.seed, (kShuffleStream << 32) + static_cast<uint64_t>(pass));
    if (begun_ && data_.stream && !cache_.keeps()) {
      fail(Code::kUsage,
           "standard input and pipes can be read once, and another pass was asked for: set the passes");
    }
    if (begun_ && cache_.keeps() && !cache_.whole()) finish_cache();
    order_.reset();
    pipeline_.reset();
    examples_ = 0;
    num_batches_ = 0;
    if (begun_) bytes_read_ = 0;
    if (!cache_.whole()) {
      counter_ = BadLineCounter(options_.max_bad_lines, settings_.log);
      start_pipeline();
    }
    from_memory_ = cache_.whole() ? own_part(cache_.store().size()) : 0;
    begun_ = true;
  }

  // num_batches_ is the number of the batch that order_ gives next; if shares skip each other's batches,
  // those of all shares count.  Batches that are not this reader's are passed over, which costs less than
  // to copy them.
  bool next(Batch& batch) {
    PS_CHECK(begun_);
    for (; !is_own(num_batches_); ++num_batches_) {
      if (!move_on(batch, /*skips=*/true)) return false;
    }
    if (!move_on(batch, /*skips=*/false)) return false;
    ++num_batches_;
    check_size(batch);
    batch.normalize(data_.schema);
    examples_ += static_cast<uint64_t>(batch.size());
    return true;
  }

  ReaderProgress progress() const {
    if (from_memory_) return {bytes_read_.load(), 0, examples_.load(), from_memory_.load()};
    return {bytes_read_.load(), data_.stream ? 0 : data_.total_bytes, examples_.load(), 0};
  }

  uint64_t spare_bytes() const {
    return options_.shuffle == "none" && settings_.passes > 1 ? cache_.spare_bytes() : 0;
  }

  void check_labels(LabelCheck check) {
    PS_CHECK(!begun_);
    data_.parser->check_labels(std::move(check));
  }

  const DataSet& data() const { return data_; }
  int64_t bad_lines() const { return counter_.count(); }
  void interrupt() {
    interrupt_.set();
    if (exchange_) exchange_->stop();
  }

 private:
  // Returns true if the batch with this number is of the share, and of the part of it that is asked for.
  bool is_own(int64_t number) const {
    const int64_t shares = skips_batches_ ? settings_.num_shares : 1;
    if (skips_batches_ && number % shares != settings_.share) return false;
    const int64_t behind = number / shares - settings_.first;
    return behind >= 0 && behind % settings_.stride == 0;
  }

  // Returns this trainer's share of so many examples.  If shares skip each other's batches, all have nearly
  // the same number.
  uint64_t own_part(int64_t examples) const {
    const bool others_too = skips_batches_ && !exchange_;
    return static_cast<uint64_t>((others_too ? examples / settings_.num_shares : examples) /
                                 settings_.stride);
  }

  // Takes the next batch of the data, or skips it.  Returns false if there is none, or if the input has
  // ended.  A skip cannot tell that the data have ended; the take that follows gives an empty batch then.
  bool move_on(Batch& batch, bool skips) {
    batch.clear(data_.schema);
    try {
      if (!order_) make_order();
      skips ? order_->skip(options_.batch_size, batch) : order_->take(options_.batch_size, batch);
    } catch (const Error&) {
      // After an interrupt the input ends early; errors that follow from that are not errors of the data.
      if (!interrupt_.is_set()) throw;
    }
    return !interrupt_.is_set() && (skips || batch.size() > 0);
  }

  // Keeps only the files of this share, if there are at least as many files as shares.  Returns true if it
  // did.
  bool deal_files() {
    const size_t shares = static_cast<size_t>(settings_.num_shares);
    if (data_.stream || data_.files.size() < shares) return false;
    std::vector<InputFile> own;
    data_.total_bytes = 0;
    for (size_t i = static_cast<size_t>(settings_.share); i < data_.files.size(); i += shares) {
      data_.total_bytes += data_.files[i].bytes;
      own.push_back(data_.files[i]);
    }
    data_.files = std::move(own);
    open_blocks();
    return true;
  }

  void open_blocks() {
    data_.blocks = std::make_unique<BlockStream>(data_.files, context_, options_);
    data_.blocks->set_format(*data_.format);
  }

  // `read` runs on the reading thread, which owns the blocks from here on.  `parse` runs on any thread of
  // the pipeline, also for several blocks at once: it reads constant members alone.  Transformations are
  // done there too, so that they are spread over the threads.
  void start_pipeline() {
    if (begun_) open_blocks();
    auto read = [this](Block& block) { return data_.blocks->next(block); };
    auto parse = [this](const Block& block, Parsed& out) {
      out.file_number = block.file_number;
      data_.parser->parse(block, out);
      transform(options_, data_.parsed_schema, out.batch);
    };
    pipeline_ = std::make_unique<ParsePipeline>(read, parse, std::max(1, settings_.threads), data_.may_wait);
  }

  std::unique_ptr<ExampleSource> make_source() {
    if (cache_.whole()) return std::make_unique<StoreSource>(cache_.store());
    return std::make_unique<PipelineSource>(*pipeline_, counter_, kept_, cache_);
  }

  // A full shuffle needs all examples in memory.  A window shuffles what a source gives, which is the cache
  // once it holds a whole pass, and the pipeline of files before.  Without a shuffle, batches are copied
  // straight from either.
  void make_order() {
    if (options_.shuffles_all()) {
      if (!cache_.whole()) load_rest();
      order_ = exchange_ ? moved_between_trainers(
                               kept_.held(cache_.store(), data_.files.size(), options_.batch_size),
                               *exchange_, random_)
                         : permuted(cache_.store(), random_);
    } else if (options_.shuffle == "window") {
      order_ = shuffled_window(data_.schema, make_source(), options_.shuffle_window, cache_.memory_limit(),
                               random_);
    } else if (cache_.whole()) {
      order_ = in_order(cache_.store());
    } else {
      order_ = in_order(data_.schema, make_source());
    }
  }

  // Called when a pass was left before its end.  A stream cannot be read again, so the rest of it is read
  // into the cache; a cache of files is dropped, to be filled by the next pass.
  void finish_cache() {
    if (cache_.required()) {
      load_rest();
    } else {
      cache_.restart();
    }
  }

  // Reads the rest of the data into the cache.  The loop is empty because each source puts into the cache
  // what it gives.
  void load_rest() {
    std::unique_ptr<ExampleSource> source = make_source();
    const Batch* batch = nullptr;
    int64_t begin = 0, end = 0;
    while (!interrupt_.is_set() && source->next(batch, begin, end)) {
    }
  }

  // Refuses batches whose offsets would not fit into 32 bits.
  static void check_size(const Batch& batch) {
    for (const SlotData& slot : batch.slots) {
      if (slot.keys.size() > UINT32_MAX)
        fail(Code::kExhausted, "a batch has more than 2^32 ids: lower data.batch_size");
    }
  }

  const DataOptions options_;
  const ReaderSettings settings_;
  Interrupt interrupt_;                  // any thread may set it
  std::atomic<uint64_t> bytes_read_{0};  // the reading thread adds to it
  const SourceContext context_;
  DataSet data_;  // parser: constant; blocks: the reading thread

  // Owner thread.
  bool begun_ = false;
  bool skips_batches_ = false;                 // all shares read all files, and skip each other's batches
  int64_t num_batches_ = 0;                    // batches of all shares in this pass
  std::shared_ptr<ExampleExchange> exchange_;  // null: this trainer reads all the data that it needs
  ExampleCache cache_;
  KeptShare kept_;
  BadLineCounter counter_{0, nullptr};  // bad lines of the last pass that read files
  std::unique_ptr<ParsePipeline> pipeline_;
  std::unique_ptr<ExampleOrder> order_;  // made by the first next() of a pass
  Random random_{0, 0};
  std::atomic<uint64_t> examples_{0};
  std::atomic<uint64_t> from_memory_{0};  // examples of the pass, when it is served from memory
};

BatchReader::BatchReader(const DataOptions& options, const std::vector<std::string>& paths,
                         const ReaderSettings& settings)
    : impl_(std::make_unique<Impl>(options, paths, settings)) {}

BatchReader::~BatchReader() = default;

const DataSchema& BatchReader::schema() const {
  return impl_->data().schema;
}
std::string_view BatchReader::format() const {
  return impl_->data().format->name;
}
std::shared_ptr<const Vocabulary> BatchReader::vocabulary() const {
  return impl_->data().vocabulary;
}
bool BatchReader::may_wait() const {
  return impl_->data().may_wait;
}
uint64_t BatchReader::spare_bytes() const {
  return impl_->spare_bytes();
}

void BatchReader::exchange_through(std::shared_ptr<ExampleExchange> exchange) {
  impl_->exchange_through(std::move(exchange));
}
void BatchReader::check_labels(std::function<void(float label)> check) {
  impl_->check_labels(std::move(check));
}
void BatchReader::begin_pass(int pass) {
  impl_->begin_pass(pass);
}
bool BatchReader::next(Batch& batch) {
  return impl_->next(batch);
}
int64_t BatchReader::bad_lines() const {
  return impl_->bad_lines();
}
ReaderProgress BatchReader::progress() const {
  return impl_->progress();
}
void BatchReader::interrupt() {
  impl_->interrupt();
}

}  // namespace ps
