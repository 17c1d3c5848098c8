// tests/e2e/mpi_test.sh runs this under mpirun, on several ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "collective/mpi_communicator.h"

namespace ps::mpi_test {
namespace {

TEST(DISABLED_Mpi, CollectivesDoWhatOursDo) {
  const std::unique_ptr<Communicator> mpi = make_mpi_communicator();
  const int rank = mpi->rank(), size = mpi->size();
  const float weights = static_cast<float>(size * (size + 1) / 2), own = static_cast<float>(rank + 1);
  std::vector<float> floats = {own, 10 * own, 0};
  mpi->all_reduce(floats);
  EXPECT_THAT(floats, testing::ElementsAre(weights, 10 * weights, 0));

  std::vector<double> parts(static_cast<size_t>(size) * 2, rank + 1.0);
  mpi->reduce_scatter(parts);
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i], static_cast<int>(i / 2) == rank ? weights : rank + 1.0) << i;
  }

  std::vector<size_t> counts;
  std::vector<int64_t> expected;
  for (int r = 0; r < size; ++r) {
    counts.push_back(static_cast<size_t>(r));
    expected.insert(expected.end(), counts.back(), r * 100);
  }
  std::vector<int64_t> gathered = expected;
  for (int64_t& value : gathered) {
    if (value != rank * 100) value = -1;
  }
  mpi->all_gather(gathered, counts);
  EXPECT_EQ(gathered, expected);

  std::vector<float> from_last = {static_cast<float>(rank)};
  mpi->broadcast(from_last, size - 1);
  EXPECT_EQ(from_last[0], static_cast<float>(size - 1));

  const std::vector<std::string> texts = mpi->gather(std::string(static_cast<size_t>(rank), 'x'));
  ASSERT_EQ(texts.size(), static_cast<size_t>(size));
  for (int r = 0; r < size; ++r) EXPECT_EQ(texts[static_cast<size_t>(r)].size(), static_cast<size_t>(r));

  std::vector<std::string> to_each;
  for (int to = 0; to < size; ++to)
    to_each.push_back(cat(rank, " to ", to, std::string(static_cast<size_t>(rank * to), '.')));
  const std::vector<std::string> from_each = mpi->all_to_all(std::move(to_each));
  ASSERT_EQ(from_each.size(), static_cast<size_t>(size));
  for (int from = 0; from < size; ++from) {
    EXPECT_EQ(from_each[static_cast<size_t>(from)],
              cat(from, " to ", rank, std::string(static_cast<size_t>(from * rank), '.')));
  }
  mpi->barrier();
  if (rank == 0) std::cout << "summed over " << size << " ranks\n";
}

}  // namespace
}  // namespace ps::mpi_test
