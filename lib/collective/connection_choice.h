// How many connections between two ranks pay.  Used by make_net_communicator.
#ifndef PS_COLLECTIVE_CONNECTION_CHOICE_H_
#define PS_COLLECTIVE_CONNECTION_CHOICE_H_

#include "collective/exchange_communicator.h"
#include "collective/net/net_exchange.h"

namespace ps {

// Times all-reduces over one connection to each rank, two, four and so on up to `most`, and lets the exchange use the
// fewest that are nearly as fast as the fastest.  All ranks, which call it together, use as many.  `exchange` is that
// of the communicator.
void choose_connections(ExchangeCommunicator& communicator, NetExchange& exchange, int most);

}  // namespace ps

#endif  // PS_COLLECTIVE_CONNECTION_CHOICE_H_
