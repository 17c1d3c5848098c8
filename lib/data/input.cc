#include "data/input.h"

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace ps {

static int make_eventfd() {
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) fail_errno(Code::kExhausted, "cannot make", "eventfd", errno);
  return descriptor;
}

Interrupt::Interrupt() : descriptor_(make_eventfd()) {}

Interrupt::~Interrupt() {
  close(descriptor_);
}

void Interrupt::set() {
  set_.store(true);
  uint64_t one = 1;
  // The write fails only if the counter is full; then the descriptor is readable anyway.
  [[maybe_unused]] ssize_t written = ::write(descriptor_, &one, sizeof one);
}

bool may_wait(const InputFile& file, const SourceContext& context) {
  if (file.path != "-") return file.stream;
  struct stat status;
  return fstat(context.stdin_descriptor, &status) != 0 || !S_ISREG(status.st_mode);
}

namespace {

constexpr int kMaxDepth = 16;  // depth of lists in lists and folders in folders
constexpr uint64_t kMaxListBytes = 1 << 26;

void expand(const std::string& path, int depth, std::vector<InputFile>& out);

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

void expand_list(const std::string& path, int depth, std::vector<InputFile>& out) {
  std::string text = read_file(path, kMaxListBytes), folder = folder_of(path);
  for (std::string_view line : split(text, '\n')) {
    while (!line.empty() && std::string_view(" \t\r").find(line.back()) != std::string_view::npos)
      line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    std::string within = join_path(folder, line);
    // A path is looked for in the list's folder first, then in the working directory, since people often
    // write lists with paths relative to it.
    expand(line == "-" || !exists(within) ? std::string(line) : within, depth + 1, out);
  }
}

void expand_folder(const std::string& path, int depth, std::vector<InputFile>& out) {
  for (const std::string& name : list_directory(path)) {
    if (!name.ends_with(".list")) expand(join_path(path, name), depth + 1, out);
  }
}

// Appends the file of a path, or all files of a folder or a list, in order.  A list that contains itself
// would never end, so the depth is limited.
void expand(const std::string& path, int depth, std::vector<InputFile>& out) {
  if (depth > kMaxDepth)
    fail(Code::kUsage, "cannot open ", quote(path), ": lists or folders within each other too deep");
  if (path == "-") {
    out.push_back({path, true, 0});
    return;
  }
  struct stat status;
  if (stat(path.c_str(), &status) != 0) fail_errno(Code::kUsage, "cannot open", path, errno);
  if (S_ISDIR(status.st_mode)) return expand_folder(path, depth, out);
  if (path.ends_with(".list") && S_ISREG(status.st_mode)) return expand_list(path, depth, out);
  bool stream = !S_ISREG(status.st_mode);
  out.push_back({path, stream, stream ? 0 : static_cast<uint64_t>(status.st_size)});
}

}  // namespace

std::vector<InputFile> expand_inputs(const std::vector<std::string>& paths) {
  std::vector<InputFile> files;
  for (const std::string& path : paths) expand(path, 0, files);
  auto is_stdin = [](const InputFile& file) { return file.path == "-"; };
  if (std::count_if(files.begin(), files.end(), is_stdin) > 1) {
    fail(Code::kUsage, "standard input is given more than once");
  }
  return files;
}

}  // namespace ps
