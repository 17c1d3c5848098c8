// Links of some bandwidth between ranks that are threads of this process: real ones, of the system, where it
// lets us make them, else a limit in the transport.  Used by bench/link/rank_run.h.
#ifndef PS_BENCH_LINK_RANK_LINKS_H_
#define PS_BENCH_LINK_RANK_LINKS_H_

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/shaped_transport.h"

namespace ps {

inline constexpr int kMostLinkedRanks = 64;

// A link for each rank, which carries the bandwidth each way at once, and a switch between them.  Constant
// after construction; it must outlive the sockets of its ranks.
class RankLinks {
 public:
  virtual ~RankLinks() = default;

  virtual std::string name() const = 0;         // "namespaces", as --link has it
  virtual std::string description() const = 0;  // a phrase for people

  // Called by a rank's own thread before it opens a socket; the thread cannot go back.
  virtual void enter(int rank) const = 0;

  // Where the rank's sockets listen.
  virtual std::string host(int rank) const = 0;

  // The limit that the rank's transport has to hold; without a rate: the system holds it.
  virtual LinkShape shape() const = 0;
};

// A network namespace for each rank and one for the switch, a bridge; pairs of veth devices between them, with
// `tc tbf` on both ends.  They are gone when this is destroyed, or the process ends.  Throws kUnavailable,
// saying why, where that is not allowed or ip(8) or tc(8) is missing.
std::unique_ptr<RankLinks> make_namespace_links(int ranks, double bits_per_second);

// Makes links with a token bucket in front of the sockets of each rank, which limits the rate of sending.
// Receiving is not limited.
std::unique_ptr<RankLinks> make_bucket_links(double bits_per_second);

// "auto" takes namespaces where they can be had, and says on the log why not.
std::vector<std::string> link_choices();
std::unique_ptr<RankLinks> make_rank_links(const std::string& choice, int ranks, double bits_per_second,
                                           Log& log);

}  // namespace ps

#endif  // PS_BENCH_LINK_RANK_LINKS_H_
