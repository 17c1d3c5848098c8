// Describes links to the cost model, as ranks have measured them.  Used by the measurements of bench/link.
#ifndef PS_BENCH_LINK_LINK_MODEL_H_
#define PS_BENCH_LINK_LINK_MODEL_H_

#include <string>

#include "bench/link/link_request.h"
#include "bench/link/rank_run.h"
#include "collective/cost_model.h"

namespace ps {

// Returns the bytes of a step of the model: dense, and packed with a sparsity of 99.9 %.
StepBytes link_payload(const ModelShape& model);

// Returns the parameters of a cluster without rates of codecs, and with one server of one port.
ClusterParameters link_cluster(int ranks, const LinkProbe& probe);

// Returns the exchange that has this name in the cost model; throws kInternal when there is none.
ExchangeKind exchange_named(const std::string& name);

// Returns the timeout of a collective.  It is long enough for a link that is merely slow.
Duration link_patience(const LinkRequest& request);

}  // namespace ps

#endif  // PS_BENCH_LINK_LINK_MODEL_H_
