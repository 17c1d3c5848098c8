// An allocation that fails where threads are begun, or in one of them, is an exception of those who asked; it ends no thread,
// and so no program.
#include <gtest/gtest.h>

#include <new>

#include "base/file.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "config/spec.h"
#include "count_allocations.h"
#include "data/parse_pipeline.h"
#include "data/reader.h"
#include "feed/prepare_ahead.h"
#include "support/scratch_folder.h"

namespace ps {
namespace {

// Runs the body until it has no allocation left that could fail; returns the number of those that have failed.
template <class Body>
int fail_each_allocation(const Body& body) {
  for (int nth = 1;; ++nth) {
    const int64_t before = count_allocations();
    fail_allocation(nth);
    try {
      body();
    } catch (const std::bad_alloc&) {
    }
    fail_allocation(0);
    if (count_allocations() - before < nth) return nth - 1;
  }
}

TEST(FailedAllocations, OfAThreadPool) {
  const int failed = fail_each_allocation([] {
    ThreadPool pool(4);
    pool.run(8, [](int64_t) { EXPECT_EQ(std::string(100, 'x').size(), 100u); });
  });
  EXPECT_GT(failed, 8);
}

TEST(FailedAllocations, OfAPassThatIsPreparedAhead) {
  ScratchFolder folder;
  const std::string path = folder.path("data.libsvm");
  std::string text;
  for (int i = 0; i < 100; ++i) text += cat(i % 2, " ", i % 7, ":1 ", 50 + i % 11, ":1\n");
  write_file(path, text);
  DataOptions data;
  data.format = "libsvm";
  data.dim = 100;
  data.batch_size = 40;
  const Json model = {
      {"layers", Json::array({{{"name", "score"}, {"type", "fc"}, {"input", "features"}, {"size", 1}}})},
      {"cost", {{"type", "binary_cross_entropy"}, {"input", "score"}}}};
  ReaderSettings settings;
  settings.threads = 3;
  // Outside, since the destructor of JSON, which the network is made from, allocates and may not throw.
  const Network<float> network(ModelOptions::spec().parse(model, "model"),
                               BatchReader(data, {path}, settings).schema(), 1);
  const int failed = fail_each_allocation([&] {
    BatchReader reader(data, {path}, settings);
    reader.begin_pass(0);
    PrepareAhead prepare(network, reader, {.threads = 2, .training = true});
    while (prepare.next([] { return false; }) != nullptr) {
    }
  });
  EXPECT_GT(failed, 100);
}

}  // namespace
}  // namespace ps
