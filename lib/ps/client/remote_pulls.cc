#include "ps/client/remote_pulls.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

namespace {

// Returns true for a parameter that this scope does not have.
bool is_left_out(const ParameterSpec& spec, PullScope scope) {
  switch (scope) {
    case PullScope::kAll:
      return false;
    case PullScope::kRows:
      return spec.kind != ParameterKind::kRows;
    case PullScope::kSparse:
      return !spec.sparse;
    case PullScope::kNotSparse:
      return spec.sparse;
    case PullScope::kNone:
      return true;
    case PullScope::kReaders:
      return !with_readers(spec);
    case PullScope::kCompute:
      return with_readers(spec);
  }
  return false;
}

}  // namespace

void add_pushed(std::span<const ParameterSpec> specs, std::span<const KeyPlan> plans, PullScope scope,
                BatchRouter& router) {
  for (size_t p = 0; p < specs.size(); ++p) {
    if (is_left_out(specs[p], scope)) continue;
    if (specs[p].kind == ParameterKind::kRows) {
      router.add_keys(p, plans[p].keys, plans[p].counts);
    } else {
      router.add_all(p);
    }
  }
}

RemotePulls::RemotePulls(ShardLinks& links, const std::vector<ParameterSpec>& specs, const RowTypes& types)
    : links_(links),
      specs_(specs),
      types_(types),
      current_(std::make_unique<RowExchange>(links, specs)),
      next_(std::make_unique<RowExchange>(links, specs)),
      held_(specs.size()),
      gradients_(specs.size()) {}

RowExchange::AddRowSlices RemotePulls::pushed_slices(std::span<const KeyPlan> plans, PullScope scope) const {
  return [this, plans, scope](BatchRouter& router) { add_pushed(specs_, plans, scope, router); };
}

RowExchange::AddRowSlices RemotePulls::pulled_slices(std::span<const KeyPlan> plans, PullScope scope) const {
  if (scope != PullScope::kCompute) return pushed_slices(plans, scope);
  return [this](BatchRouter& router) {
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (!with_readers(specs_[p])) router.add_all(p);
    }
  };
}

// Answers write into the exchange of the former request, which therefore must be complete before it is used
// again.  Only a pull to train rounds its rows to the job's row type, and only one that a push follows
// numbers its messages: shards remember the keys of numbered messages for that push.
PullTicket RemotePulls::begin(std::span<const KeyPlan> plans, const Request& request) {
  links_.wait_for_others([this] { return next_->arrived(); });
  const bool trains = request.mode == PullMode::kTrain;
  asked_ = request;
  next_->ask({.mode = request.mode,
              .step = request.step,
              .type = trains ? types_.pull : RowType::kF32,
              .last_number = trains && request.push_follows ? &num_messages_ : nullptr},
             pulled_slices(plans, request.scope));
  return {++num_begun_};
}

// Answers are handled as they come: the rows of the first ones are stored in held_ while the others are on
// their way.  Then the exchanges swap, so that the next begin uses the other one, and the views are set.
void RemotePulls::finish(const PullTicket& ticket, std::span<const KeyPlan> plans,
                         std::vector<ParameterView<float>>& views) {
  PS_CHECK(ticket.number == num_begun_);
  for (size_t p = 0; p < specs_.size(); ++p) {
    held_[p].in_frame = nullptr;
    held_[p].decoded.clear();
    held_[p].rows.resize(plans[p].keys.size());
  }
  const RowExchange::OnRows put_arrived = [this](size_t shard, const RoutedRows& routed,
                                                 const ArrivedRows& rows) { put_rows(shard, routed, rows); };
  links_.wait_for_others([&] { return next_->pass_arrived(put_arrived); });
  std::swap(current_, next_);
  // A compute trainer asks for whole tables, before it knows the batch.  Now the plans say which rows the
  // batch uses, and the messages of the push are routed by their keys.
  if (asked_.scope == PullScope::kCompute) {
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (specs_[p].with_compute) find_in_whole(p, plans[p]);
    }
    if (std::ranges::any_of(specs_, &ParameterSpec::with_compute)) {
      current_->route(pushed_slices(plans, asked_.scope));
    }
  }
  views.assign(specs_.size(), {});
  for (size_t p = 0; p < specs_.size(); ++p) bind(p, plans[p], asked_, views[p]);
}

void RemotePulls::prepare(std::span<const KeyPlan> plans, PullScope scope,
                          std::vector<ParameterView<float>>& views) {
  current_->route(pushed_slices(plans, scope));
  views.assign(specs_.size(), {});
  for (size_t p = 0; p < specs_.size(); ++p) bind(p, plans[p], {PullMode::kTrain, 0, scope}, views[p]);
}

// Sets the rows of a table that was pulled whole and whose gradients are pushed by the keys of the batch.
void RemotePulls::find_in_whole(size_t p, const KeyPlan& plan) {
  Held& held = held_[p];
  float* const whole = held.in_frame != nullptr ? held.in_frame : held.whole.data();
  const auto cols = static_cast<size_t>(specs_[p].cols);
  for (size_t n = 0; n < plan.keys.size(); ++n) {
    PS_CHECK(plan.keys[n] < static_cast<uint64_t>(specs_[p].rows));
    held.rows[n] = whole + plan.keys[n] * cols;
  }
}

// Stores the rows of one slice.  Rows of f32 are used in the memory of the frame; other types are decoded into a
// buffer.  The blocks of a parameter that several shards have are joined in held.whole.
void RemotePulls::put_rows(size_t shard, const RoutedRows& routed, const ArrivedRows& rows) {
  const ParameterSpec& spec = specs_[routed.parameter];
  Held& held = held_[routed.parameter];
  if (!routed.by_keys && routed.rows != spec.rows) {
    held.whole.resize(static_cast<size_t>(spec.rows * spec.cols));
    for_each_run(next_->router().deal(routed.parameter, shard), routed.first, routed.rows,
                 [&](int64_t own, int64_t row, int64_t count) {
                   rows.copy(own - routed.first, count, held.whole.data() + row * spec.cols);
                 });
    return;
  }
  float* floats = rows.floats();
  if (rows.type != RowType::kF32) {
    const size_t size = static_cast<size_t>(routed.rows * spec.cols) * sizeof(float);
    floats = reinterpret_cast<float*>(held.decoded.emplace_back(links_.pool().take(size)).data());
    rows.copy(0, routed.rows, floats);
  }
  if (!routed.by_keys) {
    held.in_frame = floats;
    return;
  }
  for (int64_t n = 0; n < routed.rows; ++n, floats += spec.cols) {
    held.rows[static_cast<size_t>(routed.position(n))] = floats;
  }
}

// Sets the view of one parameter: its rows by position in the plan, or the whole of it, and in training a
// fresh buffer for its gradient, [N, cols] or [rows, cols].  The buffer is fresh because the push of the
// step before may still send from the last one.  A parameter without rows in this batch gets a buffer too,
// so that its pointer is never null.
void RemotePulls::bind(size_t p, const KeyPlan& plan, const Request& request, ParameterView<float>& view) {
  const ParameterSpec& spec = specs_[p];
  Held& held = held_[p];
  const bool by_keys = spec.kind == ParameterKind::kRows;
  const bool returned =
      by_keys &&
      request.scope == PullScope::kCompute;  // the gradients of readers' rows return to the readers
  if (is_left_out(spec, request.scope) && !returned) return;
  if (by_keys) {
    view.rows = held.rows.data();
  } else {
    view.value = held.in_frame != nullptr ? held.in_frame : held.whole.data();
  }
  if (request.mode != PullMode::kTrain || spec.kind == ParameterKind::kStatistic) return;
  const size_t rows = by_keys ? plan.keys.size() : static_cast<size_t>(spec.rows);
  const size_t bytes = std::max<size_t>(1, rows * static_cast<size_t>(spec.cols) * sizeof(float));
  gradients_[p] = std::make_shared<Buffer>(links_.pool().take(bytes));
  (by_keys ? view.row_gradients : view.gradient) = reinterpret_cast<float*>(gradients_[p]->data());
}

}  // namespace ps
