#include "job/checkpoint_model.h"

#include <algorithm>

#include "base/error.h"
#include "config/spec.h"
#include "job/checkpoint_states.h"
#include "job/fingerprint.h"
#include "job/former_keys.h"
#include "job/global_batch.h"
#include "job/row_names.h"
#include "model/network.h"
#include "ps/server/run_state.h"
#include "ps/wire/hello.h"
#include "store/table_checkpoint.h"
#include "table/row_layout.h"

namespace ps {

struct CheckpointModel::Table {
  TableLayout layout;
  ParameterSpec spec;
  std::unique_ptr<Optimizer<float>> optimizer;  // null: the values are a statistic
};

namespace {

// Turns rows as they are stored into rows as they are read.  One owner thread.
class UpToDate final : public RowCursor {
 public:
  UpToDate(const TableLayout& layout, const Optimizer<float>* optimizer, bool with_state,
           std::unique_ptr<RowCursor> from)
      : layout_(layout), optimizer_(optimizer), with_state_(with_state), from_(std::move(from)) {}

  const RowBlock* next() override {
    const RowBlock* rows = from_->next();
    if (rows == nullptr) return nullptr;
    const int64_t width = layout_.width, values = layout_.values(), out = with_state_ ? values : width;
    out_.keys = rows->keys;
    out_.statistics = rows->statistics;
    out_.values.resize(rows->size() * static_cast<size_t>(out));
    row_.resize(static_cast<size_t>(values));
    for (size_t i = 0; i < rows->size(); ++i) {
      std::copy_n(rows->values.data() + static_cast<int64_t>(i) * values, values, row_.data());
      float* to = out_.values.data() + static_cast<int64_t>(i) * out;
      read(rows->stamps.empty() ? -1 : static_cast<int64_t>(rows->stamps[i]), to);
      if (with_state_) std::copy(row_.begin() + width, row_.end(), to + width);
    }
    return &out_;
  }

 private:
  // weights [width] <- the weights of row_, which has seen `steps` steps, or all steps if that is -1.
  void read(int64_t steps, float* weights) {
    const int64_t width = layout_.width;
    if (optimizer_ == nullptr) {
      std::copy_n(row_.data(), width, weights);
      return;
    }
    const Row<float> row{row_.data(), row_.data() + width, width, width};
    if (steps >= 0) optimizer_->catch_up(row, steps, optimizer_->steps());
    optimizer_->read(row, weights);
  }

  const TableLayout layout_;
  const Optimizer<float>* const optimizer_;
  const bool with_state_;
  const std::unique_ptr<RowCursor> from_;
  std::vector<float> row_;
  RowBlock out_;
};

// Returns a state of the checkpoint.  An error in it is one of the checkpoint, and not of what the user has
// typed: kCorrupt.
Json state_json(const CheckpointReader& reader, const char* name) {
  const std::string state = reader.state(name);
  try {
    return parse_json(state, name);
  } catch (const Error& error) {
    throw Error(Code::kCorrupt, cat(reader.folder(), ": offset 0: ", error.message()));
  }
}

}  // namespace

// Makes the network of the checkpoint's own job and schema, which give the parameters, and reads the state
// of each optimizer, by which rows are brought up to date.  Servers may have other optimizers than the job,
// as with local SGD, where they only add; the state of the servers' run tells that they wrote the
// checkpoint.
CheckpointModel::CheckpointModel(const CheckpointReader& reader, const RowChoice& choice, CpuLevel cpu)
    : reader_(reader),
      choice_(choice),
      cpu_(cpu),
      job_(Job::spec().parse(rename_former_keys(state_json(reader, kJobState)), "job")) {
  check_choice();
  metadata_ = {{"format", "pskit"},
               {"job", job_.job.name},
               {"seed", std::to_string(job_.job.seed)},
               {"step", std::to_string(reader.manifest().step)}};
  const Network<float> network(job_.model, schema_from_json(state_json(reader, kSchemaState)), job_.job.seed);
  const bool of_servers = reader.has_state(kRunState);
  const ServerPlan plan = of_servers ? server_plan(job_, cpu) : ServerPlan{optimizer_plan(job_, cpu), {}};
  const std::vector<ParameterSpec> specs = plan.parameters(network.parameters());
  for (const ParameterSpec& spec : specs) {
    const TableLayout* layout = reader.table(spec.name);
    if (layout == nullptr) fail(Code::kCorrupt, reader.folder(), ": offset 0: no table ", quote(spec.name));
    const bool chosen = choice_.tables.empty() || std::find(choice_.tables.begin(), choice_.tables.end(),
                                                            spec.name) != choice_.tables.end();
    if (!chosen) continue;
    add_table(*layout, spec,
              spec.kind == ParameterKind::kStatistic ? nullptr : plan.optimizers.make(spec.tuning));
  }
}

CheckpointModel::~CheckpointModel() = default;

void CheckpointModel::check_choice() const {
  std::vector<std::string> names;
  for (const TableLayout& layout : reader_.manifest().tables) names.push_back(layout.name);
  for (const std::string& name : choice_.tables) {
    if (reader_.table(name) != nullptr) continue;
    fail(Code::kUsage, quote(reader_.folder()), ": no table ", quote(name), did_you_mean(name, names),
         "; it has ", join(names, ", "));
  }
}

void CheckpointModel::add_table(const TableLayout& layout, const ParameterSpec& spec,
                                std::unique_ptr<Optimizer<float>> optimizer) {
  restore_optimizer(reader_, spec.name, optimizer.get());
  held_.push_back({layout, spec, std::move(optimizer)});
  tables_.push_back({spec.name, layout.sparse, layout.rows, 0, layout.width,
                     choice_.with_state ? layout.state_arrays : 0,
                     layout.statistics == RowLayout::history_names()});
  tables_.back().count = count_rows(tables_.size() - 1);
}

// Returns the number of rows of a table.  The manifest of a full checkpoint has it, if all rows are chosen;
// otherwise one pass over the rows counts them.
uint64_t CheckpointModel::count_rows(size_t table) {
  const std::string& name = tables_[table].name;
  uint64_t count = 0;
  if (!reader_.manifest().base && !choice_.chooses(held_[table].layout)) {
    for (const FileEntry& file : reader_.manifest().files) {
      for (const SectionEntry& section : file.sections) count += section.table == name ? section.rows : 0;
    }
    return count;
  }
  auto cursor = rows(table);
  while (const RowBlock* block = cursor->next()) count += block->size();
  return count;
}

std::unique_ptr<RowCursor> CheckpointModel::rows(size_t table) {
  const Table& held = held_[table];
  auto merged = merged_rows_of(reader_, held.layout, chosen_rows(choice_, reader_, held.layout, held.spec));
  return std::make_unique<UpToDate>(held.layout, held.optimizer.get(), choice_.with_state, std::move(merged));
}

// Makes the row as it would be if it had been there from the first step without a gradient: initial
// weights, then the decay and the like of all steps so far.
void CheckpointModel::untrained_row(size_t table, uint64_t key, float* weights) {
  const Table& held = held_[table];
  const int64_t width = held.layout.width;
  std::vector<float> values(static_cast<size_t>(held.layout.values()));
  held.spec.initializer.fill(key, {values.data(), static_cast<size_t>(width)}, cpu_);
  if (held.optimizer) {
    const Row<float> row{values.data(), values.data() + width, width, width};
    held.optimizer->initialize(row);
    held.optimizer->catch_up(row, 0, held.optimizer->steps());
    held.optimizer->read(row, values.data());
  }
  std::copy_n(values.data(), width, weights);
}

RowNames CheckpointModel::names(const std::string& vocabulary) const {
  const std::string& words = vocabulary.empty() ? job_.data.text.vocabulary : vocabulary;
  return row_names(job_, schema_from_json(state_json(reader_, kSchemaState)), words);
}

int CheckpointModel::index_base() const {
  return job_.data.index_base;
}

}  // namespace ps
