#include "heter/shared_copies.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "heter/summed_batches.h"
#include "ps/client/stored_beginning.h"

namespace ps {

// ---- readers that come and go

// The first reader to come, when no other is there, says how many there are.  If the rank of the reader has
// a place already, its former connection is lost with the messages that were on their way, so that all
// readers join again.
void SharedCopies::enter(CopiesWork& work) {
  const size_t size = static_cast<size_t>(work.trainers());
  const bool alone = std::ranges::all_of(members_, [](const CopiesWork* each) { return each == nullptr; });
  if (alone) members_.assign(size, nullptr);
  if (members_.size() != size) {
    ps::fail(Code::kUsage, "a reader of ", size, ", and this compute trainer has one of ", members_.size());
  }
  CopiesWork*& member = members_[static_cast<size_t>(work.rank())];
  if (member != nullptr) begin_again();
  member = &work;
}

void SharedCopies::leave(const CopiesWork& work) {
  const auto member = std::ranges::find(members_, &work);
  if (blamed_ == &work) blamed_ = nullptr;
  if (member == members_.end()) return;
  *member = nullptr;
  begin_again();
}

void SharedCopies::drop_copies() {
  copies_.reset();
  beginning_.reset();
  windows_.clear();
  pass_.reset();
}

void SharedCopies::begin_again() {
  drop_copies();
  for (CopiesWork* each : members_) {
    if (each != nullptr) each->drop(Error(kBeginAgain, "the copies of the parameters are gone"));
  }
}

// Fails the blamed reader with the error; the others only have to begin again, since the fault is not theirs.
void SharedCopies::fail(const Error& error) {
  if (blamed_ != nullptr) {
    blamed_->drop(error);
    blamed_->forget_link();
  }
  begin_again();
}

// ---- the beginning

// Returns true if all readers have joined and have the same run.  A reader of another run will learn that from
// the servers, and come again.
bool SharedCopies::all_joined() const {
  return std::ranges::all_of(members_, [this](const CopiesWork* each) {
    return each != nullptr && !each->closed() && each->joined() && each->run() == members_.front()->run();
  });
}

void SharedCopies::note_joined() {
  if (all_joined()) members_.front()->answer_join(Payload());
}

void SharedCopies::receive_beginning(const CopiesWork& work, const std::function<Buffer()>& hold) {
  if (work.rank() != 0) ps::fail(Code::kData, "a beginning of another reader than the first");
  if (!all_joined()) throw Error(kBeginAgain, "a reader has to join before the copies begin");
  if (copies_ || beginning_) ps::fail(Code::kData, "a second beginning");
  beginning_ = hold();
}

void SharedCopies::check_begun(const CopiesWork& work) const {
  if (copies_ && work.joined()) return;
  throw Error(kBeginAgain, "this compute trainer has no copies of the parameters");
}

bool SharedCopies::ready() const {
  if (beginning_) return true;
  if (!copies_) return false;
  return std::ranges::all_of(members_, [](const CopiesWork* each) {
    return each != nullptr && !each->closed() && each->has_next();
  });
}

void SharedCopies::advance() {
  if (!ready() || connect_one()) return;
  if (beginning_) return begin();
  const bool any = std::ranges::any_of(members_, [](const CopiesWork* each) { return each->has_batch(); });
  any ? train_step() : end_pass();
}

// Connects one reader's work to the servers, and returns true if it did.  Only one connects in a call, since
// others may come and go meanwhile.
bool SharedCopies::connect_one() {
  for (CopiesWork* each : members_) {
    blame(*each);
    each->check_link();
    if (each->connected()) continue;
    each->connect_to_servers();
    return true;
  }
  return false;
}

// Makes the copies from the beginning that the first reader has sent. copies_ is set after all bytes were
// decoded, so that damaged ones leave no copies.  Every reader then gets the first step as the answer to
// its join.
void SharedCopies::begin() {
  blame(*members_.front());
  const Buffer body = std::move(*std::exchange(beginning_, std::nullopt));
  const auto [first, bytes] = split_first(body.bytes());
  specs_ = members_.front()->parameters();
  auto copies = std::make_unique<LocalStore>(specs_, setup_.optimizers, setup_.memory_limit, setup_.device);
  begin_from(decode_beginning(bytes, specs_.size()), specs_, *copies);
  copies_ = std::move(copies);
  windows_.assign(specs_.size(), {});
  plans_.assign(specs_.size(), {});
  first_ = step_ = first;
  for (CopiesWork* each : members_) each->answer_join(Payload(encode_first(first)));
}

// ---- steps

// No reader has data for this step: it ends the pass, and counts as a step as it does on the servers.  The
// windows get an empty batch for it, since they must have one for each step from first_ on.
void SharedCopies::end_pass() {
  for (CopiesWork* each : members_) {
    blame(*each);
    each->check_no_data(step_, pass_);
  }
  copies_->end_pass(*pass_);
  for (CopiesWork* each : members_) each->end_pass(*pass_);
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].sparse) windows_[p].add({}, leaving_);
  }
  leaving_.clear();
  ++step_;
  ++*pass_;
}

// Trains one step.  The batches are decoded, rows that no batch needs any more leave the copies, and new rows
// enter.  Every batch is computed with the same weights; only then is the sum applied.  Dense gradients are
// pushed last, and each reader is answered when the servers hold them.
void SharedCopies::train_step() {
  Step step = begin_batches();
  drop_before(step.left);
  for (size_t p = 0; p < specs_.size(); ++p) {
    std::vector<std::span<const uint64_t>> lists;
    for (const CopiesWork* each : step.trained) lists.emplace_back(each->prepared().plans[p].keys);
    plans_[p].keys = union_of(lists);
  }
  add_rows(step.sent);
  for (CopiesWork* each : step.trained) {
    blame(*each);
    each->compute_with(*copies_);
  }
  apply(step.trained);
  ++step_;
  for (CopiesWork* each : step.idle) each->answer_no_data();
  for (CopiesWork* each : step.trained) {
    blame(*each);
    each->finish_batch();
  }
}

// Decodes the batch of each reader that has one. step.left is the smallest of their `left`: all these
// readers know that the steps before it are applied, so that the rows that only such steps have used are
// the same on the shards, from which a later batch gets them.  A reader without a batch asks for no rows
// and does not count.
SharedCopies::Step SharedCopies::begin_batches() {
  const ReturnedLayout layout = [this](uint32_t p) {
    if (p >= specs_.size() || !specs_[p].sparse) ps::fail(Code::kData, "batch: rows of parameter ", p);
    return copies_->layout(static_cast<int>(p));
  };
  Step step;
  step.left = step_;
  for (CopiesWork* each : members_) {
    blame(*each);
    if (!each->has_batch()) {
      each->check_no_data(step_, pass_);
      step.idle.push_back(each);
      continue;
    }
    CopiesWork::Next next = each->begin_batch(step_, pass_, layout);
    step.left = std::min(step.left, next.left);
    step.sent.push_back(std::move(next.rows));
    step.trained.push_back(each);
  }
  return step;
}

// Drops the rows that only steps before `step` use.
void SharedCopies::drop_before(uint64_t step) {
  for (; first_ < step; ++first_) {
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (!specs_[p].sparse) continue;
      leaving_.clear();
      windows_[p].remove_first(leaving_);
      copies_->tables().table(p)->erase(leaving_);
    }
  }
}

// Adds the keys of the step to the windows.  Its rows that are not yet in the copies enter these.
// `entering` has the keys that no step of the window uses.  Several batches may have sent such a row; all
// of them sent the same bits, of which copy_wanted takes the first.  Rows that were sent, but are among the
// copies, are older than these and are dropped.
void SharedCopies::add_rows(const std::vector<std::vector<ReturnedRows::Slice>>& sent) {
  std::vector<uint64_t> entering;
  std::vector<RowBlock> taken;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!specs_[p].sparse) continue;
    entering.clear();
    taken.clear();
    windows_[p].add(plans_[p].keys, entering);
    std::vector<const RowBlock*> of_parameter;
    for (const auto& slices : sent) {
      for (const ReturnedRows::Slice& slice : slices) {
        if (slice.parameter == p) of_parameter.push_back(&slice.rows);
      }
    }
    copy_wanted(of_parameter, entering, taken);
    for (const RowBlock& rows : taken) copies_->put_rows(static_cast<int>(p), rows);
  }
}

// Applies the step to the copies.  The gradients of a single batch are used in place.
void SharedCopies::apply(const std::vector<CopiesWork*>& trained) {
  StepInfo total;
  total.pass = *pass_;
  for (const CopiesWork* each : trained) total.samples += each->prepared().batch.size();
  average_statistics(trained, total);
  if (trained.size() > 1) return apply_sum(trained, total);
  copies_->push(trained[0]->prepared().plans, trained[0]->views(), total);
}

// A statistic becomes the mean of the values that the batches have computed, weighted by their examples, as
// on the servers: mean = sum over batches of size / total.samples * value.  With one batch, or without any
// examples, a share of 1 copies the value as it is.
void SharedCopies::average_statistics(const std::vector<CopiesWork*>& trained, const StepInfo& total) {
  std::vector<float> shares;
  for (const CopiesWork* each : trained) {
    const float own = static_cast<float>(each->prepared().batch.size());
    shares.push_back(trained.size() == 1 || total.samples == 0 ? 1 : own / static_cast<float>(total.samples));
  }
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].kind != ParameterKind::kStatistic) continue;
    std::vector<const float*> values;
    for (const CopiesWork* each : trained) values.push_back(each->views()[p].value);
    const std::span<float> mean = copies_->whole(static_cast<int>(p));
    mean_of(values, shares, mean.size(), mean.data());
  }
}

// Sums the gradients of all batches into the buffers of a pull of the copies, in the order of ranks, and
// pushes the sum as one batch.  Rows are matched by their keys: plans_ has the union of the keys of all
// batches.
void SharedCopies::apply_sum(const std::vector<CopiesWork*>& trained, const StepInfo& total) {
  copies_->pull(plans_, PullMode::kTrain, stored_);
  for (size_t p = 0; p < specs_.size(); ++p) {
    const size_t cols = static_cast<size_t>(specs_[p].cols), rows = static_cast<size_t>(specs_[p].rows);
    if (specs_[p].kind == ParameterKind::kRows) {
      std::vector<RowGradients> batches;
      for (const CopiesWork* each : trained) {
        batches.push_back({each->prepared().plans[p].keys, each->views()[p].row_gradients});
      }
      sum_rows(plans_[p].keys, batches, cols, stored_[p].row_gradients);
    } else if (specs_[p].kind == ParameterKind::kMatrix) {
      std::vector<const float*> gradients;
      for (const CopiesWork* each : trained) gradients.push_back(each->views()[p].gradient);
      sum_whole(gradients, rows * cols, stored_[p].gradient);
    }
  }
  copies_->push(plans_, stored_, total);
}

}  // namespace ps
