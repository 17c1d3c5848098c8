// The whole body of a message of a gathering, which a client sends in two parts: the head, and bytes that it has.
#ifndef PS_TESTS_SUPPORT_GATHER_BODY_H_
#define PS_TESTS_SUPPORT_GATHER_BODY_H_

#include <string>

#include "ps/wire/gather.h"

namespace ps {

inline std::string gather_body(const GatherRequest& request) {
  return encode_gather_head(request).append(request.bytes);
}

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_GATHER_BODY_H_
