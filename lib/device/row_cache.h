// RowCache: some rows of a sparse parameter in the memory of a device, where they are trained; the lender has
// all rows.  It writes back: a row that leaves the device goes to the lender if it was trained since it was
// last written; else the lender may keep a copy for a coming batch.  Used by DeviceStore.
//
// Rows that sat out steps are brought up to date as in a table: before they are pulled, with the same result.
// So a row has the same bits, and the same stamp, as one that never was on a device.
//
// Weights of 16 bits are rounded whenever they change on the device, and when a row comes.  The lender gets the
// rounded weights back, and they stay the same when the row comes again.  So results do not depend on when a
// row was on the device.
//
// With a row policy the lender decides which keys have rows.  Before each pull the cache asks it for the keys of
// the batch that have none, and gives them rows that stand in: those with which a push would make them, or
// zeros while they wait for admission.  Rows on the device whose keys have none any more are forgotten so.
//
// A call with more keys of a bucket than the bucket has rows, or with more keys than the device takes at once,
// is made in rounds.
#ifndef PS_DEVICE_ROW_CACHE_H_
#define PS_DEVICE_ROW_CACHE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "checkpoint/table_layout.h"
#include "device/row_device.h"
#include "store/row_lender.h"

namespace ps {

// Counts of rows since the cache was made.
struct RowCacheCounts {
  uint64_t asked = 0;    // keys of pulls
  uint64_t fetched = 0;  // rows that came from the lender
  uint64_t early = 0;    // rows of these that were on the device before the pull of their batch
  uint64_t evicted = 0;
  uint64_t written = 0;  // rows that went to the lender
};

// Seconds since the cache was made.
struct RowCacheSeconds {
  double building = 0;      // making rows, putting them on the device, and taking evicted rows from there
  double writing_back = 0;  // giving rows to the lender
  double exposed = 0;       // the part of both, and of waiting for rows, that ran while no batch was computed
};

// One owner thread.
class RowCache final : public RowBorrower {
 public:
  // Borrows the rows.  The lender must outlive the cache, and must not be used after it.  `rounding` is that of
  // `rows`.  load_ahead loads rows that nobody has trained only if `loads_untrained`, which must be false if
  // `rounding` changes the weights with which rows begin.
  RowCache(std::unique_ptr<CachedRows> rows, RowLender& lender, int parameter, ValueRounding rounding = {},
           NewRows new_rows = NewRows::kAtFirstUse, bool loads_untrained = true);

  // weights [keys, width] <- the weights of the rows, which are made if they are missing, up to date with all
  // steps begun.
  void pull(std::span<const uint64_t> keys, float* weights);

  // The same in parts, for a caller that makes the device calls for many caches together.  The order is:
  // begin_look_up and the call that it returns; begin_pull; the call of idle_steps(), if there is one; the call
  // that begin_pull returned.  No other function of the cache is called between them. begin_push returns the
  // only call of a push.
  RowsLookUp begin_look_up(std::span<const uint64_t> keys);
  RowsRead begin_pull(std::span<const uint64_t> keys, float* weights);
  const std::optional<RowsAdvance>& idle_steps() const { return idle_steps_; }
  // `pointers` are those that the look-up or the read of the last pull has set, or null.
  RowsStep begin_push(std::span<const uint64_t> keys, const float* gradients,
                      float* const* pointers = nullptr);

  // Keys ascend.  Puts rows of the next batch that the lender has here on the device, while the present batch,
  // which is that of the last pull, is computed.  Rows of the present batch stay there.  No row is brought up
  // to date; its stamp tells its last step.
  void load_ahead(std::span<const uint64_t> present, std::span<const uint64_t> next);

  // Puts some changed rows back to the lender that is_used does not name there, while the present batch is computed.
  // put_back then has those alone to write that batches use until it is called.  Returns false if there are none for
  // now.
  bool put_back_unused();

  // Applies the step that the lender has begun since the pull of the same keys, with gradients [keys, width].
  void push(std::span<const uint64_t> keys, const float* gradients);

  void put_back() override;
  void return_all() override;
  std::vector<uint64_t> missing(std::span<const uint64_t> keys) override;

  const RowCacheCounts& counts() const { return counts_; }
  const RowCacheSeconds& seconds() const { return seconds_; }
  int parameter() const { return parameter_; }

 private:
  class Timer;

  // The keys of a round, and the rows that it moves.
  struct Round {
    std::vector<uint8_t> found;  // by key, like the next two
    std::vector<uint64_t> stamps;
    std::vector<uint32_t> sources;    // the number of its row in `incoming`, or kNoSource
    std::vector<uint64_t> missing;    // keys that are not on the device
    std::vector<float> incoming;      // their rows, and others to be loaded
    std::vector<float> present;       // rows that were found, if they are brought up to date on the host
    std::vector<uint32_t> which;      // by key: the number of its change in `changes`
    std::vector<IdleChange> changes;  // one for each number of steps that rows have sat out
    std::vector<uint64_t> ages;       // indices of change_of_age_ that are set
    // Rows that were evicted or copied from the device.
    StampedRows leaving;
  };

  // Rows are put back before the end of a pass, by put_back_unused.  It goes through all buckets once, and writes the
  // changed rows there that no batch uses; it remembers the others, and all that are trained from its beginning on.
  // In the buckets that it has been to, these rows alone may differ from the lender's.
  struct EarlyReturn {
    bool changed = false;  // a row was trained
    bool begun = false;
    uint32_t next_bucket = 0;
    std::unordered_set<uint64_t> unwritten = {};  // keys
  };

  size_t round_length(std::span<const uint64_t> keys);
  std::vector<uint64_t> fitting_beside(std::span<const uint64_t> present, std::span<const uint64_t> next);
  void drop_others(RowBlock& stored) const;
  void load_stored(std::span<const uint64_t> present, std::span<const uint64_t> keys);
  void load(std::span<const uint64_t> keys, uint64_t touched);
  RowsLookUp part_of_look_up(std::span<const uint64_t> keys);
  void look_up(std::span<const uint64_t> keys);
  void find_absent(std::span<const uint64_t> keys);
  void add_stored(std::span<const uint64_t> keys, const RowBlock& stored, int64_t to);
  void note_found(std::span<const uint64_t> keys);
  void take_stored(std::span<const uint64_t> keys, int64_t to);
  void make_room(std::span<const uint64_t> keys, int64_t to);
  bool plan_idle_steps(std::span<const uint64_t> keys, int64_t to);
  uint32_t change_of(uint64_t stamp, int64_t to);
  void take_idle_steps();
  void take_found(std::span<const uint64_t> keys, int64_t to);
  bool sat_out(size_t i, int64_t to) const {
    return round_.found[i] != 0 && static_cast<int64_t>(round_.stamps[i]) < to;
  }
  // Returns true for a key whose row on the device is not its row.
  bool stands_in(uint64_t key) const { return stand_ins_.contains(key) || reloaded_.contains(key); }
  void bring_up_to_date(float* row, uint64_t stamp, int64_t to) const;
  void copy_buckets(uint32_t first, uint32_t count);
  bool is_changed(uint64_t key, uint64_t stamp) const;
  void write(const StampedRows& rows, bool used_too = true);
  void keep_wanted(const StampedRows& rows);
  void write_unwritten(bool used_too);
  uint64_t steps() const { return static_cast<uint64_t>(lender_.optimizer(parameter_).steps()); }

  const std::unique_ptr<CachedRows> rows_;
  RowLender& lender_;
  const int parameter_;
  const ValueRounding rounding_;
  const TableLayout layout_;
  const size_t width_, values_;  // floats: weights of a row; weights and state
  const NewRows new_rows_;
  const bool loads_untrained_;

  // Rows with a stamp below this one equal the lender's, except that they may have been brought up to date.  A row
  // that has seen no step is the one that the lender makes.
  uint64_t written_up_to_ = 1;
  EarlyReturn early_;       // since put_back
  bool all_there_ = false;  // the rows of the last pull are on the device
  bool ahead_ = false;      // load_ahead or put_back_unused runs
  RowCacheCounts counts_;
  RowCacheSeconds seconds_;

  // Keys of the running pull whose rows are loaded even if they are on the device; and keys of rows there that
  // stand in for none, which the lender does not get.  Such a key that has left the device is forgotten at the
  // next pull.
  std::unordered_set<uint64_t> reloaded_, stand_ins_, stand_ins_left_;

  std::vector<uint8_t> in_bucket_;  // by bucket: number of keys of the round
  Round round_;
  size_t looked_up_ = 0;                   // number of keys of begin_look_up, the first ones of the next pull
  std::optional<RowsAdvance> idle_steps_;  // the call for rows of the round that have sat out steps
  // by number of steps that a row has sat out: its change, or kNoSource
  std::vector<uint32_t> change_of_age_;
};

}  // namespace ps

#endif  // PS_DEVICE_ROW_CACHE_H_
