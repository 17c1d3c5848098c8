// TlsSession: TLS over one stream.  Bytes that are written on one side are encrypted and authenticated on the
// way, and are returned by the read of the other side.  Used by TlsTransport's handshake, and by TlsStream
// after it.
#ifndef PS_NET_TLS_TLS_SESSION_H_
#define PS_NET_TLS_TLS_SESSION_H_

#include <memory>
#include <optional>
#include <string>

#include "net/handshake/handshake.h"
#include "net/tls/tls_context.h"
#include "net/transport.h"

struct bio_st;
struct ssl_st;

namespace ps {

// OpenSSL uses a BIO of this class.  The BIO reads from the stream itself, and writes into `out_`, which is
// bounded and is moved into the stream as far as the stream takes it.  Every call names the stream, which is
// always the same.  One owner thread.
class TlsSession {
 public:
  // `host` is the name or IP address that the certificate of a server must have; empty for a server.
  TlsSession(std::shared_ptr<const TlsContext> context, const std::string& host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // The functions of Handshake.
  Handshake::Step handshake(Stream& stream);
  std::string last_words() const;

  // The functions of Stream.  An end without the peer's close alert is ECONNRESET. A peer that refuses our
  // certificate gives EKEYREJECTED; bytes that are not TLS give EPROTO.
  IoResult read(Stream& stream, std::span<const MutableBytes> into);
  IoResult write(Stream& stream, std::span<const ConstBytes> from);

  // Returns true if a read may return bytes although no more arrive.
  bool has_more() const { return more_; }

  // Tells the peer that nothing more is written.
  void end_writing();

  // Moves waiting bytes into the stream as far as that is possible without waiting.
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
  bio_st* bio_ = nullptr;     // owned by ssl_
  Stream* stream_ = nullptr;  // the stream of the current call
  bool drained_ = false;      // the stream has no more bytes in this call
  bool began_ = false;        // bytes have arrived
  bool plain_ = false;        // the first bytes were a frame instead of TLS
  bool more_ = false;
  bool stream_ended_ = false;
  int stream_error_ = 0;
  std::optional<int> read_end_;  // the error that every further read returns; 0: the end
  int write_error_ = 0;
  std::string out_;  // encrypted bytes; those before out_sent_ are sent
  size_t out_sent_ = 0;
  std::string record_;  // joined small pieces
};

}  // namespace ps

#endif  // PS_NET_TLS_TLS_SESSION_H_
