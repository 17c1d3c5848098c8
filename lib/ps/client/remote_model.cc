#include "ps/client/remote_model.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/radix_sort.h"
#include "ps/client/row_message.h"

namespace ps {

RemoteModel::RemoteModel(ShardLinks& links, const std::vector<ParameterSpec>& specs, RemotePushes& pushes)
    : links_(links), specs_(specs), pushes_(pushes), exchange_(links, specs) {}

// A shard gives a key twice when its index grows meanwhile.
std::vector<uint64_t> RemoteModel::keys(int parameter) {
  pushes_.finish();
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

void RemoteModel::read(const RowExchange::AddParts& add_parts, const RowExchange::OnRows& on_rows) {
  pushes_.finish();
  exchange_.ask(
      {.mode = PullMode::kRead, .step = pushes_.next_step(), .type = RowType::kF32, .last_number = nullptr},
      add_parts);
  links_.wait([&] { return exchange_.show_arrived(on_rows); });
}

void RemoteModel::read_rows(int parameter, std::span<const uint64_t> keys, float* weights) {
  const size_t p = static_cast<size_t>(parameter);
  const int64_t cols = specs_[p].cols;
  read([&](BatchRouter& router) { router.add_keys(p, keys); },
       [&](size_t, const Piece& piece, const ArrivedRows& rows) {
         const float* floats = rows.floats();
         for (int64_t n = 0; n < piece.rows; ++n, floats += cols) {
           std::copy_n(floats, cols, weights + piece.position(n) * cols);
         }
       });
}

void RemoteModel::read_all(int parameter, float* weights) {
  const size_t p = static_cast<size_t>(parameter);
  const int64_t cols = specs_[p].cols;
  read([p](BatchRouter& router) { router.add_all(p); },
       [&](size_t shard, const Piece& piece, const ArrivedRows& rows) {
         for_each_run(exchange_.router().deal(p, shard), piece.first, piece.rows,
                      [&](int64_t own, int64_t row, int64_t count) {
                        rows.copy(own - piece.first, count, weights + row * cols);
                      });
       });
}

RowReport RemoteModel::row_report(int parameter) {
  pushes_.finish();
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

void RemoteModel::load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) {
  load([&](BatchRouter& router) { router.add_keys(static_cast<size_t>(parameter), keys); }, weights);
}

void RemoteModel::load_all(int parameter, const float* weights) {
  load([&](BatchRouter& router) { router.add_all(static_cast<size_t>(parameter)); }, weights);
}

void RemoteModel::load(const RowExchange::AddParts& add_parts, const float* weights) {
  exchange_.route(add_parts);
  pushes_.finish();
  const RowSource source{.begin = [weights](const Piece&) { return weights; }};
  const RowMessageParts parts{specs_, exchange_.router(), links_.pool()};
  size_t asked = 0, answered = 0;
  for (size_t s = 0; s < links_.size(); ++s) {
    for (const Bundle& bundle : exchange_.router().bundles(s)) {
      ++asked;
      links_.request(
          s, Message::kLoad,
          make_row_message(parts, encode_load(bundle.num_parts(), bundle.parts), s, bundle, source),
          [&answered](Frame) { ++answered; });
    }
  }
  links_.wait([&] { return answered == asked; });
}

}  // namespace ps
