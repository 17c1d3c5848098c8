// Times look-ups of a table on a device: rows are found, created, set and pulled, a million keys a call.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "bench/cuda/filled_table.h"
#include "bench/gpu/suite.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// The number of calls of a run; each has keys of its own, so that no cache holds their rows.
constexpr int kCalls = 4;

// Times kCalls calls of one operation on a filled table.  One owner thread.
//
// The keys are drawn anew before each run, and draws_ counts them, so that no run finds the lines that the
// one before has brought into a cache.  The results are filled with bits of ones, which are no value of a
// row, so that check() notices a row that the last call did not write.  load_ is taken before the run: it
// says how full the table was in which rows were searched.
class TableCalls : public DeviceWorkload {
 public:
  TableCalls(const SharedGpu& gpu, const BenchSettings& settings, const TableShape& shape)
      : DeviceWorkload(gpu),
        batch_(batch_size(settings.scale)),
        filled_(*gpu, stream(), settings, shape),
        keys_(*gpu, kCalls * batch_),
        weights_(*gpu, batch_ * filled_.table().row_floats()) {}

  void prepare() override {
    make_keys();
    stream().fill(weights_.data(), 0xff, weights_.bytes());
    load_ = filled_.load(stream());
  }

  void run() override {
    time([&] {
      for (int i = 0; i < kCalls; ++i) call(i);
    });
  }

  Work work() const override {
    const double keys = static_cast<double>(kCalls * batch_);
    return {.bytes = keys * filled_.shape().width * sizeof(float), .items = keys};
  }

  std::vector<Figure> figures() const override {
    return {{"ms a call", *seconds() / kCalls * 1e3}, {"load", load_}};
  }

 protected:
  virtual void call(int i) = 0;  // makes call number i of a run

  // Draws the keys of a run evenly from the items that have a row.
  virtual void make_keys() { draw_keys(keys_.data(), static_cast<uint64_t>(keys_.size())); }

  void draw_keys(uint64_t* keys, uint64_t size) {
    write_draws(stream(), keys, size, filled_.first_item(), filled_.num_items(), draws_);
    draws_ += size;
  }

  DeviceKeys keys_of_call(int i) const { return {keys_.data() + i * batch_, batch_}; }
  DeviceKeys last_keys() const { return keys_of_call(kCalls - 1); }

  // Counts the kinds of rows [keys, width], by `width` values of each.
  RowKinds kinds_of(const float* rows, const uint8_t* found, DeviceKeys keys) {
    return count([&](RowKinds* out) {
      count_rows(stream(), rows, found, keys.keys, static_cast<uint64_t>(keys.size), filled_.shape().width,
                 out);
    });
  }

  int64_t batch() const { return batch_; }
  FilledTable& filled() { return filled_; }
  DeviceTable& table() { return filled_.table(); }
  const DeviceTable& table() const { return filled_.table(); }
  uint64_t* keys() const { return keys_.data(); }
  float* weights() const { return weights_.data(); }

 private:
  const int64_t batch_;
  FilledTable filled_;
  gpu::DeviceArray<uint64_t> keys_;  // [kCalls, batch]
  gpu::DeviceArray<float> weights_;  // results of the last call: [batch, row floats]
  uint64_t draws_ = 0;
  double load_ = 0;
};

// Finds rows and copies them.  One owner thread.
class Find final : public TableCalls {
 public:
  Find(const SharedGpu& gpu, const BenchSettings& settings, const TableShape& shape)
      : TableCalls(gpu, settings, shape), found_(*gpu, batch()) {}

  // A key may be without a row only when its bucket was full, which few are.
  void check() override {
    const auto kinds = kinds_of(weights(), found_.data(), last_keys());
    expect_equal("rows that are wrong", kinds.wrong + kinds.zero, 0);
    FilledTable::expect_few_missing(kinds.missing, batch());
    check_unknown();
  }

 private:
  void call(int i) override { table().find(stream(), keys_of_call(i), found_.data(), weights()); }

  // Checks that keys without a row are not found, and that their rows are read as zeros.  Afterwards keys_
  // has drawn keys again, since the next check would otherwise look for these.
  void check_unknown() {
    const auto size = static_cast<uint64_t>(batch());
    write_sequence(stream(), keys(), size, filled().end_item());
    call(0);
    expect_equal("keys found that were never added",
                 kinds_of(weights(), found_.data(), keys_of_call(0)).missing, size);
    expect_equal("rows of zeros for them", kinds_of(weights(), nullptr, keys_of_call(0)).zero, size);
    draw_keys(keys(), size);
  }

  gpu::DeviceArray<uint8_t> found_;
};

// Pulls rows.  A pull makes missing rows, which begin as zeros; the few items that found no place in their
// bucket are therefore counted as zero, and not as missing.  One owner thread.
class Pull final : public TableCalls {
 public:
  using TableCalls::TableCalls;

  void check() override {
    const auto kinds = kinds_of(weights(), nullptr, last_keys());
    expect_equal("rows that are wrong", kinds.wrong, 0);
    FilledTable::expect_few_missing(kinds.zero, batch());
  }

  // Each value is read once and written once, as in a copy, whose bytes count both.
  Work work() const override {
    Work work = TableCalls::work();
    work.of_limit = 2 * work.bytes;
    return work;
  }

 private:
  void call(int i) override { table().pull(stream(), keys_of_call(i), weights()); }
};

// Calls in which half of the keys are new; the others are drawn from the items of the table.  Between runs, a
// table that is not full erases the new keys; in a full one they become items, in place of the oldest.  One
// owner thread.
class Inserts : public TableCalls {
 public:
  Inserts(const SharedGpu& gpu, const BenchSettings& settings, const TableShape& shape)
      : TableCalls(gpu, settings, shape),
        new_keys_(static_cast<uint64_t>(batch()) / 2),
        rows_(*gpu, kCalls * batch() * table().row_floats()) {}

 protected:
  // The number of new keys in a call; these come before the others.
  uint64_t new_keys() const { return new_keys_; }

  // Returns the rows of the keys of call i, as the table should have them.
  const float* rows_of_call(int i) const { return rows_.data() + i * batch() * table().row_floats(); }

 private:
  // Numbers the new keys of all calls from the end of the items on, and puts the rows that check() expects
  // into rows_: the values of the key, then zeros for the state.
  void make_keys() override {
    if (ran_) end_run();
    ran_ = true;
    for (int i = 0; i < kCalls; ++i) {
      uint64_t* const begin = keys() + i * batch();
      const uint64_t first = filled().end_item() + static_cast<uint64_t>(i) * new_keys_;
      write_sequence(stream(), begin, new_keys_, first);
      draw_keys(begin + new_keys_, static_cast<uint64_t>(batch()) - new_keys_);
    }
    write_rows(stream(), rows_.data(), keys(), static_cast<uint64_t>(kCalls * batch()),
               filled().shape().width, table().row_floats());
  }

  // Brings the table back into the state that FilledTable describes.  In a full table the keys of the run
  // are set once more with their values, since FindOrInsert has made them as zeros, and then count as the
  // newest items.
  void end_run() {
    for (int i = 0; i < kCalls; ++i) {
      if (filled().shape().full) {
        table().insert_and_evict(stream(), keys_of_call(i), rows_of_call(i));
      } else {
        table().erase(stream(), {keys_of_call(i).keys, static_cast<int64_t>(new_keys_)});
      }
    }
    if (filled().shape().full) filled().add_items(kCalls * new_keys_);
  }

  const uint64_t new_keys_;
  gpu::DeviceArray<float> rows_;  // [kCalls, batch, row floats]
  bool ran_ = false;
};

// Finds rows, or creates them.  One owner thread.
class FindOrInsert final : public Inserts {
 public:
  FindOrInsert(const SharedGpu& gpu, const BenchSettings& settings, const TableShape& shape)
      : Inserts(gpu, settings, shape), pointers_(*gpu, batch()) {
    stream().fill(pointers_.data(), 0, pointers_.bytes());
  }

  // Checks that new rows are zero, and that the other rows have their values.
  void check() override {
    const auto drawn = static_cast<uint64_t>(batch()) - new_keys();
    const auto made = kinds_at(0, new_keys()), found = kinds_at(new_keys(), drawn);
    expect_equal("rows that are wrong", made.wrong + made.right + found.wrong, 0);
    FilledTable::expect_few_missing(made.missing, batch());
    FilledTable::expect_few_missing(found.missing + found.zero, batch());
  }

 private:
  void call(int i) override { table().find_or_insert(stream(), keys_of_call(i), pointers_.data()); }

  // Counts the kinds of the rows to which the last call's pointers from `begin` on point.
  RowKinds kinds_at(uint64_t begin, uint64_t size) {
    return count([&](RowKinds* out) {
      count_pointers(stream(), pointers_.data() + begin, last_keys().keys + begin, size,
                     filled().shape().width, out);
    });
  }

  gpu::DeviceArray<float*> pointers_;
};

// Sets rows; a full table evicts others.  One owner thread.
class InsertAndEvict final : public Inserts {
 public:
  InsertAndEvict(const SharedGpu& gpu, const BenchSettings& settings, const TableShape& shape)
      : Inserts(gpu, settings, shape),
        evicted_keys_(*gpu, batch()),
        evicted_scores_(*gpu, batch()),
        evicted_rows_(*gpu, batch() * table().row_floats()),
        evicted_count_(*gpu, 1),
        found_(*gpu, batch()) {}

  // Checks that the table has the new rows, and that evicted rows came back unchanged.
  void check() override {
    table().find(stream(), last_keys(), found_.data(), weights());
    const auto kinds = kinds_of(weights(), found_.data(), last_keys());
    expect_equal("rows that are wrong", kinds.wrong + kinds.zero, 0);
    FilledTable::expect_few_missing(kinds.missing, batch());
    uint32_t evicted = 0;
    stream().copy_to_host(&evicted, evicted_count_.data(), sizeof evicted);
    stream().synchronize();
    const uint64_t expected = filled().shape().full ? new_keys() : 0;
    FilledTable::expect_few_missing(
        std::max<uint64_t>(expected, evicted) - std::min<uint64_t>(expected, evicted), batch());
    const auto gone = kinds_of(evicted_rows_.data(), nullptr, {evicted_keys_.data(), evicted});
    expect_equal("rows evicted that are wrong", gone.wrong + gone.zero, 0);
  }

 private:
  void call(int i) override {
    table().insert_and_evict(
        stream(), keys_of_call(i), rows_of_call(i),
        {evicted_keys_.data(), evicted_scores_.data(), evicted_rows_.data(), evicted_count_.data()});
  }

  gpu::DeviceArray<uint64_t> evicted_keys_, evicted_scores_;
  gpu::DeviceArray<float> evicted_rows_;
  gpu::DeviceArray<uint32_t> evicted_count_;
  gpu::DeviceArray<uint8_t> found_;
};

constexpr uint32_t kNarrow = 8, kWide = 64;

// Adds the benchmark twice: on a table whose buckets are half full, and on a full one, where a search reads
// whole buckets and a new row evicts another.  The rate on the half-full table stands beside the other.
template <class Kind>
void add_loads(const SharedGpu& device, const std::string& name, const std::string& help,
               const std::string& limit, std::vector<Benchmark>& out) {
  for (bool full : {false, true}) {
    out.push_back(
        {.name = cat("gpu/", name, full ? "/full" : ""),
         .help = cat(help, ", rows of 8, 1 M keys a call, ", full ? "all" : "half of", " slots taken"),
         .unit = "keys",
         .make = make_on<Kind>(device, TableShape{kNarrow, 0, full}),
         .limit = limit});
    if (full) out.back().peers.push_back(cat("gpu/", name));
    if (name == "find") out.back().peers.emplace_back(kCpuFind);
  }
}

}  // namespace

std::vector<Benchmark> device_look_ups(const SharedGpu& device) {
  std::vector<Benchmark> out;
  add_loads<Find>(device, "find", "rows found and read by keys drawn evenly", "gpu/rows-32", out);
  add_loads<FindOrInsert>(device, "find-or-insert", "places of rows, half of which are made", "", out);
  add_loads<InsertAndEvict>(device, "insert-and-evict", "rows set, half of which are made", "", out);
  out.push_back({.name = "gpu/pull",
                 .help = "rows of 64 pulled by keys drawn evenly: bytes of their values",
                 .unit = "B",
                 .make = make_on<Pull>(device, TableShape{kWide, 0}),
                 .limit = "gpu/copy"});
  return out;
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
