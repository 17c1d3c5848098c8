#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <cstring>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "bench/peers/map_rows.h"
#include "bench/peers/maps.h"

namespace ps {

namespace {

void expect_ok(const rocksdb::Status& status) {
  if (!status.ok()) fail(Code::kInternal, "RocksDB: ", status.ToString());
}

rocksdb::Slice slice_of(const uint64_t& key) {
  return {reinterpret_cast<const char*>(&key), sizeof key};
}

// Half of the memory is for rows that are not written to files yet, half for blocks that were read.  There
// is no log.  The filter spares reads of files that lack a key.
rocksdb::Options options_of(uint64_t memory_bytes) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(memory_bytes / 2);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = memory_bytes / 4;
  options.max_write_buffer_number = 2;
  options.IncreaseParallelism(2);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Rows in RocksDB.  Each batch is one MultiGet and one WriteBatch.  A step reads rows, changes them here
// and writes them back, since the store knows no optimizer.  One owner thread.
class RocksTable final : public RowTable {
 public:
  RocksTable(const std::string& directory, uint64_t memory_bytes) : folder_(directory) {
    rocksdb::DB* database = nullptr;
    expect_ok(rocksdb::DB::Open(options_of(memory_bytes), folder_.path("rows"), &database));
    database_.reset(database);
  }

  void insert(const KeyPlan& plan) override {
    rocksdb::WriteBatch batch;
    const MapRow zeros;
    for (const uint64_t& key : plan.keys) expect_ok(batch.Put(slice_of(key), slice_of_row(zeros)));
    write(batch);
    size_ += plan.keys.size();
  }

  uint64_t find(const KeyPlan& plan) override {
    get(plan);
    return plan.keys.size();
  }

  double sum(const KeyPlan& plan) override {
    float sums[kBenchWidth] = {};
    get(plan);
    for (const rocksdb::PinnableSlice& value : values_) row_of(value).add_to(sums);
    return total(sums);
  }

  void update(const KeyPlan& plan) override {
    rocksdb::WriteBatch batch;
    get(plan);
    for (size_t i = 0; i < values_.size(); ++i) {
      MapRow row = row_of(values_[i]);
      row.step();
      expect_ok(batch.Put(slice_of(plan.keys[i]), slice_of_row(row)));
    }
    write(batch);
  }

  uint64_t size() const override { return size_; }

  float weight(uint64_t key) override {
    std::string value;
    expect_ok(database_->Get({}, slice_of(key), &value));
    return row_of(value).weights[0];
  }

 private:
  static rocksdb::Slice slice_of_row(const MapRow& row) {
    return {reinterpret_cast<const char*>(&row), sizeof row};
  }

  static MapRow row_of(const rocksdb::Slice& value) {
    MapRow row;
    PS_CHECK(value.size() == sizeof row);
    std::memcpy(&row, value.data(), sizeof row);
    return row;
  }

  // Reads the rows of these keys, all of which exist, into values_.
  void get(const KeyPlan& plan) {
    const size_t count = plan.keys.size();
    slices_.clear();
    for (const uint64_t& key : plan.keys) slices_.push_back(slice_of(key));
    values_.clear();
    values_.resize(count);
    statuses_.resize(count);
    database_->MultiGet({}, database_->DefaultColumnFamily(), count, slices_.data(), values_.data(),
                        statuses_.data());
    for (const rocksdb::Status& status : statuses_) expect_ok(status);
  }

  void write(rocksdb::WriteBatch& batch) {
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    expect_ok(database_->Write(options, &batch));
  }

  const TemporaryFolder folder_;
  std::unique_ptr<rocksdb::DB> database_;
  uint64_t size_ = 0;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

}  // namespace

std::unique_ptr<RowTable> make_rocksdb_table(const std::string& directory, uint64_t memory_bytes) {
  return std::make_unique<RocksTable>(directory, memory_bytes);
}

}  // namespace ps
