#include "net/tls/tls_session.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"

namespace ps {

// The functions of the BIO, which OpenSSL calls; its data is the session.
struct TlsStreamMethod {
  static TlsSession& session(BIO* bio) { return *static_cast<TlsSession*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* into, int size) {
    BIO_clear_retry_flags(bio);
    return session(bio).pull(into, size);
  }
  static int write(BIO* bio, const char* from, int size) {
    BIO_clear_retry_flags(bio);
    session(bio).out_.append(from, static_cast<size_t>(size));
    return size;
  }
  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }
  static int create(BIO* bio) {
    BIO_set_init(bio, 1);
    return 1;
  }
};

namespace {

using StreamMethod = std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)>;

// Returns the functions with which OpenSSL reads from and writes to a session's stream.
StreamMethod make_stream_method() {
  StreamMethod method(BIO_meth_new(BIO_TYPE_SOURCE_SINK, "stream"), BIO_meth_free);
  if (method == nullptr) fail(Code::kExhausted, "out of memory");
  BIO_meth_set_read(method.get(), TlsStreamMethod::read);
  BIO_meth_set_write(method.get(), TlsStreamMethod::write);
  BIO_meth_set_ctrl(method.get(), TlsStreamMethod::control);
  BIO_meth_set_create(method.get(), TlsStreamMethod::create);
  return method;
}

// Returns the method that the BIOs of all sessions share.
const BIO_METHOD* stream_method() {
  static const StreamMethod method = make_stream_method();
  return method.get();
}

// Returns true for the alerts by which a peer refuses our certificate.
bool rejects_certificate(unsigned long error) {
  switch (ERR_GET_REASON(error)) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return true;
    default:
      return false;
  }
}

// Makes OpenSSL require that the server's certificate is for `host`.
void expect_host(SSL* ssl, const std::string& host) {
  X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl);
  in6_addr number{};
  const bool is_number =
      inet_pton(AF_INET, host.c_str(), &number) == 1 || inet_pton(AF_INET6, host.c_str(), &number) == 1;
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const int set = is_number ? X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str())
                            : X509_VERIFY_PARAM_set1_host(parameters, host.c_str(), host.size());
  if (set != 1) fail(Code::kUsage, "host ", quote(host), " can be in no certificate");
  if (!is_number) SSL_set_tlsext_host_name(ssl, host.c_str());
}

SSL* make_ssl(const TlsContext& context) {
  SSL* ssl = SSL_new(context.get());
  if (ssl == nullptr) fail(Code::kExhausted, "out of memory for TLS: ", take_openssl_error());
  context.side() == TlsSide::kServer ? SSL_set_accept_state(ssl) : SSL_set_connect_state(ssl);
  return ssl;
}

}  // namespace

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, const std::string& host)
    : context_(std::move(context)), ssl_(make_ssl(*context_)) {
  try {
    bio_ = BIO_new(stream_method());
    if (bio_ == nullptr) fail(Code::kExhausted, "out of memory for TLS");
    BIO_set_data(bio_, this);
    SSL_set_bio(ssl_, bio_, bio_);
    if (context_->side() == TlsSide::kClient) expect_host(ssl_, host);
  } catch (...) {
    SSL_free(ssl_);
    throw;
  }
}

TlsSession::~TlsSession() {
  SSL_free(ssl_);
}

// ---- handshake

Handshake::Step TlsSession::handshake(Stream& stream) {
  stream_ = &stream;
  drained_ = false;
  ERR_clear_error();
  // The bytes that OpenSSL has written go out even if it has failed, since an alert among them tells the
  // peer why.
  const int done = SSL_do_handshake(ssl_);
  const int why = SSL_get_error(ssl_, done);
  flush(stream);
  if (done != 1 && why != SSL_ERROR_WANT_READ) fail_handshake();
  if (write_error_ != 0) throw io_error(write_error_);
  if (!flushed()) return Handshake::Step::kWaitWritable;
  if (done != 1) return Handshake::Step::kWaitReadable;
  more_ = true;  // more bytes may have arrived with the end of the handshake
  return Handshake::Step::kDone;
}

// Throws the reason of a failed handshake.  Causes in the stream come first, since OpenSSL reports them
// only as a failed read; then the peer's refusal of our certificate, our refusal of its certificate, and
// everything else.
void TlsSession::fail_handshake() {
  if (plain_) fail(Code::kAuthentication, "it does not speak TLS");
  if (stream_error_ != 0) throw io_error(stream_error_);
  if (stream_ended_)
    fail(Code::kUnavailable, "closed by the peer before TLS began: does it have --tls-cert?");
  const unsigned long error = ERR_peek_error();
  const std::string reason = take_openssl_error();
  if (rejects_certificate(error)) throw io_error(EKEYREJECTED);
  const long verified = SSL_get_verify_result(ssl_);
  if (verified != X509_V_OK) {
    fail(Code::kAuthentication, "the peer's certificate: ", X509_verify_cert_error_string(verified));
  }
  fail(Code::kAuthentication, "no TLS 1.3 with the peer: ", reason);
}

std::string TlsSession::last_words() const {
  if (!plain_) return "";
  return notice_frame(Error(Code::kAuthentication, "this server speaks TLS: --tls-ca"));
}

// Reads from the stream for OpenSSL. If the first bytes of the peer begin a frame, they are not TLS, which
// fail_handshake reports.
int TlsSession::pull(char* into, int size) {
  IoResult result{.error = EAGAIN};
  const MutableBytes bytes(into, static_cast<size_t>(size));
  if (!drained_) result = stream_->read({&bytes, 1});
  if (result.blocked()) {
    drained_ = true;
    BIO_set_retry_read(bio_);
    return -1;
  }
  stream_error_ = result.error;
  stream_ended_ = result.ended();
  if (result.bytes == 0) return result.error != 0 ? -1 : 0;
  drained_ = result.bytes < bytes.size();
  plain_ = !began_ && begins_frame(bytes.first(result.bytes));
  began_ = true;
  return plain_ ? -1 : static_cast<int>(result.bytes);
}

// ---- reading

// Fills the spans with decrypted bytes until OpenSSL needs more bytes, or an error or the end comes.  Errors
// are returned only if no bytes were read, and then by every further call.
IoResult TlsSession::read(Stream& stream, std::span<const MutableBytes> into) {
  if (read_end_) return {.error = *read_end_};
  stream_ = &stream;
  drained_ = false;
  more_ = true;
  size_t taken = 0;
  for (MutableBytes span : into) {
    while (!span.empty()) {
      size_t got = 0;
      ERR_clear_error();
      if (SSL_read_ex(ssl_, span.data(), span.size(), &got) != 1) {
        const int error = read_error();
        if (error == EAGAIN) more_ = false;
        if (error != EAGAIN) read_end_ = error;
        flush(stream);  // sends an alert, or an answer to a change of keys
        return {.bytes = taken, .error = taken != 0 ? 0 : error};
      }
      taken += got;
      span = span.subspan(got);
    }
  }
  return {.bytes = taken};
}

// Returns the errno of the last SSL_read_ex; 0 is the end of the stream.
int TlsSession::read_error() {
  switch (SSL_get_error(ssl_, 0)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    default:
      break;
  }
  if (stream_error_ != 0) return stream_error_;
  if (stream_ended_) return ECONNRESET;
  return rejects_certificate(ERR_peek_error()) ? EKEYREJECTED : EPROTO;
}

// ---- writing

// Encrypts the spans record by record into out_, until it holds kMaxWaitingBytes and the stream must take
// some of it first.  An error of the stream shows in the next call.
IoResult TlsSession::write(Stream& stream, std::span<const ConstBytes> from) {
  flush(stream);
  if (write_error_ != 0) return {.error = write_error_};
  size_t taken = 0;
  while (write_error_ == 0 && has_room()) {
    const ConstBytes piece = next_piece(from, taken);
    if (piece.empty()) break;
    size_t written = 0;
    ERR_clear_error();
    if (SSL_write_ex(ssl_, piece.data(), piece.size(), &written) != 1) {
      write_error_ = EPIPE;
      return {.bytes = taken, .error = taken != 0 ? 0 : write_error_};
    }
    taken += written;
    if (!has_room()) flush(stream);
  }
  flush(stream);
  return {.bytes = taken, .error = taken != 0 ? 0 : EAGAIN};
}

// Returns the bytes behind the first `taken`, up to a record: in place, or joined if they are in several
// pieces.
ConstBytes TlsSession::next_piece(std::span<const ConstBytes> from, size_t taken) {
  size_t index = 0;
  while (index < from.size() && taken >= from[index].size()) taken -= from[index++].size();
  if (index == from.size()) return {};
  const ConstBytes first = from[index].subspan(taken);
  if (first.size() >= kRecordBytes) return first.first(kRecordBytes);
  if (index + 1 == from.size()) return first;
  record_.assign(first.data(), first.size());
  while (++index < from.size() && record_.size() < kRecordBytes) {
    const ConstBytes more = from[index].first(std::min(from[index].size(), kRecordBytes - record_.size()));
    record_.append(more.data(), more.size());
  }
  return record_;
}

void TlsSession::end_writing() {
  ERR_clear_error();
  SSL_shutdown(ssl_);
}

void TlsSession::flush(Stream& stream) {
  // After an error the loop ends and the bytes are dropped, since nobody will read them.
  while (out_sent_ < out_.size()) {
    const ConstBytes rest = ConstBytes(out_).subspan(out_sent_);
    const IoResult result = stream.write({&rest, 1});
    if (result.blocked()) return;
    if (result.error != 0) {
      write_error_ = result.error;
      break;
    }
    out_sent_ += result.bytes;
  }
  out_.clear();
  out_sent_ = 0;
}

}  // namespace ps
