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

// The all-reduce of one rank, of pskit or of a peer.  It is made, used and destroyed on the thread of its
// rank.
class RankSum {
 public:
  virtual ~RankSum() = default;
  virtual void all_reduce(std::span<float> data) = 0;

  // Returns the bytes that this rank has handed to all others for sending since the beginning; 0 if that is
  // not known.
  virtual uint64_t bytes_sent() const { return 0; }
};

// Makes the RankSum of a rank.  It is called on the threads of all ranks at once, so it may wait for the
// others.
using MakeRankSum = std::function<std::unique_ptr<RankSum>(int rank)>;

// Makes ranks that meet over loopback TCP, with so many connections between each two, and use the algorithm of this
// name in the catalogue, or choose one by themselves with "auto".
MakeRankSum make_net_sums(int size, const std::string& algorithm, int connections = 1);

// Threads, one for each rank, that run the same function at once.  One owner thread, which is none of the
// ranks'.
class RankTeam {
 public:
  // Starts the threads, each of which makes its RankSum.  Throws the error of any rank.
  RankTeam(int size, MakeRankSum make);
  ~RankTeam();
  RankTeam(const RankTeam&) = delete;
  RankTeam& operator=(const RankTeam&) = delete;

  using Body = std::function<void(int rank, RankSum& sum)>;

  // Runs `body` on all ranks, and returns when all have ended.  Throws the error of any rank.
  void run(const Body& body);

 private:
  void work(int rank, const MakeRankSum& make);
  void run_part(const std::function<void()>& part);
  void await_all();

  std::mutex mutex_;  // guards all members below except threads_
  std::condition_variable begins_, ended_;
  const Body* body_ = nullptr;
  uint64_t round_ = 0;  // number of calls of run()
  size_t num_busy_ = 0;
  bool stops_ = false;
  std::exception_ptr error_;  // first error of the round
  std::vector<std::thread> threads_;
};

}  // namespace ps

#endif  // PS_BENCH_ALL_REDUCE_RANK_TEAM_H_
