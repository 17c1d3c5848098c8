#include "bench/accuracy/trial_team.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"

namespace ps {

// A list of trainings from which members take the next one.  Any thread may call it.
class TrialTeam::Round {
 public:
  Round(const std::vector<Training>& trainings, const Interrupts& interrupts, Log& log, const Done& done)
      : trainings_(trainings), interrupts_(interrupts), log_(log), done_(done) {}

  // Takes trainings and runs them until the list is empty, the user interrupts, or one has failed with
  // kUsage.
  void work(TrialRunner& runner) {
    while (const Training* training = next()) train(runner, *training);
  }

  void rethrow() const {
    if (failure_) throw Error(*failure_);
  }

 private:
  const Training* next() {
    std::lock_guard lock(mutex_);
    if (interrupts_.requested() || num_taken_ == trainings_.size() || is_mistake()) return nullptr;
    return &trainings_[num_taken_++];
  }

  // Returns true if a training has failed with kUsage; the other trainings would then fail likewise.
  bool is_mistake() const { return failure_ && failure_->code() == Code::kUsage; }

  // Runs one training and hands on its result.  Nothing may leave the thread that this runs on, not even what
  // the reader of a report throws that lacks a key.  After an interrupt its error is no failure, since trainers
  // get the signal too and end early.
  void train(TrialRunner& runner, const Training& training) {
    try {
      const TrialResult result = runner.run(training.trial.strategy, training.seed);
      std::lock_guard lock(mutex_);
      done_(training, result);
    } catch (const Error& error) {
      keep(training, error);
    } catch (const std::exception& error) {
      keep(training, Error(Code::kInternal, error.what()));
    }
  }

  void keep(const Training& training, const Error& cause) {
    if (interrupts_.requested()) return;
    const Error error = cause.within(cat(training.trial.name, ", seed ", training.seed));
    if (error.code() != Code::kUsage) log_.error(error.what());
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = error;
  }

  const std::vector<Training>& trainings_;
  const Interrupts& interrupts_;
  Log& log_;
  const Done& done_;
  std::mutex mutex_;
  size_t num_taken_ = 0;          // guarded by mutex_
  std::optional<Error> failure_;  // the first failure; guarded by mutex_
};

TrialTeam::TrialTeam(const AccuracyJob& job, int parallel, const std::string& programs,
                     const TemporaryFolder& folder) {
  for (int i = 0; i < parallel; ++i) {
    auto own = std::make_unique<TemporaryFolder>(folder.path());
    TrialRunner runner(job, programs, *own, static_cast<uint32_t>(i));
    members_.push_back({std::move(own), std::move(runner)});
  }
}

// A thread for each member takes one training after the other, so that a slow one holds up no other.  No
// more threads are started than there are trainings.
void TrialTeam::run(const std::vector<Training>& trainings, const Interrupts& interrupts, Log& log,
                    const Done& done) {
  Round round(trainings, interrupts, log, done);
  std::vector<std::thread> threads;
  const size_t count = std::min(members_.size(), trainings.size());
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&round, &member = members_[i]] { round.work(member.runner); });
  }
  for (std::thread& thread : threads) thread.join();
  round.rethrow();
}

}  // namespace ps
