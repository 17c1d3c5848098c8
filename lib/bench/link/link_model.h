// The cost model's view of links as ranks have measured them.  Used by the measurements of bench/link.
#ifndef PS_BENCH_LINK_LINK_MODEL_H_
#define PS_BENCH_LINK_LINK_MODEL_H_

#include <string>

#include "bench/link/measurements.h"
#include "bench/link/rank_run.h"
#include "collective/cost_model.h"

namespace ps {

// The bytes of a step of the model, dense and packed at 99.9 %.
StepBytes link_payload(const ModelShape& model);

// Without rates of codecs, and with one server of one port.
ClusterParameters link_cluster(int ranks, const LinkProbe& probe);

// The exchange of this name in the cost model; throws kInternal when it has none.
ExchangeKind exchange_named(const std::string& name);

// The timeout of a collective: long enough for a link that is only slow.
Duration link_patience(const LinkRequest& request);

}  // namespace ps

#endif  // PS_BENCH_LINK_LINK_MODEL_H_
