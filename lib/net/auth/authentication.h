// Authentication by a secret that both sides know and neither sends (ps-wire(5)).  The side that connects
// speaks first; `proof` and `answer` are HMAC-SHA256 over what went before, so that neither can be used again.
//
//   hello     := magic:u64 access:u8 zero[7] nonce[32]        48 bytes, who connects
//   challenge := magic:u64 nonce[32]                          40 bytes, who accepts
//   proof     := hmac(secret, "pskit client" hello challenge) 32 bytes, who connects
//   answer    := verdict:u8 zero[7] proof[32]                 40 bytes, who accepts
//
// In the answer, the verdict is 1 and the proof hmac(secret, "pskit server" hello challenge); or the verdict is 0
// and the proof zeros, and the connection ends.  Used by AuthTransport, by tests and by the fuzz harness.
#ifndef PS_NET_AUTH_AUTHENTICATION_H_
#define PS_NET_AUTH_AUTHENTICATION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/auth/token_file.h"
#include "net/handshake/handshake.h"
#include "net/transport.h"

namespace ps {

inline constexpr uint64_t kAuthMagic = 0x31687475416b5350;  // "PSkAuth1"; on the wire: never renumber
inline constexpr size_t kNonceBytes = 32, kProofBytes = 32;
inline constexpr size_t kAuthHelloBytes = 48, kAuthChallengeBytes = 40, kAuthAnswerBytes = 40;

using Proof = std::array<char, kProofBytes>;

// HMAC-SHA256 of `label` and `transcript`, which is the hello and the challenge.
Proof make_proof(std::string_view secret, std::string_view label, std::string_view transcript);

inline constexpr std::string_view kClientLabel = "pskit client", kServerLabel = "pskit server";

// The handshake of a server with these tokens.  A peer may show any token of the access that it names, except
// those of status pages (http_token.h).  A peer without a token learns only that it was refused.  The loop's
// thread owns it.
class ServerAuthentication final : public Handshake {
 public:
  explicit ServerAuthentication(std::shared_ptr<const std::vector<Token>> tokens)
      : tokens_(std::move(tokens)) {}

  Step go_on(Stream& stream) override;
  std::unique_ptr<Stream> finish(std::unique_ptr<Stream> stream) override;
  std::string last_words() const override { return last_words_; }

 private:
  void check_hello();
  void read_hello();
  void read_proof();

  enum class State { kHello, kChallenge, kProof, kAnswer };

  const std::shared_ptr<const std::vector<Token>> tokens_;
  State state_ = State::kHello;
  std::array<char, kAuthHelloBytes> hello_{};
  Proof proof_{};
  size_t done_ = 0;         // number of bytes that are read or written in this step
  std::string out_;         // the challenge, then the answer
  std::string transcript_;  // the hello, then the challenge
  std::string last_words_;
  Access access_ = Access::kRead;
};

// The handshake of the side that shows this token.  The loop's thread owns it.
class ClientAuthentication final : public Handshake {
 public:
  explicit ClientAuthentication(Token token);

  Step go_on(Stream& stream) override;
  std::unique_ptr<Stream> finish(std::unique_ptr<Stream> stream) override { return stream; }

 private:
  void read_challenge();
  void read_answer() const;

  enum class State { kHello, kChallenge, kProof, kAnswer };

  const Token token_;
  State state_ = State::kHello;
  size_t done_ = 0;
  std::string out_;  // the hello, then the proof
  std::string transcript_;
  std::array<char, kAuthChallengeBytes> challenge_{};
  std::array<char, kAuthAnswerBytes> answer_{};
};

}  // namespace ps

#endif  // PS_NET_AUTH_AUTHENTICATION_H_
