// The copies of weights of a trainer with local SGD, as a checkpoint stores them.
//
// input := (size:u16 chunk[size])...
#include "base/bytes.h"
#include "base/error.h"
#include "config/json.h"
#include "optim/synthetic_parameter.h"
#include "ps/client/local_sgd_copies.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<ps::ParameterSpec> specs = {
      ps::synthetic_parameter("table", ps::ParameterKind::kRows, true, 20, 3),
      ps::synthetic_parameter("embedding", ps::ParameterKind::kRows, false, 20, 1),
      ps::synthetic_parameter("matrix", ps::ParameterKind::kMatrix, false, 20, 2)};
  ps::Device device(1, ps::best_cpu_level());
  const ps::Json momentum = {{"type", "momentum"}, {"learning_rate", 0.1}, {"l2", 0.01}};
  ps::LocalStore local(specs, ps::make_optimizer_plan(momentum, "sum"), UINT64_MAX, device);
  ps::LocalSgdCopies copies(specs, /*period=*/2, local);
  ps::ByteReader in({reinterpret_cast<const char*>(data), size});
  try {
    while (in.ok() && in.remaining() > 0) copies.restore(in.get_bytes(in.get<uint16_t>()));
    copies.end_restoring(/*batches=*/50);
    const auto chunks = copies.chunks(1000);
    for (size_t n = 0; n < chunks->size(); ++n) PS_CHECK(!chunks->encode(n).empty());
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() == ps::Code::kCorrupt);
  }
  return 0;
}
