#include "collective/nccl_communicator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "collective/device_exchange.h"
#include "collective/nccl_library.h"

namespace ps {

namespace {

// The size of the pieces in which arrays of the host are copied to the device, if a collective allows pieces.
constexpr size_t kStagedBytes = size_t{64} << 20;

NcclType nccl_type(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return NcclType::kFloat32;
    case ElementType::kF64:
      return NcclType::kFloat64;
    case ElementType::kI64:
      return NcclType::kInt64;
  }
  return NcclType::kFloat32;
}

// The message with which a rank opens NCCL: '+', its version, a zero byte and the identity of the communicator,
// which only rank 0 fills in.  A rank that failed sends '-', the code of its error, and the message.
struct Opening {
  std::string version;
  NcclUniqueId id{};

  std::string encode() const { return cat("+", version) + '\0' + std::string(id.bytes, sizeof(id.bytes)); }

  static Opening decode(int rank, const std::string& text) {
    const size_t end = text.find('\0');
    Opening opening;
    if (end == std::string::npos || text.size() != end + 1 + sizeof(opening.id.bytes)) {
      fail(Code::kCorrupt, "trainer ", rank, " opens NCCL with ", text.size(), " bytes that nobody can read");
    }
    opening.version = text.substr(1, end - 1);
    std::memcpy(opening.id.bytes, text.data() + end + 1, sizeof(opening.id.bytes));
    return opening;
  }
};

// Pauses between polls of the device.  The first pauses, which last about as long as a small task of a GPU,
// only yield; later ones sleep.
class PollPause {
 public:
  void pause() {
    constexpr int kEager = 200;
    if (++times_ < kEager) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

 private:
  int times_ = 0;
};

// Each collective of NCCL is made in the same way: the device ends its earlier work, the ranks wait for each
// other over the network, NCCL gets its operations, and the device is polled until they are done.  Meanwhile
// the network is watched for ranks that have died.  One owner thread.
class NcclCommunicator final : public Communicator, public DeviceExchange {
 public:
  NcclCommunicator(std::unique_ptr<Communicator> network, std::shared_ptr<NcclDevice> device,
                   const NcclOptions& options)
      : network_(std::move(network)), device_(std::move(device)), options_(options) {
    open();
    guarded([&] {
      NcclConfig config;
      check(nccl_.CommInitRankConfig(&handle_, size(), id_, rank(), &config), "ncclCommInitRankConfig");
      finish("ncclCommInitRankConfig");
    });
  }

  // NCCL frees what ranks share when all of them end it.  After an exception the others are in the midst of
  // something else.
  ~NcclCommunicator() override {
    if (std::uncaught_exceptions() > exceptions_) abort();
    try {
      if (handle_ != nullptr) guarded([&] { end(); });
    } catch (const Error&) {
      // The ranks have done all that they wanted to do with each other.
    }
    if (staged_ != nullptr) device_->release(staged_);
  }

  int rank() const override { return network_->rank(); }
  int size() const override { return network_->size(); }
  void check_others() override { network_->check_others(); }
  uint64_t bytes_sent(int to) const override { return network_->bytes_sent(to); }

  std::vector<std::string> gather(std::string bytes) override { return network_->gather(std::move(bytes)); }
  std::vector<std::string> all_to_all(std::vector<std::string> bytes) override {
    return network_->all_to_all(std::move(bytes));
  }
  double exchange_seconds(size_t num, size_t bytes) override {
    return network_->exchange_seconds(num, bytes);
  }
  void barrier() override { network_->barrier(); }

  void all_reduce_there(std::span<const std::span<float>> arrays) override {
    call("all-reduce", [&] {
      for (const std::span<float> array : arrays) {
        check(nccl_.AllReduce(array.data(), array.data(), array.size(), NcclType::kFloat32,
                              NcclOperation::kSum, handle_, stream()),
              "ncclAllReduce");
      }
    });
  }

  void all_reduce(Elements data) override {
    for_staged_pieces(data, [&](Elements piece, char* there) {
      device_->send(there, piece.bytes().data(), piece.size_bytes());
      call("all-reduce", [&] {
        check(nccl_.AllReduce(there, there, piece.count(), nccl_type(piece.type()), NcclOperation::kSum,
                              handle_, stream()),
              "ncclAllReduce");
      });
      device_->receive(piece.bytes().data(), there, piece.size_bytes());
    });
  }

  using Communicator::reduce_scatter;
  void reduce_scatter(Elements data, std::span<const size_t> counts) override {
    const StagedParts staged = stage_parts(data, counts);
    const int own = rank();
    call("reduce-scatter", [&] {
      // NCCL scatters equal parts alone.  Parts of different sizes are reduced one by one to their ranks,
      // in one group, so that NCCL runs them at once.
      if (are_equal(counts)) {
        return check(nccl_.ReduceScatter(staged.there, staged.at(own), staged.count(own), staged.type,
                                         NcclOperation::kSum, handle_, stream()),
                     "ncclReduceScatter");
      }
      for (int root = 0; root < size(); ++root) {
        if (staged.count(root) == 0) continue;
        check(nccl_.Reduce(staged.at(root), staged.at(root), staged.count(root), staged.type,
                           NcclOperation::kSum, root, handle_, stream()),
              "ncclReduce");
      }
    });
    const ElementRange& part = staged.parts[static_cast<size_t>(own)];
    const Elements sums = data.part(part.begin, part.count());
    device_->receive(sums.bytes().data(), staged.at(own), sums.size_bytes());
  }

  using Communicator::all_gather;
  void all_gather(Elements data, std::span<const size_t> counts) override {
    const StagedParts staged = stage_parts(data, counts);
    const int own = rank();
    call("all-gather", [&] {
      // The same holds for gathering: parts of different sizes are broadcast one by one, in one group.
      if (are_equal(counts)) {
        return check(
            nccl_.AllGather(staged.at(own), staged.there, staged.count(own), staged.type, handle_, stream()),
            "ncclAllGather");
      }
      for (int root = 0; root < size(); ++root) {
        if (staged.count(root) == 0) continue;
        check(nccl_.Broadcast(staged.at(root), staged.at(root), staged.count(root), staged.type, root,
                              handle_, stream()),
              "ncclBroadcast");
      }
    });
    device_->receive(data.bytes().data(), staged.there, data.size_bytes());
  }

  void broadcast(Elements data, int root) override {
    PS_CHECK(root >= 0 && root < size());
    for_staged_pieces(data, [&](Elements piece, char* there) {
      device_->send(there, piece.bytes().data(), piece.size_bytes());
      call("broadcast", [&] {
        check(nccl_.Broadcast(there, there, piece.count(), nccl_type(piece.type()), root, handle_, stream()),
              "ncclBroadcast");
      });
      device_->receive(piece.bytes().data(), there, piece.size_bytes());
    });
  }

 private:
  // Loads the library, and learns of all ranks that they have done so too.
  void open() {
    // A rank that fails here still takes part in the gathering and sends its error: so all ranks fail with
    // it at once, instead of waiting for a rank that never comes.
    std::string own;
    try {
      nccl_ = load_nccl(options_.library);
      check_device();
      Opening opening{.version = nccl_version_text(nccl_.version)};
      if (rank() == 0) check(nccl_.GetUniqueId(&opening.id), "ncclGetUniqueId");
      own = opening.encode();
    } catch (const Error& error) {
      own = cat("-", static_cast<int>(error.code()), " ", error.message());
    }
    const std::vector<std::string> openings = network_->gather(std::move(own));
    std::optional<Error> refusal;
    try {
      agree(openings);
    } catch (const Error& error) {
      refusal = error;
    }
    if (!refusal) return;
    network_
        .reset();  // an exception that ended it would make this rank dead to those that still wait for others
    throw *refusal;
  }

  // The rank's own kind of error decides the status on all.
  static void refuse_failure(int of, const std::string& opening) {
    if (opening.empty() || opening[0] != '-') return;
    const size_t space = std::min(opening.find(' '), opening.size() - 1);
    const std::optional<int64_t> code = parse_int(opening.substr(1, space - 1));
    const bool is_known =
        code && *code >= static_cast<int>(Code::kInternal) && *code <= static_cast<int>(Code::kBelowBar);
    fail(is_known ? static_cast<Code>(*code) : Code::kCorrupt, "trainer ", of, ": ",
         opening.substr(space + 1));
  }

  // Throws the error of the first rank that failed, else kUsage if ranks have different versions of NCCL.
  // Takes the identity of the communicator from rank 0.
  void agree(const std::vector<std::string>& openings) {
    for (size_t of = 0; of < openings.size(); ++of) refuse_failure(static_cast<int>(of), openings[of]);
    std::string first;
    for (size_t of = 0; of < openings.size(); ++of) {
      const Opening opening = Opening::decode(static_cast<int>(of), openings[of]);
      if (of == 0) first = opening.version, id_ = opening.id;
      if (opening.version == first) continue;
      fail(Code::kUsage, "trainer ", of, " has NCCL ", opening.version, ", and trainer 0 ", first,
           ": all need the same");
    }
  }

  void check_device() const {
    const bool is_emulated = device_->stream() == nullptr;
    if (is_emulated == nccl_.emulates) return;
    fail(Code::kUsage, "cluster.nccl_library: ", quote(options_.library),
         is_emulated
             ? " reaches the memory of GPUs alone, and this device is emulated: train with --device cuda:N"
             : " reaches the memory of emulated devices alone, and this device is a GPU");
  }

  static bool are_equal(std::span<const size_t> counts) {
    return std::ranges::all_of(counts, [&](size_t count) { return count == counts[0] && count > 0; });
  }

  // Returns room on the device.
  char* stage(size_t bytes) {
    // The members say that there is no room while the old one is gone, in case the new one cannot be
    // allocated.
    if (bytes <= staged_bytes_) return staged_;
    if (staged_ != nullptr) device_->release(std::exchange(staged_, nullptr));
    staged_bytes_ = 0;
    staged_ = static_cast<char*>(device_->allocate(bytes));
    staged_bytes_ = bytes;
    return staged_;
  }

  // An array of the host, copied to the device, of which each rank has a part.
  struct StagedParts {
    char* there;
    NcclType type;
    size_t element_bytes;
    std::vector<ElementRange> parts;  // by rank: the range of its part

    size_t count(int of) const { return parts[static_cast<size_t>(of)].count(); }
    char* at(int of) const { return there + parts[static_cast<size_t>(of)].begin * element_bytes; }
  };

  StagedParts stage_parts(Elements data, std::span<const size_t> counts) {
    std::vector<ElementRange> parts = parts_of_ranks(counts, size(), data.count());
    char* const there = stage(data.size_bytes());
    device_->send(there, data.bytes().data(), data.size_bytes());
    return {there, nccl_type(data.type()), data.element_bytes(), std::move(parts)};
  }

  // Copies the array to the device piece by piece, and calls body(piece, place of its copy).  The pieces
  // bound the memory that the device needs.
  template <class Body>
  void for_staged_pieces(Elements data, const Body& body) {
    const size_t most = kStagedBytes / data.element_bytes();
    for (size_t done = 0; done < data.count(); done += most) {
      const Elements piece = data.part(done, std::min(most, data.count() - done));
      body(piece, stage(piece.size_bytes()));
    }
  }

  // Waits until all ranks are there, and has NCCL run the operations that `queue` gives it.  The device has
  // ended all of its work before, since an emulated one works only while it is waited for.
  template <class Body>
  void call(const char* name, const Body& queue) {
    if (error_) throw *error_;
    device_->wait();
    guarded([&] {
      network_->barrier();
      check(nccl_.GroupStart(), "ncclGroupStart");
      queue();
      check(nccl_.GroupEnd(), "ncclGroupEnd");
      finish(name);
    });
  }

  // After an error the communicator is of no use, and what runs on the device ends.
  template <class Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      error_ = error;
      abort();
      throw;
    }
  }

  // Waits until NCCL has done what it was given, and the device with it.
  void finish(const char* name) {
    const double begin = monotonic_seconds(), longest = to_seconds(options_.timeout);
    PollPause pause;
    for (;;) {
      NcclResult state = NcclResult::kSuccess;
      check(nccl_.CommGetAsyncError(handle_, &state), "ncclCommGetAsyncError");
      // A remote error is worth a look at the network, which may name the rank that has died; if it does
      // not, the error of NCCL is thrown.
      if (state == NcclResult::kRemoteError) find_dead();
      check(state, name);
      if (state == NcclResult::kSuccess && device_->is_done()) return;
      options_.run_loop();
      network_->check_others();
      if (monotonic_seconds() - begin > longest) {
        fail(Code::kUnavailable, "NCCL's ", name, " has not ended within ", longest,
             " s, though all trainers have begun it: one of them or the network between them is silent");
      }
      pause.pause();
    }
  }

  // NCCL does not say which rank has failed.  Where one is gone, the network soon knows.
  void find_dead() {
    constexpr double kLongest = 1;  // seconds
    const double begin = monotonic_seconds();
    for (PollPause pause; monotonic_seconds() - begin < kLongest; pause.pause()) {
      options_.run_loop();
      network_->check_others();
    }
  }

  void end() {
    check(nccl_.CommFinalize(handle_), "ncclCommFinalize");
    finish("ncclCommFinalize");
    check(nccl_.CommDestroy(std::exchange(handle_, nullptr)), "ncclCommDestroy");
  }

  void abort() noexcept {
    if (handle_ != nullptr) nccl_.CommAbort(std::exchange(handle_, nullptr));
  }

  void check(NcclResult result, const char* name) const { check_nccl(nccl_, result, handle_, name); }
  NcclStream stream() const { return device_->stream(); }

  const int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<Communicator> network_;
  const std::shared_ptr<NcclDevice> device_;
  const NcclOptions options_;
  NcclLibrary nccl_{};
  NcclUniqueId id_{};
  NcclHandle handle_ = nullptr;  // null after an error
  std::optional<Error> error_;
  char* staged_ = nullptr;  // scratch memory of the device for staged arrays
  size_t staged_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> network,
                                                     std::shared_ptr<NcclDevice> device,
                                                     const NcclOptions& options) {
  return std::make_unique<NcclCommunicator>(std::move(network), std::move(device), options);
}

}  // namespace ps
