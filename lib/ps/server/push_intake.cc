#include "ps/server/push_intake.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "math/finite.h"
#include "ps/server/slice_checks.h"
#include "ps/wire/run_status.h"

namespace ps {

namespace {

// The largest number of slices of a push.  Slices have half a MiB or more if there are several; a shard may
// look through all of them for one message.
constexpr uint32_t kMaxSlices = 1 << 16;

// Gives the push the row slices of the pull that it names.
void use_pulled_rows(const PullHistory& pulls, PushRequest& request, Widths widths) {
  if (request.pulled == 0) return;
  const AnsweredPull* pull = pulls.find(request.pulled);
  if (pull == nullptr) fail(Code::kData, "push: there was no pull ", request.pulled);
  set_row_slices(request, {pull->request, &pull->request->row_slices}, widths);
}

}  // namespace

// A compute trainer does not tell the number of slices, and may be a step ahead of its reader: its pulls are
// answered before the log has the step before.  A server that was restarted then lacks that step.
void PushIntake::check_order(int rank, const PushRequest& request, bool resumed) const {
  const uint64_t next = clock_.trainer(rank).next_step;
  const uint64_t lead = clock_.lead() + (request.num_slices == 0 ? 1 : 0);
  if (request.step > next + lead) {
    fail(resumed ? kStateLost : Code::kData, "push: step ", request.step, " of trainer ", rank,
         " comes before step ", next);
  }
  if (request.num_slices > kMaxSlices || request.slice >= kMaxSlices) {
    fail(Code::kData, "push: slice ", request.slice, " of ", request.num_slices);
  }
}

// The checks need the row slices, which the pull may have, and make_room needs checked slices.  Rows are
// decoded after room was found for them, and only then can their values be checked.
PushIntake::Admitted PushIntake::admit(int rank, PushRequest& request) {
  use_pulled_rows(context_.pulls.history(rank), request, tables_.widths());
  if (request.ended && !request.row_slices.empty())
    fail(Code::kData, "push: gradients after the end of the data");
  check_gradients(tables_.parameters(), request.row_slices);
  Admitted admitted{make_room(rank, request), Buffer()};
  if (request.type != RowType::kF32 || request.coded)
    admitted.encoded = decode_floats(request, tables_.widths(), context_.held.pool(), codecs_);
  check_finite(request, "push: the gradient");
  return admitted;
}

void PushIntake::admit_weights(const PushRequest& request) {
  check_weights(tables_.parameters(), request.row_slices);
  check_finite(request, "load: the weights");
  memory_.make_room(tables_, request.row_slices);
}

// Returns the bytes of the body of a push that waits: as it came without its chunk, or of its decoded rows
// alone.
uint64_t PushIntake::body_bytes(const PushRequest& request) const {
  if (request.row_slices.empty()) return 0;
  if (request.type != RowType::kF32 || request.coded)
    return tables_.bytes_of(request.row_slices, RowType::kF32);
  return request.body.size() - (request.chunk ? request.chunk->size() : 0);
}

// Takes room for all that the push makes the shard hold: new rows, gradients, the slice and its keys, unless
// these are a pull's, and its trainer state chunk.
HeldBytes PushIntake::make_room(int rank, const PushRequest& request) {
  memory_.make_room(tables_, request.row_slices);
  const uint64_t slice_bytes = memory_of_push(request), bytes = slice_bytes + body_bytes(request);
  if (!context_.held.has_room(bytes)) context_.held.refuse(bytes);
  HeldBytes room = context_.held.take(static_cast<HeldPeer>(rank), HeldKind::kPushes, slice_bytes);
  if (!request.chunk) return room;
  const uint64_t more = request.chunk->size();
  if (!context_.held.set_chunk_bytes(chunk_bytes() + more)) context_.held.refuse(more, chunk_bytes());
  return room;
}

// A gradient that is not finite makes a weight that is not, and no later step repairs it.
void PushIntake::check_finite(const PushRequest& request, std::string_view what) {
  for (const RowSlice& slice : request.row_slices) {
    const size_t cols = static_cast<size_t>(tables_.widths()[slice.parameter]);
    if (all_finite(request.floats(slice), slice.rows() * cols, codecs_.cpu())) continue;
    ++context_.counters.refused_not_finite;
    fail(Code::kData, what, " of ", quote(tables_.name(slice.parameter)), " has values that are not finite");
  }
}

void PushIntake::hold(PendingPush& push, PushRequest request, HeldBytes room) {
  if (request.row_slices.empty()) request.body = Buffer();  // its chunk is stored separately
  push.held.push_back(std::move(room));
  ++context_.counters.pushes;
  for (const RowSlice& slice : request.row_slices) context_.counters.rows_pushed += slice.rows();
  const uint32_t number = request.slice;
  last_ = Held{push.rank, request.step, number};
  if (request.pulled != 0)
    push.pulled.emplace(number, context_.pulls.history(push.rank).find(request.pulled)->pulled);
  push.slices.emplace(number, std::move(request));
}

// Copies the rows without the chunk, which is stored separately.
void PushIntake::copy_rows(PushRequest& request) {
  const size_t begin = request.rows_at.front(), size = request.body.size() - begin;
  Buffer rows = context_.held.pool().take(size);
  std::copy_n(request.body.data() + begin, size, rows.data());
  for (size_t& at : request.rows_at) at -= begin;
  request.body = std::move(rows);
}

// A body that begins with a chunk is copied without it.  Any other body stays in place, and only changes
// the pool that counts it.
void PushIntake::end_steps() {
  const std::optional<Held> last = std::exchange(last_, std::nullopt);
  if (!last) return;
  auto& pushes = clock_.trainer(last->rank).pushes;
  auto waiting = pushes.find(last->step);
  if (waiting == pushes.end()) return;
  PushRequest& request = waiting->second.slices.at(last->slice);
  const bool has_chunk = request.chunk && !request.rows_at.empty() && request.rows_at.front() > 0;
  has_chunk ? copy_rows(request) : context_.held.pool().adopt(request.body);
}

}  // namespace ps
