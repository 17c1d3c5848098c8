#include "bench/peers/torch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

extern char** environ;

namespace ps {

namespace {

constexpr int kDeadlineSeconds = 300;  // seconds until an answer: a pass at full size takes seconds

// The script first says that torch is installed.  On standard input it expects a line with the numbers of
// TorchTask and of the examples, then keys (int64) and labels (float32) as they are in memory.  Each line
// after that asks for a pass, and the answer is its loss.
constexpr const char* kScript = R"python(
import sys
try:
    import torch
except ImportError:
    sys.exit()
print("present", flush=True)
source = sys.stdin.buffer
dim, width, ids, batch, threads, rate, examples = source.readline().split()
dim, width, ids, batch, examples = (int(word) for word in (dim, width, ids, batch, examples))
torch.set_num_threads(int(threads))
keys = torch.frombuffer(bytearray(source.read(examples * ids * 8)), dtype=torch.int64).view(examples, ids)
labels = torch.frombuffer(bytearray(source.read(examples * 4)), dtype=torch.float32)
torch.manual_seed(1)
rows = torch.nn.EmbeddingBag(dim, width, mode="sum", sparse=True)
torch.nn.init.normal_(rows.weight, std=0.01)
score = torch.nn.Linear(width, 1)
optimizer = torch.optim.Adagrad([*rows.parameters(), *score.parameters()], lr=float(rate), eps=1e-6)
loss_of = torch.nn.BCEWithLogitsLoss(reduction="sum")
print("ready", flush=True)
while source.readline():
    total = 0.0
    for begin in range(0, examples, batch):
        optimizer.zero_grad()
        loss = loss_of(score(rows(keys[begin : begin + batch])).view(-1), labels[begin : begin + batch])
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(total / examples, flush=True)
)python";

// The script for selections likewise says first that torch is installed.  On standard input it expects a line
// with the number of values, the number of wanted ones and the method, then the values (float32).  Each line
// after that asks for a selection, and the answer is the number of values that were selected.
constexpr const char* kSelectionScript = R"python(
import sys
try:
    import torch
except ImportError:
    sys.exit()
print("present", flush=True)
source = sys.stdin.buffer
size, count, way = source.readline().split()
size, count = int(size), int(count)
torch.set_num_threads(1)
values = torch.frombuffer(bytearray(source.read(size * 4)), dtype=torch.float32)
print("ready", flush=True)
while source.readline():
    sizes = values.abs()
    if way == b"sampled":
        sample = sizes[::100]
        threshold = torch.topk(sample, max(1, count // 100)).values.min()
        indices = (sizes >= threshold).nonzero().view(-1)
    else:
        indices = torch.topk(sizes, count, sorted=False).indices
    chosen = values[indices]
    print(chosen.numel(), flush=True)
)python";

// Starts python3 with `socket` as its standard input and output; returns -1 when it is not installed.
pid_t start_python(std::string script, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  std::string program = "python3", option = "-c";
  char* arguments[] = {program.data(), option.data(), script.data(), nullptr};
  pid_t process = -1;
  int error = posix_spawnp(&process, "python3", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? process : -1;
}

}  // namespace

// One socket pair is standard input and output of the script.  The deadline makes a script that hangs an
// error; this process closes the script's end, so that its exit ends the reading here.
PythonProcess::PythonProcess(const std::string& script) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fail_errno(Code::kExhausted, "no sockets for", "python3", errno);
  }
  socket_ = ends[0];
  timeval deadline{kDeadlineSeconds, 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
  process_ = start_python(script, ends[1]);
  close(ends[1]);
  if (process_ >= 0) return;
  close(socket_);
  fail(Code::kUnavailable, "python3 is not installed");
}

// Closes the input of the script, which then ends.
PythonProcess::~PythonProcess() {
  close(socket_);
  waitpid(process_, nullptr, 0);
}

void PythonProcess::send_all(const void* bytes, size_t size) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t sent = send(socket_, from, size, MSG_NOSIGNAL);
    if (sent < 0) fail_errno(Code::kUnavailable, "cannot write to", "python3", errno);
    from += sent, size -= static_cast<size_t>(sent);
  }
}

// Reads a byte at a time, since a line is short and nothing after it may be taken.
std::string PythonProcess::receive_line() {
  std::string line;
  for (char byte; recv(socket_, &byte, 1, 0) == 1 && byte != '\n';) line += byte;
  return line;
}

namespace {

void expect_torch(PythonProcess& python) {
  if (python.receive_line() == "present") return;
  fail(Code::kUnavailable, "python3 has no torch; Debian's is python3-torch");
}

}  // namespace

// Sends all data before the first pass, as raw memory, so that neither parsing nor copying is timed:
// "ready" says that the script has it.
TorchTraining::TorchTraining(const TorchTask& task, std::span<const uint64_t> keys,
                             std::span<const float> labels)
    : python_(kScript) {
  expect_torch(python_);
  std::string head = cat(task.dim, " ", task.width, " ", task.ids, " ", task.batch_size, " ", task.threads,
                         " ", task.learning_rate, " ", labels.size(), "\n");
  python_.send_all(head.data(), head.size());
  python_.send_all(keys.data(), keys.size_bytes());
  python_.send_all(labels.data(), labels.size_bytes());
  if (python_.receive_line() != "ready") fail(Code::kInternal, "python3 did not take the examples");
}

TorchSelection::TorchSelection(std::span<const float> values, size_t count, bool sampled)
    : python_(kSelectionScript) {
  expect_torch(python_);
  const std::string head = cat(values.size(), " ", count, " ", sampled ? "sampled" : "topk", "\n");
  python_.send_all(head.data(), head.size());
  python_.send_all(values.data(), values.size_bytes());
  if (python_.receive_line() != "ready") fail(Code::kInternal, "python3 did not take the values");
}

uint64_t TorchSelection::select() {
  python_.send_all("select\n", 7);
  const std::optional<double> found = parse_double(python_.receive_line());
  if (!found) fail(Code::kInternal, "python3 selected nothing");
  return static_cast<uint64_t>(*found);
}

double TorchTraining::train_pass() {
  python_.send_all("pass\n", 5);
  std::optional<double> loss = parse_double(python_.receive_line());
  if (!loss) fail(Code::kInternal, "python3 gave no loss");
  return *loss;
}

}  // namespace ps
