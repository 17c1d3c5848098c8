// How many connections between two ranks pay.  Used by make_net_communicator.
#ifndef PS_COLLECTIVE_CONNECTION_CHOICE_H_
#define PS_COLLECTIVE_CONNECTION_CHOICE_H_

#include "collective/exchange_communicator.h"
#include "collective/net/net_exchange.h"

namespace ps {

// Times exchanges among all ranks over one connection to each, two, four and so on up to `most`, and lets `exchange`,
// which is that of the communicator, use more where they take a fifth less time.  All ranks, which call it together, use
// as many.
void choose_connections(ExchangeCommunicator& communicator, NetExchange& exchange, int most);

}  // namespace ps

#endif  // PS_COLLECTIVE_CONNECTION_CHOICE_H_
