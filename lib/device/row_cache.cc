#include "device/row_cache.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"

namespace ps {

RowCache::RowCache(std::unique_ptr<CachedRows> rows, RowLender& lender, int parameter)
    : rows_(std::move(rows)),
      lender_(lender),
      parameter_(parameter),
      layout_(lender.layout(parameter)),
      width_(static_cast<size_t>(layout_.width)),
      values_(static_cast<size_t>(layout_.values())),
      in_bucket_(rows_->num_buckets(), 0) {
  lender_.lend_rows(parameter, *this);
}

void RowCache::pull(std::span<const uint64_t> keys, float* weights) {
  const int64_t now = static_cast<int64_t>(steps());
  counts_.asked += keys.size();
  all_there_ = round_length(keys) == keys.size();
  while (!keys.empty()) {
    const auto round = keys.first(round_length(keys));
    look_up(round);
    incoming_.resize(missing_.size() * values_);
    lender_.fetch_rows(parameter_, missing_, incoming_.data());
    make_room(round, now);
    rows_->read(round, weights);
    keys = keys.subspan(round.size());
    weights += round.size() * width_;
  }
}

// The rows of a pull in rounds may have left the device since.  They are then as the pull brought them up to date, or can
// be brought up to date again with the same result.
void RowCache::push(std::span<const uint64_t> keys, const float* gradients) {
  const std::optional<CurrentStep<float>> step = lender_.optimizer(parameter_).current_step();
  PS_CHECK(step && steps() > 0);
  const int64_t before = static_cast<int64_t>(steps()) - 1;
  while (!keys.empty()) {
    const auto round = all_there_ ? keys : keys.first(round_length(keys));
    if (!all_there_) {
      look_up(round);
      take_stored(missing_, before);
      make_room(round, before);
    }
    rows_->step(round, steps(), gradients, *step, lender_.last_scale(parameter_));
    changed_ = true;
    keys = keys.subspan(round.size());
    gradients += round.size() * width_;
  }
}

// Returns how many of the keys have a place on the device together.
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

// Finds the keys of a round that are on the device, and gives the others, missing_, places in incoming_.
void RowCache::look_up(std::span<const uint64_t> keys) {
  found_.resize(keys.size());
  stamps_.resize(keys.size());
  rows_->look_up(keys, found_.data(), stamps_.data(), nullptr);
  sources_.assign(keys.size(), CachedRows::kNoSource);
  missing_.clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (found_[i] != 0) continue;
    sources_[i] = static_cast<uint32_t>(missing_.size());
    missing_.push_back(keys[i]);
  }
  counts_.fetched += missing_.size();
}

// incoming_ <- the rows of these keys that the lender has, as after so many steps.
void RowCache::take_stored(std::span<const uint64_t> keys, int64_t to) {
  RowBlock stored;
  lender_.fetch_stored(parameter_, keys, stored);
  incoming_ = std::move(stored.values);
  for (size_t i = 0; layout_.stamped && i < keys.size(); ++i) {
    bring_up_to_date(incoming_.data() + i * values_, stored.stamps[i], to);
  }
}

// Puts the rows of a round on the device that are not there, incoming_.  Brings those there that have sat out steps up to
// date with so many steps.
void RowCache::make_room(std::span<const uint64_t> keys, int64_t to) {
  if (layout_.stamped && !advance_there(keys, to)) take_found(keys, to);
  if (incoming_.empty()) return;
  rows_->load(keys, steps(), sources_, incoming_, leaving_);
  counts_.evicted += leaving_.keys.size();
  write(leaving_);
}

// Has the device bring rows up to date.  Returns false if the optimizer has no rule for that.
bool RowCache::advance_there(std::span<const uint64_t> keys, int64_t to) {
  which_.assign(keys.size(), CachedRows::kNoSource);
  changes_.clear();
  std::map<uint64_t, uint32_t> change_of;  // by stamp
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!sat_out(i, to)) continue;
    const auto [change, is_new] = change_of.try_emplace(stamps_[i], static_cast<uint32_t>(changes_.size()));
    which_[i] = change->second;
    if (!is_new) continue;
    const auto rule = lender_.optimizer(parameter_).idle_change(static_cast<int64_t>(stamps_[i]), to);
    if (!rule) return false;
    changes_.push_back(*rule);
  }
  if (!changes_.empty()) rows_->advance(keys, static_cast<uint64_t>(to), which_, changes_);
  return true;
}

// Adds rows that are on the device and have sat out steps to incoming_, brought up to date here.
void RowCache::take_found(std::span<const uint64_t> keys, int64_t to) {
  present_.resize(keys.size() * values_);
  rows_->look_up(keys, found_.data(), stamps_.data(), present_.data());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!sat_out(i, to)) continue;
    const auto row = present_.begin() + static_cast<ptrdiff_t>(i * values_);
    sources_[i] = static_cast<uint32_t>(incoming_.size() / values_);
    incoming_.insert(incoming_.end(), row, row + static_cast<ptrdiff_t>(values_));
    bring_up_to_date(incoming_.data() + incoming_.size() - values_, stamps_[i], to);
  }
}

void RowCache::bring_up_to_date(float* row, uint64_t stamp, int64_t to) const {
  const int64_t width = layout_.width;
  lender_.optimizer(parameter_).catch_up({row, row + width, width, width}, static_cast<int64_t>(stamp), to);
}

// Gives the lender those rows that differ from what it has.
void RowCache::write(const StampedRows& rows) {
  std::vector<size_t> order;
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    if (rows.stamps[i] >= written_up_to_) order.push_back(i);
  }
  if (order.empty()) return;
  std::ranges::sort(order, {}, [&](size_t i) { return rows.keys[i]; });
  RowBlock block;
  for (size_t i : order) {
    const auto row = rows.rows.begin() + static_cast<ptrdiff_t>(i * values_);
    block.keys.push_back(rows.keys[i]);
    block.values.insert(block.values.end(), row, row + static_cast<ptrdiff_t>(values_));
    if (layout_.stamped) block.stamps.push_back(static_cast<uint32_t>(rows.stamps[i]));
  }
  counts_.written += block.size();
  lender_.put_rows(parameter_, block);
}

void RowCache::put_back() {
  if (!changed_) return;
  changed_ = false;
  const uint32_t at_once = std::max(1u, rows_->most_keys() / CachedRows::kBucketRows);
  for (uint32_t first = 0; first < rows_->num_buckets(); first += at_once) {
    rows_->copy_buckets(first, std::min(at_once, rows_->num_buckets() - first), leaving_);
    write(leaving_);
  }
  written_up_to_ = steps();
}

void RowCache::return_all() {
  put_back();
  rows_->clear();
  all_there_ = false;
}

}  // namespace ps
