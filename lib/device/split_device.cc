#include "device/split_device.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace ps {

namespace {

// Returns the device that has a key.  The low half of its hash chooses the device, since the high half chooses
// the bucket there.
size_t owner_of(uint64_t key, size_t devices) {
  return static_cast<size_t>((hash_key(key) & 0xffffffff) * devices >> 32);
}

// The part of a call for one device.
struct Part {
  std::vector<size_t> positions;  // positions of its keys in the call
  std::vector<uint64_t> keys, stamps;
  std::vector<uint32_t> numbers;  // numbers of sources or of changes
  std::vector<uint8_t> found;
  std::vector<float> rows;
};

// The rows of one parameter on all devices.  Each call is split by key, made on one device after the other, and
// its results are put together.  One owner thread.
class SplitRows final : public CachedRows {
 public:
  SplitRows(std::vector<std::unique_ptr<CachedRows>> rows, const CachedRowsOptions& options)
      : rows_(std::move(rows)),
        width_(options.width),
        values_(size_t{options.width} * (1 + options.arrays)),
        parts_(rows_.size()) {
    for (const auto& rows_there : rows_) {
      first_bucket_.push_back(num_buckets_);
      num_buckets_ += rows_there->num_buckets();
    }
  }

  uint32_t num_buckets() const override { return num_buckets_; }
  // The buckets of all devices have numbers in one row: those of device d begin at first_bucket_[d].
  uint32_t bucket(uint64_t key) const override {
    const size_t d = owner_of(key, rows_.size());
    return first_bucket_[d] + rows_[d]->bucket(key);
  }
  uint32_t most_keys() const override { return rows_[0]->most_keys(); }

  // Each device answers for the keys of its part, and `positions` tells where each answer belongs in the
  // call.
  void look_up(std::span<const uint64_t> keys, uint8_t* found, uint64_t* stamps, float* rows) override {
    split(keys);
    for (size_t d = 0; d < rows_.size(); ++d) {
      Part& part = parts_[d];
      if (part.keys.empty()) continue;
      part.found.resize(part.keys.size());
      part.stamps.resize(part.keys.size());
      part.rows.resize(rows != nullptr ? part.keys.size() * values_ : 0);
      rows_[d]->look_up(part.keys, part.found.data(), part.stamps.data(),
                        rows != nullptr ? part.rows.data() : nullptr);
      for (size_t i = 0; i < part.positions.size(); ++i) {
        found[part.positions[i]] = part.found[i];
        stamps[part.positions[i]] = part.stamps[i];
      }
      if (rows != nullptr) gather_rows(part, values_, rows);
    }
  }

  void load(std::span<const uint64_t> keys, uint64_t touched, std::span<const uint64_t> stamps,
            std::span<const uint32_t> sources, std::span<const float> rows, StampedRows& evicted) override {
    split(keys);
    evicted = {};
    for (size_t d = 0; d < rows_.size(); ++d) {
      Part& part = parts_[d];
      if (part.keys.empty()) continue;
      copy_sources(part, stamps, sources, rows);
      rows_[d]->load(part.keys, touched, part.stamps, part.numbers, part.rows, some_);
      append(some_, evicted);
    }
  }

  void advance(std::span<const uint64_t> keys, uint64_t touched, uint64_t stamp,
               std::span<const uint32_t> which, std::span<const IdleChange> changes) override {
    split(keys);
    for (size_t d = 0; d < rows_.size(); ++d) {
      Part& part = parts_[d];
      if (part.keys.empty()) continue;
      renumber(part, which, changes);
      rows_[d]->advance(part.keys, touched, stamp, part.numbers, changes_);
    }
  }

  void read(std::span<const uint64_t> keys, float* weights) override {
    split(keys);
    for (size_t d = 0; d < rows_.size(); ++d) {
      Part& part = parts_[d];
      if (part.keys.empty()) continue;
      part.rows.resize(part.keys.size() * width_);
      rows_[d]->read(part.keys, part.rows.data());
      gather_rows(part, width_, weights);
    }
  }

  // The gradients of a part are gathered in the order of its keys.  Every device applies the same step and
  // scale, so a row gets the same bits on any of them.
  void step(std::span<const uint64_t> keys, uint64_t stamp, const float* gradients,
            const CurrentStep<float>& step, float scale) override {
    split(keys);
    for (size_t d = 0; d < rows_.size(); ++d) {
      Part& part = parts_[d];
      if (part.keys.empty()) continue;
      part.rows.clear();
      for (size_t position : part.positions) {
        const float* const gradient = gradients + position * width_;
        part.rows.insert(part.rows.end(), gradient, gradient + width_);
      }
      rows_[d]->step(part.keys, stamp, part.rows.data(), step, scale);
    }
  }

  // Gives each device the part of [first, first + count) that lies among its own buckets, with its own
  // numbers.
  void copy_buckets(uint32_t first, uint32_t count, StampedRows& out) override {
    out = {};
    for (size_t d = 0; d < rows_.size(); ++d) {
      const uint32_t begin = std::max(first, first_bucket_[d]);
      const uint32_t end = std::min(first + count, first_bucket_[d] + rows_[d]->num_buckets());
      if (begin >= end) continue;
      rows_[d]->copy_buckets(begin - first_bucket_[d], end - begin, some_);
      append(some_, out);
    }
  }

  void clear() override {
    for (const auto& rows_there : rows_) rows_there->clear();
  }

 private:
  // Deals the keys of a call to the parts of their devices.  The order of the keys stays within each part.
  void split(std::span<const uint64_t> keys) {
    for (Part& part : parts_) part.positions.clear(), part.keys.clear();
    for (size_t i = 0; i < keys.size(); ++i) {
      Part& part = parts_[owner_of(keys[i], rows_.size())];
      part.positions.push_back(i);
      part.keys.push_back(keys[i]);
    }
  }

  // to [keys of the call, floats] <- the rows of the part.
  static void gather_rows(const Part& part, size_t floats, float* to) {
    for (size_t i = 0; i < part.positions.size(); ++i) {
      std::copy_n(part.rows.data() + i * floats, floats, to + part.positions[i] * floats);
    }
  }

  // Sets the part's stamps and rows to those that its keys name.  The sources are numbered anew.
  void copy_sources(Part& part, std::span<const uint64_t> stamps, std::span<const uint32_t> sources,
                    std::span<const float> rows) const {
    part.stamps.clear(), part.numbers.clear(), part.rows.clear();
    for (size_t position : part.positions) {
      part.stamps.push_back(stamps[position]);
      const uint32_t source = sources[position];
      part.numbers.push_back(source == kNoSource ? kNoSource
                                                 : static_cast<uint32_t>(part.rows.size() / values_));
      if (source == kNoSource) continue;
      const auto row = rows.begin() + static_cast<ptrdiff_t>(source * values_);
      part.rows.insert(part.rows.end(), row, row + static_cast<ptrdiff_t>(values_));
    }
  }

  // part.numbers, changes_ <- only the changes that the part's keys name, since a device takes at most as many
  // changes as keys.
  void renumber(Part& part, std::span<const uint32_t> which, std::span<const IdleChange> changes) {
    std::vector<uint32_t> new_of(changes.size(), kNoSource);
    part.numbers.clear(), changes_.clear();
    for (size_t position : part.positions) {
      const uint32_t old = which[position];
      if (old != kNoSource && new_of[old] == kNoSource) {
        new_of[old] = static_cast<uint32_t>(changes_.size());
        changes_.push_back(changes[old]);
      }
      part.numbers.push_back(old == kNoSource ? kNoSource : new_of[old]);
    }
  }

  static void append(const StampedRows& some, StampedRows& all) {
    all.keys.insert(all.keys.end(), some.keys.begin(), some.keys.end());
    all.stamps.insert(all.stamps.end(), some.stamps.begin(), some.stamps.end());
    all.rows.insert(all.rows.end(), some.rows.begin(), some.rows.end());
  }

  const std::vector<std::unique_ptr<CachedRows>> rows_;  // by device
  const size_t width_, values_;                          // floats: weights of a row; weights and state
  std::vector<uint32_t> first_bucket_;                   // by device
  uint32_t num_buckets_ = 0;

  // Scratch of a call.
  std::vector<Part> parts_;  // by device
  std::vector<IdleChange> changes_;
  StampedRows some_;
};

}  // namespace

SplitDevice::SplitDevice(std::vector<std::unique_ptr<RowDevice>> devices) : devices_(std::move(devices)) {
  PS_CHECK(!devices_.empty());
}

// Returns the options of one device.  Only the rows are divided, since a call may have all its keys on one
// device.
CachedRowsOptions SplitDevice::part_of(const CachedRowsOptions& options) const {
  CachedRowsOptions part = options;
  part.rows = (options.rows + devices_.size() - 1) / devices_.size();
  return part;
}

// Every device gets the same number of rows, so the device with the least memory sets the limit of all.
// The minimum before the product keeps it from overflowing.
uint64_t SplitDevice::free_bytes() const {
  uint64_t least = UINT64_MAX;
  for (const auto& device : devices_) least = std::min(least, device->free_bytes());
  return std::min(least, UINT64_MAX / devices_.size()) * devices_.size();
}

uint64_t SplitDevice::bytes_for(const CachedRowsOptions& options) const {
  uint64_t bytes = 0;
  for (const auto& device : devices_) bytes += device->bytes_for(part_of(options));
  return bytes;
}

// All devices have equal parts of the bytes, and a row takes as much memory on each, so the first one
// answers for all.
uint64_t SplitDevice::rows_for(uint64_t bytes, const CachedRowsOptions& options) const {
  return devices_[0]->rows_for(bytes / devices_.size(), options) * devices_.size();
}

std::unique_ptr<CachedRows> SplitDevice::make_rows(const CachedRowsOptions& options) {
  std::vector<std::unique_ptr<CachedRows>> rows;
  for (const auto& device : devices_) rows.push_back(device->make_rows(part_of(options)));
  return std::make_unique<SplitRows>(std::move(rows), options);
}

}  // namespace ps
