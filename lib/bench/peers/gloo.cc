#include "bench/peers/gloo.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>

#include <memory>

namespace ps {

namespace {

// The all-reduce of one rank by Gloo.  Its rank's thread owns it.  The ranks meet by a store in memory that
// they share; all bytes of sums go over TCP.  Gloo chooses its default algorithm.
class GlooSum final : public RankSum {
 public:
  GlooSum(int rank, int size, gloo::rendezvous::HashStore& store)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, size)) {
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice("127.0.0.1");
    context_->connectFullMesh(store, device);
  }

  void all_reduce(std::span<float> data) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(data.data(), data.size());
    using Sum = void (*)(void*, const void*, const void*, size_t);
    options.setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
    gloo::allreduce(options);
  }

 private:
  const std::shared_ptr<gloo::rendezvous::Context> context_;
};

}  // namespace

MakeRankSum make_gloo_sums(int size) {
  auto store = std::make_shared<gloo::rendezvous::HashStore>();
  return [=](int rank) { return std::make_unique<GlooSum>(rank, size, *store); };
}

}  // namespace ps
