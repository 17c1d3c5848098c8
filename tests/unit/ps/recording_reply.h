// RecordingReply: keeps the outcome of a request, for tests of all that answers some.
#ifndef PS_TESTS_UNIT_PS_RECORDING_REPLY_H_
#define PS_TESTS_UNIT_PS_RECORDING_REPLY_H_

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ps/server/reply.h"
#include "ps/wire/protocol.h"

namespace ps {

// The outcome of one request.
struct Outcome {
  std::optional<std::string> answer;
  std::optional<Error> error;
  bool wanted = true;

  bool waits() const { return !answer && !error; }
  std::vector<float> floats(size_t count) const {
    std::vector<float> out(count);
    std::memcpy(out.data(), answer->data(), count * sizeof(float));
    return out;
  }
  Done done() const { return decode_done(*answer); }
};

using OutcomePtr = std::shared_ptr<Outcome>;

class RecordingReply final : public Reply {
 public:
  explicit RecordingReply(std::shared_ptr<Outcome> outcome) : outcome_(std::move(outcome)) {}
  void answer(std::shared_ptr<const Payload> payload) override {
    std::string bytes(payload->head.data(), payload->head.size());
    for (ConstBytes part : payload->parts) bytes.append(part.data(), part.size());
    outcome_->answer = std::move(bytes);
  }
  void fail(const Error& error) override { outcome_->error = error; }
  bool wanted() const override { return outcome_->wanted; }

 private:
  std::shared_ptr<Outcome> outcome_;
};

}  // namespace ps

#endif  // PS_TESTS_UNIT_PS_RECORDING_REPLY_H_
