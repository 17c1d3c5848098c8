// ComputeService: a compute trainer: accepts readers, and computes their batches.  Used by ps-train --role compute.
#ifndef PS_HETER_COMPUTE_SERVICE_H_
#define PS_HETER_COMPUTE_SERVICE_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/log.h"
#include "heter/reader_work.h"
#include "heter/shared_copies.h"
#include "net/server.h"

namespace ps {

struct ComputeServiceOptions {
  Address address;
  uint64_t arriving_bytes = uint64_t{1}
                            << 30;  // of messages that are being received; a longer one is refused
  Duration request_timeout = std::chrono::seconds(15);  // without a sign of life a connection is ended
  Duration reader_timeout = std::chrono::seconds(60);   // for which it waits when all readers are gone
  bool goes_on = false;  // a run ends well without readers that are gone for so long, if others have ended it
};

// Readers' batches are computed one after the other, each as soon as its weights have come: while one reader waits for
// the servers, and through them for others, the batches of the rest go on.  One owner thread, which runs the loop.
class ComputeService {
 public:
  // Listens from now on; throws as Transport::listen.  `setup` and `log` outlive it.
  ComputeService(const ComputeSetup& setup, const ComputeServiceOptions& options, Log& log);
  ~ComputeService();

  const Address& address() const { return server_.address(); }  // with the port that was chosen

  // Computes until all readers that have come have said that they end, or `stop` says so.  Throws kUnavailable when readers
  // that have not ended it are gone for longer than the timeout, unless the others go on.
  void run(const std::function<bool()>& stop);

  int64_t num_batches() const { return num_batches_; }

 private:
  class ReaderSession;

  std::shared_ptr<ReaderWork> greet(const ReaderHello& hello, const std::string& peer);
  void end_run(const ReaderHello& hello);
  bool any_ready() const;
  void forget_closed();
  void check_readers();
  void drain();

  const ComputeSetup& setup_;
  const ComputeServiceOptions options_;
  Log& log_;
  HeldBatches held_;
  SharedCopies copies_{setup_};  // of synchronous readers with several batches on their way
  std::vector<std::shared_ptr<ReaderWork>> works_;  // of connections, in the order in which they came
  std::set<int> unfinished_;                        // readers that have come and have not ended the run
  std::map<int, uint64_t> ended_;                   // generations of those that have, by rank
  bool run_ended_ = false;                          // by some reader
  Time none_since_{};                               // no reader is connected
  int64_t num_batches_ = 0;                         // of connections that are gone
  Server server_;                                   // last: its sessions use the rest
};

}  // namespace ps

#endif  // PS_HETER_COMPUTE_SERVICE_H_
