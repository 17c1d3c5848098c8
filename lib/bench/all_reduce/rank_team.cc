#include "bench/all_reduce/rank_team.h"

#include <utility>

#include "bench/meeting_point.h"
#include "collective/net_communicator.h"
#include "net/network.h"

namespace ps {

namespace {

// The all-reduce of one rank over TCP.  Its rank's thread owns it.
class NetSum final : public RankSum {
 public:
  explicit NetSum(const NetCommunicatorOptions& options)
      : communicator_(make_net_communicator(*network_, options)) {}

  void all_reduce(std::span<float> data) override { communicator_->all_reduce(data); }

  uint64_t bytes_sent() const override {
    uint64_t bytes = 0;
    for (int to = 0; to < communicator_->size(); ++to) bytes += communicator_->bytes_sent(to);
    return bytes;
  }

 private:
  const std::unique_ptr<Transport> network_ = make_network();
  const std::unique_ptr<ExchangeCommunicator> communicator_;
};

}  // namespace

// Rank 0 listens at a free port and tells the other ranks, which wait at the meeting point; all copies of the
// function share it.  If rank 0 fails before it listens, it gives up the meeting point, since the others would
// wait there for ever.
MakeRankSum make_net_sums(int size, const std::string& algorithm, int connections) {
  auto point = std::make_shared<MeetingPoint>();
  return [=](int rank) -> std::unique_ptr<RankSum> {
    NetCommunicatorOptions options;
    options.rank = rank, options.size = size;
    options.algorithm = algorithm;
    options.connections = connections;
    options.listen = {"127.0.0.1", 0};
    options.rendezvous = rank == 0 ? options.listen : point->wait();
    options.on_listening = [&](const Address& address) { point->set(address); };
    try {
      return std::make_unique<NetSum>(options);
    } catch (...) {
      if (rank == 0) point->give_up(std::current_exception());
      throw;
    }
  };
}

// Each thread makes its RankSum as the first part, which counts as busy like a call of run().  If any of them
// fails, await_all has told the others to stop, and the threads are joined before the members go.
RankTeam::RankTeam(int size, MakeRankSum make) : num_busy_(static_cast<size_t>(size)) {
  for (int rank = 0; rank < size; ++rank) threads_.emplace_back([this, rank, make] { work(rank, make); });
  try {
    await_all();
  } catch (...) {
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

RankTeam::~RankTeam() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  begins_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RankTeam::run(const Body& body) {
  {
    std::lock_guard lock(mutex_);
    body_ = &body;
    num_busy_ = threads_.size();
    ++round_;
  }
  begins_.notify_all();
  await_all();
}

// Waits until no rank is busy.  After an error the ranks stop, since their connections are no longer in
// step.
void RankTeam::await_all() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return num_busy_ == 0; });
  if (error_) {
    stops_ = true;
    begins_.notify_all();
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

// Runs one rank's part without the lock, then notes its end and the first error of the round.  The last
// rank to end wakes the owner.
void RankTeam::run_part(const std::function<void()>& part) {
  std::exception_ptr error;
  try {
    part();
  } catch (...) {
    error = std::current_exception();
  }
  std::lock_guard lock(mutex_);
  if (error && !error_) error_ = error;
  if (--num_busy_ == 0) ended_.notify_all();
}

// The loop of a rank's thread: `done` counts the rounds that it has taken part in, and a round begins when
// round_ is greater.  So a rank that is late to wait does not miss a round, and none runs a round twice.
void RankTeam::work(int rank, const MakeRankSum& make) {
  std::unique_ptr<RankSum> sum;
  run_part([&] { sum = make(rank); });
  for (uint64_t done = 0; sum != nullptr; ++done) {
    std::unique_lock lock(mutex_);
    begins_.wait(lock, [&] { return stops_ || round_ > done; });
    if (stops_) return;
    const Body& body = *body_;
    lock.unlock();
    run_part([&] { body(rank, *sum); });
  }
}

}  // namespace ps
