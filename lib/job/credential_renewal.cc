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
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto part = parts_.insert(parts_.end(), Part{std::move(read), std::move(set)});
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
    if (asked_()) renew();
  }
}

// Reads the files of all parts before it sets any, so that a file that does not fit changes nothing.
void CredentialRenewal::renew() {
  try {
    std::vector<Credentials> credentials;
    for (const Part& part : parts_) credentials.push_back(part.read());
    auto next = credentials.begin();
    for (const Part& part : parts_) part.set(*next++);
    log_.info("Read the tokens and certificates again");
  } catch (const Error& error) {
    log_.error("the tokens and certificates stay as they were: ", error.message());
  } catch (const std::bad_alloc&) {
    log_.error("the tokens and certificates stay as they were: out of memory");
  }
}

std::shared_ptr<void> watch_credentials(CredentialRenewal* renewal, SecureTransport& transport,
                                        CredentialRenewal::Read read) {
  if (renewal == nullptr) return nullptr;
  return renewal->watch(std::move(read), [&transport](const Credentials& credentials) {
    transport.loop().post([&transport, credentials] { transport.set_credentials(credentials); });
  });
}

}  // namespace ps
