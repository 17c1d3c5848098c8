// ps-train: trains, tests, predicts or converts, as a job file says.  ps-train(1)
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <random>

#include "cli/cpu_flag.h"
#include "cli/interrupts.h"
#include "cli/main.h"
#include "cli/request_signal.h"
#include "job/compute.h"
#include "job/credential_renewal.h"
#include "job/job.h"
#include "job/job_flags.h"
#include "job/network_flags.h"
#include "job/operator_requests.h"
#include "job/run.h"
#include "job/tuning/repeating_flags.h"

namespace {

// Describes the command line of the program, as --help prints it: flags by group, then examples.
ps::Program program() {
  return {
      .name = "ps-train",
      .summary = "train, test or predict with sparse models, as a job file says",
      .synopsis = "JOB.json | --recipe NAME | --model DIR [--data FILE|- ...] [--test-data FILE ...] [flags]",
      .positionals = {{.name = "JOB.json", .help = "job file, ps-job(5), or name of a ready-made job"}},
      .flags = ps::with_common_flags(
          {
              {.name = "recipe",
               .argument = "NAME",
               .help = "instead of JOB.json: a recipe, filled in from the data",
               .details =
                   "--list recipes names them, ps-recipes(7) explains them.  A path with a slash is that of "
                   "a recipe of one's own.  With --print-config the job is printed that the recipe stands "
                   "for.",
               .group = "Task",
               .brief = true,
               .standalone = true,
               .environment = false},
              {.name = "model",
               .argument = "DIR",
               .help = "instead of JOB.json: job and weights of a saved model",
               .details =
                   "As the job.json in DIR and --init-model DIR, but without the servers, trainers and "
                   "checkpoints of the run that saved it.",
               .group = "Task",
               .brief = true,
               .standalone = true,
               .environment = false},
              {.name = "data",
               .argument = "FILE",
               .help = "what to read, - for standard input",
               .group = "Data",
               .repeatable = true,
               .job_key = "data.files",
               .brief = true},
              {.name = "test-data",
               .argument = "FILE",
               .help = "held-out data to test on after each pass",
               .group = "Data",
               .repeatable = true,
               .job_key = "data.test_files",
               .brief = true},
              {.name = "format",
               .argument = "FORMAT",
               .help = "format of the data, auto to recognise it",
               .group = "Data",
               .job_key = "data.format"},
              {.name = "max-bad-lines",
               .argument = "N",
               .help = "skip and count up to N bad lines a pass",
               .group = "Data",
               .job_key = "data.max_bad_lines"},
              {.name = "job",
               .argument = "TASK",
               .help = "what to do",
               .group = "Task",
               .default_text = "train",
               .choices = {"train", "test", "predict", "convert"},
               .brief = true},
              {.name = "sweep",
               .argument = "KEY=V,...",
               .help = "train with each of these values, and compare",
               .details = "Several such flags stand for all combinations.  See SWEEPS AND FOLDS.",
               .group = "Task",
               .repeatable = true,
               .environment = false},
              {.name = "sweep-samples",
               .argument = "N",
               .help = "train with N combinations, drawn at random by --seed",
               .details = "Ranges to draw from are log:LOW..HIGH, linear:LOW..HIGH and int:LOW..HIGH.  See "
                          "SWEEPS AND FOLDS.",
               .group = "Task",
               .environment = false},
              {.name = "sweep-halving",
               .help = "train all for few passes, the better half for twice as many, and so on",
               .details = "See SWEEPS AND FOLDS.",
               .group = "Task",
               .environment = false},
              {.name = "folds",
               .argument = "K",
               .help = "train K times, each without another K-th of the lines, and measure on that",
               .details = "See SWEEPS AND FOLDS.",
               .group = "Task",
               .environment = false},
              {.name = "find-rate",
               .argument = "LOW..HIGH",
               .help = "train one pass with growing learning rates, and say which to begin with",
               .details = "See THE RATE FINDER.",
               .group = "Task",
               .environment = false},
              {.name = "importance",
               .argument = "FIGURE",
               .help = "with --job test: how much worse it is without each slot",
               .details = "cost, or an evaluator of the job, such as auc.  See IMPORTANCE OF SLOTS.",
               .group = "Task"},
              {.name = "intervals",
               .help = "with --job test: a 95 % interval of each evaluator",
               .details = "By a bootstrap over examples, or groups.  See INTERVALS.",
               .group = "Task"},
              {.name = "passes",
               .argument = "N",
               .help = "times through the data",
               .group = "Task",
               .job_key = "train.passes",
               .brief = true},
              {.name = "threads",
               .argument = "T",
               .help = "threads, which never change a result; 0: one a core",
               .group = "Task",
               .default_text = "0"},
              {.name = "device",
               .argument = "DEVICE",
               .help = "where sparse rows are trained: cpu, emulated, cuda:0",
               .details =
                   "A device has a cache of these rows, as large as the key device of the job says.  "
                   "Results are the same.  With device.trains it computes the model too.  See ps-gpu(7).",
               .group = "Task",
               .job_key = "device.type"},
              {.name = "servers",
               .argument = "LIST",
               .help = "HOST:PORT of the servers, with commas between",
               .details = "The first port of each; every trainer names the same servers in the same order.",
               .group = "Cluster",
               .repeatable = true,
               .job_key = "cluster.servers",
               .brief = true},
              {.name = "discovery",
               .argument = "URL",
               .help = "where servers are found, etcd://HOST:PORT/PREFIX",
               .group = "Cluster",
               .job_key = "cluster.discovery"},
              {.name = "peers",
               .argument = "LIST",
               .help = "HOST:PORT where trainers meet that have no servers, or the strategy hybrid",
               .details = "Where trainer 0 is to listen; or that of each trainer, with commas between.",
               .group = "Cluster",
               .repeatable = true,
               .job_key = "cluster.peers"},
              {.name = "collective",
               .argument = "HOW",
               .help = "how trainers without servers speak: net, mpi, or nccl",
               .details =
                   "With mpi they are the processes that mpirun(1) has started.  With nccl they meet as with "
                   "net, and add up in the memory of the devices that compute their models.",
               .group = "Cluster",
               .job_key = "cluster.collective"},
              {.name = "nccl-library",
               .argument = "FILE",
               .help = "the NCCL that --collective nccl loads",
               .details = "NCCL 2.14 or later, whose file NVIDIA names libnccl.so.2.",
               .group = "Cluster",
               .job_key = "cluster.nccl_library"},
              {.name = "rank",
               .argument = "R",
               .help = "number of this trainer, from 0",
               .details =
                   "Trainer 0 reports, tests and saves for all.  Without this flag and --trainers, what "
                   "the launcher says counts: see RANKS.",
               .group = "Cluster"},
              {.name = "trainers",
               .argument = "W",
               .help = "trainers that share the data",
               .details = "Of W files or more, trainer R has every W-th, from file R on.  Else every trainer "
                          "reads all of the data and trains on every W-th batch, from batch R on: a step of "
                          "W trainers has the examples that a batch W times as large has in one process.",
               .group = "Cluster",
               .job_key = "cluster.trainers"},
              {.name = "max-trainers",
               .argument = "N",
               .help = "ranks of the job, so that trainers may join it while it runs",
               .details =
                   "A trainer of rank W to N - 1 joins the job of the W trainers that began it, and may "
                   "leave it.  The data are divided over N ranks.  Without this flag nobody joins.  See "
                   "TRAINERS THAT JOIN.",
               .group = "Cluster",
               .job_key = "cluster.max_trainers"},
              {.name = "role",
               .argument = "ROLE",
               .help = "part in heterogeneous training",
               .details =
                   "A reader reads data, and pulls and pushes the rows that its batches use; a compute "
                   "trainer does the rest of the work on the batches of readers.  See READERS AND COMPUTE "
                   "TRAINERS.",
               .group = "Cluster",
               .default_text = "trainer",
               .choices = {"trainer", "reader", "compute"}},
              {.name = "compute",
               .argument = "LIST",
               .help = "HOST:PORT of the compute trainers of a reader, with commas between",
               .group = "Cluster",
               .repeatable = true,
               .job_key = "cluster.compute"},
              {.name = "status-port",
               .argument = "P",
               .help = "serve a page that draws the run, 0: on any port",
               .details =
                   "HTTP on --host; see The page of a run.  With --token-file it is for those who send a "
                   "token for status, else for whoever can reach the port.",
               .group = "Output"},
              {.name = "host",
               .argument = "HOST",
               .help = "address at which a compute trainer, or the page of --status-port, listens",
               .details =
                   "localhost is 127.0.0.1, and ::1 where the machine has it.  One that others reach needs "
                   "--token-file, --tls-ca, or --insecure.",
               .group = "Cluster",
               .default_text = "localhost"},
              {.name = "port",
               .argument = "P",
               .help = "port of a compute trainer, 0: any that is free",
               .group = "Cluster",
               .default_text = "7264"},
              {.name = "port-file",
               .argument = "FILE",
               .help = "write the port of a compute trainer there",
               .group = "Cluster"},
              {.name = "max-memory",
               .argument = "BYTES",
               .help = "most memory of a compute trainer for batches of readers, and answers",
               .details =
                   "Such as 4G.  By default, half of what is available when it begins.  What has no room is "
                   "refused with status 6.",
               .group = "Cluster"},
              {.name = "init-model",
               .argument = "PATH",
               .help = "start from a saved model or a checkpoint",
               .details = "A folder pass-00000, a safetensors file of ours or anyone's, whose tensors have "
                          "the names and shapes of the parameters, or a checkpoint, whose weights alone are "
                          "taken.",
               .group = "Task",
               .brief = true},
              {.name = "checkpoint-dir",
               .argument = "DIR",
               .help = "where all state is written, to go on from it",
               .group = "Output",
               .job_key = "checkpoint.directory"},
              {.name = "resume",
               .help = "go on from the newest checkpoint, if there is one",
               .details = "The rest of the run gives the same bits as if it had not been interrupted.",
               .group = "Task"},
              {.name = "save-dir",
               .argument = "DIR",
               .help = "where pass-00000 and so on are saved, '' for nowhere",
               .group = "Output",
               .job_key = "train.save_dir",
               .brief = true},
              {.name = "load-save-parameters-in-pserver",
               .help = "have servers write models by themselves",
               .details = "A model is then the files of a checkpoint in --checkpoint-dir, which this trainer "
                          "must see, with a manifest beside them.",
               .group = "Output",
               .job_key = "train.load_save_parameters_in_pserver"},
              {.name = "output",
               .argument = "FILE",
               .help = "where predictions and converted data go",
               .group = "Output",
               .default_text = "-"},
              {.name = "output-format",
               .argument = "FORMAT",
               .help = "format that --job convert writes; of --job predict: numbers or names",
               .details = "For predict the default is numbers; names are the words that labels were when the "
                          "model was trained.",
               .group = "Output",
               .default_text = "records"},
              {.name = "transform",
               .help = "have --job convert apply the transformations and the shuffle of the job too",
               .details = "A job that trains on what is written must not apply them again.",
               .group = "Output"},
              {.name = "part",
               .argument = "PART",
               .help = "which examples --job convert writes",
               .details =
                   "Of the two parts into which data.validation, or data.validation_values, divide the data.",
               .group = "Output",
               .default_text = "all",
               .choices = {"all", "training", "validation"}},
              {.name = "metrics",
               .argument = "FILE",
               .help = "write reports as JSON lines",
               .group = "Output"},
              {.name = "progressive",
               .help = "report the cost at 1, 2, 4, 8 and so on examples of a pass",
               .details = "Instead of the lines of batches.  See The cost before each update.",
               .group = "Output"},
              {.name = "list",
               .argument = "KIND",
               .help = "list what a job file may name, and exit",
               .group = "Output",
               .choices = ps::catalog_kinds(),
               .standalone = true,
               .environment = false},
              {.name = "print-schema",
               .help = "print the JSON Schema of job files, and exit",
               .group = "Output",
               .standalone = true,
               .environment = false},
              {.name = "dump-job-keys", .hidden = true, .standalone = true, .environment = false},
          },
          {"token-file", "tls-cert", "tls-key", "tls-ca", "etcd-ca", "etcd-cert", "etcd-key", "insecure",
           "set", "print-config", "dry-run", "seed", "cpu", "log-level", "progress", "json"}),
      .examples = {{.command = "ps-train --recipe logistic --data clicks.txt",
                    .help = "train without a job file"},
                   {.command = "ps-train --model output/pass-00000 --job predict < rows.txt",
                    .help = "predict with a saved model"}},
  };
}

// Answers the flags that need no job.  Returns false when none of them is given.
bool answer_alone(const ps::Flags& flags) {
  std::string answer;
  if (flags.given("list")) {
    answer = ps::list_catalog(*flags.text("list"));
  } else if (flags.on("print-schema")) {
    answer = ps::job_schema().dump(2) + "\n";
  } else if (flags.on("dump-job-keys")) {
    answer = ps::job_keys_manual();
  } else {
    return false;
  }
  std::fputs(answer.c_str(), stdout);
  return true;
}

// Warns of flags whose text is empty, as that of a variable of a script that was not set: a trainer then trains alone, or
// from the first weights.  They may be meant to take back what the job file or the environment says.
void warn_of_empty(const ps::Flags& flags, ps::Log& log) {
  for (const char* name : {"servers", "peers", "compute", "discovery", "init-model", "metrics"}) {
    if (!flags.given(name) || !flags.typed(name).starts_with("-")) continue;
    if (flags.list(name).empty()) log.warning("--", name, " names nothing");
  }
}

// Warns of flags that the task does not use.  Environment variables are set for several commands, so they
// cause no warning.
void warn_of_unused(const ps::Flags& flags, ps::Log& log) {
  for (const char* name : {"importance", "intervals"}) {
    if (flags.given(name) && flags.text("job") != "test") flags.refuse(name, "is of --job test");
  }
  if (flags.given("importance") && flags.given("intervals"))
    flags.refuse("intervals", "--importance prints no intervals: test once with each");
  static const std::map<std::string, std::vector<const char*>> kUnused = {
      {"train", {"output", "output-format", "transform", "part"}},
      {"test",
       {"output", "output-format", "transform", "part", "passes", "save-dir", "checkpoint-dir", "rank",
        "progressive"}},
      {"predict",
       {"transform", "part", "progressive", "status-port", "passes", "save-dir", "checkpoint-dir",
        "test-data", "metrics", "json", "rank"}},
      {"convert",
       {"progressive", "status-port", "passes", "save-dir", "checkpoint-dir", "test-data", "metrics", "json",
        "rank", "servers", "peers", "collective", "nccl-library", "discovery", "init-model", "device"}}};
  const std::string task = *flags.text("job");
  if (*flags.text("role") != "compute") {
    for (const char* name : {"host", "port", "port-file", "max-memory"}) {
      if (std::string_view(name) == "host" && flags.given("status-port")) continue;
      if (flags.given(name) && flags.typed(name).starts_with("-"))
        log.warning(flags.typed(name), " is ignored: it is for --role compute");
    }
  }
  for (const char* name : kUnused.at(task)) {
    if (!flags.given(name) || !flags.typed(name).starts_with("-")) continue;
    log.warning(flags.typed(name), " is ignored: --job ", task, " has no use for it");
  }
  if (task == "test" && flags.given("test-data") && flags.given("data")) {
    log.warning("--data is ignored: --job test reads --test-data");
  }
}

// Returns the format of the output.  Predictions have formats of their own, so for them the environment
// variable, which is meant for --job convert, does not count.
std::string output_format(const ps::Flags& flags, const std::string& task) {
  const std::string named = *flags.text("output-format");
  if (task != "predict") return named;
  if (!flags.given("output-format") || !flags.typed("output-format").starts_with("-")) return "numbers";
  if (named != "numbers" && named != "names")
    flags.refuse("output-format", "--job predict writes numbers or names");
  return named;
}

// A trainer or a reader runs the job; a compute trainer reads no data, and needs an address at which
// readers find it.
bool run_role(const ps::Flags& flags, const ps::Job& job, const ps::RunOptions& options, ps::Log& log) {
  if (options.role != "compute") return ps::run_job(job, options, log);
  ps::ComputeEndpoint endpoint;
  endpoint.host = ps::host_flag(flags, "host");
  endpoint.port = static_cast<uint16_t>(*flags.integer("port", 0, 65535));
  endpoint.port_file = flags.text("port-file").value_or("");
  endpoint.max_memory_bytes = flags.bytes("max-memory");
  return ps::run_compute(job, options, endpoint, log);
}

// Runs the task.  A flag that repeats a training takes no rank from a launcher, and its jobs are made later,
// one for each training; otherwise the job is made here, before the process handles signals.
int run(const ps::Flags& flags, ps::Log& log) {
  if (answer_alone(flags)) return 0;
  warn_of_empty(flags, log);
  warn_of_unused(flags, log);
  const bool repeats = ps::repeating_flag(flags) != nullptr;
  const std::optional<ps::LaunchedTrainer> launched =
      repeats ? std::optional<ps::LaunchedTrainer>() : ps::find_launched(flags);
  ps::InputHead head;
  std::optional<ps::Job> made;
  if (!repeats) made = ps::job_of_flags(flags, launched, {}, head, log);
  if (!repeats && !made) return 0;
  ps::Interrupts interrupts("ps-train", "ending after this batch; once more to end at once");
  ps::RunOptions options;
  options.task = *flags.text("job");
  options.role = *flags.text("role");
  options.importance = flags.text("importance").value_or("");
  options.intervals = flags.on("intervals");
  options.threads = ps::threads_flag(flags);
  options.cpu = ps::cpu_level(flags);
  options.resume = flags.on("resume");
  options.init_model = flags.text(flags.given("model") ? "model" : "init-model").value_or("");
  options.input_head = head.bytes;
  options.output = *flags.text("output");
  options.output_format = output_format(flags, options.task);
  options.transform = flags.on("transform");
  options.part = *flags.text("part");
  options.security = ps::security_options(flags);
  options.metrics = flags.text("metrics").value_or("");
  if (auto port = flags.integer("status-port", 0, 65535)) options.status_port = static_cast<uint16_t>(*port);
  options.status_host = ps::host_flag(flags, "host");
  options.progressive = flags.on("progressive");
  options.json = flags.on("json");
  options.dry_run = flags.on("dry-run");
  options.progress = ps::progress_mode(flags);
  options.rank =
      static_cast<int>(flags.integer("rank", 0, INT32_MAX).value_or(launched ? launched->rank : 0));
  // A new number for each process, never 0: servers tell by it a process that was restarted from the one
  // before it.
  options.generation = std::random_device()() + 1ull;
  ps::OperatorRequests operators(log);
  options.operators = &operators;
  ps::RequestSignal shrink(SIGRTMIN);
  options.shrink_asked = [&] { return shrink.take() || operators.take(ps::OperatorRequest::kShrink); };
  ps::RequestSignal save(SIGUSR1);
  options.save_asked = [&] { return save.take(); };
  ps::RequestSignal checkpoint(SIGUSR2);
  options.checkpoint_asked = [&] {
    return checkpoint.take() || operators.take(ps::OperatorRequest::kCheckpoint);
  };
  // Without files to read again, SIGHUP ends the process, as it does by default.
  std::optional<ps::RequestSignal> renewal_signal;
  std::optional<ps::CredentialRenewal> renewal;
  if (flags.given("tls-cert") || flags.given("tls-ca") || flags.given("token-file")) {
    renewal_signal.emplace(SIGHUP);
    options.renewal = &renewal.emplace([&] { return renewal_signal->take(); }, log);
  }
  options.stop = [&] { return interrupts.requested() || operators.ends(); };
  if (launched) {
    log.info("Trainer ", launched->rank, " of ", launched->trainers, ", as ", launched->launcher, " says");
  }
  repeats ? ps::run_repeatedly(flags, options, log) : static_cast<void>(run_role(flags, *made, options, log));
  // An operator ends the program as SIGTERM does.
  return operators.ends() && !interrupts.requested() ? 128 + SIGTERM : interrupts.exit_status();
}

}  // namespace

int main(int argc, char** argv) {
  return ps::run_main([] { return ps::with_beginnings(program(), "set", ps::settable_keys); }, argc, argv,
                      run);
}
