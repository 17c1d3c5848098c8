// CredentialRenewal: reads tokens and certificates again while a trainer or a server runs.  Used by ps-train and
// ps-serve, and by the parts of a run that have connections.
#ifndef PS_JOB_CREDENTIAL_RENEWAL_H_
#define PS_JOB_CREDENTIAL_RENEWAL_H_

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "net/secure_transport.h"

namespace ps {

// Any thread may watch.  The owner's thread makes and destroys it, after all that is returned by watch.
class CredentialRenewal {
 public:
  // From now on a thread calls `asked` ten times a second; when it returns true, the files of all parts are read
  // again.  Invalid files change nothing, in no part, and are logged.
  CredentialRenewal(std::function<bool()> asked, Log& log);
  ~CredentialRenewal();
  CredentialRenewal(const CredentialRenewal&) = delete;
  CredentialRenewal& operator=(const CredentialRenewal&) = delete;

  // A part of the process: `read` reads its files and throws kUsage if they do not fit; `set` gives what was read
  // to its later connections.  Both are called on the thread of this object, as long as the returned object lives; and
  // at once, if the files were renewed before, since the part may have read the old ones.
  using Read = std::function<Credentials()>;
  using Set = std::function<void(const Credentials&)>;
  [[nodiscard]] std::shared_ptr<void> watch(Read read, Set set);

 private:
  struct Part {
    const Read read;
    const Set set;
  };

  void work();
  bool renew(const std::list<Part>& parts);  // returns false, and logs, if a file does not fit

  const std::function<bool()> asked_;
  Log& log_;
  std::mutex mutex_;  // guards all below but the thread
  std::condition_variable changed_;
  std::list<Part> parts_;
  bool renewed_ = false, closing_ = false;
  std::thread thread_;
};

// Sets the credentials of later connections of the transport, on its loop.  Returns null if there is no renewal.
// The loop is not run after the transport is gone.
std::shared_ptr<void> watch_credentials(CredentialRenewal* renewal, SecureTransport& transport,
                                        CredentialRenewal::Read read);

}  // namespace ps

#endif  // PS_JOB_CREDENTIAL_RENEWAL_H_
