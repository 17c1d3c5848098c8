#include "collective/mpi_communicator.h"

// OMPI_SKIP_MPICXX: the bindings of MPI for C++ would need a library of their own.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <exception>

#include "base/error.h"

namespace ps {

namespace {

void check(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int size = 0;
  MPI_Error_string(status, text, &size);
  fail(Code::kUnavailable, "MPI's ", what, " failed: ", std::string_view(text, static_cast<size_t>(size)));
}

MPI_Datatype type_of(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return MPI_FLOAT;
    case ElementType::kF64:
      return MPI_DOUBLE;
    case ElementType::kI64:
      return MPI_INT64_T;
  }
  return MPI_DATATYPE_NULL;
}

// Returns the count as an int, since MPI counts in int.  Throws kUsage if it is too large.
int checked_int(size_t count) {
  if (count > INT_MAX) fail(Code::kUsage, count, " elements, expected at most ", INT_MAX, " with MPI");
  return static_cast<int>(count);
}

// One owner thread, as for every Communicator.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    // A program that has initialised MPI itself also finalises it.  The world is duplicated, so that these
    // collectives cannot meet those of the program, and errors in it are returned instead of ending the
    // process.
    int initialised = 0, finalised = 0, provided = 0;
    MPI_Finalized(&finalised);
    if (finalised != 0) fail(Code::kUsage, "MPI has been finalised in this process");
    MPI_Initialized(&initialised);
    owns_mpi_ = initialised == 0;
    if (owns_mpi_) {
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "initialisation");
    } else {
      MPI_Query_thread(&provided);
    }
    may_change_threads_ = provided >= MPI_THREAD_SERIALIZED;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "duplication of its world");
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
  }

  // After an error of this rank the others may be inside a collective and never finalise. mpirun ends them when
  // this process ends without MPI_Finalize.
  ~MpiCommunicator() override {
    if (std::uncaught_exceptions() > exceptions_) return;
    MPI_Comm_free(&world_);
    if (owns_mpi_) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool may_change_threads() const override { return may_change_threads_; }
  uint64_t bytes_sent(int) const override { return 0; }

  void all_reduce(Elements data) override {
    for_pieces(data, [&](Elements piece) {
      check(MPI_Allreduce(MPI_IN_PLACE, piece.bytes().data(), checked_int(piece.count()),
                          type_of(piece.type()), MPI_SUM, world_),
            "all-reduce");
    });
  }

  using Communicator::reduce_scatter;
  void reduce_scatter(Elements data, std::span<const size_t> counts) override {
    // The sum of the own part comes into an array of its own, since the other parts of `data` have to stay
    // as they are.
    const Layout layout(counts);
    const ElementRange own = layout.parts.at(static_cast<size_t>(rank_));
    std::vector<char> sum(own.count() * data.element_bytes());
    check(MPI_Reduce_scatter(data.bytes().data(), sum.data(), layout.counts.data(), type_of(data.type()),
                             MPI_SUM, world_),
          "reduce-scatter");
    std::ranges::copy(sum, data.part(own.begin, own.count()).bytes().begin());
  }

  using Communicator::all_gather;
  void all_gather(Elements data, std::span<const size_t> counts) override {
    const Layout layout(counts);
    check(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data.bytes().data(), layout.counts.data(),
                         layout.begins.data(), type_of(data.type()), world_),
          "all-gather");
  }

  void broadcast(Elements data, int root) override {
    for_pieces(data, [&](Elements piece) {
      check(MPI_Bcast(piece.bytes().data(), checked_int(piece.count()), type_of(piece.type()), root, world_),
            "broadcast");
    });
  }

  std::vector<std::string> gather(std::string bytes) override {
    // MPI has to know how much it receives: the sizes are gathered first, then the bytes.
    std::vector<int64_t> sizes(static_cast<size_t>(size_));
    sizes[static_cast<size_t>(rank_)] = static_cast<int64_t>(bytes.size());
    all_gather(sizes);
    const Layout layout(std::vector<size_t>(sizes.begin(), sizes.end()));
    std::string all(layout.parts.back().end, '\0');
    check(MPI_Allgatherv(bytes.data(), checked_int(bytes.size()), MPI_BYTE, all.data(), layout.counts.data(),
                         layout.begins.data(), MPI_BYTE, world_),
          "gather");
    std::vector<std::string> out;
    for (const ElementRange& part : layout.parts) out.push_back(all.substr(part.begin, part.count()));
    return out;
  }

  std::vector<std::string> all_to_all(std::vector<std::string> bytes) override {
    // Ranks exchange the sizes first, from which each one knows where the bytes of the others begin in
    // `in`.
    std::vector<int64_t> out_sizes, in_sizes(bytes.size());
    std::string out;
    for (const std::string& each : bytes) {
      out_sizes.push_back(static_cast<int64_t>(each.size()));
      out += each;
    }
    check(MPI_Alltoall(out_sizes.data(), 1, MPI_INT64_T, in_sizes.data(), 1, MPI_INT64_T, world_),
          "all-to-all of sizes");
    const Layout from(std::vector<size_t>(out_sizes.begin(), out_sizes.end())),
        to(std::vector<size_t>(in_sizes.begin(), in_sizes.end()));
    std::string in(to.parts.back().end, '\0');
    check(MPI_Alltoallv(out.data(), from.counts.data(), from.begins.data(), MPI_BYTE, in.data(),
                        to.counts.data(), to.begins.data(), MPI_BYTE, world_),
          "all-to-all");
    std::vector<std::string> all;
    for (const ElementRange& part : to.parts) all.push_back(in.substr(part.begin, part.count()));
    return all;
  }

  void barrier() override { check(MPI_Barrier(world_), "barrier"); }

 private:
  // The parts of all ranks in the form that MPI takes.
  struct Layout {
    explicit Layout(std::span<const size_t> sizes) : parts(parts_of_counts(sizes)) {
      for (const ElementRange& part : parts) {
        checked_int(part.end);
        counts.push_back(static_cast<int>(part.count()));
        begins.push_back(static_cast<int>(part.begin));
      }
    }
    std::vector<ElementRange> parts;
    std::vector<int> counts, begins;
  };

  // Calls body for pieces whose number of elements fits in an int.
  template <class Body>
  static void for_pieces(Elements data, Body&& body) {
    // The pieces depend on the number of elements alone, so that all ranks make the same calls.
    constexpr size_t kPiece = size_t{1} << 30;
    for (size_t done = 0; done < data.count(); done += kPiece) {
      body(data.part(done, std::min(kPiece, data.count() - done)));
    }
  }

  const int exceptions_ = std::uncaught_exceptions();
  MPI_Comm world_ = MPI_COMM_NULL;
  bool owns_mpi_ = false, may_change_threads_ = false;
  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator() {
  return std::make_unique<MpiCommunicator>();
}

}  // namespace ps
