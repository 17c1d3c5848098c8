#include "table/cuda/table_group.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "table/cuda/batch_launches.h"
#include "table/cuda/group_kernels.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

using device_table::TablePart;

// Numbers of single values of 32 bits in scratch memory: two for each table, then one for each rule, then
// one.
constexpr uint32_t kOfTable = 2, kRules = std::variant_size_v<AnyStep<float>>;

// The number of keys of a table, on average, below which blocks have one warp: most threads of larger blocks
// would have no work.
constexpr uint64_t kFewKeys = 64;  // of a table, on average

uint64_t most_keys_of(const std::vector<DeviceTable*>& tables, auto most_of) {
  uint64_t keys = 0;
  for (const DeviceTable* table : tables) keys += most_of(*table);
  return keys;
}

template <class Call>
uint64_t keys_of(std::span<const Call> calls) {
  uint64_t keys = 0;
  for (const Call& call : calls) keys += static_cast<uint64_t>(call.keys.size);
  return keys;
}

}  // namespace

uint64_t TableGroup::bytes_for(const DeviceTableOptions& options) {
  constexpr uint64_t kOfKey =
      device_table::kWideArrays * sizeof(uint64_t) + device_table::kArrays * sizeof(uint32_t);
  constexpr uint64_t kOfSingles = (kOfTable + kRules + 2) * sizeof(uint32_t);  // begins has one more
  return options.max_batch * kOfKey + kOfSingles + sizeof(TablePart) + sizeof(DeviceTableCounts*) +
         sizeof(DeviceTableCounts);
}

// Scratch memory has one set of arrays for all tables, with room for the largest calls of all of them
// together.  The addresses of the tables' counts never change, so they are sent to the device here, once.
TableGroup::TableGroup(gpu::Device& device, gpu::Stream& stream, std::vector<DeviceTable*> tables)
    : tables_(std::move(tables)),
      most_keys_(most_keys_of(tables_, [](const DeviceTable& table) { return table.options_.max_batch; })),
      host_memory_(device),
      host_counts_(host_memory_, std::ssize(tables_)),
      workspace_(device),
      parts_(device, std::ssize(tables_)),
      wide_scratch_(device, static_cast<int64_t>(device_table::kWideArrays * most_keys_)),
      scratch_(device, static_cast<int64_t>(device_table::kArrays * most_keys_ + tables_.size())),
      singles_(device, static_cast<int64_t>((kOfTable + kRules + 1) * tables_.size())),
      counts_of_tables_(device, std::ssize(tables_)),
      counts_(device, std::ssize(tables_)),
      long_runs_(device),
      rows_ready_(device),
      long_runs_done_(device) {
  if (tables_.empty() || most_keys_ > 1u << 31) {
    fail(Code::kInternal, "device tables: a group of ", tables_.size(), " tables and ", most_keys_, " keys");
  }
  for (auto& sent : sent_) sent = std::make_unique<Sent>(device, host_memory_, parts_.size());
  for (size_t t = 0; t < tables_.size(); ++t) host_counts_.data()[t] = tables_[t]->counts_.data();
  stream.copy_to_device(counts_of_tables_.data(), host_counts_.data(), host_counts_.bytes());
}

// ---- the parts of a call

// Begins a call.  The host memory of the call before the last is free once it has been copied.
void TableGroup::begin(size_t calls, uint64_t keys) {
  if (calls != tables_.size() || keys > most_keys_) {
    fail(Code::kInternal, "device tables: calls of ", calls, " tables with ", keys, " keys, expected ",
         tables_.size(), " with at most ", most_keys_);
  }
  // Two sets of host memory are used by turns: while one is copied, the next call fills the other.
  Sent& sent = *sent_[num_calls_++ % sent_.size()];
  sent.copied.synchronize();
  host_parts_ = sent.parts.data();
  num_parts_ = num_blocks_ = num_keys_ = 0;
  threads_ = keys < kFewKeys * tables_.size() ? gpu::kWarpSize : device_table::kThreads;
  evicts_ = false;
  table_bits_ = static_cast<uint32_t>(std::bit_width(tables_.size() - 1));
}

// Adds the part of a table, and returns it; returns null if it has no keys.  The part gets its place in the
// scratch memory behind the parts before it, the settings of its table, and the numbers of its first key and
// block.
TablePart* TableGroup::add(gpu::Stream& stream, size_t number, DeviceKeys keys, const RowsOut& evicted) {
  DeviceTable& table = *tables_[number];
  if (keys.size == 0) {
    if (evicted.count != nullptr) stream.fill(evicted.count, 0, sizeof(uint32_t));
    return nullptr;
  }
  table.check(keys, static_cast<int64_t>(most_keys_ - num_keys_));
  Part& part = host_parts_[num_parts_];
  part = {};
  part.rows = table.view_;
  part.batch =
      device_table::batch_in(wide_scratch_.data(), scratch_.data(), most_keys_, num_keys_, num_parts_);
  part.batch.mixed -= num_keys_;  // one list for all parts
  part.batch.keys = keys.keys;
  part.batch.scores = keys.scores;
  part.batch.size = static_cast<uint32_t>(keys.size);
  part.batch.first = part.first_key = num_keys_;
  part.batch.table_bits = table_bits_;
  // The number of the part is in the highest bits of the prefixes of its keys, so that one sort orders the
  // keys of all parts, those of a part next to each other.
  part.batch.first_prefix = table_bits_ == 0 ? 0 : num_parts_ << (32 - table_bits_);
  part.batch.num_runs = singles_.data() + kOfTable * num_parts_;
  part.batch.any_missing = part.batch.num_runs + 1;
  part.batch.num_long_runs = singles_.data() + kOfTable * tables_.size();  // for parts without a step
  part.batch.long_runs = host_parts_[0].batch.long_runs;
  part.batch.num_mixed = singles_.data() + (kOfTable + kRules) * tables_.size();
  part.scoring = {table.options_.score, table.num_calls_};
  part.initial = device_table::initial_of(table.options_.initializer);
  part.initial_state = table.options_.initial_state;
  part.evicted = evicted;
  part.first_block = num_blocks_;
  num_blocks_ += gpu::blocks_for(part.batch.size, threads_);
  num_keys_ += part.batch.size;
  evicts_ = evicts_ || evicted.count != nullptr;
  ++num_parts_;
  return &part;
}

void TableGroup::send(gpu::Stream& stream) {
  stream.copy_to_device(parts_.data(), host_parts_, num_parts_ * sizeof(Part));
  stream.record(sent_[(num_calls_ - 1) % sent_.size()]->copied);
}

template <class Body>
void TableGroup::run(gpu::Stream& stream, const Body& body) {
  gpu::launch(device_table::run_group<Body>, num_blocks_, threads_, 0, stream,
              device_table::Parts{parts_.data(), num_parts_}, body);
}

// ---- calls

// Does the work of DeviceTable::prepare for all parts.  Their keys are sorted together, by prefixes that
// begin with the part's number.
void TableGroup::prepare(gpu::Stream& stream) {
  const device_table::Batch all = batch_of_all();
  stream.fill(singles_.data(), 0, singles_.bytes());
  run(stream, device_table::HashKeys());
  gpu::sort_pairs<uint32_t>(stream, workspace_,
                            {all.prefixes, all.order, all.sorted_prefixes, all.positions, num_keys_});
  stream.fill(all.runs_before, 0, uint64_t{num_keys_} * sizeof(uint32_t));
  run(stream, device_table::CompleteHashes());
  gpu::launch(device_table::order_mixed,
              device_table::blocks_for_some(num_keys_ / device_table::kKeysOfMixed), threads_, 0, stream,
              all);
  run(stream, device_table::MarkRuns());
  gpu::exclusive_scan(stream, workspace_, all.runs_before, all.runs_before, num_keys_);
  run(stream, device_table::ListRuns());
  if (evicts_) stream.fill(all.evicted_flags, 0, uint64_t{num_keys_} * sizeof(uint32_t));
  run(stream, device_table::FindRuns());
  run(stream, device_table::ClaimSlots());
  if (evicts_) {
    gpu::exclusive_scan(stream, workspace_, all.evicted_flags, all.evicted_positions, num_keys_);
  }
  run(stream, device_table::CountOutcomes());
  if (evicts_) run(stream, device_table::SaveEvicted());
  run(stream, device_table::StartRows());
}

// Returns the sorted keys of all parts as one batch.  Positions with equal prefixes are of the same part.
device_table::Batch TableGroup::batch_of_all() const {
  device_table::Batch all = device_table::batch_in(wide_scratch_.data(), scratch_.data(), most_keys_, 0, 0);
  all.size = num_keys_;
  all.num_mixed = singles_.data() + (kOfTable + kRules) * tables_.size();
  return all;
}

// Adds the part of a table whose call makes no rows, so that its keys need no scores.
TablePart* TableGroup::add_present(gpu::Stream& stream, size_t number, DeviceKeys keys) {
  if (keys.scores == nullptr) keys.scores = keys.keys;
  return add(stream, number, keys, {});
}

void TableGroup::find(gpu::Stream& stream, std::span<const TableFind> calls) {
  begin(calls.size(), keys_of(calls));
  for (size_t t = 0; t < calls.size(); ++t) {
    Part* const part = add_present(stream, t, calls[t].keys);
    if (part == nullptr) continue;
    part->found = calls[t].found;
    part->weights = calls[t].weights;
    part->row_pointers = calls[t].row_pointers;
    if (part->row_pointers != nullptr) tables_[t]->check_floats();
  }
  if (num_parts_ == 0) return;
  send(stream);
  run(stream, device_table::FindWeights());
}

void TableGroup::look_up(gpu::Stream& stream, std::span<const TableLookUp> calls) {
  begin(calls.size(), keys_of(calls));
  for (size_t t = 0; t < calls.size(); ++t) {
    Part* const part = add_present(stream, t, calls[t].keys);
    if (part == nullptr) continue;
    part->found = calls[t].found;
    part->scores = calls[t].scores;
    part->row_pointers = calls[t].row_pointers;
    if (part->row_pointers != nullptr) tables_[t]->check_floats();
  }
  if (num_parts_ == 0) return;
  send(stream);
  run(stream, device_table::FindScores());
}

// No row is made or moved, so the keys are not sorted; they must be distinct.
void TableGroup::advance(gpu::Stream& stream, std::span<const TableAdvance> calls) {
  begin(calls.size(), keys_of(calls));
  for (size_t t = 0; t < calls.size(); ++t) {
    Part* const part = add_present(stream, t, calls[t].keys);
    if (part == nullptr) continue;
    part->which = calls[t].which;
    part->changes = calls[t].changes;
    part->score = calls[t].score;
  }
  if (num_parts_ == 0) return;
  send(stream);
  run(stream, device_table::AdvanceRows());
}

// All tables count the call, also those without keys, since the number of calls is a score for eviction and
// must not depend on the group.
void TableGroup::pull(gpu::Stream& stream, std::span<const TablePull> calls) {
  begin(calls.size(), keys_of(calls));
  for (size_t t = 0; t < calls.size(); ++t) {
    ++tables_[t]->num_calls_;
    Part* const part = add(stream, t, calls[t].keys, calls[t].evicted);
    if (part != nullptr) part->weights = calls[t].weights;
  }
  if (num_parts_ == 0) return;
  send(stream);
  prepare(stream);
  run(stream, device_table::ReadWeights());
}

namespace {

// Returns the numbers of calls in an order in which those whose steps have the same rule follow each other.  The sort is stable,
// so that those of a rule are in the order of the tables.
template <class Call>
std::vector<size_t> order_by_rule(std::span<const Call> calls) {
  std::vector<size_t> order(calls.size());
  for (size_t t = 0; t < order.size(); ++t) order[t] = t;
  std::ranges::stable_sort(order, {}, [&](size_t t) { return calls[t].step.index(); });
  return order;
}

// Calls `body` with a step of the AnyStep alternative with this index.
template <size_t kIndex = 1, class Body>
void with_rule(uint32_t index, const Body& body) {
  if constexpr (kIndex < kRules) {
    if (index == kIndex) return body(std::variant_alternative_t<kIndex, AnyStep<float>>());
    with_rule<kIndex + 1>(index, body);
  }
}

}  // namespace

void TableGroup::push(gpu::Stream& stream, std::span<const TablePush> calls) {
  begin(calls.size(), keys_of(calls));
  for (size_t t : order_by_rule(calls)) {
    if (calls[t].step.index() != 0) ++tables_[t]->num_calls_;
    add_step(stream, t, calls[t].keys, calls[t].evicted, calls[t]);
  }
  if (num_parts_ == 0) return;
  const std::vector<OfRule> rules = step_rules();
  send(stream);
  prepare(stream);
  for (const OfRule& rule : rules) {
    with_rule(rule.rule,
              [&](const auto& step) { launch_steps<std::remove_cvref_t<decltype(step)>>(stream, rule); });
  }
}

// The step's parameters go to the part as bytes, since kernels are compiled for each rule and read them as
// its type.  A step that needs more arrays of state than the table's rows have is refused.  Returns null if there is nothing
// to do.
template <class Call>
TablePart* TableGroup::add_step(gpu::Stream& stream, size_t number, DeviceKeys keys, const RowsOut& evicted,
                                const Call& call) {
  if (call.step.index() == 0) keys.size = 0;
  Part* const part = add(stream, number, keys, evicted);
  if (part == nullptr) return nullptr;
  part->gradients = call.gradients;
  part->rule = static_cast<uint32_t>(call.step.index());
  part->scale = call.scale;
  part->bound = call.bound;
  part->batch.num_long_runs = singles_.data() + kOfTable * tables_.size() + part->rule;
  const auto keep = [&](const auto& step) {
    using Step = std::remove_cvref_t<decltype(step)>;
    if constexpr (!std::is_same_v<Step, std::monostate>) {
      if (Step::kArrays > static_cast<int>(tables_[number]->options_.arrays)) {
        fail(Code::kInternal, "device table: a step with ", Step::kArrays, " arrays of state, rows have ",
             tables_[number]->options_.arrays);
      }
      std::memcpy(part->step, &step, sizeof step);
    }
  };
  std::visit(keep, call.step);
  return part;
}

// Returns the parts of each rule, and gives them the numbers of their blocks.
std::vector<TableGroup::OfRule> TableGroup::step_rules() {
  std::vector<OfRule> rules;
  for (uint32_t p = 0; p < num_parts_; ++p) {
    Part& part = host_parts_[p];
    if (p == 0 || part.rule != host_parts_[p - 1].rule) rules.push_back({part.rule, p});
    OfRule& rule = rules.back();
    rule.end = p + 1;
    part.first_step_block = rule.step_blocks;
    const uint64_t threads = part.stepped_rows != nullptr ? part.row_threads : gpu::kWarpSize;
    rule.step_blocks += gpu::blocks_for(part.batch.size * threads, threads_);
    // The long runs of all parts of a rule are in one list, which lies where the list of the first part would
    // lie.
    part.batch.long_runs = host_parts_[0].batch.long_runs + host_parts_[rule.begin].first_key;
    // A part with few keys has no long run, so it needs no blocks for them.
    if (part.batch.size <= device_table::kLongRun) continue;
    rule.long_keys += part.batch.size;
    rule.tiles =
        std::max(rule.tiles, (part.rows.width + device_table::kTileColumns - 1) / device_table::kTileColumns);
  }
  return rules;
}

// Neither keys nor their scores are read: the part has another array in the place of scores, as in add_present.
void TableGroup::step(gpu::Stream& stream, std::span<const TableStep> calls) {
  uint64_t rows = 0;
  for (const TableStep& call : calls) rows += static_cast<uint64_t>(call.size);
  begin(calls.size(), rows);
  for (size_t t : order_by_rule(calls)) {
    const TableStep& call = calls[t];
    Part* const part = add_step(stream, t, {nullptr, call.size, wide_scratch_.data()}, {}, call);
    if (part == nullptr) continue;
    tables_[t]->check_floats();
    PS_CHECK(tables_[t]->options_.score == EvictionScore::kGiven);
    const uint32_t width = part->rows.width;
    const bool by_fours = width % 4 == 0 && reinterpret_cast<uintptr_t>(call.gradients) % 16 == 0;
    part->stepped_rows = call.row_pointers;
    part->score = call.score;
    part->row_threads = by_fours ? width / 4 : width;
  }
  if (num_parts_ == 0) return;
  const std::vector<OfRule> rules = step_rules();
  send(stream);
  for (const OfRule& rule : rules) {
    with_rule(rule.rule, [&](const auto& step) {
      gpu::launch(device_table::step_group_pointed<std::remove_cvref_t<decltype(step)>>, rule.step_blocks,
                  threads_, 0, stream,
                  device_table::Parts{parts_.data() + rule.begin, rule.end - rule.begin});
    });
  }
}

// A few blocks add up the long runs, tile by tile of their columns, on a stream of their own, while the
// main stream steps all other rows.  rows_ready_ makes that stream wait for the rows of the batch, and
// long_runs_done_ makes the main stream wait for it.
template <class Step>
void TableGroup::launch_steps(gpu::Stream& stream, const OfRule& rule) {
  const device_table::Parts parts = {parts_.data() + rule.begin, rule.end - rule.begin};
  if (rule.long_keys > 0) {
    stream.record(rows_ready_);
    long_runs_.wait(rows_ready_);
    gpu::launch(device_table::step_group_long_runs<Step>,
                device_table::blocks_for_some(rule.long_keys / device_table::kLongRun),
                device_table::kStepThreads, device_table::kStepBytes, long_runs_, parts, rule.tiles);
    long_runs_.record(long_runs_done_);
  }
  gpu::launch(device_table::step_group_rows<Step>, rule.step_blocks, threads_, 0, stream, parts);
  if (rule.long_keys > 0) stream.wait(long_runs_done_);
}

void TableGroup::copy_counts(gpu::Stream& stream, DeviceTableCounts* counts) {
  device_table::run_threads(device_table::gather_counts, tables_.size(), stream, counts_of_tables_.data(),
                            static_cast<uint32_t>(tables_.size()), counts_.data());
  stream.copy_to_host(counts, counts_.data(), counts_.bytes());
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
