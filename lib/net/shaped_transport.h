// A link with limited bandwidth and added latency, in front of a transport.  Used by the test proxy, and by
// benchmarks for networks of given bandwidth and latency.
#ifndef PS_NET_SHAPED_TRANSPORT_H_
#define PS_NET_SHAPED_TRANSPORT_H_

#include <memory>

#include "net/token_bucket.h"
#include "net/transport.h"

namespace ps {

struct LinkShape {
  double bytes_per_second = 0;  // 0: no limit
  double burst_bytes = 64 << 10;
  Duration latency = Duration(0);  // added to every byte
  bool one_rate = false;           // for accepted and connected streams together

  bool shapes() const { return bytes_per_second > 0 || latency > Duration(0); }
};

// Streams of this transport write at the given rate, and their bytes arrive late by the latency.  The bytes that they
// read are not touched: give the peer a shaped transport too, or put a Proxy between.  All streams that were accepted
// share the rate, and so do all that were connected: the two directions of a Proxy.  With `one_rate` all streams
// share it: the link of a host.  Without a rate and a latency, streams are those of the transport behind.  Same
// thread and lifetimes as the transport behind.
class ShapedTransport final : public Transport {
 public:
  ShapedTransport(Transport& behind, const LinkShape& shape);

  Loop& loop() override { return behind_.loop(); }
  std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) override;
  std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                          OnConnect on_connect) override;
  uint64_t num_refused() const override { return behind_.num_refused(); }

 private:
  using Bucket = std::shared_ptr<TokenBucket>;  // null: no limit

  Bucket make_bucket() const;
  std::unique_ptr<Stream> shape(std::unique_ptr<Stream> stream, const Bucket& bucket);

  Transport& behind_;
  const LinkShape shape_;
  const Bucket accepted_, connected_;
};

}  // namespace ps

#endif  // PS_NET_SHAPED_TRANSPORT_H_
