#include "device/row_cache.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace ps {

// Adds the seconds of its life to the counter of a kind of work.  They also count as exposed unless load_ahead
// or put_back_unused runs.
class RowCache::Timer {
 public:
  Timer(RowCache& cache, double& part) : cache_(cache), part_(part) {}
  ~Timer() {
    const double seconds = monotonic_seconds() - start_;
    part_ += seconds;
    if (!cache_.ahead_) cache_.seconds_.exposed += seconds;
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  RowCache& cache_;
  double& part_;
  const double start_ = monotonic_seconds();
};

// Takes the rows over from the lender, which from here on only begins their steps.
RowCache::RowCache(std::unique_ptr<CachedRows> rows, RowLender& lender, int parameter, ValueRounding rounding,
                   NewRows new_rows, bool loads_untrained)
    : rows_(std::move(rows)),
      lender_(lender),
      parameter_(parameter),
      rounding_(rounding),
      layout_(lender.layout(parameter)),
      width_(static_cast<size_t>(layout_.width)),
      values_(static_cast<size_t>(layout_.values())),
      new_rows_(new_rows),
      loads_untrained_(loads_untrained),
      in_bucket_(rows_->num_buckets(), 0) {
  lender_.lend_rows(parameter, *this);
}

void RowCache::pull(std::span<const uint64_t> keys, float* weights) {
  const RowsRead last = begin_pull(keys, weights);
  take_idle_steps();
  if (!last.keys.empty()) rows_->read(last.keys, last.weights);
}

void RowCache::push(std::span<const uint64_t> keys, const float* gradients) {
  const RowsStep last = begin_push(keys, gradients);
  if (!last.keys.empty()) rows_->step(last.keys, last.stamp, last.gradients, last.step, last.scale);
}

RowsLookUp RowCache::begin_look_up(std::span<const uint64_t> keys) {
  find_absent(keys);
  looked_up_ = round_length(keys);
  return part_of_look_up(keys.first(looked_up_));
}

// Pulls in rounds of keys that fit on the device together.  Each round finds the missing rows, fetches them
// from the lender, and makes room for them.  All rounds but the last are also read here; the caller makes the
// read of the last round.
RowsRead RowCache::begin_pull(std::span<const uint64_t> keys, float* weights) {
  const int64_t now = static_cast<int64_t>(steps());
  counts_.asked += keys.size();
  idle_steps_.reset();
  size_t looked_up = std::exchange(looked_up_, 0);
  if (looked_up == 0) find_absent(keys);
  const size_t first_round = looked_up != 0 ? looked_up : round_length(keys);
  all_there_ = first_round == keys.size();
  for (size_t length = first_round; !keys.empty(); length = round_length(keys)) {
    const auto round = keys.first(length);
    if (std::exchange(looked_up, 0) == 0) look_up(round);
    note_found(round);
    counts_.fetched += round_.missing.size();
    round_.incoming.resize(round_.missing.size() * values_);
    const double waited = lender_.waited_seconds();
    {
      Timer timer(*this, seconds_.building);
      lender_.fetch_rows(parameter_, round_.missing, round_.incoming.data());
    }
    seconds_.building -= lender_.waited_seconds() - waited;
    make_room(round, now);
    if (round.size() == keys.size()) break;
    take_idle_steps();
    rows_->read(round, weights);
    keys = keys.subspan(round.size());
    weights += round.size() * width_;
  }
  return {rows_.get(), keys, weights};
}

// If a pull took several rounds, rows may have left the device since.  Then this fetches them again: they were
// brought up to date by the pull, or can be brought up to date again with the same result.  They are in other places then, so
// pointers are not used.
RowsStep RowCache::begin_push(std::span<const uint64_t> keys, const float* gradients,
                              float* const* pointers) {
  const std::optional<CurrentStep<float>> step = lender_.optimizer(parameter_).current_step();
  PS_CHECK(step && steps() > 0);
  // The lender has begun the step already.  Rows that come now must have seen all steps but this one, which
  // the device then applies to them.
  const int64_t before = static_cast<int64_t>(steps()) - 1;
  idle_steps_.reset();  // the idle steps of the pull
  reloaded_.clear();
  while (!keys.empty()) {
    const auto round = all_there_ ? keys : keys.first(round_length(keys));
    if (!all_there_) {
      look_up(round);
      note_found(round);
      counts_.fetched += round_.missing.size();
      take_stored(round_.missing, before);
      make_room(round, before);
      take_idle_steps();
    }
    early_.changed = true;
    if (early_.begun) early_.unwritten.insert(round.begin(), round.end());
    if (round.size() == keys.size()) break;
    rows_->step(round, steps(), gradients, *step, lender_.last_scale(parameter_));
    keys = keys.subspan(round.size());
    gradients += round.size() * width_;
  }
  return {rows_.get(),
          keys,
          steps(),
          gradients,
          *step,
          lender_.last_scale(parameter_),
          all_there_ ? pointers : nullptr};
}

// Returns how many of the first keys can have a slot on the device together.
// The length ends at the first key whose bucket has no slot left.  in_bucket_ is all zeros between two
// calls: the second loop undoes the counts of the first, which takes less time than clearing all buckets.
size_t RowCache::round_length(std::span<const uint64_t> keys) {
  const size_t most = std::min<size_t>(keys.size(), rows_->most_keys());
  size_t length = 0;
  for (; length < most; ++length) {
    uint8_t& in_bucket = in_bucket_[rows_->bucket(keys[length])];
    if (in_bucket == CachedRows::kBucketRows) break;
    ++in_bucket;
  }
  for (size_t i = 0; i < length; ++i) in_bucket_[rows_->bucket(keys[i])] = 0;
  return length;
}

// Prepares the call that finds the keys of a round on the device, for note_found.
RowsLookUp RowCache::part_of_look_up(std::span<const uint64_t> keys) {
  round_.found.resize(keys.size());
  round_.stamps.resize(keys.size());
  return {rows_.get(), keys, round_.found.data(), round_.stamps.data()};
}

void RowCache::look_up(std::span<const uint64_t> keys) {
  const RowsLookUp part = part_of_look_up(keys);
  rows_->look_up(keys, part.found, part.stamps, nullptr);
}

// Finds the keys of a pull that have no row, and those that have one by now while the row on the device stands
// in: these rows come anew.  A row that waits for admission stands in until then; without admission, the push
// makes the row that was given, and only a row that it refuses stays without use.
void RowCache::find_absent(std::span<const uint64_t> keys) {
  if (new_rows_ == NewRows::kAtFirstUse) return;
  reloaded_.clear();
  for (uint64_t key : stand_ins_left_) stand_ins_.erase(key);
  stand_ins_left_.clear();
  for (uint64_t key : keys) {
    if (stand_ins_.erase(key) != 0) reloaded_.insert(key);
  }
  for (uint64_t key : lender_.absent(parameter_, keys)) {
    reloaded_.insert(key);
    if (new_rows_ == NewRows::kByAdmission) stand_ins_.insert(key);
  }
}

// Gives the keys that are not on the device, `missing`, their positions in `incoming`.
void RowCache::note_found(std::span<const uint64_t> keys) {
  round_.sources.assign(keys.size(), CachedRows::kNoSource);
  round_.missing.clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (reloaded_.erase(keys[i]) != 0) round_.found[i] = 0;
    if (round_.found[i] != 0) continue;
    round_.sources[i] = static_cast<uint32_t>(round_.missing.size());
    round_.missing.push_back(keys[i]);
  }
}

// `incoming` <- the rows of these keys as the lender stores them, brought up to date with step `to`.
void RowCache::take_stored(std::span<const uint64_t> keys, int64_t to) {
  RowBlock stored;
  const double waited = lender_.waited_seconds();
  Timer timer(*this, seconds_.building);
  lender_.fetch_stored(parameter_, keys, stored);
  seconds_.building -= lender_.waited_seconds() - waited;
  add_stored(keys, stored, to);
}

// `incoming` <- these rows, and zeros, which stand in, for keys that had no row in the pull or have none now.
void RowCache::add_stored(std::span<const uint64_t> keys, const RowBlock& stored, int64_t to) {
  round_.incoming.assign(keys.size() * values_, 0.0f);
  size_t next = 0;  // index of the next stored row; both have the same order
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool comes = next < stored.size() && stored.keys[next] == keys[i];
    const size_t from = next;
    next += comes;
    if (!comes || stand_ins_.contains(keys[i])) {
      PS_CHECK(new_rows_ != NewRows::kAtFirstUse);
      stand_ins_.insert(keys[i]);
      continue;
    }
    float* const row = round_.incoming.data() + i * values_;
    std::copy_n(stored.values.data() + from * values_, values_, row);
    if (layout_.stamped) bring_up_to_date(row, stored.stamps[from], to);
  }
}

// Puts the missing rows of a round, `incoming`, on the device.  Rows there that have sat out steps are brought
// up to date with step `to`: by idle_steps_, or at once if rows have to come, so that none of these is evicted
// for them.
void RowCache::make_room(std::span<const uint64_t> keys, int64_t to) {
  if (layout_.stamped && !plan_idle_steps(keys, to)) take_found(keys, to);
  if (round_.incoming.empty()) return;
  take_idle_steps();
  round_.stamps.assign(keys.size(), steps());
  load(keys, static_cast<uint64_t>(to) + 1);
}

// Loads rows with `incoming`, `sources` and `stamps`, and gives the evicted rows to the lender.
void RowCache::load(std::span<const uint64_t> keys, uint64_t touched) {
  {
    Timer timer(*this, seconds_.building);
    rows_->load(keys, touched, round_.stamps, round_.sources, round_.incoming, round_.leaving);
  }
  counts_.evicted += round_.leaving.keys.size();
  for (uint64_t key : round_.leaving.keys) {
    if (stand_ins_.contains(key)) stand_ins_left_.insert(key);
  }
  // One that left in an earlier round of this pull may have come back.
  if (!stand_ins_left_.empty()) {
    for (uint64_t key : keys) stand_ins_left_.erase(key);
  }
  keep_wanted(round_.leaving);
  write(round_.leaving);
}

// ---- the next batch

// Loads as many keys at a time as a call of the device takes beside the keys of the present batch, which
// each call touches again so that none of their rows is evicted.
void RowCache::load_ahead(std::span<const uint64_t> present, std::span<const uint64_t> next) {
  if (!all_there_) return;                        // not even the present batch fits
  if (new_rows_ != NewRows::kAtFirstUse) return;  // the present step may make rows and remove them
  ahead_ = true;
  const std::vector<uint64_t> fitting = fitting_beside(present, next);
  for (std::span<const uint64_t> keys = fitting; !keys.empty() && present.size() < rows_->most_keys();) {
    const auto some = keys.first(std::min<size_t>(keys.size(), rows_->most_keys() - present.size()));
    load_stored(present, some);
    keys = keys.subspan(some.size());
  }
  ahead_ = false;
}

// Returns the keys of the next batch that are not in the present one and that can have a slot on the device
// together with it and each other.
std::vector<uint64_t> RowCache::fitting_beside(std::span<const uint64_t> present,
                                               std::span<const uint64_t> next) {
  std::ranges::fill(in_bucket_, uint8_t{0});
  for (uint64_t key : present) ++in_bucket_[rows_->bucket(key)];
  std::vector<uint64_t> other, fitting;
  std::ranges::set_difference(next, present, std::back_inserter(other));
  for (uint64_t key : other) {
    uint8_t& in_bucket = in_bucket_[rows_->bucket(key)];
    if (in_bucket == CachedRows::kBucketRows) continue;
    ++in_bucket;
    fitting.push_back(key);
  }
  std::ranges::fill(in_bucket_, uint8_t{0});
  return fitting;
}

// Keeps only rows whose weights the device type can represent.  Other rows were never on a device; they are
// brought up to date before they are rounded, together with their batch.
void RowCache::drop_others(RowBlock& stored) const {
  if (rounding_.type == ValueType::kF32) return;
  RowBlock held;
  for (size_t i = 0; i < stored.size(); ++i) {
    const std::span<const float> row = std::span(stored.values).subspan(i * values_, values_);
    if (!std::ranges::all_of(row.first(width_), [&](float weight) { return rounding_.holds(weight); }))
      continue;
    held.keys.push_back(stored.keys[i]);
    held.values.insert(held.values.end(), row.begin(), row.end());
    if (layout_.stamped) held.stamps.push_back(stored.stamps[i]);
  }
  stored = std::move(held);
}

// Loads rows of the next batch that the lender has here.  Rows that are there already and those of the present
// batch are touched too, so that none of them is evicted.  All are touched at the step after the one that the
// present batch is about to make.
void RowCache::load_stored(std::span<const uint64_t> present, std::span<const uint64_t> keys) {
  std::vector<uint64_t> touched(present.begin(), present.end()), stamps(present.size(), steps());
  {
    Timer timer(*this, seconds_.building);
    look_up(keys);
    note_found(keys);
  }
  RowBlock stored;
  lender_.take_stored(parameter_, round_.missing, loads_untrained_, stored);
  drop_others(stored);
  counts_.fetched += stored.size();
  counts_.early += stored.size();
  round_.sources.assign(present.size(), CachedRows::kNoSource);
  size_t come = 0;  // index of the next row that has come; the keys of both ascend
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool comes = round_.found[i] == 0 && come < stored.size() && stored.keys[come] == keys[i];
    if (round_.found[i] == 0 && !comes) continue;
    touched.push_back(keys[i]);
    stamps.push_back(round_.found[i] != 0 ? round_.stamps[i] : layout_.stamped ? stored.stamps[come] : 0);
    round_.sources.push_back(comes ? static_cast<uint32_t>(come++) : CachedRows::kNoSource);
  }
  round_.stamps = std::move(stamps);
  round_.incoming = std::move(stored.values);
  if (come > 0) load(touched, steps() + 2);
}

// idle_steps_ <- the call that brings rows up to date that have sat out steps, if there are any.  Returns false
// if the optimizer has no rule for that.
bool RowCache::plan_idle_steps(std::span<const uint64_t> keys, int64_t to) {
  round_.which.assign(keys.size(), CachedRows::kNoSource);
  round_.changes.clear();
  round_.ages.clear();
  bool all_known = true;
  for (size_t i = 0; i < keys.size() && all_known; ++i) {
    if (!sat_out(i, to)) continue;
    round_.which[i] = change_of(round_.stamps[i], to);
    all_known = round_.which[i] != CachedRows::kNoSource;
  }
  for (uint64_t age : round_.ages) change_of_age_[age] = CachedRows::kNoSource;
  if (!all_known) return false;
  const uint64_t stamp = static_cast<uint64_t>(to);
  if (!round_.changes.empty())
    idle_steps_ = RowsAdvance{rows_.get(), keys, stamp + 1, stamp, round_.which, round_.changes};
  return true;
}

// Returns the number of the change for rows with this stamp, which is made at the first call for their age;
// kNoSource if the optimizer has no rule.
uint32_t RowCache::change_of(uint64_t stamp, int64_t to) {
  constexpr uint64_t kMostAges = 1 << 16;  // older rows, which are few, get a change each
  const uint64_t age = static_cast<uint64_t>(to) - stamp;
  if (age < kMostAges && age >= change_of_age_.size()) change_of_age_.resize(age + 1, CachedRows::kNoSource);
  if (age < kMostAges && change_of_age_[age] != CachedRows::kNoSource) return change_of_age_[age];
  const auto rule = lender_.optimizer(parameter_).idle_change(static_cast<int64_t>(stamp), to);
  if (!rule) return CachedRows::kNoSource;
  const uint32_t number = static_cast<uint32_t>(round_.changes.size());
  round_.changes.push_back(*rule);
  if (age < kMostAges) {
    change_of_age_[age] = number;
    round_.ages.push_back(age);
  }
  return number;
}

void RowCache::take_idle_steps() {
  if (!idle_steps_) return;
  rows_->advance(idle_steps_->keys, idle_steps_->touched, idle_steps_->stamp, idle_steps_->which,
                 idle_steps_->changes);
  idle_steps_.reset();
}

// Adds rows that are on the device and have sat out steps to `incoming`, brought up to date on the host.
void RowCache::take_found(std::span<const uint64_t> keys, int64_t to) {
  round_.present.resize(keys.size() * values_);
  rows_->look_up(keys, round_.found.data(), round_.stamps.data(), round_.present.data());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!sat_out(i, to) || round_.sources[i] != CachedRows::kNoSource) continue;
    const auto row = round_.present.begin() + static_cast<ptrdiff_t>(i * values_);
    round_.sources[i] = static_cast<uint32_t>(round_.incoming.size() / values_);
    round_.incoming.insert(round_.incoming.end(), row, row + static_cast<ptrdiff_t>(values_));
    bring_up_to_date(round_.incoming.data() + round_.incoming.size() - values_, round_.stamps[i], to);
  }
}

void RowCache::bring_up_to_date(float* row, uint64_t stamp, int64_t to) const {
  const int64_t width = layout_.width;
  lender_.optimizer(parameter_).catch_up({row, row + width, width, width}, static_cast<int64_t>(stamp), to);
}

// Returns true if the row on the device may differ from the lender's.
bool RowCache::is_changed(uint64_t key, uint64_t stamp) const {
  return rows_->bucket(key) < early_.next_bucket ? early_.unwritten.contains(key) : stamp >= written_up_to_;
}

// Returns the rows with these indices as they are stored, in ascending order of keys.
static RowBlock stored_block(const StampedRows& rows, const TableLayout& layout,
                             std::vector<size_t> indices) {
  const size_t values = static_cast<size_t>(layout.values());
  std::ranges::sort(indices, {}, [&](size_t i) { return rows.keys[i]; });
  RowBlock block;
  for (size_t i : indices) {
    const auto row = rows.rows.begin() + static_cast<ptrdiff_t>(i * values);
    block.keys.push_back(rows.keys[i]);
    block.values.insert(block.values.end(), row, row + static_cast<ptrdiff_t>(values));
    if (layout.stamped) block.stamps.push_back(static_cast<uint32_t>(rows.stamps[i]));
  }
  return block;
}

// Gives the lender the rows that differ from its own, but none that stands in.  Rows that a batch uses are remembered
// instead, unless they are to be written too.
void RowCache::write(const StampedRows& rows, bool used_too) {
  std::vector<size_t> changed;
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    if (!is_changed(rows.keys[i], rows.stamps[i]) || stands_in(rows.keys[i])) continue;
    if (used_too || !lender_.is_used(parameter_, rows.keys[i])) {
      changed.push_back(i);
    } else {
      early_.unwritten.insert(rows.keys[i]);
    }
  }
  if (changed.empty()) return;
  Timer timer(*this, seconds_.writing_back);
  const RowBlock block = stored_block(rows, layout_, std::move(changed));
  for (uint64_t key : block.keys) early_.unwritten.erase(key);
  counts_.written += block.size();
  lender_.put_rows(parameter_, block);
}

// Rows that leave the device unchanged since they were written, and that a coming batch uses, are offered to the lender:
// nobody has asked for them, since they were on the device when that batch was announced.
void RowCache::keep_wanted(const StampedRows& rows) {
  std::vector<size_t> wanted;
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    const uint64_t key = rows.keys[i];
    if (rows.stamps[i] > 0 && !is_changed(key, rows.stamps[i]) && !stands_in(key) &&
        lender_.is_used(parameter_, key))
      wanted.push_back(i);
  }
  if (!wanted.empty()) lender_.keep_rows(parameter_, stored_block(rows, layout_, std::move(wanted)));
}

// leaving <- the rows of buckets [first, first + count).
void RowCache::copy_buckets(uint32_t first, uint32_t count) {
  Timer timer(*this, seconds_.building);
  rows_->copy_buckets(first, std::min(count, rows_->num_buckets() - first), round_.leaving);
}

// Goes through the buckets of the device in order, as many at once as a call takes, and lets write choose
// the rows that have changed.  In the buckets that put_back_unused has been to, only the rows that it has left are read.
void RowCache::put_back() {
  if (!early_.changed) return;
  const uint32_t at_once = std::max(1u, rows_->most_keys() / CachedRows::kBucketRows);
  for (uint32_t first = early_.next_bucket; first < rows_->num_buckets(); first += at_once) {
    copy_buckets(first, at_once);
    write(round_.leaving);
  }
  write_unwritten(/*used_too=*/true);
  early_ = {};
  written_up_to_ = steps();
}

// Each call goes through some buckets, so that the caller can do other work in between.  A row of these that a batch
// uses is left out of what is written: it changes again.
bool RowCache::put_back_unused() {
  constexpr uint32_t kMostBuckets = 64;
  if (!early_.changed || new_rows_ != NewRows::kAtFirstUse) return false;
  ahead_ = true;
  const bool goes_on = early_.next_bucket < rows_->num_buckets();
  if (goes_on) {
    early_.begun = true;
    const uint32_t count = std::clamp(rows_->most_keys() / CachedRows::kBucketRows, 1u, kMostBuckets);
    copy_buckets(early_.next_bucket, count);
    write(round_.leaving, /*used_too=*/false);
    early_.next_bucket += count;
  } else {
    write_unwritten(/*used_too=*/false);
  }
  ahead_ = false;
  return goes_on;
}

// Writes the rows that are remembered: all, or those that no batch uses.  Such a row is on the device: one that left
// it was written then.
void RowCache::write_unwritten(bool used_too) {
  std::vector<uint64_t> keys;
  for (uint64_t key : early_.unwritten) {
    if (used_too || !lender_.is_used(parameter_, key)) keys.push_back(key);
  }
  StampedRows& rows = round_.leaving;
  for (std::span<const uint64_t> left = keys; !left.empty();) {
    const auto some = left.first(round_length(left));
    {
      Timer timer(*this, seconds_.building);
      rows.keys.assign(some.begin(), some.end());
      rows.stamps.resize(some.size());
      rows.rows.resize(some.size() * values_);
      round_.found.resize(some.size());
      rows_->look_up(some, round_.found.data(), rows.stamps.data(), rows.rows.data());
      PS_CHECK(std::ranges::find(round_.found, uint8_t{0}) == round_.found.end());
    }
    write(rows);
    left = left.subspan(some.size());
  }
}

// This is asked for batches that are still to come, so no row is touched, and nothing is loaded or evicted.
std::vector<uint64_t> RowCache::missing(std::span<const uint64_t> keys) {
  std::vector<uint64_t> all;
  while (!keys.empty()) {
    const auto some = keys.first(std::min<size_t>(keys.size(), rows_->most_keys()));
    round_.found.resize(some.size());
    round_.stamps.resize(some.size());
    rows_->look_up(some, round_.found.data(), round_.stamps.data(), nullptr);
    for (size_t i = 0; i < some.size(); ++i) {
      if (round_.found[i] == 0) all.push_back(some[i]);
    }
    keys = keys.subspan(some.size());
  }
  return all;
}

// The next push must not take it for granted that the rows of the last pull are on the device.
void RowCache::return_all() {
  put_back();
  rows_->clear();
  stand_ins_.clear();
  stand_ins_left_.clear();
  all_there_ = false;
}

}  // namespace ps
