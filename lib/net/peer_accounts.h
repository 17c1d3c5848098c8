// PeerAccounts: counts, for each peer, the memory of incomplete bodies over all its connections.  So a peer that
// announces bodies over many connections and does not send them leaves memory for others.  Used by Server.
#ifndef PS_NET_PEER_ACCOUNTS_H_
#define PS_NET_PEER_ACCOUNTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ps {

// The account of one peer, which its connections share.  Owner thread of the server.
class PeerAccount {
 public:
  uint64_t bytes() const { return bytes_; }

  // Returns the number of bytes that must stay free if this peer takes `bytes` more.  Several bodies of a peer
  // together get a quarter of the memory that others leave; one body alone may take all free memory.
  uint64_t spare_beside(uint64_t bytes) const { return bytes_ == 0 ? 0 : 3 * (bytes_ + bytes); }

 private:
  friend class AccountedBytes;
  uint64_t bytes_ = 0;
};

// Bytes on an account, until this is destroyed.
class AccountedBytes {
 public:
  AccountedBytes() = default;
  AccountedBytes(std::shared_ptr<PeerAccount> account, uint64_t bytes)
      : account_(std::move(account)), bytes_(bytes) {
    if (account_) account_->bytes_ += bytes_;
  }
  AccountedBytes(AccountedBytes&& other) noexcept
      : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)) {}
  AccountedBytes& operator=(AccountedBytes&& other) noexcept {
    AccountedBytes taken(std::move(other));
    std::swap(account_, taken.account_);
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  ~AccountedBytes() {
    if (account_) account_->bytes_ -= bytes_;
  }

 private:
  std::shared_ptr<PeerAccount> account_;  // null: bytes are not counted
  uint64_t bytes_ = 0;
};

// The accounts of a server, by the names of the peers that have connections.  Owner thread of the server.
class PeerAccounts {
 public:
  std::shared_ptr<PeerAccount> of(const std::string& name);

 private:
  std::map<std::string, std::weak_ptr<PeerAccount>> accounts_;
  size_t most_ = 64;  // with more accounts, unused ones are dropped
};

// Returns the name of a peer of which only the address is known, "127.0.0.1:4711" or "[2001:db8::1]:4711": the
// address without the port, of IPv6 the 64 bits of its network, since one host has as many addresses in it as
// it likes.  Processes of this machine that come over Unix sockets are one peer.
std::string peer_of_address(std::string_view address);

}  // namespace ps

#endif  // PS_NET_PEER_ACCOUNTS_H_
