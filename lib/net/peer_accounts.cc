#include "net/peer_accounts.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/error.h"

namespace ps {

std::shared_ptr<PeerAccount> PeerAccounts::of(const std::string& name) {
  // Entries of peers that have gone are dropped when the map has doubled, so that each new peer pays only
  // for a few of them.
  if (accounts_.size() >= most_) {
    std::erase_if(accounts_, [](const auto& entry) { return entry.second.expired(); });
    most_ = std::max<size_t>(64, 2 * accounts_.size());
  }
  std::weak_ptr<PeerAccount>& entry = accounts_[name];
  std::shared_ptr<PeerAccount> account = entry.lock();
  if (account == nullptr) {
    account = std::make_shared<PeerAccount>();
    entry = account;
  }
  return account;
}

static std::string network_of(const in6_addr& number) {
  constexpr size_t kNetworkBytes = 8;
  const uint8_t* bytes = number.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&number)) {
    return cat(int{bytes[12]}, ".", int{bytes[13]}, ".", int{bytes[14]}, ".", int{bytes[15]});
  }
  std::string text = "network";
  for (size_t i = 0; i < kNetworkBytes; ++i) text += cat(" ", int{bytes[i]});
  return text;
}

std::string peer_of_address(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return "this machine";
  std::string_view host = address.substr(0, colon);
  if (!host.starts_with('[') || !host.ends_with(']')) return std::string(host);
  host = host.substr(1, host.size() - 2);
  in6_addr number{};
  const std::string text(host.substr(0, host.find('%')));
  return inet_pton(AF_INET6, text.c_str(), &number) == 1 ? network_of(number) : std::string(host);
}

}  // namespace ps
