#include "device/cuda/table_rows.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "device/cuda/cached_table.h"
#include "device/cuda/rows_group.h"
#include "model/cuda/gpu_kernels.h"
#include "table/cuda/device_table.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// Returns the bytes of the arrays of TableRows, without its table.
uint64_t staging_bytes(const CachedRowsOptions& options) {
  // A key has two arrays of 64 bits, its source and its flag, and floats for a row that comes.
  constexpr uint64_t kOfKey = 2 * sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint8_t);
  return options.most_keys * (kOfKey + floats_of_row(options) * sizeof(float)) +
         LeavingRows::bytes_for(options) + RowsGroup::bytes_for(table_options(options));
}

// CachedRows in a DeviceTable.  One owner thread.
class TableRows final : public CachedRows {
 public:
  TableRows(gpu::Stream& stream, RowsGroup& group, const CachedRowsOptions& options)
      : options_(options),
        stream_(stream),
        group_(group),
        table_(stream.device(), stream, table_options(options)),
        keys_(stream.device(), options.most_keys),
        scores_(stream.device(), options.most_keys),
        sources_(stream.device(), options.most_keys),
        found_(stream.device(), options.most_keys),
        rows_(stream.device(), int64_t{options.most_keys} * table_.row_floats()),
        leaving_(stream.device(), options) {
    // The table stays in the group until the destructor removes it, before the table itself is gone.
    group_.add(table_, table_options(options));
  }
  ~TableRows() override { group_.remove(table_); }

  uint32_t num_buckets() const override { return table_.num_buckets(); }
  uint32_t bucket(uint64_t key) const override {
    return device_table::bucket_of_hash(hash_key(key), table_.num_buckets());
  }
  uint32_t most_keys() const override { return options_.most_keys; }

  // The table knows scores, whose low halves are the stamps.
  void look_up(std::span<const uint64_t> keys, uint8_t* found, uint64_t* stamps, float* rows) override {
    const DeviceKeys on_device = send_keys(keys);
    const RowsOut out = leaving_.out();
    table_.find_rows(stream_, on_device, {found_.data(), out.scores, rows != nullptr ? out.rows : nullptr});
    stream_.copy_to_host(found, found_.data(), keys.size());
    stream_.copy_to_host(stamps, out.scores, keys.size() * sizeof(uint64_t));
    if (rows != nullptr) stream_.copy_to_host(rows, out.rows, row_bytes(keys.size()));
    stream_.synchronize();
    keep_stamps(stamps, keys.size());
  }

  // The table never evicts a row whose key is in the same call.  It refuses a key whose score is below
  // those of all other rows of its bucket, which happens only if the caller has broken the rule that enough
  // of these were touched before `touched`.
  void load(std::span<const uint64_t> keys, uint64_t touched, std::span<const uint64_t> stamps,
            std::span<const uint32_t> sources, std::span<const float> rows, StampedRows& evicted) override {
    PS_CHECK(sources.size() == keys.size() && stamps.size() == keys.size() &&
             rows.size() <= static_cast<size_t>(rows_.size()));
    given_.clear();
    for (uint64_t stamp : stamps) given_.push_back(score_of(touched, stamp));
    const DeviceKeys on_device = send_scored_keys(keys);
    stream_.copy_to_device(sources_.data(), sources.data(), sources.size_bytes());
    stream_.copy_to_device(rows_.data(), rows.data(), rows.size_bytes());
    table_.set_step(touched - 1);
    table_.load(stream_, on_device, sources_.data(), rows_.data(), leaving_.out());
    DeviceTableCounts counts;
    table_.copy_counts(stream_, counts);
    receive(evicted);
    PS_CHECK(counts.refused == 0);
  }

  void advance(std::span<const uint64_t> keys, uint64_t touched, uint64_t stamp,
               std::span<const uint32_t> which, std::span<const IdleChange> changes) override {
    const RowsGroup::Advance one[] = {part_of(RowsAdvance{this, keys, touched, stamp, which, changes})};
    group_.advance(one);
  }

  void read(std::span<const uint64_t> keys, float* weights) override {
    const RowsGroup::Read one[] = {part_of(RowsRead{this, keys, weights})};
    group_.read(one);
  }

  void step(std::span<const uint64_t> keys, uint64_t stamp, const float* gradients,
            const CurrentStep<float>& step, float scale) override {
    const RowsStep call{this, keys, stamp, gradients, step, scale};
    const RowsGroup::Step one[] = {part_of(call)};
    group_.step(one);
  }

  // The parts of a call for many tables, which RowsGroup makes.
  RowsGroup::LookUp part_of(const RowsLookUp& part) const {
    return {&table_, part.keys, part.found, part.stamps, part.pointers};
  }
  // The step of a table chooses the random numbers by which its weights are rounded.  It is set here,
  // before the group copies the table's settings for the call.
  RowsGroup::Advance part_of(const RowsAdvance& part) {
    PS_CHECK(part.which.size() == part.keys.size() && part.changes.size() <= part.keys.size());
    table_.set_step(part.stamp);
    return {&table_, part.keys, part.which, part.changes, score_of(part.touched, part.stamp)};
  }
  RowsGroup::Read part_of(const RowsRead& read) const {
    return {&table_, read.keys, read.weights, options_.values_there, read.pointers};
  }
  // The part refers to the step, which must live as long.
  RowsGroup::Step part_of(const RowsStep& step) {
    table_.set_step(step.stamp);
    return {&table_,
            step.keys,
            score_of(step.stamp, step.stamp),
            step.gradients,
            options_.values_there,
            step.step,
            step.scale,
            step.pointers};
  }

  void copy_buckets(uint32_t first, uint32_t count, StampedRows& out_rows) override {
    PS_CHECK(count <= options_.most_keys / kBucketRows);
    table_.export_rows(stream_, first, count, leaving_.out());
    receive(out_rows);
  }

  void clear() override {
    table_.clear(stream_);
    stream_.synchronize();
  }

 private:
  uint64_t row_bytes(size_t rows) const { return rows * table_.row_floats() * sizeof(float); }

  DeviceKeys send_keys(std::span<const uint64_t> keys) {
    PS_CHECK(keys.size() <= options_.most_keys);
    stream_.copy_to_device(keys_.data(), keys.data(), keys.size_bytes());
    return {keys_.data(), static_cast<int64_t>(keys.size())};
  }

  // Sends the keys with the scores in given_.
  DeviceKeys send_scored_keys(std::span<const uint64_t> keys) {
    stream_.copy_to_device(scores_.data(), given_.data(), given_.size() * sizeof(uint64_t));
    DeviceKeys sent = send_keys(keys);
    sent.scores = scores_.data();
    return sent;
  }

  void receive(StampedRows& rows) {
    const LeavingThere there[] = {{&stream_, &leaving_}};
    receive_rows(there, rows);
  }

  const CachedRowsOptions options_;
  gpu::Stream& stream_;
  RowsGroup& group_;
  DeviceTable table_;
  gpu::DeviceArray<uint64_t> keys_, scores_;
  gpu::DeviceArray<uint32_t> sources_;
  gpu::DeviceArray<uint8_t> found_;
  gpu::DeviceArray<float> rows_;
  LeavingRows leaving_;
  std::vector<uint64_t> given_;  // scores that are being sent to the device
};

// A device with tables, of its own or of a model.  One owner thread.
class TableDevice final : public RowDevice {
 public:
  explicit TableDevice(std::unique_ptr<gpu::Device> device)
      : device_(std::move(device)),
        own_stream_(std::make_unique<gpu::Stream>(*device_)),
        stream_(*own_stream_),
        group_(stream_) {}
  explicit TableDevice(std::shared_ptr<ModelDevice> model)
      : model_(std::move(model)), stream_(*stream_of(*model_)), group_(stream_) {}

  uint64_t free_bytes() const override { return stream_.device().memory().free_bytes; }
  uint64_t bytes_for(const CachedRowsOptions& options) const override {
    return DeviceTable::bytes_for(table_options(options)) + staging_bytes(options);
  }
  uint64_t rows_for(uint64_t bytes, const CachedRowsOptions& options) const override {
    const uint64_t staging = staging_bytes(options);
    return bytes < staging ? 0 : DeviceTable::rows_for(bytes - staging, table_options(options));
  }
  bool gives_pointers(const CachedRowsOptions& options) const override {
    return options.values_there && options.rounding.type == ValueType::kF32;
  }
  std::unique_ptr<CachedRows> make_rows(const CachedRowsOptions& options) override {
    return std::make_unique<TableRows>(stream_, group_, options);
  }

  void look_up_all(std::span<const RowsLookUp> look_ups) override {
    group_.look_up(parts_of<RowsGroup::LookUp>(look_ups));
    for (const RowsLookUp& look_up : look_ups) keep_stamps(look_up.stamps, look_up.keys.size());
  }
  void advance_all(std::span<const RowsAdvance> advances) override {
    group_.advance(parts_of<RowsGroup::Advance>(advances));
  }
  void read_all(std::span<const RowsRead> reads) override { group_.read(parts_of<RowsGroup::Read>(reads)); }
  void step_all(std::span<const RowsStep> steps) override { group_.step(parts_of<RowsGroup::Step>(steps)); }

 private:
  // Returns the parts of the group's call.  All rows of this device are TableRows, since make_rows makes no
  // others.
  template <class Part, class Call>
  static std::vector<Part> parts_of(std::span<const Call> calls) {
    std::vector<Part> parts;
    for (const Call& call : calls) parts.push_back(dynamic_cast<TableRows&>(*call.rows).part_of(call));
    return parts;
  }

  // Null, like own_stream_, if device and stream are those of the model.
  const std::unique_ptr<gpu::Device> device_;
  const std::unique_ptr<gpu::Stream> own_stream_;
  const std::shared_ptr<ModelDevice> model_;  // null: the device has no model
  gpu::Stream& stream_;
  RowsGroup group_;
};

}  // namespace

std::unique_ptr<RowDevice> make_table_device(std::unique_ptr<gpu::Device> device) {
  return std::make_unique<TableDevice>(std::move(device));
}

std::unique_ptr<RowDevice> make_table_device(std::shared_ptr<ModelDevice> model) {
  if (stream_of(*model) == nullptr) return nullptr;
  return std::make_unique<TableDevice>(std::move(model));
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
