#include "net/transport.h"

#include <arpa/inet.h>

#include <cerrno>
#include <cstring>

#include "net/host.h"

namespace ps {

namespace {

[[noreturn]] void fail_address(std::string_view text, std::string_view problem) {
  fail(Code::kUsage, "address ", quote(text), ": ", problem, ", expected host:port or [ipv6]:port");
}

uint16_t parse_port(std::string_view text, std::string_view digits) {
  std::optional<uint64_t> port = parse_uint(digits);
  if (!port || *port > UINT16_MAX) fail_address(text, "the port is not a number from 0 to 65535");
  return static_cast<uint16_t>(*port);
}

}  // namespace

Address parse_address(std::string_view text, uint16_t default_port) {
  // `rest` is ":port" or empty.  A colon inside of an IPv6 address cannot be taken for the one before the
  // port, since such an address must be in brackets.
  std::string_view host = text, rest;
  if (text.starts_with('[')) {
    size_t close = text.find(']');
    if (close == std::string_view::npos) fail_address(text, "no closing bracket");
    host = text.substr(1, close - 1), rest = text.substr(close + 1);
    if (!host.empty() && !is_ipv6(host)) fail_address(text, "no IPv6 address in the brackets");
  } else if (size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon), rest = text.substr(colon);
    if (host.find(':') != std::string_view::npos) fail_address(text, "more than one colon, and no brackets");
  }
  if (host.empty()) fail_address(text, "no host");
  if (rest.empty() && default_port != 0) return {std::string(host), default_port};
  if (!rest.starts_with(':')) fail_address(text, "no port");
  return {std::string(host), parse_port(text, rest.substr(1))};
}

std::string to_text(const Address& address) {
  bool brackets = address.host.find(':') != std::string::npos;
  return brackets ? cat("[", address.host, "]:", address.port) : cat(address.host, ":", address.port);
}

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

bool is_loopback_peer(const std::string& peer) {
  std::string host = peer.substr(0, peer.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return is_loopback(host);
}

bool IoResult::blocked() const {
  return error == EAGAIN || error == EWOULDBLOCK;
}

// The messages of the system begin with a capital letter, those of this project do not.
std::string io_error_text(int error) {
  std::string text = std::strerror(error);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] + 32);
  return text;
}

Error io_error(int error) {
  if (error != EKEYREJECTED) return Error(Code::kUnavailable, io_error_text(error));
  return Error(Code::kAuthentication, "the peer asks for a certificate of an authority that it trusts");
}

}  // namespace ps
