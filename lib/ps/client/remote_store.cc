#include "ps/client/remote_store.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "ps/client/remote_state.h"

namespace ps {

namespace {

void check_widths(const std::vector<ParameterSpec>& specs) {
  for (const ParameterSpec& spec : specs) {
    if (static_cast<uint64_t>(spec.cols) * sizeof(float) <= kMaxMessageBytes / 2) continue;
    fail(Code::kUsage, "a row of ", quote(spec.name), " has ", spec.cols, " floats, servers take up to ",
         kMaxMessageBytes / 2 / sizeof(float));
  }
}

}  // namespace

// Counts one call of times().
class RemoteStore::StepTimer {
 public:
  explicit StepTimer(RemoteStore& store)
      : store_(store), seconds_(store.step_seconds_), waited_before_(store.links_.waited_seconds()) {}
  ~StepTimer() { store_.waited_seconds_ += store_.links_.waited_seconds() - waited_before_; }

 private:
  RemoteStore& store_;
  ScopedSeconds seconds_;
  const double waited_before_;
};

RemoteStore::RemoteStore(Transport& transport, const RemoteOptions& options, const Consistency& consistency,
                         std::vector<ParameterSpec> specs, const RowTypes& types, TrainerState* own)
    : specs_(std::move(specs)),
      consistency_(consistency),
      types_(types),
      own_(own),
      rank_(options.hello.rank),
      trainers_(options.hello.trainers),
      cuts_at_end_(options.cuts_at_end),
      links_(transport, options),
      current_(std::make_unique<Exchange>(specs_, links_.places())),
      next_(std::make_unique<Exchange>(specs_, links_.places())),
      reading_(std::make_unique<Exchange>(specs_, links_.places())),
      held_(specs_.size()),
      errors_(specs_.size()) {
  check_widths(specs_);
  if (options.hello.role == "train" && !links_.finished()) resume_run();
}

RemoteStore::~RemoteStore() = default;

// ---- pulls

// Shards look for the first rows while the keys of the last are dealt out.  What will be pushed has a number,
// so that its keys need not go out again.
void RemoteStore::ask(Exchange& exchange, PullMode mode, uint64_t step, const AddParts& add_parts,
                      bool push_follows) {
  exchange.arrived.clear();
  exchange.asked = 0;
  exchange.type = mode == PullMode::kTrain ? types_.pull : RowType::kF32;
  exchange.router.begin([&, mode, step, push_follows](size_t s, Bundle& bundle) {
    ++exchange.asked;
    bundle.number = mode == PullMode::kTrain && push_follows ? ++num_pulls_ : 0;
    const PullHeader header{.step = step, .mode = mode, .type = exchange.type, .number = bundle.number};
    links_.request(s, Message::kPull, Payload(encode_pull(header, bundle.num_parts(), bundle.parts)),
                   [&exchange, &bundle, s](Frame frame) {
                     exchange.arrived.push_back({s, &bundle, std::move(frame)});
                   });
  });
  add_parts(exchange.router);
  exchange.router.end();
}

// Shows the rows of all answers, those of the first while the others are on their way.
void RemoteStore::await(Exchange& exchange, const OnRows& on_rows) {
  size_t shown = 0;
  const auto all_shown = [&] {
    while (shown < exchange.arrived.size()) show_rows(exchange.arrived[shown++], exchange.type, on_rows);
    return shown == exchange.asked;
  };
  &exchange == reading_.get() ? links_.wait(all_shown) : links_.wait_for_others(all_shown);
}

void RemoteStore::show_rows(Arrived& arrived, RowType pulled_as, const OnRows& on_rows) const {
  std::span<char> left = arrived.frame.body.bytes();
  for (const Piece& piece : arrived.bundle->pieces) {
    const RowType type = type_of(piece.parameter, pulled_as);
    const int64_t cols = specs_[piece.parameter].cols;
    const size_t size = padded(static_cast<uint64_t>(piece.rows) * encoded_row_bytes(type, cols));
    if (size > left.size()) fail(Code::kData, "a server answered a pull with too few rows");
    on_rows(arrived.shard, piece, {left.data(), type, cols});
    left = left.subspan(size);
  }
  if (!left.empty()) fail(Code::kData, "a server answered a pull with too many rows");
}

RowType RemoteStore::type_of(size_t p, RowType type) const {
  return specs_[p].kind == ParameterKind::kStatistic ? RowType::kF32 : type;
}

RemoteStore::AddParts RemoteStore::parts_of(std::span<const KeyPlan> plans, Scope scope) const {
  return [this, plans, scope](BatchRouter& router) {
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (specs_[p].kind == ParameterKind::kRows) {
        router.add_keys(p, plans[p].keys, plans[p].counts);
      } else if (scope == Scope::kAll) {
        router.add_all(p);
      }
    }
  };
}

// Asynchronous trainers do without: they would not see their own last step.
void RemoteStore::begin_pull(std::span<const KeyPlan> plans) {
  if (consistency_.async) return;
  StepTimer timer(*this);
  ask(*next_, PullMode::kTrain, step_ + 1, parts_of(plans, Scope::kAll));
  next_->plans = plans.data();
}

void RemoteStore::pull(std::span<const KeyPlan> plans, PullMode mode,
                       std::vector<ParameterView<float>>& views) {
  StepTimer timer(*this);
  const bool begun = mode == PullMode::kTrain && next_->plans == plans.data();
  if (!begun) begin_exchange(plans, mode, Scope::kAll, /*push_follows=*/true);
  end_exchange(plans, mode, views);
}

void RemoteStore::pull(std::span<const KeyPlan> plans, PullMode mode, Scope scope,
                       std::vector<ParameterView<float>>& views) {
  StepTimer timer(*this);
  begin_exchange(plans, mode, scope, /*push_follows=*/false);
  end_exchange(plans, mode, views);
}

void RemoteStore::begin_exchange(std::span<const KeyPlan> plans, PullMode mode, Scope scope,
                                 bool push_follows) {
  // Of a batch that was given up.
  links_.wait_for_others([this] { return next_->arrived.size() == next_->asked; });
  ask(*next_, mode, step_, parts_of(plans, scope), push_follows);
}

// Waits for the rows, and shows them.
void RemoteStore::end_exchange(std::span<const KeyPlan> plans, PullMode mode,
                               std::vector<ParameterView<float>>& views) {
  next_->plans = nullptr;
  for (size_t p = 0; p < specs_.size(); ++p) {
    held_[p].in_frame = nullptr;
    held_[p].decoded.clear();
    held_[p].rows.resize(plans[p].keys.size());
  }
  await(*next_, [this](size_t shard, const Piece& piece, const ArrivedRows& rows) {
    place_rows(shard, piece, rows);
  });
  std::swap(current_, next_);
  views.assign(specs_.size(), {});
  for (size_t p = 0; p < specs_.size(); ++p) show(p, plans[p], mode, views[p]);
}

void RemoteStore::prepare_push(std::span<const KeyPlan> plans, Scope scope,
                               std::vector<ParameterView<float>>& views) {
  current_->router.begin();
  parts_of(plans, scope)(current_->router);
  current_->router.end();
  views.assign(specs_.size(), {});
  for (size_t p = 0; p < specs_.size(); ++p) show(p, plans[p], PullMode::kTrain, views[p]);
}

// Rows of f32 are used where the frame put them.
void RemoteStore::place_rows(size_t shard, const Piece& piece, const ArrivedRows& rows) {
  const ParameterSpec& spec = specs_[piece.parameter];
  Held& held = held_[piece.parameter];
  if (!piece.by_keys && piece.rows != spec.rows) {
    held.whole.resize(static_cast<size_t>(spec.rows * spec.cols));
    for_each_run(next_->router.deal(piece.parameter, shard), piece.first, piece.rows,
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

void RemoteStore::show(size_t p, const KeyPlan& plan, PullMode mode, ParameterView<float>& view) {
  const ParameterSpec& spec = specs_[p];
  Held& held = held_[p];
  const bool by_keys = spec.kind == ParameterKind::kRows;
  if (by_keys) {
    view.rows = held.rows.data();
  } else {
    view.value = held.in_frame != nullptr ? held.in_frame : held.whole.data();
  }
  if (mode != PullMode::kTrain || spec.kind == ParameterKind::kStatistic) return;
  const size_t rows = by_keys ? plan.keys.size() : static_cast<size_t>(spec.rows);
  const size_t bytes = std::max<size_t>(1, rows * static_cast<size_t>(spec.cols) * sizeof(float));
  held.gradients = std::make_shared<Buffer>(links_.pool().take(bytes));
  (by_keys ? view.row_gradients : view.gradient) = reinterpret_cast<float*>(held.gradients->data());
}

// ---- pushes

void RemoteStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                       const StepInfo& info) {
  if (types_.push != RowType::kF32) find_errors(plans);
  StepTimer timer(*this);
  send_step(views, info, /*ended=*/false);
}

// What is pushed has the pieces of what was pulled.
void RemoteStore::send_step(std::span<const ParameterView<float>> views, const StepInfo& info, bool ended) {
  const uint64_t lead = consistency_.lead();
  if (step_ >= lead) wait_for_steps_before(step_ - lead);
  const uint64_t step = step_++;
  unanswered_[step].shards = links_.size();
  PushHeader header{.step = step, .info = info, .ended = ended, .cut = step + 1 == cut_at_};
  header.cut |= ended && cut_pass_ == info.pass;
  header.type = types_.push;
  const Told told = what_to_tell(header.cut, ended);
  std::vector<PushHeader> headers(links_.size(), header);
  for (size_t s = 0; s < links_.size(); ++s) {
    std::deque<Bundle>& bundles = current_->router.bundles(s);
    const size_t pieces = ended ? 0 : bundles.size(), sent = std::max<size_t>(1, pieces);
    PushHeader& own = headers[s];
    own.num_pieces = static_cast<uint32_t>(sent + told.num_messages(s));
    for (; own.piece < sent; ++own.piece) {
      send_piece(s, own, pieces == 0 ? nullptr : &bundles[own.piece], views);
    }
  }
  // When rounding has taken what it takes of this step.
  tell(told, headers);
}

// A shard knows the parts of what was pulled from it, until they are pushed.
void RemoteStore::send_piece(size_t shard, PushHeader header, Bundle* bundle,
                             std::span<const ParameterView<float>> views, std::function<void()> on_answer) {
  Payload payload;
  if (bundle == nullptr) {
    payload = Payload(encode_push(header, 0, ""));
  } else {
    auto begin = [&](const Piece& piece) -> const float* {
      const ParameterView<float>& view = views[piece.parameter];
      if (piece.by_keys) return view.row_gradients;
      return specs_[piece.parameter].kind == ParameterKind::kStatistic ? view.value : view.gradient;
    };
    // A shard that comes again knows what was pushed, and not all that was pulled.
    const bool logged = links_.welcome(shard).run_status.logged;
    if (bundle->counted.empty() && !logged) header.pulled = std::exchange(bundle->number, 0);
    payload = with_rows(encode_push(header, bundle->num_parts(), bundle->push_parts()), shard, *bundle,
                        {begin, /*gradients=*/true});
  }
  const bool last = header.piece + 1 == header.num_pieces;
  auto answered = [this, last, shard, step = header.step,
                   on_answer = std::move(on_answer)](const Frame& frame) {
    if (on_answer) on_answer();
    if (last) pushed(shard, step, frame);
  };
  links_.request(shard, Message::kPush, std::move(payload), std::move(answered));
}

// A shard has answered a push: it is done, or, where gradients are clipped by norm, measured.
void RemoteStore::pushed(size_t shard, uint64_t step, const Frame& frame) {
  const Done done = take_done(step, frame);
  const auto found = unanswered_.find(step);
  if (found == unanswered_.end()) return;  // given up by settle
  Unanswered& waiting = found->second;
  ++waiting.pushed;
  if (done.squares.size() == specs_.size()) {
    waiting.measured.push_back(shard);
    waiting.squares.resize(specs_.size());
    for (size_t p = 0; p < specs_.size(); ++p) waiting.squares[p].add(done.squares[p]);
  } else {
    --waiting.shards;
  }
  if (waiting.pushed == links_.size()) apply_measured(step);
}

// Tells the shards that wait for it the squares of the whole gradient.
void RemoteStore::apply_measured(uint64_t step) {
  Unanswered& waiting = unanswered_[step];
  ApplyRequest request{step, {}};
  for (const ExactSquares& squares : waiting.squares) request.squares.push_back(squares.value());
  for (size_t shard : waiting.measured) {
    links_.request(shard, Message::kApply, Payload(encode_apply(request)), [this, step](const Frame& frame) {
      take_done(step, frame);
      const auto found = unanswered_.find(step);
      if (found != unanswered_.end() && --found->second.shards == 0) unanswered_.erase(found);
    });
  }
  if (waiting.shards == 0) unanswered_.erase(step);
}

// An answer that comes again, over a new connection, may come behind those to later steps.
Done RemoteStore::take_done(uint64_t step, const Frame& frame) {
  Done done = decode_done(frame.body.bytes());
  pushes_dropped_ += done.dropped;
  cut_at_ = std::max(cut_at_, done.cut_at);
  if (step >= done_step_) {
    done_step_ = step;
    last_done_ = done;
  }
  return done;
}

void RemoteStore::finish_pushes() {
  StepTimer timer(*this);
  wait_for_steps_before(step_);
}

void RemoteStore::settle(double seconds) {
  links_.wait([this] { return unanswered_.empty(); }, seconds);
  unanswered_.clear();
}

void RemoteStore::wait_for_steps_before(uint64_t step) {
  links_.wait_for_others([&] { return unanswered_.empty() || unanswered_.begin()->first >= step; });
}

void RemoteStore::end_pass(int64_t pass) {
  StepTimer timer(*this);
  cut_pass_ = cuts_at_end_(pass) ? pass : -1;
  do {
    send_step({}, {0, pass}, /*ended=*/true);
    wait_for_steps_before(step_);
  } while (!last_done_.pass_ended);
}

}  // namespace ps
