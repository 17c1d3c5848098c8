#include "bench/peers/torch.h"
#include "bench_test.h"

namespace ps::python_test {
namespace {

// Python is among the tools of the tests (examples/setup.sh --tests).
TEST(PythonProcessTest, ScriptAnswersLineByLineUntilItEnds) {
  PythonProcess python("for i in range(2): print(input() + '!', flush=True)");
  python.send_all("a\n", 2);
  EXPECT_EQ(python.receive_line(), "a!");
  python.send_all("b\n", 2);
  EXPECT_EQ(python.receive_line(), "b!");
  EXPECT_EQ(python.receive_line(), "");
}

TEST(PythonProcessTest, WritingToOneThatEndedIsAnErrorAndNoSignal) {
  PythonProcess python("");
  EXPECT_EQ(python.receive_line(), "");
  std::string much(1 << 22, 'x');
  EXPECT_THAT(message_of([&] { python.send_all(much.data(), much.size()); }),
              testing::HasSubstr("4 cannot write to 'python3'"));
}

}  // namespace
}  // namespace ps::python_test
