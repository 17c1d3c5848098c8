// The ranks of an all-reduce as threads of this process.  Used by the suite `all-reduce`.
#ifndef PS_BENCH_ALL_REDUCE_RANK_TEAM_H_
#define PS_BENCH_ALL_REDUCE_RANK_TEAM_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace ps {

// The all-reduce of one rank, ours or a peer's.  Made, used and destroyed on its rank's thread.
class RankSum {
 public:
  virtual ~RankSum() = default;
  virtual void all_reduce(std::span<float> data) = 0;

  // Handed to all others for sending since the beginning; 0: not known.
  virtual uint64_t bytes_sent() const { return 0; }
};

// Called for all ranks at once: it may wait for the others.
using MakeRankSum = std::function<std::unique_ptr<RankSum>(int rank)>;

// Ranks that meet over loopback TCP and use an algorithm of the catalogue, or "auto".
MakeRankSum make_net_sums(int size, const std::string& algorithm);

// Owned by one thread, which is none of the ranks'.
class RankTeam {
 public:
  // Throws what any rank threw.
  RankTeam(int size, MakeRankSum make);
  ~RankTeam();
  RankTeam(const RankTeam&) = delete;
  RankTeam& operator=(const RankTeam&) = delete;

  using Body = std::function<void(int rank, RankSum& sum)>;

  // Runs `body` on all ranks, until all have done it; throws what any threw.
  void run(const Body& body);

 private:
  void work(int rank, const MakeRankSum& make);
  void take_part(const std::function<void()>& part);
  void await_all();

  std::mutex mutex_;  // guards all that follows, but for the threads
  std::condition_variable begins_, ended_;
  const Body* body_ = nullptr;
  uint64_t round_ = 0;  // of run
  size_t num_busy_ = 0;
  bool stops_ = false;
  std::exception_ptr error_;  // the first of the round
  std::vector<std::thread> threads_;
};

}  // namespace ps

#endif  // PS_BENCH_ALL_REDUCE_RANK_TEAM_H_
