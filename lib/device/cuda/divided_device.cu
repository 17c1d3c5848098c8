#include "device/cuda/divided_device.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "device/cuda/divided_group.h"
#include "model/cuda/gpu_kernels.h"
#include "table/cuda/device_table.h"
#include "table/cuda/key_split.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// The rows of one parameter on all devices.  The buckets of all devices have numbers in one row: those of device d begin
// at first_bucket_[d].  One owner thread.
class DividedRows final : public CachedRows {
 public:
  // `options` are those of each device.
  DividedRows(DividedGroup& group, const CachedRowsOptions& options) : group_(group), options_(options) {
    std::vector<DeviceTable*> all;
    leaving_.reserve(group.num_places());  // they stay where they are: their arrays point into them
    for (size_t p = 0; p < group.num_places(); ++p) {
      gpu::Stream& stream = group.stream(p);
      tables_.push_back(std::make_unique<DeviceTable>(stream.device(), stream, table_options(options)));
      leaving_.emplace_back(stream.device(), options);
      all.push_back(tables_.back().get());
      first_bucket_.push_back(num_buckets_);
      num_buckets_ += tables_.back()->num_buckets();
    }
    // The tables stay in the group until the destructor removes them, before they themselves are gone.
    group_.add(*this, options, std::move(all));
  }
  ~DividedRows() override { group_.remove(*this); }

  uint32_t num_buckets() const override { return num_buckets_; }
  uint32_t bucket(uint64_t key) const override {
    const uint32_t p = KeySplit::owner_of(key, static_cast<uint32_t>(tables_.size()));
    return first_bucket_[p] + device_table::bucket_of_hash(hash_key(key), tables_[p]->num_buckets());
  }
  uint32_t most_keys() const override { return options_.most_keys; }

  void look_up(std::span<const uint64_t> keys, uint8_t* found, uint64_t* stamps, float* rows) override {
    const RowsLookUp one = {this, keys, found, stamps};
    rows == nullptr ? group_.look_up({&one, 1}) : group_.look_up_rows(one, rows);
  }
  void load(std::span<const uint64_t> keys, uint64_t touched, std::span<const uint64_t> stamps,
            std::span<const uint32_t> sources, std::span<const float> rows, StampedRows& evicted) override {
    group_.load({this, keys, touched, stamps, sources, rows}, leaving_, evicted);
  }
  void advance(std::span<const uint64_t> keys, uint64_t touched, uint64_t stamp,
               std::span<const uint32_t> which, std::span<const IdleChange> changes) override {
    const RowsAdvance one = {this, keys, touched, stamp, which, changes};
    group_.advance({&one, 1});
  }
  void read(std::span<const uint64_t> keys, float* weights) override {
    const RowsRead one = {this, keys, weights};
    group_.read({&one, 1});
  }
  void step(std::span<const uint64_t> keys, uint64_t stamp, const float* gradients,
            const CurrentStep<float>& step, float scale) override {
    const RowsStep one = {this, keys, stamp, gradients, step, scale};
    group_.step({&one, 1});
  }

  // Gives each device the part of [first, first + count) that lies among its own buckets, with its own
  // numbers.
  void copy_buckets(uint32_t first, uint32_t count, StampedRows& out) override {
    PS_CHECK(count > 0 && count <= options_.most_keys / kBucketRows);
    std::vector<LeavingThere> there;
    for (size_t p = 0; p < tables_.size(); ++p) {
      const uint32_t begin = std::max(first, first_bucket_[p]);
      const uint32_t end = std::min(first + count, first_bucket_[p] + tables_[p]->num_buckets());
      if (begin >= end) continue;
      tables_[p]->export_rows(group_.stream(p), begin - first_bucket_[p], end - begin, leaving_[p].out());
      there.push_back({&group_.stream(p), &leaving_[p]});
    }
    receive_rows(there, out);
  }

  void clear() override {
    for (size_t p = 0; p < tables_.size(); ++p) tables_[p]->clear(group_.stream(p));
    for (size_t p = 0; p < tables_.size(); ++p) group_.stream(p).synchronize();
  }

 private:
  DividedGroup& group_;
  const CachedRowsOptions options_;
  std::vector<std::unique_ptr<DeviceTable>> tables_;  // by device, like the next two
  std::vector<LeavingRows> leaving_;
  std::vector<uint32_t> first_bucket_;
  uint32_t num_buckets_ = 0;
};

// One owner thread.
class DividedDevice final : public RowDevice {
 public:
  // `model` is on the first device, or null.
  DividedDevice(std::vector<std::shared_ptr<gpu::Device>> devices, std::shared_ptr<ModelDevice> model)
      : model_(std::move(model)),
        group_(std::move(devices), model_ == nullptr ? nullptr : stream_of(*model_)) {}

  // All devices have equal parts of the bytes, and the first also has the call as the host gives it: it sets the limit of
  // all, so that both functions below count the call for each.
  //
  // Returns as many bytes as can be divided equally.  The minimum before the product keeps it from overflowing.
  uint64_t free_bytes() const override {
    return std::min(group_.least_free_bytes(), UINT64_MAX / places()) * places();
  }

  uint64_t bytes_for(const CachedRowsOptions& options) const override {
    const uint64_t beside = beside_table(options) + DividedGroup::bytes_in_front(options, places());
    return (DeviceTable::bytes_for(table_options(part_of(options))) + beside) * places();
  }

  uint64_t rows_for(uint64_t bytes, const CachedRowsOptions& options) const override {
    const uint64_t part = bytes / places();
    const uint64_t beside = beside_table(options) + DividedGroup::bytes_in_front(options, places());
    return part < beside ? 0 : DeviceTable::rows_for(part - beside, table_options(options)) * places();
  }

  std::unique_ptr<CachedRows> make_rows(const CachedRowsOptions& options) override {
    PS_CHECK(!options.values_there || model_ != nullptr);
    return std::make_unique<DividedRows>(group_, part_of(options));
  }

  void look_up_all(std::span<const RowsLookUp> look_ups) override { group_.look_up(look_ups); }
  void advance_all(std::span<const RowsAdvance> advances) override { group_.advance(advances); }
  void read_all(std::span<const RowsRead> reads) override { group_.read(reads); }
  void step_all(std::span<const RowsStep> steps) override { group_.step(steps); }

 private:
  uint64_t places() const { return group_.num_places(); }

  static uint64_t beside_table(const CachedRowsOptions& options) {
    return LeavingRows::bytes_for(options) + DividedGroup::bytes_at_place(options);
  }

  // Returns the options of one device.  Only the rows are divided, since a call may have all its keys on one
  // device.
  CachedRowsOptions part_of(const CachedRowsOptions& options) const {
    CachedRowsOptions part = options;
    part.rows = (options.rows + places() - 1) / places();
    return part;
  }

  const std::shared_ptr<ModelDevice> model_;
  DividedGroup group_;
};

}  // namespace

std::unique_ptr<RowDevice> make_divided_device(std::vector<std::shared_ptr<gpu::Device>> devices) {
  return std::make_unique<DividedDevice>(std::move(devices), nullptr);
}

std::unique_ptr<RowDevice> make_divided_device(std::shared_ptr<ModelDevice> model,
                                               std::vector<std::shared_ptr<gpu::Device>> others) {
  gpu::Stream* const stream = stream_of(*model);
  if (stream == nullptr) return nullptr;
  others.insert(others.begin(), std::shared_ptr<gpu::Device>(model, &stream->device()));
  return std::make_unique<DividedDevice>(std::move(others), std::move(model));
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
