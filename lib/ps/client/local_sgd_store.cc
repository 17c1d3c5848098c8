#include "ps/client/local_sgd_store.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/radix_sort.h"

namespace ps {

namespace {

// A round has one exchange, since servers count each exchange as one batch.  At the end of a pass the remaining
// differences, which may be those of all rows, go out in slices, which limits the memory.
constexpr size_t kAllRows = SIZE_MAX, kRowsAtOnce = 1 << 17;

bool same_bits(const float* a, const float* b, int64_t count) {
  return std::memcmp(a, b, static_cast<size_t>(count) * sizeof(float)) == 0;
}

}  // namespace

LocalSgdStore::LocalSgdStore(const LocalSgdOptions& options, LocalSgdCopies& copies, RemoteStore& remote)
    : specs_(copies.specs()),
      options_(options),
      factor_(options.mean ? 1.0f / static_cast<float>(remote.group().size()) : 1.0f),
      copies_(copies),
      local_(copies.local()),
      remote_(remote) {
  const RunPosition position = find_position();
  remote_.run().set_position(position);
  remote_.run().leave_rest();
  copies_.progress = {position.pass, position.pass_batches, position.batches};
  if (copies_.resumed()) end_former_exchange();
}

// Without restored state, the position follows from the number of pushes: each was a round of batches.
RunPosition LocalSgdStore::find_position() const {
  RunPosition position = remote_.run().position();
  const LocalSgdProgress& progress = copies_.progress;
  if (copies_.resumed()) {
    position.batches = progress.batches;
    if (position.pass == progress.pass && !position.pass_ended) position.pass_batches = progress.pass_batches;
  } else {
    position.pass_batches *= options_.period;
    position.batches *= options_.period;
  }
  return position;
}

// ---- batches

void LocalSgdStore::pull(std::span<const KeyPlan> plans, PullMode mode, Views& views) {
  if (mode == PullMode::kRead) {
    send_rest();
    return remote_.pull(plans, mode, views);
  }
  local_.pull(plans, mode, views);
  refresh(plans, views);
}

// Lists the keys of rows that this round has not read yet, with this trainer's bases of them.  Returns
// false if there are none.  Sets copy.current to the bases of all rows of the batch, by their position in
// the plan. missing[p] and rows[p] have the same order, that of the plan.  A mark counts if its round is
// the running one; kTrained, which the round may have added, is masked out.
bool LocalSgdStore::find_missing(std::span<const KeyPlan> plans, std::vector<KeyPlan>& missing,
                                 std::vector<std::vector<float*>>& rows) {
  bool any = false;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].kind != ParameterKind::kRows) continue;
    LocalSgdCopy& copy = copies_[p];
    copy.current.resize(plans[p].keys.size());
    for (size_t n = 0; n < copy.current.size(); ++n) {
      float* base = copy.find_or_start(specs_[p], plans[p].keys[n]);
      copy.current[n] = base;
      if ((copy.mark(base) & ~LocalSgdCopy::kTrained) == round_) continue;
      missing[p].keys.push_back(plans[p].keys[n]);
      rows[p].push_back(base);
      any = true;
    }
  }
  return any;
}

// Pulls the rows and whole parameters that this round has not read yet, and merges them into the trainer's
// own.  `mine` has the views of local_ for the batch, so that the merged weights are those with which the
// batch is computed.
//
// The answer has the rows of `missing` alone, while mine[p].rows has those of the whole batch.  The inner
// loop walks both: the missing rows are in the order of the batch, so that `next` only has to move on when
// the base at position n is the base of missing row number `next`.
void LocalSgdStore::refresh(std::span<const KeyPlan> plans, const Views& mine) {
  std::vector<KeyPlan> missing(specs_.size());
  std::vector<std::vector<float*>> bases(specs_.size());
  if (!find_missing(plans, missing, bases) && has_whole_) return;
  Views theirs;
  remote_.pull(missing, PullMode::kTrain, has_whole_ ? PullScope::kRows : PullScope::kAll, theirs);
  for (size_t p = 0; p < specs_.size(); ++p) {
    const int64_t cols = specs_[p].cols;
    const bool adopts = only_adopts(p);
    std::vector<uint64_t> changed;
    std::vector<float> weights;  // [changed, cols], and the row at hand
    size_t next = 0;
    for (size_t n = 0; next < bases[p].size(); ++n) {
      float* base = bases[p][next];
      if (copies_[p].current[n] != base) continue;
      float* row = mine[p].rows[n];
      if (adopts) {
        weights.resize(changed.size() * static_cast<size_t>(cols));
        weights.insert(weights.end(), row, row + cols);
        row = weights.data() + weights.size() - cols;
      }
      if (merge(theirs[p].rows[next++], cols, /*sent=*/false, base, row) && adopts)
        changed.push_back(plans[p].keys[n]);
      copies_[p].set_mark(base, round_);
    }
    adopt(p, changed, weights.data());
  }
  if (!has_whole_) merge_whole(theirs, /*sent=*/false, mine);
}

// Merges the parameters that batches use whole.  The first time, a matrix has no base yet; then its own
// weights become the base: they are the initial weights, which servers have drawn alike.  Statistics are
// taken over from the servers, since no optimizer moves them and no difference of them is kept.
void LocalSgdStore::merge_whole(const Views& theirs, bool sent, const Views& mine) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    const int64_t count = specs_[p].rows * specs_[p].cols;
    std::vector<float>& whole = copies_[p].whole;
    if (specs_[p].kind == ParameterKind::kStatistic) {
      std::copy_n(theirs[p].value, count, mine[p].value);
    } else if (specs_[p].kind == ParameterKind::kMatrix) {
      if (whole.empty()) whole.assign(mine[p].value, mine[p].value + count);
      if (!only_adopts(p)) {
        merge(theirs[p].value, count, sent, whole.data(), mine[p].value);
        continue;
      }
      std::vector<float> weights(mine[p].value, mine[p].value + count);
      if (!merge(theirs[p].value, count, sent, whole.data(), weights.data())) continue;
      std::vector<uint64_t> rows(static_cast<size_t>(specs_[p].rows));
      std::iota(rows.begin(), rows.end(), 0);
      adopt(p, rows, weights.data());
    }
  }
  has_whole_ = true;
}

// Sets base and mine to the servers' weights.  If the servers' weight is the one that this trainer expects,
// since no other trainer has changed it, the trainer's own weight stays, because it has been rounded less
// often.  Returns true if a weight of `mine` has changed.  The expected weight is base, as long as no
// difference is on its way, and else base + (mine - base), in the same two roundings as on a server.  With
// a factor below 1 a server adds only a part of the difference; then its weight is not `mine` even if
// nobody else has changed it, and the trainer always takes it over.
bool LocalSgdStore::merge(const float* theirs, int64_t count, bool sent, float* base, float* mine) const {
  const bool expects = !sent || factor_ == 1;
  bool changed = false;
  for (int64_t j = 0; j < count; ++j) {
    const float expected = sent ? base[j] + difference(mine[j], base[j]) : base[j];
    const bool stays = expects && theirs[j] == expected;
    if (!stays) mine[j] = theirs[j];
    changed |= !stays;
    base[j] = theirs[j];
  }
  return changed;
}

// Returns true if the weights of a parameter must not be written by themselves.
bool LocalSgdStore::only_adopts(size_t p) const {
  return specs_[p].kind != ParameterKind::kStatistic &&
         local_.optimizer(static_cast<int>(p)).makes_weights_from_state();
}

// Sets rows of the copies, and the state of the optimizer with them.
//   keys ascend; weights [keys, cols]
void LocalSgdStore::adopt(size_t p, std::span<const uint64_t> keys, const float* weights) {
  if (keys.empty()) return;
  const int parameter = static_cast<int>(p);
  const int64_t cols = specs_[p].cols, values = local_.layout(parameter).values();
  RowBlock rows;
  local_.copy_rows(parameter, keys, rows);
  PS_CHECK(rows.size() == keys.size());
  float* row = rows.values.data();
  for (size_t n = 0; n < keys.size(); ++n, row += values, weights += cols)
    local_.optimizer(parameter).adopt({row, row + cols, cols, cols}, weights);
  local_.put_rows(parameter, rows);
}

// Trains the batch on the copies alone. copy.current still has the bases of its rows, from the pull.
// kTrained in the mark of a base keeps a row that several batches of a round use from being listed twice.
// After `period` batches the round ends.  Shows and clicks of all its batches go to the servers with the differences.
void LocalSgdStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                         const StepInfo& info) {
  local_.push(plans, views, info);
  begin_pass(info.pass);
  shrink_asked_ |= info.shrink;
  ++copies_.progress.pass_batches, ++copies_.progress.batches;
  for (size_t p = 0; p < specs_.size(); ++p) {
    LocalSgdCopy& copy = copies_[p];
    for (size_t n = 0; n < copy.current.size(); ++n) {
      if (copy.counted) copy.add_count(copy.current[n], plans[p].counts[n]);
      if ((copy.mark(copy.current[n]) & LocalSgdCopy::kTrained) != 0) continue;
      copy.set_mark(copy.current[n], round_ | LocalSgdCopy::kTrained);
      copy.trained.push_back(plans[p].keys[n]);
    }
  }
  if (++batches_ == options_.period) exchange(kAllRows);
}

// ---- exchanges

// Ends the round: sends the differences of all rows that it has trained, and reads the weights that result
// from the differences of all trainers.  At most `rows_at_once` rows of a parameter go into one exchange;
// the first exchange has the whole parameters too.  The next round begins first, so that merge_rows can
// mark the exchanged rows as read in it, while the marks of all other rows are of former rounds: a batch
// that uses such a row pulls it again.  The loop runs once even if no row was trained, for the whole
// parameters.  The keys are sorted because a plan has them in ascending order.
void LocalSgdStore::exchange(size_t rows_at_once) {
  ++round_;
  batches_ = 0;
  size_t most = 0;
  for (LocalSgdCopy& copy : copies_) {
    radix_sort(copy.trained);
    most = std::max(most, copy.trained.size());
  }
  rows_at_once = std::min(rows_at_once, std::max<size_t>(1, most));
  for (size_t begin = 0; begin == 0 || begin < most; begin += rows_at_once) {
    std::vector<KeyPlan> plans(specs_.size());
    for (size_t p = 0; p < specs_.size(); ++p) {
      const std::vector<uint64_t>& trained = copies_[p].trained;
      if (begin >= trained.size()) continue;
      const size_t count = std::min(rows_at_once, trained.size() - begin);
      plans[p].keys.assign(trained.data() + begin, trained.data() + begin + count);
      if (!copies_[p].counted) continue;
      for (uint64_t key : plans[p].keys)
        plans[p].counts.push_back(copies_[p].end_count(copies_[p].rows->find(key)));
    }
    exchange_some(plans, begin == 0 ? PullScope::kAll : PullScope::kRows);
  }
  for (LocalSgdCopy& copy : copies_) copy.trained.clear();
}

// The order matters for checkpoints, which store the copies during the push: the rows are marked as sent before
// it, so that a process which resumes from the checkpoint knows that their differences count already.
void LocalSgdStore::exchange_some(std::span<const KeyPlan> plans, PullScope scope) {
  Views whole, differences;
  std::vector<std::vector<float>> mine = read_copies(plans);
  local_.pull(std::vector<KeyPlan>(specs_.size()), PullMode::kTrain, whole);
  remote_.prepare_push(plans, scope, differences);
  fill_differences(plans, scope, mine, whole, differences);
  mark_sent(plans, scope);
  remote_.push(plans, differences,
               {.samples = 1, .pass = copies_.progress.pass, .shrink = std::exchange(shrink_asked_, false)});
  remote_.finish_pushes();
  end_exchange(plans, mine);
}

// Pulls the weights that the servers have computed from the differences, and merges them.  Pulls with plans
// that are empty give the whole parameters alone.  `mine` has copies of the exchanged rows as read_copies
// gave them, so that local_ need not have them at hand.
void LocalSgdStore::end_exchange(std::span<const KeyPlan> plans, std::span<std::vector<float>> mine) {
  const bool with_whole = std::exchange(copies_.whole_is_sent, false);
  Views whole, theirs;
  local_.pull(std::vector<KeyPlan>(specs_.size()), PullMode::kTrain, whole);
  remote_.pull(plans, PullMode::kTrain, with_whole ? PullScope::kAll : PullScope::kRows, theirs);
  merge_rows(plans, theirs, mine);
  if (with_whole) merge_whole(theirs, /*sent=*/true, whole);
}

// Ends the exchange during which the earlier process sent its state to the servers.
void LocalSgdStore::end_former_exchange() {
  const std::vector<KeyPlan> plans = copies_.sent_keys();
  const auto has_keys = [](const KeyPlan& plan) { return !plan.keys.empty(); };
  if (!copies_.whole_is_sent && std::ranges::none_of(plans, has_keys)) return;
  std::vector<std::vector<float>> mine = read_copies(plans);
  end_exchange(plans, mine);
}

// Marks rows as sent, for checkpoints, which store the state during the push.  The mark has no round, so
// that the rows would be pulled again if the exchange did not end.
void LocalSgdStore::mark_sent(std::span<const KeyPlan> plans, PullScope scope) {
  copies_.whole_is_sent = scope == PullScope::kAll;
  for (size_t p = 0; p < specs_.size(); ++p) {
    for (uint64_t key : plans[p].keys) copies_[p].set_mark(copies_[p].rows->find(key), LocalSgdCopy::kSent);
  }
}

// Returns copies of rows with all idle steps applied.  The rows themselves stay as they are: applying idle
// steps to them here would change how training rounds.  By parameter, they are [keys, cols], in the order
// of the plan.  A table that is not sparse has no idle steps, and read_rows is for sparse ones, so that its
// rows are copied from a pull with a plan for it alone.
std::vector<std::vector<float>> LocalSgdStore::read_copies(std::span<const KeyPlan> plans) {
  std::vector<std::vector<float>> copies(specs_.size());
  Views views;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (plans[p].keys.empty()) continue;
    const size_t cols = static_cast<size_t>(specs_[p].cols);
    copies[p].resize(plans[p].keys.size() * cols);
    if (specs_[p].sparse) {
      local_.read_rows(static_cast<int>(p), plans[p].keys, copies[p].data());
      continue;
    }
    std::vector<KeyPlan> one(specs_.size());
    one[p].keys = plans[p].keys;
    local_.pull(one, PullMode::kTrain, views);
    for (size_t n = 0; n < one[p].keys.size(); ++n) {
      std::copy_n(views[p].rows[n], cols, copies[p].data() + n * cols);
    }
  }
  return copies;
}

// Writes weight minus base for the rows of `plans` and for matrices.  Statistics are sent as they are,
// since no optimizer moves them.  `out` has the gradient buffers of a push, since servers apply a
// difference as a gradient, with a rate that adds it (addition_plan): out[p].row_gradients [keys, cols] <-
// factor (w - b).
void LocalSgdStore::fill_differences(std::span<const KeyPlan> plans, PullScope scope,
                                     std::span<const std::vector<float>> mine, const Views& whole,
                                     Views& out) const {
  for (size_t p = 0; p < specs_.size(); ++p) {
    const int64_t cols = specs_[p].cols;
    const float* from = mine[p].data();
    float* to = out[p].row_gradients;
    for (uint64_t key : plans[p].keys) {
      const float* base = copies_[p].rows->find(key);
      for (int64_t j = 0; j < cols; ++j) *to++ = difference(*from++, base[j]);
    }
    if (scope == PullScope::kRows) continue;
    if (specs_[p].kind == ParameterKind::kStatistic) out[p].value = whole[p].value;
    if (specs_[p].kind != ParameterKind::kMatrix) continue;
    for (int64_t i = 0; i < specs_[p].rows * cols; ++i) {
      out[p].gradient[i] = difference(whole[p].value[i], copies_[p].whole[static_cast<size_t>(i)]);
    }
  }
}

// Merges the servers' rows into the copies in `mine`, and writes only those rows that have changed back
// into the local tables.  A row that stays is not written, since its copy has idle steps applied that the
// table has still to apply.
void LocalSgdStore::merge_rows(std::span<const KeyPlan> plans, const Views& theirs,
                               std::span<std::vector<float>> mine) {
  std::vector<KeyPlan> changed(specs_.size());
  std::vector<std::vector<const float*>> weights(specs_.size());
  for (size_t p = 0; p < specs_.size(); ++p) {
    float* copy = mine[p].data();
    for (size_t n = 0; n < plans[p].keys.size(); ++n, copy += specs_[p].cols) {
      float* base = copies_[p].rows->find(plans[p].keys[n]);
      copies_[p].set_mark(base, round_);
      if (!merge(theirs[p].rows[n], specs_[p].cols, /*sent=*/true, base, copy)) continue;
      changed[p].keys.push_back(plans[p].keys[n]);
      weights[p].push_back(copy);
    }
  }
  Views rows;
  local_.pull(changed, PullMode::kTrain, rows);
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (only_adopts(p)) {
      std::vector<float> adopted;
      for (const float* row : weights[p]) adopted.insert(adopted.end(), row, row + specs_[p].cols);
      adopt(p, changed[p].keys, adopted.data());
      continue;
    }
    for (size_t n = 0; n < weights[p].size(); ++n) {
      std::copy_n(weights[p][n], specs_[p].cols, rows[p].rows[n]);
    }
  }
}

void LocalSgdStore::begin_pass(int64_t pass) {
  if (copies_.progress.pass == pass) return;
  copies_.progress.pass = pass;
  copies_.progress.pass_batches = 0;
}

void LocalSgdStore::send_rest() {
  if (batches_ > 0) exchange(kAllRows);
}

// At the end of a pass the servers must have all changes, also of rows that the last round has not trained:
// decay moves these, and rounding leaves small differences.  A few exchanges suffice, since each leaves
// fewer differences.  After the pass the other trainers' changes are complete too, so that a new round
// begins, whose first batch reads all parameters again.
void LocalSgdStore::end_pass(int64_t pass) {
  constexpr int kMostExchanges = 3;
  begin_pass(pass);
  send_rest();
  for (int again = 0; again < kMostExchanges && find_changed(); ++again) exchange(kRowsAtOnce);
  remote_.end_pass(pass);
  ++round_;
  has_whole_ = false;
}

// Lists all rows that differ from their bases as trained in this round.  Returns false if nothing differs.  Rows of a
// table with a row policy are left out: what is sent of them would count as an occurrence of their keys.
bool LocalSgdStore::find_changed() {
  Views whole;
  local_.pull(std::vector<KeyPlan>(specs_.size()), PullMode::kTrain, whole);
  bool any = false;
  for (size_t p = 0; p < specs_.size(); ++p) {
    const std::vector<float>& base = copies_[p].whole;
    any |= !base.empty() && !same_bits(base.data(), whole[p].value, static_cast<int64_t>(base.size()));
    if (specs_[p].kind == ParameterKind::kRows && !copies_[p].counted) find_changed_rows(p);
    any |= !copies_[p].trained.empty();
  }
  return any;
}

// Compares rows with their bases, some keys at a time.  For a parameter that is not sparse these are all rows,
// since each step moves also the rows that no batch has used.
void LocalSgdStore::find_changed_rows(size_t p) {
  constexpr size_t kKeysAtOnce = 4096;
  const std::vector<uint64_t> used(copies_[p].rows->keys().begin(), copies_[p].rows->keys().end());
  const size_t total = specs_[p].sparse ? used.size() : static_cast<size_t>(specs_[p].rows);
  std::vector<uint64_t> keys;
  for (size_t begin = 0; begin < total; begin += kKeysAtOnce) {
    const size_t count = std::min(kKeysAtOnce, total - begin);
    keys.resize(count);
    for (size_t n = 0; n < count; ++n) keys[n] = specs_[p].sparse ? used[begin + n] : begin + n;
    find_changed_rows(p, keys);
  }
}

// Lists those of the keys whose rows differ from their bases in some bit.  A row that was never read has no
// base in memory: its base is the initial weights, which every process draws alike, and `first` gets them.
// Only if such a row has changed does it get a base of its own, which the exchange needs.
void LocalSgdStore::find_changed_rows(size_t p, std::span<const uint64_t> keys) {
  LocalSgdCopy& copy = copies_[p];
  std::vector<KeyPlan> plans(specs_.size());
  plans[p].keys.assign(keys.begin(), keys.end());
  const std::vector<float> mine = std::move(read_copies(plans)[p]);
  std::vector<float> first(copy.cols);
  for (size_t n = 0; n < keys.size(); ++n) {
    const float* base = copy.rows->find(keys[n]);
    if (base == nullptr) {
      specs_[p].initializer.fill(keys[n], first, copy.cpu);
      base = first.data();
    }
    if (same_bits(mine.data() + n * copy.cols, base, specs_[p].cols)) continue;
    copy.find_or_start(specs_[p], keys[n]);
    copy.trained.push_back(keys[n]);
  }
}

// ---- models

std::vector<uint64_t> LocalSgdStore::keys(int parameter) {
  send_rest();
  return remote_.keys(parameter);
}

void LocalSgdStore::read_rows(int parameter, std::span<const uint64_t> keys, float* weights) {
  send_rest();
  remote_.read_rows(parameter, keys, weights);
}

void LocalSgdStore::read_all(int parameter, float* weights) {
  send_rest();
  remote_.read_all(parameter, weights);
}

void LocalSgdStore::load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) {
  remote_.load_rows(parameter, keys, weights);
  ++round_;
}

void LocalSgdStore::load_all(int parameter, const float* weights) {
  remote_.load_all(parameter, weights);
  ++round_;
  has_whole_ = false;
}

}  // namespace ps
