#include "ps/client/remote_model.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/radix_sort.h"
#include "ps/client/row_message.h"

namespace ps {

RemoteModel::RemoteModel(ShardLinks& links, const std::vector<ParameterSpec>& specs, RemotePushes& pushes)
    : links_(links), specs_(specs), pushes_(pushes), exchange_(links, specs) {}

// Reads the keys of all shards, sorts them, and removes duplicates: a shard may give a key twice if its index
// grows between two answers.
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

// Asks all shards for the routed rows as f32, and passes each answer on as soon as it has come.
void RemoteModel::read(const RowExchange::AddRowSlices& add_row_slices, const RowExchange::OnRows& on_rows) {
  exchange_.ask(
      {.mode = PullMode::kRead, .step = pushes_.next_step(), .type = RowType::kF32, .last_number = nullptr},
      add_row_slices);
  links_.wait([&] { return exchange_.pass_arrived(on_rows); });
}

void RemoteModel::read_rows(int parameter, std::span<const uint64_t> keys, float* weights) {
  const size_t p = static_cast<size_t>(parameter);
  const int64_t cols = specs_[p].cols;
  pushes_.finish();
  read([&](BatchRouter& router) { router.add_keys(p, keys); },
       [&](size_t, const RoutedRows& routed, const ArrivedRows& rows) {
         const float* floats = rows.floats();
         for (int64_t n = 0; n < routed.rows; ++n, floats += cols) {
           std::copy_n(floats, cols, weights + routed.position(n) * cols);
         }
       });
}

void RemoteModel::read_all(int parameter, float* weights) {
  const size_t p = static_cast<size_t>(parameter);
  const int64_t cols = specs_[p].cols;
  pushes_.finish();
  read([p](BatchRouter& router) { router.add_all(p); },
       [&](size_t shard, const RoutedRows& routed, const ArrivedRows& rows) {
         for_each_run(exchange_.router().deal(p, shard), routed.first, routed.rows,
                      [&](int64_t own, int64_t row, int64_t count) {
                        rows.copy(own - routed.first, count, weights + row * cols);
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

// weights [N, cols] has the rows in the order of the keys or of the whole parameter.  Messages have copies
// of them.  The call returns when all shards have set their rows.
void RemoteModel::load(const RowExchange::AddRowSlices& add_row_slices, const float* weights) {
  exchange_.route(add_row_slices);
  pushes_.finish();
  const RowSource source{.begin = [weights](const RoutedRows&) { return weights; }};
  const RowMessageContext context{specs_, exchange_.router(), links_.pool(), links_.cpu()};
  size_t asked = 0;
  const auto answered = std::make_shared<size_t>(0);  // answers may come after `wait` has thrown
  for (size_t s = 0; s < links_.size(); ++s) {
    for (const Bundle& bundle : exchange_.router().bundles(s)) {
      ++asked;
      links_.request(s, Message::kLoad,
                     make_row_message(context, encode_load(bundle.num_row_slices(), bundle.row_slices), s,
                                      bundle, source),
                     [answered](Frame) { ++*answered; });
    }
  }
  links_.wait([&] { return *answered == asked; });
}

// The first array is the weights; state arrays follow.  A shard numbers the rows of state arrays after its own
// rows, array by array.
template <class Body>
// With `stored` counted from the first array on, array stored / own_rows has the shard's own row stored %
// own_rows, and in the caller's floats each array has all_rows rows.
void RemoteModel::for_each_stored(size_t shard, const RoutedRows& routed, Body&& body) {
  const BlockCyclicRows deal = exchange_.router().deal(routed.parameter, shard);
  const int64_t own_rows = deal.own_rows(), all_rows = specs_[routed.parameter].rows;
  for (int64_t n = 0; n < routed.rows; ++n) {
    const int64_t stored = routed.first - own_rows + n;
    body(n, stored / own_rows * all_rows + deal.global(stored % own_rows));
  }
}

void RemoteModel::read_stored(int parameter, int64_t state_arrays, std::vector<float>& floats) {
  const size_t p = static_cast<size_t>(parameter);
  const int64_t cols = specs_[p].cols;
  floats.resize(static_cast<size_t>(specs_[p].rows * cols * (1 + state_arrays)));
  read([&](BatchRouter& router) { router.add_stored(p, state_arrays); },
       [&](size_t shard, const RoutedRows& routed, const ArrivedRows& rows) {
         for_each_stored(shard, routed,
                         [&](int64_t own, int64_t at) { rows.copy(own, 1, floats.data() + at * cols); });
       });
}

// The rows are copied into the message, since the arrays of a row are not contiguous, and the message outlives
// the call.
void RemoteModel::load_stored(int parameter, int64_t state_arrays, std::span<const float> floats) {
  const size_t p = static_cast<size_t>(parameter), cols = static_cast<size_t>(specs_[p].cols);
  exchange_.route([&](BatchRouter& router) { router.add_stored(p, state_arrays); });
  size_t asked = 0;
  const auto answered = std::make_shared<size_t>(0);  // answers may come after `wait` has thrown
  for (size_t s = 0; s < links_.size(); ++s) {
    for (const Bundle& bundle : exchange_.router().bundles(s)) {
      std::string body = encode_load(bundle.num_row_slices(), bundle.row_slices);
      for (const RoutedRows& routed : bundle.routed) {
        for_each_stored(s, routed, [&](int64_t, int64_t at) {
          put_array(body, floats.subspan(static_cast<size_t>(at) * cols, cols));
        });
        body.resize(padded(body.size()), '\0');
      }
      ++asked;
      links_.request(s, Message::kLoad, Payload(std::move(body)), [answered](Frame) { ++*answered; });
    }
  }
  links_.wait([&] { return *answered == asked; });
}

// One shard is asked.  All shards that have dense parameters have the same state of optimizers for these; the
// same holds for sparse parameters.
std::string RemoteModel::read_optimizers(bool sparse) {
  size_t shard = 0;
  while (sparse && links_.places()[shard].sparse != 0) ++shard;
  const Frame frame = links_.call(shard, Message::kOptimizers, Payload(encode_optimizers_request(sparse)));
  return std::string(frame.body.data(), frame.body.size());
}

}  // namespace ps
