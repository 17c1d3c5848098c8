#include "bench/pull_push/table_workload.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "bench/pull_push/suite.h"
#include "bench/resident.h"
#include "codec/row_codec.h"

namespace ps {

namespace {

uint64_t scaled(double scale, double full) {
  return static_cast<uint64_t>(std::max(1.0, scale * full));
}

// Returns the number of keys of a set.  At small scales, too, a set is much smaller than the table, unless it
// has all keys.
size_t keys_of_a_set(const BenchSettings& settings, const TableCase& task) {
  uint64_t most = std::max<uint64_t>(1, scaled(settings.scale, task.rows) / 4);
  return std::min(static_cast<uint64_t>(task.keys), task.keys >= task.rows ? 4 * most : most);
}

ServedTableSettings table_settings(const BenchSettings& settings, const TableCase& task) {
  return {.width = task.width,
          .rows = scaled(settings.scale, task.rows),
          .ports = task.ports,
          .optimizer = task.optimizer,
          .type = task.type,
          .link = task.link,
          .local = task.local,
          .tls = task.tls,
          .checkpoints = task.checkpoints,
          .cpu = settings.cpu};
}

// Draws the sets: each has different keys in ascending order.  A set as large as the table has all its
// keys.  `drawn` marks the keys that the set has; a key that is drawn again is skipped.
std::vector<KeyPlan> random_plans(const BenchSettings& settings, const TableCase& task) {
  const uint64_t rows = scaled(settings.scale, task.rows);
  const size_t count = keys_of_a_set(settings, task);
  std::vector<KeyPlan> plans(static_cast<size_t>(task.sets));
  std::vector<bool> drawn(rows);
  uint64_t draw = 0;
  for (KeyPlan& plan : plans) {
    std::fill(drawn.begin(), drawn.end(), false);
    while (plan.keys.size() < count) {
      const uint64_t key = count == rows ? plan.keys.size() : hash_key(++draw) % rows;
      if (!drawn[key]) plan.keys.push_back(key);
      drawn[key] = true;
    }
    std::sort(plan.keys.begin(), plan.keys.end());
  }
  return plans;
}

constexpr size_t kPattern = 16;

// Returns gradients of 16 kinds, so that a trainer need not compute any.  The gradient of a key is the row
// that begins at pattern[key % 16].  Key k therefore has the gradients (k + j) % 16 / 16 - 1/2 for columns
// j: they are multiples of 1/16, whose sums are exact as long as they are small.
std::vector<float> gradient_pattern(int64_t width) {
  std::vector<float> pattern(kPattern + static_cast<size_t>(width));
  for (size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<float>(i % kPattern) / kPattern - 0.5f;
  return pattern;
}

void fill_gradients(const KeyPlan& plan, const std::vector<float>& pattern, float* out) {
  const size_t width = pattern.size() - kPattern;
  for (uint64_t key : plan.keys) out = std::copy_n(pattern.data() + key % kPattern, width, out);
}

}  // namespace

TableWorkload::TableWorkload(const BenchSettings& settings, const TableCase& task)
    : task_(task),
      clock_(settings.clock),
      num_rows_(scaled(settings.scale, task.rows)),
      table_(table_settings(settings, task)),
      plans_(random_plans(settings, task)),
      pattern_(gradient_pattern(task.width)),
      warm_bytes_(served_bytes(settings.scale)) {}

TableWorkload::Section::Section(TableWorkload& workload)
    : workload_(workload),
      wire_start_(workload.table_.shards().wire_bytes()),
      server_start_(workload.table_.shards().cpu_seconds()),
      client_start_(thread_cpu_seconds()),
      start_(workload.clock_()) {}

// Reads in the opposite order of the constructor, the clock first, so that the questions to the shards are
// in neither the time nor the server's processor time of the section.
TableWorkload::Section::~Section() {
  workload_.seconds_ += workload_.clock_() - start_;
  workload_.client_seconds_ += thread_cpu_seconds() - client_start_;
  workload_.server_seconds_ += workload_.table_.shards().cpu_seconds() - server_start_;
  workload_.wire_bytes_ += workload_.table_.shards().wire_bytes() - wire_start_;
}

// Warms free memory, since the system takes it for the messages that it moves.
void TableWorkload::prepare() {
  warm_free_memory(warm_bytes_);
}

void TableWorkload::begin_run() {
  done_ = wire_bytes_ = 0;
  seconds_ = client_seconds_ = server_seconds_ = 0;
}

Work TableWorkload::work() const {
  const double keys = static_cast<double>(done_);
  const double bytes = keys * static_cast<double>(task_.width) * sizeof(float);
  return {.bytes = bytes, .items = keys, .of_limit = bytes};
}

std::vector<Figure> TableWorkload::figures() const {
  const double keys = static_cast<double>(done_);
  const double plain = keys * static_cast<double>(8 + 4 * task_.width);
  return {{kWireShare, static_cast<double>(wire_bytes_) / plain},
          {"trainer CPU ns/key", 1e9 * client_seconds_ / keys},
          {"server CPU ns/key", 1e9 * server_seconds_ / keys}};
}

void TableWorkload::set_gradients(size_t set) {
  fill_gradients(plans_[set], pattern_, views_[0].row_gradients);
}

void TableWorkload::push(size_t set) {
  table_.store().push(plan(set), views_, {.samples = 1, .pass = 0});
  local_steps_.push_back(set);
}

// The table in this process takes the pushed sets in their order.  It is behind until check() asks for it,
// so that its work is not in the time of a run, nor in that of the trainer's thread.
void TableWorkload::apply_local_steps(size_t count) {
  std::vector<ParameterView<float>> views;
  count = std::min(count, local_steps_.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t set = local_steps_[i];
    table_.local().pull(plan(set), PullMode::kTrain, views);
    fill_gradients(plans_[set], pattern_, views[0].row_gradients);
    table_.local().push(plan(set), views, {.samples = 1, .pass = 0});
  }
  local_steps_.erase(local_steps_.begin(), local_steps_.begin() + static_cast<ptrdiff_t>(count));
  num_local_steps_ += count;
}

void TableWorkload::check() {
  if (done_ == 0) fail(Code::kInternal, "no keys went there or back");
  apply_local_steps(local_steps_.size());
  for (size_t set = 0; set < plans_.size(); ++set) expect_local_weights(set);
}

// Compares the rows of a set, bit for bit: `expected` [keys, width] are those of the table in this process,
// coded and decoded as a message would, if messages carry fewer bits than floats.  The same steps in the
// same order give the same bits, whatever way the gradients took.
void TableWorkload::expect_local_weights(size_t set) {
  const std::vector<uint64_t>& keys = plans_[set].keys;
  const size_t width = static_cast<size_t>(task_.width);
  const int64_t rows = static_cast<int64_t>(keys.size());
  std::vector<float> expected(keys.size() * width);
  table_.local().read_rows(0, keys, expected.data());
  if (task_.type != RowType::kF32) {
    std::vector<char> coded(keys.size() * encoded_row_bytes(task_.type, task_.width));
    const RowCodec& codec = row_codec(task_.type, table_.local().cpu());
    codec.encode(expected.data(), rows, task_.width, coded.data());
    codec.decode(coded.data(), rows, task_.width, expected.data());
  }
  std::vector<ParameterView<float>> views;
  table_.store().pull(plan(set), PullMode::kTrain, views);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (std::memcmp(views[0].rows[i], &expected[i * width], width * sizeof(float)) == 0) continue;
    fail(Code::kInternal, "the weights of key ", keys[i], " are not those of a table in one process");
  }
}

}  // namespace ps
