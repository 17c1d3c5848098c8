#include "net/auth/authentication.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/error.h"
#include "net/auth/http_token.h"

namespace ps {

namespace {

// A stream whose peer has proven its access.
class AuthenticatedStream final : public Stream {
 public:
  AuthenticatedStream(std::unique_ptr<Stream> behind, Access access)
      : behind_(std::move(behind)), access_(access) {}

  IoResult read(std::span<const MutableBytes> into) override { return behind_->read(into); }
  IoResult write(std::span<const ConstBytes> from) override { return behind_->write(from); }
  void wait_readable() override { behind_->wait_readable(); }
  void wait_writable() override { behind_->wait_writable(); }
  uint64_t held_bytes() const override { return behind_->held_bytes(); }
  uint64_t undelivered_bytes() const override { return behind_->undelivered_bytes(); }
  void shutdown_write() override { behind_->shutdown_write(); }
  void set_events(Events* events) override { behind_->set_events(events); }
  const std::string& peer() const override { return behind_->peer(); }
  Access access() const override { return access_; }

 private:
  const std::unique_ptr<Stream> behind_;
  const Access access_;
};

std::string make_nonce() {
  std::string nonce(kNonceBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size())) != 1) {
    fail(Code::kInternal, "the system has no random bytes for a nonce");
  }
  return nonce;
}

// Compares in a time that does not depend on the number of equal bytes.
bool same(std::span<const char> one, const Proof& other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), other.size()) == 0;
}

std::string encode_answer(bool accepted, const Proof& proof) {
  std::string out;
  put(out, static_cast<uint64_t>(accepted ? 1 : 0));
  put_array<char>(out, proof);
  return out;
}

}  // namespace

Proof make_proof(std::string_view secret, std::string_view label, std::string_view transcript) {
  const std::string text = cat(label, transcript);
  Proof proof;
  size_t size = 0;
  const unsigned char* made =
      EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, secret.data(), secret.size(),
                reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                reinterpret_cast<unsigned char*>(proof.data()), proof.size(), &size);
  if (made == nullptr || size != proof.size()) fail(Code::kInternal, "OpenSSL has no HMAC-SHA256");
  return proof;
}

// ---- who accepts

// Each state goes on where the last call stopped: done_ counts the bytes of its message that are read or
// written.  A state that is complete falls through to the next one without waiting.
Handshake::Step ServerAuthentication::go_on(Stream& stream) {
  if (state_ == State::kHello) {
    const bool whole = read_all(stream, hello_, done_);
    check_hello();
    if (!whole) return Step::kWaitReadable;
    read_hello();
  }
  if (state_ == State::kChallenge) {
    if (!write_all(stream, out_, done_)) return Step::kWaitWritable;
    state_ = State::kProof;
    done_ = 0;
  }
  if (state_ == State::kProof) {
    if (!read_all(stream, proof_, done_)) return Step::kWaitReadable;
    read_proof();
  }
  return write_all(stream, out_, done_) ? Step::kDone : Step::kWaitWritable;
}

// Checks the part of the hello that has come, so that a peer that does no handshake learns at once that a token
// is needed.
void ServerAuthentication::check_hello() {
  const std::span<const char> come = std::span<const char>(hello_).first(done_);
  if (begins_frame(come)) {
    const Error reason(Code::kAuthentication, "this server lets in who shows a token: --token-file");
    last_words_ = notice_frame(reason);
    throw Error(Code::kAuthentication, "it showed no token");
  }
  const size_t size = std::min(come.size(), sizeof kAuthMagic);
  if (std::memcmp(come.data(), &kAuthMagic, size) == 0) return;
  fail(Code::kAuthentication, "it speaks another protocol");
}

// out_ <- the challenge.  The transcript, over which both sides compute their proofs, has both nonces: so
// no proof of an earlier connection fits this one.
void ServerAuthentication::read_hello() {
  put(out_, kAuthMagic);
  out_ += make_nonce();
  transcript_ = cat(text_of(hello_), out_);
  state_ = State::kChallenge;
  done_ = 0;
}

// Compares the proof with all tokens, so that the time does not reveal which tokens exist.
void ServerAuthentication::read_proof() {
  const auto shown = static_cast<uint8_t>(hello_[sizeof kAuthMagic]);
  const Token* found = nullptr;
  for (const Token& token : *tokens_) {
    const bool right = same(proof_, make_proof(token.secret, kClientLabel, transcript_));
    if (right && token.access != kStatusAccess && static_cast<uint8_t>(token.access) == shown) {
      found = &token;
    }
  }
  if (found == nullptr) {
    last_words_ = encode_answer(false, {});
    fail(Code::kAuthentication, "it showed a wrong token");
  }
  access_ = found->access;
  out_ = encode_answer(true, make_proof(found->secret, kServerLabel, transcript_));
  state_ = State::kAnswer;
  done_ = 0;
}

std::unique_ptr<Stream> ServerAuthentication::finish(std::unique_ptr<Stream> stream) {
  return std::make_unique<AuthenticatedStream>(std::move(stream), access_);
}

// ---- who connects

// The access takes the first byte of a number of 8 bytes, the others of which are zero.
ClientAuthentication::ClientAuthentication(Token token) : token_(std::move(token)) {
  put(out_, kAuthMagic);
  put(out_, static_cast<uint64_t>(token_.access));
  out_ += make_nonce();
}

// The states of the client, one for each of the four messages; out_ has the hello, then the proof.
Handshake::Step ClientAuthentication::go_on(Stream& stream) {
  if (state_ == State::kHello) {
    if (!write_all(stream, out_, done_)) return Step::kWaitWritable;
    state_ = State::kChallenge;
    done_ = 0;
  }
  if (state_ == State::kChallenge) {
    if (!read_all(stream, challenge_, done_)) return Step::kWaitReadable;
    read_challenge();
  }
  if (state_ == State::kProof) {
    if (!write_all(stream, out_, done_)) return Step::kWaitWritable;
    state_ = State::kAnswer;
    done_ = 0;
  }
  if (!read_all(stream, answer_, done_)) return Step::kWaitReadable;
  read_answer();
  return Step::kDone;
}

void ClientAuthentication::read_challenge() {
  if (std::memcmp(challenge_.data(), &kAuthMagic, sizeof kAuthMagic) != 0) {
    fail(Code::kAuthentication, "the server asks for no token, and so does not prove that it has one");
  }
  transcript_ = cat(out_, text_of(challenge_));
  const Proof proof = make_proof(token_.secret, kClientLabel, transcript_);
  out_.assign(proof.begin(), proof.end());
  state_ = State::kProof;
  done_ = 0;
}

// The server proves that it knows the secret too, since the client is about to send it data.
void ClientAuthentication::read_answer() const {
  if (answer_[0] != 1) {
    fail(Code::kAuthentication, "the server refuses the token for '", access_name(token_.access), "'");
  }
  const std::span<const char> proof = std::span<const char>(answer_).subspan(sizeof(uint64_t));
  if (same(proof, make_proof(token_.secret, kServerLabel, transcript_))) return;
  fail(Code::kAuthentication, "the server does not know the token for '", access_name(token_.access), "'");
}

}  // namespace ps
