#include "ps/client/row_exchange.h"

#include <utility>

#include "base/error.h"

namespace ps {

RowExchange::RowExchange(ShardLinks& links, const std::vector<ParameterSpec>& specs)
    : links_(links), specs_(specs), router_(specs, links.places()) {}

// Each message is sent as soon as it is full, so that shards look up the first rows while the other keys are
// still routed.  A message whose rows will be pushed gets a number, by which the push names its keys.
void RowExchange::ask(const Request& request, const AddRowSlices& add_row_slices) {
  PS_CHECK(arrived());
  arrived_.clear();
  asked_ = num_passed_ = 0;
  type_ = request.type;
  router_.begin([this, &request](size_t s, Bundle& bundle) {
    ++asked_;
    bundle.number = request.last_number == nullptr ? 0 : ++*request.last_number;
    const PullHeader header{
        .step = request.step, .mode = request.mode, .type = type_, .number = bundle.number};
    links_.request(s, Message::kPull,
                   Payload(encode_pull(header, bundle.num_row_slices(), bundle.row_slices)),
                   [this, &bundle, s](Frame frame) {
                     arrived_.push_back({s, &bundle, std::move(frame)});
                   });
  });
  add_row_slices(router_);
  router_.end();
}

void RowExchange::route(const AddRowSlices& add_row_slices) {
  router_.begin();
  add_row_slices(router_);
  router_.end();
}

// num_passed_ is the number of answers at the front of arrived_ that were passed on; new ones come in at
// the end during a wait.
bool RowExchange::pass_arrived(const OnRows& on_rows) {
  while (num_passed_ < arrived_.size()) pass_on(arrived_[num_passed_++], on_rows);
  return num_passed_ == asked_;
}

// Calls on_rows for each slice of an answer.  Statistics travel as f32, whatever the type is.
void RowExchange::pass_on(Arrived& arrived, const OnRows& on_rows) const {
  std::span<char> left = arrived.frame.body.bytes();
  for (const RoutedRows& routed : arrived.bundle->routed) {
    const ParameterSpec& spec = specs_[routed.parameter];
    const RowType type = spec.kind == ParameterKind::kStatistic ? RowType::kF32 : type_;
    const size_t size = padded(static_cast<uint64_t>(routed.rows) * encoded_row_bytes(type, spec.cols));
    if (size > left.size()) fail(Code::kData, "a server answered a pull with too few rows");
    on_rows(arrived.shard, routed, {left.data(), type, spec.cols, links_.cpu()});
    left = left.subspan(size);
  }
  if (!left.empty()) fail(Code::kData, "a server answered a pull with too many rows");
}

}  // namespace ps
