#include "membership/file_fence.h"

#include <algorithm>
#include <utility>

#include "base/file.h"

namespace ps {

namespace {

constexpr const char* kFolder = "servers";  // on disk

std::string prefix_of(int server) {
  return cat("server-", server, ".");
}

std::string file_of(int server, int64_t generation) {
  return cat(prefix_of(server), "generation-", generation);
}

// Returns 0 if the name is not one of that server's.
int64_t generation_of(const std::string& name, int server) {
  const std::optional<int64_t> number = parse_int(std::string_view(name).substr(name.rfind('-') + 1));
  return number && *number > 0 && name == file_of(server, *number) ? *number : 0;
}

}  // namespace

FileFence::FileFence(FileFenceOptions options)
    : options_(std::move(options)), folder_(join_path(options_.directory, kFolder)) {
  make_directories(folder_);
}

FileFence::~FileFence() = default;

void FileFence::claim(int server) {
  std::lock_guard lock(mutex_);
  if (fenced_) throw *fenced_;
  if (server_ && *server_ != server) {
    fail(Code::kUsage, "this is server ", *server_, " of the job, counted from 0, and not ", server,
         ": the trainers that were here named the servers in another order");
  }
  server_ = server;
  asked_ = options_.now();
  if (!own_) try_disk([this] { try_claim(); });
}

void FileFence::seize(int server) {
  std::lock_guard lock(mutex_);
  server_ = server;
  try_disk([this] { take_over(newest().generation + 1); });
}

void FileFence::check() {
  if (options_.now().count() >= valid_until_) check_now();
}

void FileFence::check_now() {
  std::lock_guard lock(mutex_);
  if (fenced_) throw *fenced_;
  if (own_) try_disk([this] { confirm(); });
}

// A call that fails on the disk may succeed the next time, so the caller waits and tries again.
template <class Step>
void FileFence::try_disk(Step&& step) {
  try {
    step();
  } catch (const Error& error) {
    if (fenced_) throw;
    throw Error(Code::kUnavailable, error.message());
  }
}

// Trainers that wait for this server learn the reason for its end before it ends.  While trainers ask,
// claim() tries on their behalf, and its error is their answer.  Only when none has asked for the length of
// a lease does this call try by itself.  An own file is confirmed every fifth of a lease, well before
// valid_until_, so that check() seldom has to look at the disk.
void FileFence::beat() {
  std::lock_guard lock(mutex_);
  try {
    if (fenced_ || !server_) return;
    const Time now = options_.now();
    if (!own_ && now - asked_ >= options_.lease) return try_claim();
    if (own_ && now - confirmed_ >= options_.lease / 5) confirm();
  } catch (const Error& error) {
    if (options_.log != nullptr && own_ && !fenced_)
      options_.log->warning("no sign of life: ", error.message());
  }
}

std::optional<Error> FileFence::fenced() const {
  std::lock_guard lock(mutex_);
  return fenced_;
}

// Takes the place of the newest server with this number: at once if there is none, or if its lock has ended
// with its process; else await_end_of throws until its end is certain.
void FileFence::try_claim() {
  const Newest before = newest();
  if (before.generation > 0) {
    const std::optional<LockFileState> state = lock_file_state(before.path);
    if (state && state->locked) await_end_of(before);
  }
  take_over(before.generation + 1);
}

// Returns when the other server has shown no sign of life for the length of a lease. watched_ has the time
// stamp of the other's file when it was first seen, and the own clock of that moment.  A stamp that has
// changed since means that the other lives, and this server is fenced.  An unchanged one means nothing
// before a whole lease has passed; until then the caller is told to wait.
void FileFence::await_end_of(const Newest& other) {
  const std::optional<LockFileState> state = lock_file_state(other.path);
  if (!state) fail(Code::kUnavailable, quote(other.path), " is gone");
  const Time now = options_.now();
  if (!watched_ || watched_->generation != other.generation) {
    watched_ = {other.generation, state->touched, now};
  }
  if (state->touched != watched_->touched) {
    end(cat("server ", *server_, " of this job is ", holder(other),
            ", and lives: ", quote(options_.directory), " is its directory"));
  }
  if (now - watched_->since < options_.lease) {
    fail(Code::kUnavailable, "server ", *server_, " of this job is ", holder(other),
         ": waiting whether it lives");
  }
  if (options_.log == nullptr) return;
  options_.log->warning("server ", *server_, " of this job, ", holder(other), ", shows no sign of life for ",
                        significant(to_seconds(options_.lease), 3), " s: this one takes its place");
}

// Removes the files of earlier servers: only the highest generation counts.  A name that begins like those
// of this number, but has no generation, counts as generation 0 and is removed too.
void FileFence::take_over(int64_t generation) {
  hold(generation, options_.now());
  watched_.reset();
  for (const std::string& other : list_directory(folder_)) {
    const bool former = other.starts_with(prefix_of(*server_)) && generation_of(other, *server_) < generation;
    if (former) system_files().remove(join_path(folder_, other));
  }
}

// Makes the file of this generation, locked.  If its name is taken, another successor was faster.  The
// fence holds from `since` on, when the look at the folder began.
void FileFence::hold(int64_t generation, Time since) {
  const std::string path = join_path(folder_, file_of(*server_, generation));
  own_ = LockFile::create(path, cat(options_.name, "\n"));
  if (!own_) fail(Code::kUnavailable, "another server takes the place of number ", *server_, " too");
  generation_ = generation;
  confirmed_ = since;
  valid_until_ = add_time(since, options_.lease / 2).count();
}

// Makes the folder again if a user has deleted it.  The time at which the look began counts, since this
// process may be paused during it.
void FileFence::confirm() {
  const Time now = options_.now();
  const Newest found = newest();
  if (found.generation > generation_) {
    end(cat("another server has taken the place of this one: server ", *server_, " of the job is ",
            holder(found), ", of generation ", found.generation, " after ", generation_));
  }
  if (found.generation < generation_) {
    make_directories(folder_);
    return hold(generation_, now);
  }
  own_->touch();
  confirmed_ = now;
  valid_until_ = add_time(now, options_.lease / 2).count();
}

FileFence::Newest FileFence::newest() const {
  Newest newest;
  if (!is_directory(folder_)) return newest;
  for (const std::string& name : list_directory(folder_)) {
    const int64_t generation = generation_of(name, *server_);
    if (generation > newest.generation) newest = {generation, join_path(folder_, name)};
  }
  return newest;
}

std::string FileFence::holder(const Newest& newest) const {
  constexpr uint64_t kMostBytes = 1000;
  try {
    const std::string text = read_file(newest.path, kMostBytes);
    return text.substr(0, text.find('\n'));
  } catch (const Error&) {
    return "another one";
  }
}

// From now on check() throws this reason for ever.
void FileFence::end(std::string why) {
  fenced_ = Error(Code::kFenced, std::move(why));
  valid_until_ = 0;
  throw *fenced_;
}

}  // namespace ps
