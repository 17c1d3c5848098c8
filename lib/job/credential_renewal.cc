#include "job/credential_renewal.h"

#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/start_thread.h"

namespace ps {

CredentialRenewal::CredentialRenewal(std::function<bool()> asked, Log& log)
    : asked_(std::move(asked)), log_(log) {
  thread_ = start_thread([this] { work(); });
}

CredentialRenewal::~CredentialRenewal() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_ptr<void> CredentialRenewal::watch(Read read, Set set) {
  std::list<Part> own;
  own.push_back({std::move(read), std::move(set)});
  const auto part = own.begin();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (renewed_) renew(own);
    parts_.splice(parts_.end(), own);
  }
  return {nullptr, [this, part](void*) {
            const std::lock_guard<std::mutex> leaving(mutex_);
            parts_.erase(part);
          }};
}

// A signal handler only sets a flag, so this thread looks at it.
void CredentialRenewal::work() {
  constexpr auto kAsk = std::chrono::milliseconds(100);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kAsk, [this] { return closing_; })) {
    if (!asked_()) continue;
    renewed_ = true;
    if (!parts_.empty() && renew(parts_)) log_.info("Read the tokens and certificates again");
  }
}

// Reads the files of all these parts before it sets any, so that a file that does not fit changes nothing.
bool CredentialRenewal::renew(const std::list<Part>& parts) {
  try {
    std::vector<Credentials> credentials;
    for (const Part& part : parts) credentials.push_back(part.read());
    auto next = credentials.begin();
    for (const Part& part : parts) part.set(*next++);
    return true;
  } catch (const Error& error) {
    log_.error("the tokens and certificates stay as they were: ", error.message());
  } catch (const std::bad_alloc&) {
    log_.error("the tokens and certificates stay as they were: out of memory");
  }
  return false;
}

std::shared_ptr<void> watch_credentials(CredentialRenewal* renewal, SecureTransport& transport,
                                        CredentialRenewal::Read read) {
  if (renewal == nullptr) return nullptr;
  return renewal->watch(std::move(read), [&transport](const Credentials& credentials) {
    transport.loop().post([&transport, credentials] { transport.set_credentials(credentials); });
  });
}

}  // namespace ps
