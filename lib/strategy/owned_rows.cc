// Messages of one trainer to another, which have the sparse parameters in their order:
//
//   keys      := (key_list count:KeyCount[keys]?)[parameters]     counts if the rows have a policy
//   weights   := value:f32[keys, cols][parameters]                of these keys, in their order
//   gradients := samples:i64 pass:i64 shrink:u8 value:f32[keys, cols][parameters]
//
// A key may take a single byte of a message, but eight in memory, and more in the messages that answer it.  So the rows of a
// batch that one trainer asks of another are bounded by the memory of their keys, counts and weights, which both compute in the
// same way.
#include "strategy/owned_rows.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "collective/net/messages.h"
#include "math/exact_squares.h"
#include "math/finite.h"
#include "ps/wire/key_list.h"
#include "ps/wire/row_owner.h"

namespace ps {

namespace {

void check_read(const ByteReader& in, size_t rank, const char* what) {
  if (in.ok() && in.remaining() == 0) return;
  fail(Code::kData, "trainer ", rank, " sent ", in.ok() ? "too many" : "too few", " bytes of ", what);
}

void check_batch(uint64_t bytes) {
  if (bytes <= kMaxGatheredBytes) return;
  fail(Code::kUsage, "a batch has ", human_bytes(bytes), " of rows of one trainer, which takes up to ",
       human_bytes(kMaxGatheredBytes), ": make data.batch_size smaller");
}

}  // namespace

OwnedRows::OwnedRows(const std::vector<ParameterSpec>& specs, ParameterStore& own, Communicator& communicator)
    : specs_(specs), communicator_(communicator), own_(own), plans_(specs.size()) {
  const size_t ranks = static_cast<size_t>(num_ranks());
  for (size_t p = 0; p < specs.size(); ++p) {
    if (!specs[p].sparse) continue;
    Rows rows{.parameter = p,
              .cols = static_cast<size_t>(specs[p].cols),
              .counted = specs[p].row_policy.has_value(),
              .sent = {},
              .asked = {},
              .counts = {},
              .whole = {},
              .weights = {},
              .gradients = {},
              .pointers = {}};
    rows.sent.resize(ranks);
    rows.asked.resize(ranks);
    rows.counts.resize(ranks);
    rows.whole.resize(ranks);
    rows_.push_back(std::move(rows));
  }
}

OwnedRows::ByRank OwnedRows::exchange(ByRank bytes) {
  for (const std::string& each : bytes) check_batch(each.size());
  ScopedSeconds seconds(exchange_seconds_);
  return communicator_.all_to_all(std::move(bytes));
}

// ---- pull

void OwnedRows::pull(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views) {
  ByRank keys(static_cast<size_t>(num_ranks()));
  for (Rows& rows : rows_) {
    split(rows, plans.empty() ? nullptr : &plans[rows.parameter]);
  }
  for (size_t owner = 0; owner < keys.size(); ++owner) {
    uint64_t bytes = 0;
    for (const Rows& rows : rows_) bytes += rows.sent[owner].size() * rows.bytes_of_row();
    check_batch(bytes);
  }
  for (const Rows& rows : rows_) add_keys(rows, plans.empty() ? nullptr : &plans[rows.parameter], keys);
  keys = exchange(std::move(keys));
  for (size_t rank = 0; rank < keys.size(); ++rank) {
    ByteReader in(keys[rank]);
    uint64_t bytes_left = kMaxGatheredBytes;
    for (Rows& rows : rows_) read_keys(in, rank, rows, bytes_left);
    check_read(in, rank, "keys");
  }
  for (Rows& rows : rows_) unite(rows);
  own_.pull(plans_, PullMode::kTrain, own_views_);

  ByRank weights(keys.size());
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    for (const Rows& rows : rows_) {
      float* const* const united = own_views_[rows.parameter].rows;
      for (uint32_t n : plans_[rows.parameter].uses[rank].index)
        put_array(weights[rank], std::span<const float>(united[n], rows.cols));
    }
  }
  weights = exchange(std::move(weights));
  views.assign(plans_.size(), {});
  for (Rows& rows : rows_) {
    bind(rows, plans.empty() ? 0 : plans[rows.parameter].keys.size(), views[rows.parameter]);
  }
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    ByteReader in(weights[rank]);
    for (Rows& rows : rows_) {
      for (uint32_t n : rows.sent[rank]) in.get_array(std::span(rows.pointers[n], rows.cols));
    }
    check_read(in, rank, "weights");
  }
}

// rows.sent <- the positions of the plan's keys by owner; they ascend, as the keys then do.
void OwnedRows::split(Rows& rows, const KeyPlan* plan) {
  for (std::vector<uint32_t>& sent : rows.sent) sent.clear();
  if (plan == nullptr) return;
  for (size_t n = 0; n < plan->keys.size(); ++n) {
    const size_t owner = static_cast<size_t>(row_owner(plan->keys[n], num_ranks()));
    rows.sent[owner].push_back(static_cast<uint32_t>(n));
  }
}

void OwnedRows::add_keys(const Rows& rows, const KeyPlan* plan, ByRank& out) const {
  std::vector<uint64_t> keys;
  for (size_t owner = 0; owner < out.size(); ++owner) {
    keys.clear();
    for (uint32_t n : rows.sent[owner]) keys.push_back(plan->keys[n]);
    encode_keys(keys, out[owner]);
    if (!rows.counted) continue;
    for (uint32_t n : rows.sent[owner]) put(out[owner], plan->counts[n]);
  }
}

// Refuses rows that take more than `bytes_left`, which it reduces, before they take memory.
void OwnedRows::read_keys(ByteReader& in, size_t rank, Rows& rows, uint64_t& bytes_left) const {
  std::vector<uint64_t>& keys = rows.asked[rank];
  keys.clear();
  decode_keys(in, keys, bytes_left / rows.bytes_of_row());
  bytes_left -= keys.size() * rows.bytes_of_row();
  for (uint64_t key : keys) {
    if (row_owner(key, num_ranks()) == communicator_.rank()) continue;
    fail(Code::kData, "trainer ", rank, " asks for the row of key ", key, ", which another trainer owns");
  }
  rows.counts[rank].resize(rows.counted ? keys.size() : 0);
  in.get_array(std::span(rows.counts[rank]));
}

// The plan of a parameter <- the union of the keys that ranks ask for.  The keys of each rank count as those of one
// example, so that uses[rank].index says where in the union each of them is.
void OwnedRows::unite(Rows& rows) {
  KeyPlan& plan = plans_[rows.parameter];
  std::vector<KeyList> lists;
  for (size_t rank = 0; rank < rows.asked.size(); ++rank) {
    rows.whole[rank] = {0, static_cast<uint32_t>(rows.asked[rank].size())};
    lists.push_back({rows.whole[rank], rows.asked[rank]});
  }
  planner_.plan(lists, plan);
  plan.counts.assign(rows.counted ? plan.keys.size() : 0, {});
  for (size_t rank = 0; rank < rows.asked.size() && rows.counted; ++rank) {
    for (size_t i = 0; i < rows.counts[rank].size(); ++i) {
      KeyCount& sum = plan.counts[plan.uses[rank].index[i]];
      sum.shows += rows.counts[rank][i].shows;
      sum.clicks += rows.counts[rank][i].clicks;
    }
  }
}

void OwnedRows::bind(Rows& rows, size_t keys, ParameterView<float>& view) {
  const size_t floats = std::max<size_t>(1, keys * rows.cols);
  rows.weights.resize(floats);
  rows.gradients.resize(floats);
  rows.pointers.resize(std::max<size_t>(1, keys));
  for (size_t n = 0; n < keys; ++n) rows.pointers[n] = rows.weights.data() + n * rows.cols;
  view.rows = rows.pointers.data();
  view.row_gradients = rows.gradients.data();
}

// ---- steps

// A row whose gradient is not finite would stay useless, so that the trainer that has it says so, as servers do.
void OwnedRows::check_finite(const Rows& rows, const float* gradients) const {
  size_t keys = 0;
  for (const std::vector<uint32_t>& sent : rows.sent) keys += sent.size();
  if (all_finite(gradients, keys * rows.cols)) return;
  fail(Code::kData, "the gradient of ", quote(specs_[rows.parameter].name),
       " has values that are not finite");
}

// The step is of the sum of all trainers: of their examples, and of their gradients in the order of ranks.
void OwnedRows::sum_up(std::span<const ParameterView<float>> views, const StepInfo& info) {
  for (const Rows& rows : rows_) {
    if (!views.empty()) check_finite(rows, views[rows.parameter].row_gradients);
  }
  ByRank gradients(static_cast<size_t>(num_ranks()));
  for (size_t owner = 0; owner < gradients.size(); ++owner) {
    std::string& out = gradients[owner];
    put(out, info.samples);
    put(out, info.pass);
    put(out, static_cast<uint8_t>(info.shrink));
    for (const Rows& rows : rows_) {
      for (uint32_t n : rows.sent[owner])
        put_array(out,
                  std::span<const float>(views[rows.parameter].row_gradients + n * rows.cols, rows.cols));
    }
  }
  gradients = exchange(std::move(gradients));
  total_ = {};
  std::vector<std::vector<bool>> seen;  // by sparse parameter and row of the union: it has a gradient already
  for (const Rows& rows : rows_) seen.emplace_back(plans_[rows.parameter].keys.size(), false);
  for (size_t rank = 0; rank < gradients.size(); ++rank) {
    ByteReader in(gradients[rank]);
    total_.samples += in.get<int64_t>();
    total_.pass = std::max(total_.pass, in.get<int64_t>());
    total_.shrink |= in.get<uint8_t>() != 0;
    for (size_t i = 0; i < rows_.size(); ++i) add_gradients(rows_[i], in, rank, seen[i]);
    check_read(in, rank, "gradients");
  }
}

// The sums are exact, so that they do not depend on who owns which rows.
std::vector<double> OwnedRows::squares() {
  std::string bytes;
  for (const Rows& rows : rows_) {
    ExactSquares own;
    const size_t floats = plans_[rows.parameter].keys.size() * rows.cols;
    own.add(own_views_[rows.parameter].row_gradients, static_cast<int64_t>(floats));
    own.save(bytes);
  }
  const ByRank all = [&] {
    ScopedSeconds seconds(exchange_seconds_);
    return communicator_.gather(std::move(bytes));
  }();
  std::vector<ExactSquares> sums(rows_.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    ByteReader in(all[rank]);
    for (ExactSquares& sum : sums) {
      ExactSquares part;
      part.load(in);
      sum.add(part);
    }
    check_read(in, rank, "squares");
  }
  std::vector<double> squares(plans_.size());
  for (size_t i = 0; i < rows_.size(); ++i) squares[rows_[i].parameter] = sums[i].value();
  return squares;
}

// The first gradient of a row sets the sum, and further ones are added to it, as servers do.
void OwnedRows::add_gradients(const Rows& rows, ByteReader& in, size_t rank, std::vector<bool>& seen) {
  std::vector<float> row(rows.cols);
  for (uint32_t n : plans_[rows.parameter].uses[rank].index) {
    float* const sum = own_views_[rows.parameter].row_gradients + n * rows.cols;
    in.get_array(std::span(row));
    if (!seen[n]) {
      std::ranges::copy(row, sum);
    } else {
      for (size_t c = 0; c < rows.cols; ++c) sum[c] += row[c];
    }
    seen[n] = true;
  }
}

}  // namespace ps
