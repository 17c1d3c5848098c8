// RankLinks: links of a given bandwidth between ranks that are threads of this process.  The links are
// network devices of the system where it allows them, else a limit in the transport.  Used by
// bench/link/rank_run.h.
#ifndef PS_BENCH_LINK_RANK_LINKS_H_
#define PS_BENCH_LINK_RANK_LINKS_H_

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/shaped_transport.h"

namespace ps {

inline constexpr int kMostLinkedRanks = 64;

// A link for each rank, which carries the bandwidth in both directions at once, and a switch between the
// links.  Constant after construction; any thread may use it.  It must outlive the sockets of its ranks.
class RankLinks {
 public:
  virtual ~RankLinks() = default;

  virtual std::string name() const = 0;         // value of --link: "namespaces"
  virtual std::string description() const = 0;  // a phrase for people

  // Puts the calling thread behind the rank's link, for good.  A rank's own thread calls it before it opens a
  // socket.
  virtual void enter(int rank) const = 0;

  // Returns the host that the rank's sockets listen at.
  virtual std::string host(int rank) const = 0;

  // Returns the limit that the rank's transport has to apply.  It has no rate if the system applies the
  // limit.
  virtual LinkShape shape() const = 0;
};

// Makes a network namespace for each rank and one for the switch, a bridge, with pairs of veth devices
// between them and `tc tbf` on both ends.  Connections over them use TCP cubic.  They are removed when this is
// destroyed or the process ends.  Throws kUnavailable, saying why, where that is not allowed or ip(8) or tc(8)
// is missing.
std::unique_ptr<RankLinks> make_namespace_links(int ranks, double bits_per_second);

// Makes links with a token bucket in front of the sockets of each rank, which limits the rate of sending.
// Receiving is not limited.
std::unique_ptr<RankLinks> make_bucket_links(double bits_per_second);

inline constexpr const char* kAnyLink = "auto";

// Makes the links of this choice.  kAnyLink takes namespaces where they are allowed; otherwise it logs the
// reason and takes token buckets.
std::vector<std::string> link_choices();
std::unique_ptr<RankLinks> make_rank_links(const std::string& choice, int ranks, double bits_per_second,
                                           Log& log);

}  // namespace ps

#endif  // PS_BENCH_LINK_RANK_LINKS_H_
