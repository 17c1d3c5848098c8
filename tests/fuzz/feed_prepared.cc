// A prepared batch from another process: bytes that are accepted make a batch that is read back
// from its own bytes.
//
// input := model:u8 prepared                       (model: odd draws samples, even does not)
#include "base/error.h"
#include "feed/prepared_batch_bytes.h"
#include "unit/feed/batches.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const ps::Network<float> plain = ps::feed_network(ps::kFeedModel),
                                  sampled = ps::feed_network(ps::kSampledModel);
  const ps::Network<float>& network = data[0] % 2 == 0 ? plain : sampled;
  ps::Network<float>::Planners planners = network.make_planners(ps::KeyOrder::kFirstAppearance);
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    ps::PreparedBatch prepared;
    ps::decode_prepared(bytes, network, planners, prepared);
    std::string again;
    ps::encode_prepared(prepared, again);
    ps::decode_prepared(again, network, planners, prepared);
    std::string third;
    ps::encode_prepared(prepared, third);
    PS_CHECK(third == again);
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() == ps::Code::kData);
  }
  return 0;
}
