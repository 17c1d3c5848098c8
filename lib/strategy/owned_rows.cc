// Messages of one trainer to another, which have the sparse parameters in their order.  Keys are those of the batches that
// the other does not know of; they have counts if the rows have a policy.  has_all is 1 if no other batch comes in this pass.
//
//   keys      := batches:u32 has_all:u8 ((key_list count:KeyCount[keys]?)[parameters])[batches]
//   weights   := value:f32[keys, cols][parameters]                of these keys, in their order
//   gradients := samples:i64 pass:i64 shrink:u8 value:f32[keys, cols][parameters]
//
// A key may take a single byte of a message, but eight in memory, and more in the messages that answer it.  So the rows that
// one message asks for are bounded by the memory of their keys, counts and weights, which both sides compute in the same way.
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

void check_row_bytes(uint64_t bytes) {
  if (bytes <= kMaxGatheredBytes) return;
  fail(Code::kUsage, "a batch has ", human_bytes(bytes), " of rows of one trainer, which takes up to ",
       human_bytes(kMaxGatheredBytes), ": make data.batch_size smaller");
}

}  // namespace

OwnedRows::OwnedRows(const std::vector<ParameterSpec>& specs, ParameterStore& own, Communicator& communicator)
    : specs_(specs),
      communicator_(communicator),
      own_(own),
      coming_(static_cast<size_t>(communicator.size())),
      plans_(specs.size()) {
  for (size_t p = 0; p < specs.size(); ++p) {
    if (!specs[p].sparse) continue;
    rows_.push_back({.parameter = p,
                     .cols = static_cast<size_t>(specs[p].cols),
                     .counted = specs[p].row_policy.has_value(),
                     .sent = {},
                     .weights = {},
                     .gradients = {},
                     .pointers = {}});
  }
}

OwnedRows::ByRank OwnedRows::exchange(ByRank bytes) {
  for (const std::string& each : bytes) check_row_bytes(each.size());
  ScopedSeconds seconds(exchange_seconds_);
  return communicator_.all_to_all(std::move(bytes));
}

// ---- ahead

// unsent_ <- also the keys of this batch, which go to their owners with one of the next pulls.
void OwnedRows::look_ahead(std::span<const KeyPlan> plans) {
  const size_t ranks = static_cast<size_t>(num_ranks());
  Unsent& batch = unsent_.emplace_back(Unsent{ByRank(ranks), std::vector<uint64_t>(ranks)});
  for (const Rows& rows : rows_) add_keys(rows, plans[rows.parameter], batch);
  for (uint64_t bytes : batch.bytes) check_row_bytes(bytes);
  ++num_told_;
  has_all_ = false;
}

// Returns the positions of the plan's keys by owner; they ascend, as the keys then do.
std::vector<std::vector<uint32_t>> OwnedRows::split(const KeyPlan& plan) const {
  std::vector<std::vector<uint32_t>> positions(static_cast<size_t>(num_ranks()));
  for (size_t n = 0; n < plan.keys.size(); ++n) {
    const size_t owner = static_cast<size_t>(row_owner(plan.keys[n], num_ranks()));
    positions[owner].push_back(static_cast<uint32_t>(n));
  }
  return positions;
}

void OwnedRows::add_keys(const Rows& rows, const KeyPlan& plan, Unsent& batch) const {
  const std::vector<std::vector<uint32_t>> positions = split(plan);
  std::vector<uint64_t> keys;
  for (size_t owner = 0; owner < batch.keys.size(); ++owner) {
    keys.clear();
    for (uint32_t n : positions[owner]) keys.push_back(plan.keys[n]);
    encode_keys(keys, batch.keys[owner]);
    batch.bytes[owner] += keys.size() * rows.bytes_of_row();
    if (!rows.counted) continue;
    for (uint32_t n : positions[owner]) put(batch.keys[owner], plan.counts[n]);
  }
}

// Returns the messages with the keys of the batches that the others do not know of: of the first, and of as many more as
// messages have room for.  Each pull tells of one at least, so that the present batch is always among those that are
// known.
OwnedRows::ByRank OwnedRows::told_keys() {
  ByRank messages(static_cast<size_t>(num_ranks()));
  std::vector<uint64_t> bytes(messages.size());
  const auto has_room = [&](const Unsent& batch) {
    for (size_t owner = 0; owner < bytes.size(); ++owner) {
      if (bytes[owner] + batch.bytes[owner] > kMaxGatheredBytes) return false;
    }
    return true;
  };
  size_t told = 0;
  while (told < unsent_.size() && has_room(unsent_[told])) {
    for (size_t owner = 0; owner < bytes.size(); ++owner) bytes[owner] += unsent_[told].bytes[owner];
    ++told;
  }
  for (size_t owner = 0; owner < messages.size(); ++owner) {
    put(messages[owner], static_cast<uint32_t>(told));
    put(messages[owner], static_cast<uint8_t>(has_all_ && told == unsent_.size()));
    for (size_t batch = 0; batch < told; ++batch) messages[owner] += unsent_[batch].keys[owner];
  }
  unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<ptrdiff_t>(told));
  return messages;
}

// coming_ of the rank <- also the batches of its message, and then none or more.
void OwnedRows::read_batches(ByteReader& in, size_t rank) {
  constexpr uint32_t kMostBatches = 1 << 20;  // more than a trainer looks ahead
  Coming& coming = coming_[rank];
  const uint32_t batches = in.get<uint32_t>();
  const bool has_all = in.get<uint8_t>() != 0;
  if (batches > kMostBatches) fail(Code::kData, "trainer ", rank, " has ", batches, " batches at once");
  if (coming.has_all && batches > 0) fail(Code::kData, "trainer ", rank, " has batches after its last one");
  coming.has_all = has_all;
  uint64_t bytes_left = kMaxGatheredBytes;
  for (uint32_t batch = 0; batch < batches && in.ok(); ++batch) {
    std::vector<AskedKeys>& asked = coming.batches.emplace_back();
    for (const Rows& rows : rows_) asked.push_back(read_keys(in, rank, rows, bytes_left));
  }
  check_read(in, rank, "keys");
  if (coming.batches.empty() && !has_all)
    fail(Code::kData, "trainer ", rank, " has no batch, nor its last one");
}

// Refuses rows that take more than `bytes_left`, which it reduces, before they take memory.
OwnedRows::AskedKeys OwnedRows::read_keys(ByteReader& in, size_t rank, const Rows& rows,
                                          uint64_t& bytes_left) const {
  AskedKeys asked;
  decode_keys(in, asked.keys, bytes_left / rows.bytes_of_row());
  bytes_left -= asked.keys.size() * rows.bytes_of_row();
  for (uint64_t key : asked.keys) {
    if (row_owner(key, num_ranks()) == communicator_.rank()) continue;
    fail(Code::kData, "trainer ", rank, " asks for the row of key ", key, ", which another trainer owns");
  }
  asked.counts.resize(rows.counted ? asked.keys.size() : 0);
  in.get_array(std::span(asked.counts));
  return asked;
}

// Returns the number of steps, from the present one on, of which this trainer knows the keys of all trainers.  A
// trainer that has told of all its batches has none in later steps.
size_t OwnedRows::known_steps() const {
  size_t least = SIZE_MAX, most = 0;
  for (const Coming& coming : coming_) {
    most = std::max(most, coming.batches.size());
    if (!coming.has_all) least = std::min(least, coming.batches.size());
  }
  return std::min(least, most);
}

// Tells own_ of the steps that have become known.
void OwnedRows::unite_known() {
  const size_t known = known_steps();
  while (united_.size() < known) {
    united_.push_back(unite(united_.size()));
    if (own_.looks_ahead() > 0) own_.look_ahead(united_.back());
  }
  if (std::ranges::all_of(coming_, &Coming::has_all)) own_.end_looking_ahead();
}

// Returns, by parameter, the union of the keys that ranks ask for in a step.  The keys of each rank count as those of one
// example, so that uses[rank].index says where in the union each of them is.
std::vector<KeyPlan> OwnedRows::unite(size_t step) {
  std::vector<KeyPlan> plans(specs_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    const AskedKeys none;
    std::vector<const AskedKeys*> asked;
    std::vector<std::array<uint32_t, 2>> offsets;  // by rank, of its one example
    for (const Coming& coming : coming_) {
      asked.push_back(step < coming.batches.size() ? &coming.batches[step][i] : &none);
      offsets.push_back({0, static_cast<uint32_t>(asked.back()->keys.size())});
    }
    std::vector<KeyList> lists;
    for (size_t rank = 0; rank < asked.size(); ++rank) lists.push_back({offsets[rank], asked[rank]->keys});
    KeyPlan& plan = plans[rows_[i].parameter];
    planner_.plan(lists, plan);
    for (KeyUse& use : plan.uses) use.offsets = {};  // which do not live as long
    plan.counts.assign(rows_[i].counted ? plan.keys.size() : 0, {});
    for (size_t rank = 0; rank < asked.size(); ++rank) {
      for (size_t n = 0; n < asked[rank]->counts.size(); ++n) {
        KeyCount& sum = plan.counts[plan.uses[rank].index[n]];
        sum.shows += asked[rank]->counts[n].shows;
        sum.clicks += asked[rank]->counts[n].clicks;
      }
    }
  }
  return plans;
}

// plans_ <- the union of the present step, whose batches are no longer to come.  A step of which nobody has a batch ends
// the pass; the next one begins with batches that nobody knows of.
void OwnedRows::begin_step() {
  unite_known();
  if (united_.empty()) {
    plans_ = unite(0);
    for (Coming& coming : coming_) coming.has_all = false;
    return;
  }
  plans_ = std::move(united_.front());
  united_.pop_front();
  for (Coming& coming : coming_) {
    if (!coming.batches.empty()) coming.batches.pop_front();
  }
}

// ---- pull

void OwnedRows::pull(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views) {
  if (plans.empty()) {
    end_looking_ahead();
  } else if (num_told_ == 0) {
    look_ahead(plans);
  }
  num_told_ -= std::min<size_t>(num_told_, 1);
  const ByRank keys = exchange(told_keys());
  for (size_t rank = 0; rank < keys.size(); ++rank) {
    ByteReader in(keys[rank]);
    read_batches(in, rank);
  }
  begin_step();
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
    rows.sent.assign(keys.size(), {});
    if (!plans.empty()) rows.sent = split(plans[rows.parameter]);
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
