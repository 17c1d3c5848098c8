#include "ps/server/pull_history.h"

#include <algorithm>
#include <utility>

#include "ps/server/snapshot_fields.h"

namespace ps {

namespace {

constexpr size_t kMostPulls = 4096;  // each pull is a whole message, so these are gigabytes of rows

// Returns true if both slices have the same answer.  Counts of keys change no answer, so they are not
// compared.
bool same_rows(const RowSlice& a, const RowSlice& b) {
  return a.parameter == b.parameter && a.by_keys == b.by_keys && a.exact == b.exact && a.first == b.first &&
         a.count == b.count && a.keys == b.keys;
}

bool same_pull(const PullRequest& a, const PullRequest& b) {
  return a.step == b.step && a.type == b.type && std::ranges::equal(a.row_slices, b.row_slices, same_rows);
}

// answered := former:u8 pull:text rows:text
void save_answered(const AnsweredPull& pull, bool former, std::string& out) {
  put(out, static_cast<uint8_t>(former));
  put_text(out, encode_again(*pull.request));
  put_text(out, {pull.rows->head.data(), pull.rows->head.size()});
}

}  // namespace

// Numbers ascend, so the first of too many pulls is the oldest.
void PullHistory::add(AnsweredPull&& pull) {
  const uint64_t number = pull.request->number;
  if (number == 0) return;
  pulls_.insert_or_assign(number, std::move(pull));
  if (pulls_.size() > kMostPulls) pulls_.erase(pulls_.begin());
}

const AnsweredPull* PullHistory::find(uint64_t number) const {
  auto found = pulls_.find(number);
  return found == pulls_.end() ? nullptr : &found->second;
}

std::shared_ptr<const Payload> PullHistory::answer_to(const PullRequest& request) const {
  for (const auto& [number, pull] : pulls_) {
    if (pull.rows && same_pull(*pull.request, request)) return pull.rows;
  }
  for (const AnsweredPull& pull : former_pulls_) {
    if (pull.rows && same_pull(*pull.request, request)) return pull.rows;
  }
  return nullptr;
}

void PullHistory::forget_before(uint64_t step) {
  std::erase_if(pulls_, [step](const auto& each) { return each.second.request->step < step; });
  std::erase_if(former_pulls_, [step](const AnsweredPull& each) { return each.request->step < step; });
}

void PullHistory::take_over() {
  for (auto& [number, pull] : pulls_) {
    if (pull.rows) former_pulls_.push_back(std::move(pull));
  }
  pulls_.clear();
}

// history := pulls:u32 answered[pulls]
void PullHistory::save(std::string& out) const {
  auto has_rows = [](const AnsweredPull& pull) { return pull.rows != nullptr; };
  const auto current = std::ranges::count_if(pulls_, [&](const auto& each) { return has_rows(each.second); });
  const auto former = std::ranges::count_if(former_pulls_, has_rows);
  put(out, static_cast<uint32_t>(current + former));
  for (const auto& [number, pull] : pulls_) {
    if (has_rows(pull)) save_answered(pull, false, out);
  }
  for (const AnsweredPull& pull : former_pulls_) {
    if (has_rows(pull)) save_answered(pull, true, out);
  }
}

// The pointer to the request shares the ownership of the RememberedPull, so that the memory of the pull is
// given back when its last user is gone.
void PullHistory::load(ByteReader& in, BufferPool& pool, HeldMemory& held, int rank) {
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    const bool former = in.get<uint8_t>() != 0;
    PullRequest request = decode_pull(bytes_of(read_text(in)));
    HeldBytes room = held.take(static_cast<HeldPeer>(rank), HeldKind::kPullHistory, memory_of_pull(request));
    const auto remembered =
        std::make_shared<RememberedPull>(RememberedPull{std::move(request), std::move(room)});
    AnsweredPull pull{{remembered, &remembered->request},
                      std::make_shared<const Payload>(to_buffer(pool, read_text(in)))};
    if (former) {
      former_pulls_.push_back(std::move(pull));
    } else {
      add(std::move(pull));
    }
  }
}

}  // namespace ps
