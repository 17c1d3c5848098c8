#include "ps/server/memory_limits.h"

#include <algorithm>

#include "base/error.h"
#include "ps/server/shard_tables.h"

namespace ps {

namespace {

// A message is about 8 MiB long (kMessageBytes), and lies in a buffer that is up to a fifth longer.
constexpr uint64_t kLeastMessages = uint64_t{16} << 20;
constexpr uint64_t kMostMessages = uint64_t{1} << 30;
constexpr int kMessageKinds = 3;

// Bytes taken ahead of need: counting a table's memory costs a microsecond, and this lasts for some 100,000
// rows.
constexpr uint64_t kAhead = uint64_t{8} << 20;

constexpr const char* kWayOut = "; give ps-serve more with --max-memory, or the job more servers";

}  // namespace

// take may have gone beyond the limit.  If another thread has changed used_, the exchange fails and loads
// the new value, for which the limit is checked again.
bool MemoryBudget::try_take(uint64_t bytes) {
  uint64_t used = used_;
  do {
    if (used > max_bytes_ || bytes > max_bytes_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return true;
}

// Three kinds of messages, those that come, wait and are answered, get a sixteenth of a shard's memory
// each.  With little memory the least size of messages may be a larger part, but tables keep at least half
// of all.
ShardLimits share_memory(uint64_t max_bytes, int shards) {
  const uint64_t count = static_cast<uint64_t>(shards);
  ShardLimits limits;
  const uint64_t messages = std::clamp(max_bytes / (16 * count), kLeastMessages, kMostMessages);
  limits.request_bytes = limits.held_bytes = limits.answer_bytes = messages;
  limits.array_bytes = max_bytes / (64 * count);
  const uint64_t all = std::min(kMessageKinds * messages * count, max_bytes / 2);
  limits.tables = std::make_shared<MemoryBudget>(max_bytes - all);
  return limits;
}

uint64_t least_memory_bytes(int shards) {
  return 2 * kMessageKinds * kLeastMessages * static_cast<uint64_t>(shards);
}

TableMemory::TableMemory(std::shared_ptr<MemoryBudget> budget, const DenseBytes& dense)
    : budget_(std::move(budget)), copies_(dense.total) {
  if (dense.total <= UINT64_MAX / 2 && resize(dense.total + copies_)) return;
  const ParameterSpec& worst = *dense.worst;
  fail(Code::kExhausted, "dense parameters need ", human_bytes(dense.total), " (", dense.total,
       " bytes) on this shard, and as much for their copies in a checkpoint; tables have ",
       human_bytes(budget_->used_bytes()), " of ", human_bytes(budget_->max_bytes()), "; the largest, ",
       quote(worst.name), " [", worst.rows, ", ", worst.cols, "] with its optimizer state, needs ",
       human_bytes(dense.largest), kWayOut,
       worst.kind == ParameterKind::kRows
           ? ", or the layer \"sparse_update\": true, which keeps only the rows that are used"
           : "");
}

TableMemory::~TableMemory() {
  budget_->give_back(taken_);
}

// Sets taken_ to `bytes` if the budget has them; else returns false.
bool TableMemory::resize(uint64_t bytes) {
  if (bytes > taken_ && !budget_->try_take(bytes - taken_)) return false;
  if (bytes < taken_) budget_->give_back(taken_ - bytes);
  taken_ = bytes;
  return true;
}

bool TableMemory::set_aside(uint64_t bytes) {
  if (!resize(taken_ - aside_ + bytes)) return false;
  aside_ = bytes;
  return true;
}

// room_ counts down from call to call, without a look at the tables, until it is too small for `most`.
// Then the memory of the tables is counted anew, and more is taken: at first with kAhead for the calls that
// follow, then without it.
//
// Both sizes assume that no key has a row, which needs no look-up.  Only if that does not fit are the keys
// looked up.
void TableMemory::make_room(const ShardTables& tables, std::span<const RowSlice> row_slices) {
  const uint64_t most = tables.row_bytes(row_slices);
  if (most <= room_) return void(room_ -= most);
  const uint64_t used = tables.memory_bytes() + copies_ + aside_;
  if (used > taken_) budget_->take(used - taken_), taken_ = used;
  room_ = 0;
  if (resize(used + most + kAhead)) return void(room_ = kAhead);
  if (resize(used + most)) return;
  const uint64_t needed = tables.missing_row_bytes(row_slices);
  if (resize(used + needed)) return;
  ++refused_;
  fail(Code::kExhausted, "new rows need ", human_bytes(needed), ", tables have ",
       human_bytes(budget_->used_bytes()), " of ", human_bytes(budget_->max_bytes()), kWayOut);
}

}  // namespace ps
