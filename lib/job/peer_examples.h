// PeerExamples: exchanges examples with the other trainers of a job, over connections of its own.  Used by
// run_job for data.shuffle "global".
#ifndef PS_JOB_PEER_EXAMPLES_H_
#define PS_JOB_PEER_EXAMPLES_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collective/communicator.h"
#include "data/example_exchange.h"
#include "job/credential_renewal.h"
#include "net/secure_transport.h"
#include "strategy/peers.h"

namespace ps {

// A thread runs the connections, so that this trainer answers the others' roll calls while it does other work.
// One owner thread calls exchange; other calls may come from any thread.
class PeerExamples final : public ExampleExchange {
 public:
  // All trainers, which have met in `met`, make theirs at the same time.  Waits until they have met again;
  // throws as meet_peers does.
  // A null renewal: the credentials stay as they are.
  PeerExamples(const PeerOptions& peers, const SecurityOptions& security, CredentialRenewal* renewal,
               Communicator& met);
  ~PeerExamples() override;

  int rank() const override { return communicator_->rank(); }
  int size() const override { return communicator_->size(); }
  std::vector<std::string> exchange(std::vector<std::string> bytes) override;
  void stop() override;

  // Returns true if an exchange has failed, also if another trainer is gone.  Any thread may call it, and
  // bytes_sent.
  bool failed() const { return failed_; }
  uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  void work();
  bool has_work();
  bool begin_exchange(std::vector<std::string>& bytes);

  const std::unique_ptr<SecureTransport> transport_;
  const std::shared_ptr<void> renewal_;
  std::atomic<bool> stopped_ = false, failed_ = false;
  std::atomic<uint64_t> bytes_sent_ = 0;
  const std::unique_ptr<Communicator> communicator_;  // used by the thread alone while work() runs

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_: the bytes to be sent, then those received; and the states: an exchange is asked for, is
  // done, the thread is to end.
  std::vector<std::string> bytes_;
  bool asked_ = false, done_ = false, closing_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_JOB_PEER_EXAMPLES_H_
