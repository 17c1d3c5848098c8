// A pull gives views of all parameters: of the rows in the tables to train, of copies to read.  A push
// computes the size of the step and the factor of each gradient, and passes the gradients to the tables one
// after the other.  A parameter that is lent has no view to train, and a push only begins its optimizer's
// step.
#include "store/local_store.h"

#include <algorithm>

#include "base/error.h"
#include "store/dense_bytes.h"
#include "store/optimizer_states.h"
#include "store/table_checkpoint.h"
#include "table/row_policy_state.h"

namespace ps {

namespace {

// Returns the parameters, or throws if the dense ones do not fit.  It runs before any table is made.
const std::vector<ParameterSpec>& check_memory(const std::vector<ParameterSpec>& parameters,
                                               const OptimizerPlan& optimizers, uint64_t limit) {
  const DenseBytes needed = dense_bytes(parameters, optimizers, {}, /*gradient_buffer=*/true);
  if (needed.total <= limit) return parameters;
  const ParameterSpec& worst = *needed.worst;
  fail(Code::kExhausted, "dense parameters need ", human_bytes(needed.total), " (", needed.total, " bytes), ",
       human_bytes(limit), " (", limit, " bytes) are available; the largest, ", quote(worst.name), " [",
       worst.rows, ", ", worst.cols, "] with its optimizer state, needs ", human_bytes(needed.largest),
       worst.kind == ParameterKind::kRows
           ? "; \"sparse_update\": true in its layer keeps only the rows that are used, and would make it fit"
           : "");
}

bool has_gradient(const ParameterView<float>& view) {
  return view.gradient != nullptr || view.row_gradients != nullptr;
}

}  // namespace

// The arrays through which sparse rows are found get at most 1/64 of the memory, so that the rows
// themselves have the rest.
LocalStore::LocalStore(const std::vector<ParameterSpec>& parameters, const OptimizerPlan& optimizers,
                       uint64_t memory_limit, Device& device)
    : device_(device),
      optimizers_(optimizers),
      rule_(optimizers.step_rule()),
      tables_(check_memory(parameters, optimizers, memory_limit), optimizers,
              {.array_bytes = memory_limit / 64}, device),
      scales_(tables_.specs(), optimizers, device),
      buffers_(parameters.size()),
      loans_(parameters.size()) {}

void LocalStore::pull(std::span<const KeyPlan> plans, PullMode mode,
                      std::vector<ParameterView<float>>& views) {
  views.assign(tables_.size(), {});
  for (size_t p = 0; p < tables_.size(); ++p) {
    const bool by_ids = tables_.spec(p).kind == ParameterKind::kRows;
    by_ids ? pull_rows(p, plans[p], mode, views[p]) : pull_all(p, mode, views[p]);
    if (mode != PullMode::kTrain || tables_.spec(p).kind == ParameterKind::kStatistic) continue;
    if (!by_ids && loans_[p].borrower != nullptr) continue;
    const size_t rows = by_ids ? plans[p].keys.size() : static_cast<size_t>(tables_.spec(p).rows);
    // A batch without keys has gradients too, of no row: a null pointer would say that the parameter makes no step.
    buffers_[p].gradients.resize(std::max<size_t>(1, rows * static_cast<size_t>(tables_.spec(p).cols)));
    (by_ids ? views[p].row_gradients : views[p].gradient) = buffers_[p].gradients.data();
  }
}

// A borrower pulls rows to train by itself.  For reading it must put its rows back first, and the view gets
// copies, so that averaged weights do not replace those that are trained.
void LocalStore::pull_rows(size_t parameter, const KeyPlan& plan, PullMode mode, ParameterView<float>& view) {
  Table& table = *tables_.table(parameter);
  Buffers& buffers = buffers_[parameter];
  RowBorrower* const borrower = loans_[parameter].borrower;
  if (borrower != nullptr && mode == PullMode::kTrain) return;
  if (borrower != nullptr) borrower->put_back();
  if (mode == PullMode::kTrain) {
    table.pull(plan, device_, buffers.rows);
  } else {
    const size_t cols = static_cast<size_t>(table.width());
    buffers.copies.resize(plan.keys.size() * cols);
    buffers.rows.resize(plan.keys.size());
    for (size_t n = 0; n < buffers.rows.size(); ++n) buffers.rows[n] = buffers.copies.data() + n * cols;
    table.read_rows(plan.keys, buffers.copies.data(), device_);
  }
  view.rows = buffers.rows.data();
}

// Gives the table's own memory to train, and also to read a statistic, which no optimizer averages.  Other
// weights are read as copies.
void LocalStore::pull_all(size_t parameter, PullMode mode, ParameterView<float>& view) {
  RowBorrower* const borrower = loans_[parameter].borrower;
  if (borrower != nullptr && mode == PullMode::kTrain) return;
  if (borrower != nullptr) borrower->put_back();
  WholeTable& table = *tables_.table(parameter)->whole();
  const ParameterSpec& spec = tables_.spec(parameter);
  if (mode != PullMode::kRead || spec.kind == ParameterKind::kStatistic) {
    view.value = table.values();
    return;
  }
  std::vector<float>& copies = buffers_[parameter].copies;
  copies.resize(static_cast<size_t>(spec.rows * spec.cols));
  table.read_all(copies.data(), device_);
  view.value = copies.data();
}

void LocalStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                      const StepInfo& info) {
  const StepSize step = rule_.next(info);
  std::vector<float> scales = scales_.of_step(plans, views, step.scale);
  for (size_t p = 0; p < tables_.size(); ++p)
    push_one(p, plans[p], views[p], {step.learning_rate, scales[p], step.shrink});
}

// Passes one gradient to its table.  If the parameter is lent, only the step of its optimizer begins here:
// the borrower moves the rows afterwards, with the factor that the loan keeps.  A row policy counts the
// keys of the batch either way, before end_step, which may remove rows.
void LocalStore::push_one(size_t parameter, const KeyPlan& plan, const ParameterView<float>& view,
                          const StepSize& step) {
  Table& table = *tables_.table(parameter);
  const ParameterKind kind = tables_.spec(parameter).kind;
  if (kind == ParameterKind::kStatistic || !has_gradient(view)) return;
  if (kind == ParameterKind::kMatrix && loans_[parameter].borrower == nullptr) {
    return table.whole()->push_all(view.gradient, step.scale, step.learning_rate, device_);
  }
  if (loans_[parameter].borrower != nullptr) {
    loans_[parameter].scale = step.scale;
    if (table.policy() == nullptr) return table.optimizer()->begin_step(step.learning_rate);
    table.policy()->push_counts(plan, step.learning_rate, device_);
  } else {
    table.push(plan, buffers_[parameter].rows, view.row_gradients, step.scale, step.learning_rate, device_);
  }
  if (table.policy() != nullptr) table.policy()->end_step(step.shrink, device_);
}

void LocalStore::end_pass(int64_t pass) {
  tables_.end_pass(pass);
}

// ---- models

std::vector<uint64_t> LocalStore::keys(int parameter) {
  return table(parameter).sorted_keys();
}

void LocalStore::read_rows(int parameter, std::span<const uint64_t> keys, float* weights) {
  if (RowBorrower* borrower = loans_[static_cast<size_t>(parameter)].borrower) borrower->put_back();
  table(parameter).read_rows(keys, weights, device_);
}

void LocalStore::read_all(int parameter, float* weights) {
  if (RowBorrower* borrower = loans_[static_cast<size_t>(parameter)].borrower) borrower->put_back();
  table(parameter).whole()->read_all(weights, device_);
}

RowReport LocalStore::row_report(int parameter) {
  const Table& rows = table(parameter);
  return rows.policy() != nullptr ? rows.policy()->report() : RowReport{.rows = rows.size()};
}

void LocalStore::load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) {
  if (RowBorrower* borrower = loans_[static_cast<size_t>(parameter)].borrower) borrower->return_all();
  table(parameter).load_rows(keys, weights, device_);
}

void LocalStore::load_all(int parameter, const float* weights) {
  if (RowBorrower* borrower = loans_[static_cast<size_t>(parameter)].borrower) borrower->return_all();
  table(parameter).whole()->load_range(0, static_cast<int64_t>(table(parameter).size()), weights, device_);
}

std::span<float> LocalStore::whole(int parameter) {
  const ParameterSpec& spec = tables_.spec(static_cast<size_t>(parameter));
  return {table(parameter).whole()->values(), static_cast<size_t>(spec.rows * spec.cols)};
}

// ---- checkpoints

std::vector<FileEntry> LocalStore::save(const CheckpointTarget& target) const {
  put_back();
  std::map<std::string, std::string> states;
  add_step_rule_state(rule_, states);
  return tables_.save(target, states);
}

// Restores all or nothing: after an error halfway, the tables are made again, so that an earlier checkpoint
// can be tried.
void LocalStore::restore(const CheckpointReader& reader) {
  try {
    tables_.restore(reader);
    restore_step_rule(reader, rule_);
  } catch (...) {
    tables_.make_again();
    rule_ = optimizers_.step_rule();
    throw;
  }
}

// ---- parameters on a device

void LocalStore::lend_rows(int parameter, RowBorrower& borrower) {
  PS_CHECK(tables_.spec(static_cast<size_t>(parameter)).sparse);
  loans_[static_cast<size_t>(parameter)].borrower = &borrower;
}

bool LocalStore::can_lend_dense(int parameter) const {
  const size_t p = static_cast<size_t>(parameter);
  return tables_.spec(p).kind == ParameterKind::kMatrix && !scales_.reads_gradient(p);
}

void LocalStore::lend_dense(int parameter, RowBorrower& borrower) {
  PS_CHECK(can_lend_dense(parameter));
  loans_[static_cast<size_t>(parameter)].borrower = &borrower;
}

void LocalStore::put_back() const {
  for (const Loan& loan : loans_) {
    if (loan.borrower != nullptr) loan.borrower->put_back();
  }
}

std::vector<uint64_t> LocalStore::absent(int parameter, std::span<const uint64_t> keys) {
  RowPolicyState* const policy = table(parameter).policy();
  return policy != nullptr ? policy->absent(keys, device_) : std::vector<uint64_t>();
}

void LocalStore::fetch_rows(int parameter, std::span<const uint64_t> keys, float* rows) {
  std::vector<float*> found(keys.size());
  table(parameter).pull(keys, device_, found);
  const int64_t values = layout(parameter).values();
  for (const float* row : found) rows = std::copy_n(row, values, rows);
}

void LocalStore::copy_rows(int parameter, std::span<const uint64_t> keys, RowBlock& rows) const {
  if (RowBorrower* borrower = loans_[static_cast<size_t>(parameter)].borrower) borrower->put_back();
  table(parameter).copy_rows(keys, rows);
}

// ---- a trainer's own copies

void LocalStore::copy_stored(int parameter, std::vector<float>& floats) const {
  const WholeTable& whole = *table(parameter).whole();
  floats.resize(static_cast<size_t>(whole.num_stored_rows() * table(parameter).width()));
  whole.copy_stored(0, whole.num_stored_rows(), floats.data());
}

void LocalStore::set_stored(int parameter, std::span<const float> floats) {
  WholeTable& whole = *table(parameter).whole();
  PS_CHECK(std::ssize(floats) == whole.num_stored_rows() * table(parameter).width());
  whole.set_stored(0, whole.num_stored_rows(), floats.data());
}

bool LocalStore::remembers_steps() const {
  return optimizers_.schedule->counts_steps() || optimizers_remember_steps(tables_);
}

}  // namespace ps
