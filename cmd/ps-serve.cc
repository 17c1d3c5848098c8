// ps-serve: holds the parameters of a job for its trainers.  ps-serve(1)
#include <csignal>
#include <cstdio>
#include <optional>

#include "cli/cpu_flag.h"
#include "cli/interrupts.h"
#include "cli/main.h"
#include "cli/request_signal.h"
#include "job/credential_renewal.h"
#include "job/job.h"
#include "job/network_flags.h"
#include "job/operator_requests.h"
#include "job/serve.h"

namespace {

// Describes the command line of the program, as --help prints it: flags by group, then examples.
ps::Program program() {
  return {
      .name = "ps-serve",
      .summary = "hold the parameters of a job, and update them, for its trainers",
      .synopsis = "JOB.json [--port P] [--ports-num N] [--ports-num-for-sparse M] [flags]",
      .positionals = {{.name = "JOB.json", .help = "the job file, ps-job(5), the same as the trainers'"}},
      .flags = ps::with_common_flags(
          {
              {.name = "host",
               .argument = "HOST",
               .help = "address to listen on",
               .details =
                   "localhost is 127.0.0.1, and ::1 where the machine has it; '' is all of this machine, "
                   "0.0.0.0 all of IPv4; an IPv6 number may have brackets.  One that others reach needs "
                   "--token-file, --tls-ca, or --insecure.",
               .group = "Network",
               .default_text = "localhost",
               .brief = true},
              {.name = "advertise",
               .argument = "HOST",
               .help = "name or address by which trainers reach this server",
               .details =
                   "Registered with cluster.discovery.  By default --host, 127.0.0.1 for localhost, or "
                   "the name of this machine where that is all of it.",
               .group = "Network"},
              {.name = "port",
               .argument = "P",
               .help = "first of consecutive ports, 0: any that are free",
               .group = "Network",
               .default_text = "7164",
               .brief = true},
              {.name = "ports-num",
               .argument = "N",
               .help = "ports, each a thread, for dense parameters",
               .group = "Network",
               .default_text = "1",
               .brief = true},
              {.name = "ports-num-for-sparse",
               .argument = "M",
               .help = "further ports for sparse ones, 0: the same ports have both",
               .group = "Network",
               .default_text = "0"},
              {.name = "discovery",
               .argument = "URL",
               .help = "where servers are found, etcd://HOST:PORT/PREFIX",
               .group = "Network",
               .job_key = "cluster.discovery"},
              {.name = "port-file",
               .argument = "FILE",
               .help = "write the ports, one a line",
               .group = "Network",
               .brief = true},
              {.name = "local-sockets",
               .help = "Unix sockets beside the ports, for trainers of this machine",
               .details = "A request there and back takes little more than half the time, and, where trainer "
                          "and server share a core, all of it less of the processor.  Where they work side "
                          "by side, each on cores of its own, TCP serves as well or better.",
               .group = "Network"},
              {.name = "status-port",
               .argument = "P",
               .help = "serve status pages and metrics, 0: on any port",
               .details =
                   "HTTP: / for people, /metrics for Prometheus, /livez and /readyz for supervisors; with "
                   "--token-file for those who send a token for status, else for whoever can reach the "
                   "port.  Without it there are none.",
               .group = "Network",
               .brief = true},
              {.name = "max-memory",
               .argument = "BYTES",
               .help = "most memory of tables and messages",
               .details =
                   "Such as 4G.  By default, what is available when the server begins.  Messages share three "
                   "sixteenths of it; a row for which the rest has no room is refused with status 6, and "
                   "what is there goes on being served.",
               .group = "Memory",
               .brief = true},
              {.name = "checkpoint-dir",
               .argument = "DIR",
               .help = "where all state is written, to go on from it",
               .details = "The same folder for all servers of the job: of one machine, or of a network file "
                          "system.",
               .group = "Checkpoints",
               .job_key = "checkpoint.directory",
               .brief = true},
              {.name = "checkpoint-period",
               .argument = "TIME",
               .help = "time between two checkpoints, such as 5m",
               .group = "Checkpoints",
               .job_key = "checkpoint.period"},
              {.name = "resume",
               .help = "go on from the newest checkpoint, if there is one",
               .group = "Checkpoints",
               .brief = true},
              {.name = "durability",
               .argument = "HOW",
               .help = "log: what is applied is logged, and nobody goes back",
               .details = "With none, when a server dies and comes again, all go back to the newest "
                          "checkpoint.  See DURABILITY.",
               .group = "Checkpoints",
               .default_text = "none",
               .choices = {"none", "log"}},
              {.name = "scratch-dir",
               .argument = "DIR",
               .help = "for files that models are made of, without checkpoints; by default $TMPDIR or /tmp",
               .details = "All that the server has, compressed, while a trainer copies it.",
               .group = "Checkpoints"},
              {.name = "spill-dir",
               .argument = "DIR",
               .help = "keep rows not used for long on disk, in this folder",
               .details = "Files there have no names, and are gone when the server ends, however it does.",
               .group = "Memory"},
              {.name = "spill-memory",
               .argument = "BYTES",
               .help = "with --spill-dir, memory for the other rows, such as 8G",
               .details = "Of all shards together, and part of --max-memory.  A request whose rows take more "
                          "gets what it needs.  By default half of what tables have, and at most 1G.  The "
                          "indexes stay in memory too: see Rows on disk.",
               .group = "Memory"},
          },
          {"token-file", "tls-cert", "tls-key", "tls-ca", "etcd-ca", "etcd-cert", "etcd-key", "insecure",
           "set", "print-config", "dry-run", "seed", "cpu", "log-level"}),
      .examples = {{.command = "ps-serve job.json --ports-num 2 --ports-num-for-sparse 2",
                    .help = "serve on ports 7164 to 7167"}},
  };
}

// Makes the job and the options from the flags, and serves until a signal or an operator ends it.  SIGUSR2 asks for a
// checkpoint, as operators do, SIGHUP for a new look at tokens and certificates.  Their handlers only set a flag, for
// which serve_job and a thread of the renewal look ten times a second.
int run(const ps::Flags& flags, ps::Log& log) {
  if (flags.given("spill-memory") && !flags.given("spill-dir"))
    flags.refuse("spill-memory", "needs --spill-dir");
  constexpr int kMostPorts = 1024;
  ps::Job job = ps::load_job(flags.positionals()[0], flags.overrides());
  if (flags.on("print-config")) {
    std::puts(ps::effective_job(job).dump(2).c_str());
    return 0;
  }
  ps::Interrupts interrupts("ps-serve", "ending; once more to end at once");
  ps::ServeOptions options;
  options.host = ps::host_flag(flags, "host");
  options.security = ps::security_options(flags);
  options.advertise = ps::host_flag(flags, "advertise");
  options.port = static_cast<uint16_t>(*flags.integer("port", 0, 65535));
  options.local_sockets = flags.on("local-sockets");
  options.ports_num = static_cast<int>(*flags.integer("ports-num", 1, kMostPorts));
  options.ports_num_for_sparse = static_cast<int>(*flags.integer("ports-num-for-sparse", 0, kMostPorts));
  options.port_file = flags.text("port-file").value_or("");
  if (auto port = flags.integer("status-port", 0, 65535)) options.status_port = static_cast<uint16_t>(*port);
  options.max_memory_bytes = flags.bytes("max-memory");
  options.scratch_dir = flags.text("scratch-dir").value_or(options.scratch_dir);
  options.spill_dir = flags.text("spill-dir").value_or("");
  options.spill_memory = flags.bytes("spill-memory");
  ps::OperatorRequests operators(log);
  options.operators = &operators;
  options.stop = [&] { return interrupts.requested() || operators.ends(); };
  ps::RequestSignal checkpoint(SIGUSR2);
  options.checkpoint_asked = [&] {
    return checkpoint.take() || operators.take(ps::OperatorRequest::kCheckpoint);
  };
  // Without files to read again, SIGHUP ends the process, as it does by default.
  std::optional<ps::RequestSignal> renewal_signal;
  std::optional<ps::CredentialRenewal> renewal;
  if (flags.given("tls-cert") || flags.given("token-file")) {
    renewal_signal.emplace(SIGHUP);
    options.renewal = &renewal.emplace([&] { return renewal_signal->take(); }, log);
  }
  options.cpu = ps::cpu_level(flags);
  options.resume = flags.on("resume");
  options.durable = flags.text("durability") == "log";
  options.dry_run = flags.on("dry-run");
  ps::serve_job(job, options, log);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return ps::run_main([] { return ps::with_beginnings(program(), "set", ps::settable_keys); }, argc, argv,
                      run);
}
