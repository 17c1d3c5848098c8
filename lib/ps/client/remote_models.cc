// What a remote store reads and sets for models.
#include <algorithm>

#include "base/error.h"
#include "base/radix_sort.h"
#include "ps/client/remote_state.h"
#include "ps/client/remote_store.h"

namespace ps {

// A shard gives a key twice when its index grows meanwhile.
std::vector<uint64_t> RemoteStore::keys(int parameter) {
  wait_for_steps_before(step_);
  std::vector<uint64_t> all;
  for (size_t s = 0; s < links_.size(); ++s) {
    if (links_.places()[s].sparse < 0) continue;
    FoundKeys found{.more = true};
    while (found.more) {
      const KeysRequest request{static_cast<uint32_t>(parameter), found.cursor};
      const Frame frame = links_.call(s, Message::kKeys, Payload(encode_keys_request(request)));
      found = decode_found_keys(frame.body.bytes());
      if (found.more && found.keys.empty()) fail(Code::kData, "keys: none, and there are more");
      all.insert(all.end(), found.keys.begin(), found.keys.end());
    }
  }
  radix_sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

void RemoteStore::read_rows(int parameter, std::span<const uint64_t> keys, float* weights) {
  wait_for_steps_before(step_);
  const int64_t cols = specs_[static_cast<size_t>(parameter)].cols;
  ask(*reading_, PullMode::kRead, step_,
      [&](BatchRouter& router) { router.add_keys(static_cast<size_t>(parameter), keys); });
  await(*reading_, [&](size_t, const Piece& piece, const ArrivedRows& rows) {
    const float* floats = rows.floats();
    for (int64_t n = 0; n < piece.rows; ++n, floats += cols) {
      std::copy_n(floats, cols, weights + piece.position(n) * cols);
    }
  });
}

void RemoteStore::read_all(int parameter, float* weights) {
  wait_for_steps_before(step_);
  const size_t p = static_cast<size_t>(parameter);
  const int64_t cols = specs_[p].cols;
  ask(*reading_, PullMode::kRead, step_, [p](BatchRouter& router) { router.add_all(p); });
  await(*reading_, [&](size_t shard, const Piece& piece, const ArrivedRows& rows) {
    for_each_run(reading_->router.deal(p, shard), piece.first, piece.rows,
                 [&](int64_t own, int64_t row, int64_t count) {
                   rows.copy(own - piece.first, count, weights + row * cols);
                 });
  });
}

RowReport RemoteStore::row_report(int parameter) {
  wait_for_steps_before(step_);
  std::string request;
  put(request, static_cast<uint32_t>(parameter));
  RowReport total;
  for (size_t s = 0; s < links_.size(); ++s) {
    if (links_.places()[s].sparse < 0) continue;
    Frame frame = links_.call(s, Message::kRowReport, Payload(request));
    total.add(decode_row_report(frame.body.bytes()));
  }
  return total;
}

void RemoteStore::load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) {
  reading_->router.begin();
  reading_->router.add_keys(static_cast<size_t>(parameter), keys);
  reading_->router.end();
  load(weights);
}

void RemoteStore::load_all(int parameter, const float* weights) {
  reading_->router.begin();
  reading_->router.add_all(static_cast<size_t>(parameter));
  reading_->router.end();
  load(weights);
}

void RemoteStore::load(const float* weights) {
  wait_for_steps_before(step_);
  const Source source{[weights](const Piece&) { return weights; }};
  size_t asked = 0, answered = 0;
  for (size_t s = 0; s < links_.size(); ++s) {
    for (const Bundle& bundle : reading_->router.bundles(s)) {
      ++asked;
      links_.request(s, Message::kLoad,
                     with_rows(encode_load(bundle.num_parts(), bundle.parts), s, bundle, source),
                     [&answered](Frame) { ++answered; });
    }
  }
  links_.wait([&] { return answered == asked; });
}

}  // namespace ps
