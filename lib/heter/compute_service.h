// ComputeService: the server of a compute trainer.  It accepts readers and computes their batches.  Used by
// ps-train --role compute.
#ifndef PS_HETER_COMPUTE_SERVICE_H_
#define PS_HETER_COMPUTE_SERVICE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/log.h"
#include "heter/reader_work.h"
#include "heter/run_end_watch.h"
#include "heter/shared_copies.h"
#include "net/server.h"

namespace ps {

struct ComputeServiceOptions {
  Address address;
  // Limit of the bytes of messages that are being received; a longer message is refused.
  uint64_t arriving_bytes = uint64_t{1} << 30;
  // A connection without a sign of life for so long is ended.
  Duration request_timeout = std::chrono::seconds(15);
  Duration reader_timeout = std::chrono::seconds(60);  // how long it waits when all readers are gone
  // The others go on without readers that are gone for reader_timeout, and so it ends well without them.
  bool goes_on = false;
};

// Computes batches of readers one after the other, each as soon as its weights have come.  While one reader
// waits for the servers, and through them for others, the batches of the other readers go on.  One owner
// thread, which runs the loop.
class ComputeService {
 public:
  // Listens from now on; throws as Transport::listen does.  `setup` and `log` outlive it.
  ComputeService(const ComputeSetup& setup, const ComputeServiceOptions& options, Log& log);
  ~ComputeService();

  const Address& address() const { return server_.address(); }  // has the port that was chosen

  // Computes until all readers that have come have ended the run, or `stop` returns true.  While no reader is
  // known, it asks the servers if the run is over (RunEndWatch), and ends then too.  Throws kUnavailable if they
  // cannot be reached, and if readers that have not ended the run are gone for longer than the timeout, unless
  // goes_on is set, and another reader has ended the run or still takes part in it.
  void run(const std::function<bool()>& stop);

  int64_t num_batches() const { return num_batches_; }

 private:
  class ReaderSession;

  std::shared_ptr<ReaderWork> greet(const ReaderHello& hello, const std::string& peer);
  void end_run(const ReaderHello& hello);
  bool any_ready() const;
  void forget_closed();
  void check_readers();
  bool others_go_on();
  bool run_is_over();
  void drain();

  const ComputeSetup& setup_;
  const ComputeServiceOptions options_;
  Log& log_;
  HeldBatches held_;
  SharedCopies copies_{setup_};  // for synchronous readers with several batches on their way
  // works of the connections, in the order in which they came
  std::vector<std::shared_ptr<ReaderWork>> works_;
  std::set<int> unfinished_;               // ranks of readers that have come and have not ended the run
  std::map<int, uint64_t> ended_;          // by rank: generations of the readers that have ended the run
  bool run_ended_ = false;                 // some reader has ended the run
  std::optional<ReaderHello> last_hello_;  // hello of the reader that came last
  Time none_since_{};                      // time since which no reader is connected
  int64_t num_batches_ = 0;                // batches of connections that are gone
  std::optional<RunEndWatch> watch_;       // empty: the servers are not asked
  Server server_;                          // the last member, since its sessions use the others
};

}  // namespace ps

#endif  // PS_HETER_COMPUTE_SERVICE_H_
