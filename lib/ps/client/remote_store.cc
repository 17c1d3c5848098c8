#include "ps/client/remote_store.h"

#include <utility>

#include "base/clock.h"
#include "base/error.h"

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

// Counts the time of one call for times().
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

// The scopes say which parameters pulls ask for; the others are trained or pulled elsewhere.  Only a
// trainer resumes a rank: a process that only reads has none, and there is nothing to resume in a run that
// was completed.
RemoteStore::RemoteStore(Transport& transport, const RemoteOptions& options, const Consistency& consistency,
                         std::vector<ParameterSpec> specs, const RowTypes& types, TrainerState* own)
    : specs_(std::move(specs)),
      consistency_(consistency),
      train_scope_(options.dense_here && options.sparse_here ? PullScope::kNone
                   : options.dense_here                      ? PullScope::kSparse
                   : options.sparse_here                     ? PullScope::kNotSparse
                   : options.dense_elsewhere                 ? PullScope::kReaders
                                                             : PullScope::kAll),
      read_scope_(options.dense_here ? PullScope::kSparse : PullScope::kAll),
      links_(transport, options),
      residuals_(specs_, types, options.hello.rank, options.cpu),
      states_(links_, residuals_, own, types, options.hello.rank),
      pulls_(links_, specs_, types),
      pushes_({links_, specs_, pulls_, residuals_, states_}, consistency, types.push,
              options.checkpoint_at_end),
      model_(links_, specs_, pushes_),
      group_(links_, options.hello.rank, options.hello.ranks()),
      checkpoints_(links_, pushes_, states_),
      run_(links_, group_, pushes_, checkpoints_) {
  check_widths(specs_);
  if (options.dense_elsewhere) pushes_.leave_to_compute();
  if (options.hello.role == "train" && !links_.finished()) run_.resume(consistency_, states_);
}

void RemoteStore::pull(std::span<const KeyPlan> plans, PullMode mode,
                       std::vector<ParameterView<float>>& views) {
  StepTimer timer(*this);
  const PullScope scope = mode == PullMode::kTrain ? train_scope_ : read_scope_;
  pulls_.finish(pulls_.begin(plans, {mode, pushes_.next_step(), scope}), plans, views);
}

void RemoteStore::pull(std::span<const KeyPlan> plans, PullMode mode, PullScope scope,
                       std::vector<ParameterView<float>>& views) {
  StepTimer timer(*this);
  const RemotePulls::Request request{mode, pushes_.next_step(), scope, /*push_follows=*/false};
  pulls_.finish(pulls_.begin(plans, request), plans, views);
}

// Begins to pull the next batch for the step after the running one.  Asynchronous trainers begin nothing, since
// the pulled weights would not contain their own last step.
PullTicket RemoteStore::begin_pull(std::span<const KeyPlan> plans) {
  if (consistency_.async) return {};
  StepTimer timer(*this);
  return pulls_.begin(plans, {PullMode::kTrain, pushes_.next_step() + 1, train_scope_});
}

void RemoteStore::finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                              std::vector<ParameterView<float>>& views) {
  StepTimer timer(*this);
  pulls_.finish(ticket, plans, views);
}

void RemoteStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                       const StepInfo& info) {
  StepTimer timer(*this);
  pushes_.push(plans, views, info);
}

void RemoteStore::end_pass(int64_t pass) {
  StepTimer timer(*this);
  pushes_.end_pass(pass);
}

void RemoteStore::wait_for(const std::function<bool()>& done) {
  StepTimer timer(*this);
  links_.wait_for_others(done);
}

void RemoteStore::poll() {
  StepTimer timer(*this);
  links_.poll();
}

void RemoteStore::finish_pushes() {
  StepTimer timer(*this);
  pushes_.finish();
}

void RemoteStore::push_without_data(int64_t pass) {
  StepTimer timer(*this);
  pushes_.push_without_data(pass);
}

bool RemoteStore::finish_pass_step() {
  StepTimer timer(*this);
  return pushes_.finish_pass_step();
}

bool RemoteStore::next_begins_checkpoint() {
  StepTimer timer(*this);
  return pushes_.next_begins_checkpoint();
}

std::vector<double> RemoteStore::wait_for_squares() {
  StepTimer timer(*this);
  return pushes_.wait_for_squares();
}

}  // namespace ps
