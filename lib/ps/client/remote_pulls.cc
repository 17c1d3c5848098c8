#include "ps/client/remote_pulls.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

namespace {

bool is_left_out(const ParameterSpec& spec, PullScope scope) {
  return scope == PullScope::kSparse ? !spec.sparse : scope == PullScope::kNotSparse && spec.sparse;
}

}  // namespace

RemotePulls::RemotePulls(ShardLinks& links, const std::vector<ParameterSpec>& specs, const RowTypes& types)
    : links_(links),
      specs_(specs),
      types_(types),
      current_(std::make_unique<RowExchange>(links, specs)),
      next_(std::make_unique<RowExchange>(links, specs)),
      held_(specs.size()),
      gradients_(specs.size()) {}

RowExchange::AddParts RemotePulls::parts_of(std::span<const KeyPlan> plans, PullScope scope) const {
  return [this, plans, scope](BatchRouter& router) {
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (is_left_out(specs_[p], scope)) continue;
      if (specs_[p].kind == ParameterKind::kRows) {
        if (scope != PullScope::kDense) router.add_keys(p, plans[p].keys, plans[p].counts);
      } else if (scope != PullScope::kRows) {
        router.add_all(p);
      }
    }
  };
}

PullTicket RemotePulls::begin(std::span<const KeyPlan> plans, const Request& request) {
  links_.wait_for_others([this] { return next_->arrived(); });
  const bool trains = request.mode == PullMode::kTrain;
  asked_ = request;
  next_->ask({.mode = request.mode,
              .step = request.step,
              .type = trains ? types_.pull : RowType::kF32,
              .last_number = trains && request.push_follows ? &num_messages_ : nullptr},
             parts_of(plans, request.scope));
  return {++num_begun_};
}

// The rows of the first answers are placed while the others are on their way.
void RemotePulls::finish(const PullTicket& ticket, std::span<const KeyPlan> plans,
                         std::vector<ParameterView<float>>& views) {
  PS_CHECK(ticket.number == num_begun_);
  for (size_t p = 0; p < specs_.size(); ++p) {
    held_[p].in_frame = nullptr;
    held_[p].decoded.clear();
    held_[p].rows.resize(plans[p].keys.size());
  }
  const RowExchange::OnRows place_rows = [this](size_t shard, const Piece& piece, const ArrivedRows& rows) {
    place(shard, piece, rows);
  };
  links_.wait_for_others([&] { return next_->show_arrived(place_rows); });
  std::swap(current_, next_);
  views.assign(specs_.size(), {});
  for (size_t p = 0; p < specs_.size(); ++p) show(p, plans[p], asked_, views[p]);
}

void RemotePulls::prepare(std::span<const KeyPlan> plans, PullScope scope,
                          std::vector<ParameterView<float>>& views) {
  current_->route(parts_of(plans, scope));
  views.assign(specs_.size(), {});
  for (size_t p = 0; p < specs_.size(); ++p) show(p, plans[p], {PullMode::kTrain, 0, scope}, views[p]);
}

// Rows of f32 are used where the frame put them.
void RemotePulls::place(size_t shard, const Piece& piece, const ArrivedRows& rows) {
  const ParameterSpec& spec = specs_[piece.parameter];
  Held& held = held_[piece.parameter];
  if (!piece.by_keys && piece.rows != spec.rows) {
    held.whole.resize(static_cast<size_t>(spec.rows * spec.cols));
    for_each_run(next_->router().deal(piece.parameter, shard), piece.first, piece.rows,
                 [&](int64_t own, int64_t row, int64_t count) {
                   rows.copy(own - piece.first, count, held.whole.data() + row * spec.cols);
                 });
    return;
  }
  float* floats = rows.floats();
  if (rows.type != RowType::kF32) {
    const size_t size = static_cast<size_t>(piece.rows * spec.cols) * sizeof(float);
    floats = reinterpret_cast<float*>(held.decoded.emplace_back(links_.pool().take(size)).data());
    rows.copy(0, piece.rows, floats);
  }
  if (!piece.by_keys) {
    held.in_frame = floats;
    return;
  }
  for (int64_t n = 0; n < piece.rows; ++n, floats += spec.cols) {
    held.rows[static_cast<size_t>(piece.position(n))] = floats;
  }
}

void RemotePulls::show(size_t p, const KeyPlan& plan, const Request& request, ParameterView<float>& view) {
  const ParameterSpec& spec = specs_[p];
  Held& held = held_[p];
  const bool by_keys = spec.kind == ParameterKind::kRows;
  if (!by_keys && request.scope == PullScope::kRows) return;
  if (is_left_out(spec, request.scope)) return;
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
