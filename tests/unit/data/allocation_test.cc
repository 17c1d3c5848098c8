// The hot path allocates for blocks, not for examples.
#include "count_allocations.h"
#include "data_test.h"

namespace ps {

class Allocation : public DataTest {};

TEST_F(Allocation, IsNotDonePerExample) {
  constexpr int kExamples = 60000;
  std::string path = put_file("data", sample_lines(kExamples));
  for (const char* shuffle : {"none", "window", "full"}) {
    DataOptions options = options_for("libsvm");
    options.shuffle = shuffle;
    options.shuffle_window = 1000;
    BatchReader reader(options, {path}, {.threads = 2});
    Batch batch;
    int64_t before = count_allocations();
    reader.begin_pass(0);
    int64_t examples = 0;
    while (reader.next(batch)) examples += batch.size();
    EXPECT_EQ(examples, kExamples);
    EXPECT_LT(count_allocations() - before, kExamples / 10) << shuffle;
  }
}

}  // namespace ps
