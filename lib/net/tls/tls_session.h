// TLS over one stream: what is written comes out of the other side's read, hidden and protected.  Used by
// TlsTransport's handshake, and by TlsStream after it.
#ifndef PS_NET_TLS_TLS_SESSION_H_
#define PS_NET_TLS_TLS_SESSION_H_

#include <memory>
#include <optional>
#include <string>

#include "net/handshake/handshake.h"
#include "net/tls/tls_context.h"
#include "net/transport.h"

struct bio_method_st;
struct bio_st;
struct ssl_st;

namespace ps {

// OpenSSL's side is a BIO of ours: it reads from the stream itself, and writes into `out_`, which is bounded and
// goes into the stream as far as that takes it.  Every call names the stream, which is always the same.  Owner
// thread only.
class TlsSession {
 public:
  // `host` is the name or number that the certificate of a server must have; empty for a server.
  TlsSession(std::shared_ptr<const TlsContext> context, const std::string& host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // As Handshake's.
  Handshake::Step handshake(Stream& stream);
  std::string last_words() const;

  // As Stream's.  An end without the peer's word for it is ECONNRESET; a peer that does not take our certificate,
  // EKEYREJECTED; what is not TLS, EPROTO.
  IoResult read(Stream& stream, std::span<const MutableBytes> into);
  IoResult write(Stream& stream, std::span<const ConstBytes> from);

  // Returns true if a read may return bytes although none arrive.
  bool has_more() const { return more_; }

  // Tells the peer that nothing more is written.
  void end_writing();

  // Moves what is to be written into the stream as far as that goes without waiting.
  void flush(Stream& stream);
  bool flushed() const { return out_.empty(); }
  size_t held_bytes() const { return out_.size() - out_sent_; }
  bool has_room() const { return write_error_ != 0 || held_bytes() < kMaxWaitingBytes; }

 private:
  friend struct TlsStreamMethod;

  static constexpr size_t kRecordBytes = 16 << 10;
  static constexpr size_t kMaxWaitingBytes = 128 << 10;

  int pull(char* into, int size);
  int read_error();
  ConstBytes next_piece(std::span<const ConstBytes> from, size_t taken);
  [[noreturn]] void fail_handshake();

  const std::shared_ptr<const TlsContext> context_;
  ssl_st* const ssl_;
  bio_st* bio_ = nullptr;     // of ssl_
  Stream* stream_ = nullptr;  // of the call
  bool drained_ = false;      // nothing more comes from the stream in this call
  bool began_ = false;        // something has come
  bool plain_ = false;        // and it was no TLS, but a frame
  bool more_ = false;
  bool stream_ended_ = false;
  int stream_error_ = 0;
  std::optional<int> read_end_;  // what every further read comes to
  int write_error_ = 0;
  std::string out_;  // sent up to out_sent_
  size_t out_sent_ = 0;
  std::string record_;  // small pieces, joined
};

// For TlsContext.
bio_method_st* make_stream_method();

}  // namespace ps

#endif  // PS_NET_TLS_TLS_SESSION_H_
