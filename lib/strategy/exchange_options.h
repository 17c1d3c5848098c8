// The keys of train.strategy that say how rows travel between trainers and servers.  Used by every strategy
// that has servers.
#ifndef PS_STRATEGY_EXCHANGE_OPTIONS_H_
#define PS_STRATEGY_EXCHANGE_OPTIONS_H_

#include <string>

#include "codec/row_types.h"
#include "config/fwd.h"

namespace ps {

struct ExchangeOptions {
  std::string pull_type = "f32", push_type = "f32";  // of row_type_names()
  std::string residual_memory = "64M";               // of a trainer

  RowTypes row_types() const;

  static const ObjectSpec<ExchangeOptions>& spec();
};

}  // namespace ps

#endif  // PS_STRATEGY_EXCHANGE_OPTIONS_H_
