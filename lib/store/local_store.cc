#include "store/local_store.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "base/error.h"
#include "math/exact_squares.h"
#include "store/array_bound.h"
#include "store/table_checkpoint.h"
#include "table/table_partition.h"

namespace ps {

struct LocalStore::Holder {
  TableLayout layout() const { return sparse ? layout_of(spec, *sparse) : layout_of(spec, *dense); }
  Optimizer<float>* optimizer() const { return sparse ? &sparse->optimizer() : dense->optimizer(); }

  ParameterSpec spec;
  std::unique_ptr<SparseTable> sparse;  // exactly one of the two
  std::unique_ptr<DenseTable> dense;

  std::vector<float*> rows;      // of the last pull, when reached by ids
  std::vector<float> copies;     // what kRead gives
  std::vector<float> gradients;  // [N, cols] or [rows, cols]
};

namespace {

std::string shape_text(const ParameterSpec& spec) {
  return cat(quote(spec.name), " [", spec.rows, ", ", spec.cols, "]");
}

// Refuses dense parameters that do not fit, before any is made.
void check_memory(const std::vector<ParameterSpec>& parameters, const OptimizerPlan& optimizers,
                  uint64_t limit) {
  uint64_t total = 0, largest = 0;
  const ParameterSpec* worst = nullptr;
  for (const ParameterSpec& spec : parameters) {
    if (spec.sparse) continue;
    int arrays = spec.kind == ParameterKind::kStatistic ? 0 : optimizers.make(spec.tuning)->state_arrays();
    if (spec.kind == ParameterKind::kMatrix) ++arrays;  // its gradient
    uint64_t bytes = DenseTable::bytes_needed(spec.rows, spec.cols, arrays);
    total = bytes > UINT64_MAX - total ? UINT64_MAX : total + bytes;
    if (bytes > largest) largest = bytes, worst = &spec;
  }
  if (total <= limit) return;
  fail(Code::kExhausted, "dense parameters need ", human_bytes(total), " (", total, " bytes), ",
       human_bytes(limit), " (", limit, " bytes) are available; the largest, ", shape_text(*worst),
       " with its optimizer state, needs ", human_bytes(largest),
       worst->kind == ParameterKind::kRows
           ? "; \"sparse_update\": true in its layer keeps only the rows that are used, and would make it fit"
           : "");
}

double square_sum(const float* values, int64_t count, ThreadPool& pool) {
  constexpr int64_t kBlock = 16384;
  std::vector<ExactSquares> sums(static_cast<size_t>((count + kBlock - 1) / kBlock));
  pool.for_each(count, kBlock, [&](int64_t begin, int64_t end) {
    sums[static_cast<size_t>(begin / kBlock)].add(values + begin, end - begin);
  });
  ExactSquares total;
  for (const ExactSquares& sum : sums) total.add(sum);
  return total.value();
}

}  // namespace

LocalStore::LocalStore(const std::vector<ParameterSpec>& parameters, const OptimizerPlan& optimizers,
                       uint64_t memory_limit, ThreadPool& pool)
    : pool_(pool),
      optimizers_(optimizers),
      memory_limit_(memory_limit),
      clipping_(parameters, optimizers),
      rule_(optimizers.step_rule()) {
  check_memory(parameters, optimizers, memory_limit);
  for (const ParameterSpec& spec : parameters) holders_.emplace_back().spec = spec;
  make_tables();
}

// Those that are there go first: there may not be memory for both.
void LocalStore::make_tables() {
  for (Holder& holder : holders_) {
    holder.sparse.reset();
    holder.dense.reset();
  }
  rule_ = optimizers_.step_rule();
  uint64_t array_budget = memory_limit_ / 64;
  for (Holder& holder : holders_) {
    const ParameterSpec& spec = holder.spec;
    std::unique_ptr<Optimizer<float>> optimizer;
    if (spec.kind != ParameterKind::kStatistic) optimizer = optimizers_.make(spec.tuning);
    if (spec.sparse) {
      const uint64_t bound = array_bound(spec, optimizer->state_arrays(), array_budget);
      holder.sparse = std::make_unique<SparseTable>(spec.cols, bound, spec.initializer, std::move(optimizer),
                                                    spec.row_policy);
    } else {
      holder.dense =
          std::make_unique<DenseTable>(spec.rows, spec.cols, spec.initializer, std::move(optimizer), pool_);
    }
  }
}

LocalStore::~LocalStore() = default;

void LocalStore::pull(std::span<const KeyPlan> plans, PullMode mode,
                      std::vector<ParameterView<float>>& views) {
  views.assign(holders_.size(), {});
  for (size_t p = 0; p < holders_.size(); ++p) {
    Holder& holder = holders_[p];
    bool by_ids = holder.spec.kind == ParameterKind::kRows;
    if (by_ids && holder.sparse) {
      if (mode == PullMode::kTrain) {
        holder.sparse->pull(plans[p], pool_, holder.rows);
      } else {
        holder.sparse->read(plans[p], pool_, holder.copies, holder.rows);
      }
    } else if (by_ids) {
      if (mode == PullMode::kTrain) {
        holder.dense->pull_rows(plans[p], holder.rows);
      } else {
        holder.dense->read_rows(plans[p], holder.copies, holder.rows);
      }
    } else if (mode == PullMode::kRead && holder.spec.kind == ParameterKind::kMatrix) {
      holder.copies.resize(static_cast<size_t>(holder.spec.rows * holder.spec.cols));
      holder.dense->read(holder.copies.data(), pool_);
      views[p].value = holder.copies.data();
    } else {
      views[p].value = holder.dense->values();
    }
    if (by_ids) views[p].rows = holder.rows.data();
    if (mode != PullMode::kTrain || holder.spec.kind == ParameterKind::kStatistic) continue;
    size_t rows = by_ids ? plans[p].keys.size() : static_cast<size_t>(holder.spec.rows);
    holder.gradients.resize(rows * static_cast<size_t>(holder.spec.cols));
    (by_ids ? views[p].row_gradients : views[p].gradient) = holder.gradients.data();
  }
}

void LocalStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                      const StepInfo& info) {
  const StepSize step = rule_.next(info);
  std::vector<float> scales = clipped_scales(plans, views, step.scale);
  for (size_t p = 0; p < holders_.size(); ++p)
    push_one(holders_[p], plans[p], views[p], {step.learning_rate, scales[p], step.shrink});
}

void LocalStore::push_one(Holder& holder, const KeyPlan& plan, const ParameterView<float>& view,
                          const StepSize& step) {
  if (holder.spec.kind == ParameterKind::kStatistic) return;
  if (holder.sparse) {
    holder.sparse->push(plan, holder.rows, view.row_gradients, step.scale, step.learning_rate, pool_);
    holder.sparse->end_step(step.shrink, pool_);
  } else if (holder.spec.kind == ParameterKind::kRows) {
    holder.dense->push_rows(plan, view.row_gradients, step.scale, step.learning_rate, pool_);
  } else {
    holder.dense->push(view.gradient, step.scale, step.learning_rate, pool_);
  }
}

void LocalStore::end_pass(int64_t pass) {
  for (Holder& holder : holders_) {
    if (holder.sparse) holder.sparse->end_pass(pass, pool_);
  }
}

std::vector<float> LocalStore::clipped_scales(std::span<const KeyPlan> plans,
                                              std::span<const ParameterView<float>> views, float scale) {
  std::vector<double> squares(holders_.size());
  for (size_t p = 0; p < holders_.size(); ++p) {
    if (!clipping_.needs(p)) continue;
    const ParameterSpec& spec = holders_[p].spec;
    bool by_ids = spec.kind == ParameterKind::kRows;
    int64_t rows = by_ids ? static_cast<int64_t>(plans[p].keys.size()) : spec.rows;
    squares[p] = square_sum(by_ids ? views[p].row_gradients : views[p].gradient, rows * spec.cols, pool_);
  }
  return clipping_.scales(squares, scale);
}

std::vector<uint64_t> LocalStore::keys(int parameter) {
  return holders_[static_cast<size_t>(parameter)].sparse->sorted_keys();
}

void LocalStore::read_rows(int parameter, std::span<const uint64_t> keys, float* weights) {
  constexpr int64_t kBlock = 256;
  const SparseTable& table = *holders_[static_cast<size_t>(parameter)].sparse;
  pool_.for_each(static_cast<int64_t>(keys.size()), kBlock, [&](int64_t begin, int64_t end) {
    table.read_rows(keys.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
                    weights + begin * table.width());
  });
}

void LocalStore::read_all(int parameter, float* weights) {
  holders_[static_cast<size_t>(parameter)].dense->read(weights, pool_);
}

RowReport LocalStore::row_report(int parameter) {
  return holders_[static_cast<size_t>(parameter)].sparse->report();
}

void LocalStore::load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) {
  holders_[static_cast<size_t>(parameter)].sparse->load_rows(keys, weights, pool_);
}

void LocalStore::load_all(int parameter, const float* weights) {
  DenseTable& table = *holders_[static_cast<size_t>(parameter)].dense;
  std::copy_n(weights, table.rows() * table.cols(), table.values());
  table.reset_state(pool_);
}

std::vector<TableLayout> LocalStore::layouts() const {
  std::vector<TableLayout> all;
  for (const Holder& holder : holders_) all.push_back(holder.layout());
  return all;
}

bool LocalStore::any_sparse() const {
  return std::any_of(holders_.begin(), holders_.end(), [](const Holder& h) { return h.sparse != nullptr; });
}

std::vector<FileEntry> LocalStore::save(const CheckpointTarget& target) const {
  std::vector<KeyLists> lists;
  for (const Holder& holder : holders_)
    lists.push_back(holder.sparse ? holder.sparse->list_keys() : KeyLists());
  std::vector<FileEntry> files(1 + (any_sparse() ? kPartitions : 0));
  pool_.run(static_cast<int64_t>(files.size()), [&](int64_t i) {
    files[static_cast<size_t>(i)] =
        i == 0 ? save_dense_tables(target) : save_partitions(target, lists, static_cast<uint32_t>(i) - 1);
  });
  return files;
}

// What is not sparse, and what there is one of.
FileEntry LocalStore::save_dense_tables(const CheckpointTarget& target) const {
  CheckpointFileWriter writer(target, "dense.psc");
  for (const Holder& holder : holders_) {
    if (holder.dense)
      save_dense(writer, holder.layout(), *holder.dense, BlockCyclicRows::whole(holder.spec.rows), 0);
  }
  for (const Holder& holder : holders_) {
    save_optimizer(writer, holder.spec.name, holder.optimizer());
    if (holder.sparse) save_policy(writer, holder.spec.name, *holder.sparse);
  }
  save_step_rule(writer, rule_);
  return writer.finish();
}

FileEntry LocalStore::save_partitions(const CheckpointTarget& target, std::span<const KeyLists> lists,
                                      uint32_t partition) const {
  char name[32];
  std::snprintf(name, sizeof name, "part-%03u-of-%03u.psc", partition, kPartitions);
  CheckpointFileWriter writer(target, name);
  for (size_t p = 0; p < holders_.size(); ++p) {
    if (!holders_[p].sparse) continue;
    save_partition(writer, holders_[p].layout(), *holders_[p].sparse, lists[p], partition);
  }
  return writer.finish();
}

void LocalStore::restore(const CheckpointReader& reader) {
  for (const Holder& holder : holders_) check_layout(reader, holder.layout());
  try {
    take(reader);
  } catch (...) {
    make_tables();
    throw;
  }
}

void LocalStore::take(const CheckpointReader& reader) {
  restore_step_rule(reader, rule_);
  for (const Holder& holder : holders_) {
    restore_optimizer(reader, holder.spec.name, holder.optimizer());
    if (holder.dense)
      restore_dense(reader, holder.layout(), BlockCyclicRows::whole(holder.spec.rows), *holder.dense);
  }
  std::mutex mutex;
  pool_.run(kPartitions, [&](int64_t partition) {
    const uint32_t p = static_cast<uint32_t>(partition);
    for (const Holder& holder : holders_) {
      if (!holder.sparse || !reader.has(holder.layout(), p)) continue;
      restore_partition(reader, holder.layout(), p, *holder.sparse, mutex);
    }
  });
  for (const Holder& holder : holders_) {
    if (holder.sparse) restore_policy(reader, holder.spec.name, *holder.sparse);
  }
}

// ---- copies of a trainer's own

TableLayout LocalStore::layout(int parameter) const {
  return holders_[static_cast<size_t>(parameter)].layout();
}

void LocalStore::copy_rows(int parameter, std::span<const uint64_t> keys, RowBlock& rows) const {
  const Holder& holder = holders_[static_cast<size_t>(parameter)];
  if (holder.sparse) return holder.sparse->copy_rows(keys, rows);
  rows.clear();
  std::vector<float> row;
  for (uint64_t key : keys) {
    holder.dense->save_rows(static_cast<int64_t>(key), 1, row);
    rows.keys.push_back(key);
    rows.values.insert(rows.values.end(), row.begin(), row.end());
  }
}

void LocalStore::put_rows(int parameter, const RowBlock& rows) {
  Holder& holder = holders_[static_cast<size_t>(parameter)];
  if (holder.sparse) return holder.sparse->restore_rows(rows, pool_);
  const int64_t values = holder.layout().values();
  for (size_t n = 0; n < rows.size(); ++n) {
    holder.dense->restore_row(static_cast<int64_t>(rows.keys[n]),
                              rows.values.data() + static_cast<int64_t>(n) * values);
  }
}

int64_t LocalStore::steps() const {
  for (const Holder& holder : holders_) {
    if (const Optimizer<float>* optimizer = holder.optimizer()) return optimizer->steps();
  }
  return 0;
}

// optimizers := (size:u64 state[size])[parameters that have one]
void LocalStore::save_optimizers(std::string& out) const {
  for (const Holder& holder : holders_) {
    if (holder.optimizer() == nullptr) continue;
    std::string state;
    holder.optimizer()->save(state);
    put(out, static_cast<uint64_t>(state.size()));
    out += state;
  }
}

// A state begins with the number of its steps, and takes as long to load as these are many.
void LocalStore::load_optimizers(ByteReader& in, int64_t steps) {
  for (const Holder& holder : holders_) {
    if (holder.optimizer() == nullptr) continue;
    const uint64_t size = in.get<uint64_t>();
    const std::string_view bytes = in.get_bytes(size);
    ByteReader state(bytes), first(bytes);
    const bool matches = first.get<int64_t>() == steps && first.ok();
    if (matches) holder.optimizer()->load(state);
    if (!matches || !state.ok() || state.remaining() > 0) {
      fail(Code::kCorrupt, "the optimizer of ", quote(holder.spec.name), " is not as it is after ", steps,
           " steps");
    }
  }
}

void LocalStore::advance_schedule(ByteReader& in) {
  StepRule other = rule_;
  other.load(in);
  if (other.samples() >= rule_.samples()) rule_ = other;
}

bool LocalStore::remembers_steps() const {
  return optimizers_.schedule->counts_steps() || std::ranges::any_of(holders_, [](const Holder& holder) {
           const Optimizer<float>* optimizer = holder.optimizer();
           return optimizer != nullptr && (optimizer->state_arrays() > 0 || !optimizer->idle_is_identity());
         });
}

}  // namespace ps
