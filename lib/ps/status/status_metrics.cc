// Writes the text format of Prometheus, version 0.0.4: a family is HELP, TYPE, and its samples.  Each function
// add_… writes the families of one topic.
#include "ps/status/status_service.h"

#include "base/text.h"

namespace ps {

namespace {

// The labels of a sample: {name, value} ...
using Labels = std::vector<std::pair<std::string_view, std::string>>;

// The text that is being written.  One owner thread.
class MetricsText {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    out_ += cat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }

  template <class Number>
  // Writes a line of the last family: name{label="text",...} value.  `suffix` names a part of a histogram.
  void sample(const Labels& labels, Number value, std::string_view suffix = "") {
    out_ += cat(name_, suffix);
    char before = '{';
    for (const auto& [label, text] : labels) {
      out_ += cat(before, label, "=\"", escaped(text), "\"");
      before = ',';
    }
    out_ += cat(labels.empty() ? "" : "}", " ", value, "\n");
  }

  // Writes a family with a sample for each shard.
  template <class Value>
  void of_shards(const ServerStatus& server, std::string_view name, std::string_view type,
                 std::string_view help, Value&& value) {
    family(name, type, help);
    for (size_t s = 0; s < server.shards.size(); ++s) {
      sample({{"shard", std::to_string(s)}}, value(server.shards[s]));
    }
  }

  // Writes a family with a sample for each of the shards' tables, or trainers.
  template <class Items, class Label, class Value>
  void of_parts(const ServerStatus& server, std::string_view name, std::string_view help,
                std::string_view part, Items ShardStatus::*items, Label&& label, Value&& value) {
    family(name, "gauge", help);
    for (size_t s = 0; s < server.shards.size(); ++s) {
      for (const auto& item : server.shards[s].*items) {
        sample({{"shard", std::to_string(s)}, {part, label(item)}}, value(item));
      }
    }
  }

  std::string release() { return std::move(out_); }

 private:
  // Escapes the three characters that end, or escape, the text of a label.
  static std::string escaped(const std::string& text) {
    std::string out;
    for (char c : text) {
      if (c == '\\' || c == '"') out += '\\';
      c == '\n' ? out += "\\n" : out += c;
    }
    return out;
  }

  std::string out_, name_;
};

void add_process(MetricsText& text, const ServerStatus& server) {
  text.family("pskit_job_info", "gauge", "The job that is served.");
  text.sample({{"job", server.job}}, 1);
  text.family("pskit_uptime_seconds", "gauge", "Seconds since the server began.");
  text.sample({}, server.uptime_seconds);
  text.family("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.");
  text.sample({}, server.resident_bytes);
  text.family("process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.");
  text.sample({}, server.cpu_seconds);
  text.family("pskit_status_requests_refused_total", "counter",
              "Requests for these pages with a wrong token.");
  text.sample({}, server.status_refused);
}

void add_requests(MetricsText& text, const ServerStatus& server) {
  auto counter = [&](std::string_view name, std::string_view help, uint64_t ShardCounters::*counted) {
    text.of_shards(server, name, "counter", help, [&](const ShardStatus& s) { return s.counters.*counted; });
  };
  text.of_shards(server, "pskit_shard_clock_steps", "gauge",
                 "Steps that all trainers of the run have pushed.",
                 [](const ShardStatus& s) { return s.clock; });
  counter("pskit_shard_steps_total", "Steps applied.", &ShardCounters::steps);
  counter("pskit_shard_pulls_total", "Pulls answered.", &ShardCounters::pulls);
  counter("pskit_shard_pulled_rows_total", "Rows in answers to pulls.", &ShardCounters::rows_pulled);
  counter("pskit_shard_pushes_total", "Pushes accepted.", &ShardCounters::pushes);
  counter("pskit_shard_pushed_rows_total", "Rows in pushes.", &ShardCounters::rows_pushed);
  counter("pskit_shard_pushes_repeated_total", "Pushes that had come before.",
          &ShardCounters::pushes_repeated);
  counter("pskit_shard_pushes_dropped_total", "Pushes that came too late to count.",
          &ShardCounters::pushes_dropped);
  counter("pskit_shard_refused_for_memory_total", "Requests refused, or put off, for want of memory.",
          &ShardCounters::refused_for_memory);
  counter("pskit_shard_refused_not_finite_total",
          "Messages refused, with gradients, weights or norms that are NaN or infinite.",
          &ShardCounters::refused_not_finite);
  counter("pskit_shard_trainers_returned_total", "Processes that took the place of one that had gone.",
          &ShardCounters::trainers_returned);
  counter("pskit_shard_trainers_given_up_total", "Trainers that the others went on without.",
          &ShardCounters::trainers_given_up);
  counter("pskit_shard_trainers_joined_total", "Processes that took a rank without which the others trained.",
          &ShardCounters::trainers_joined);
}

void add_checkpoints(MetricsText& text, const ServerStatus& server) {
  auto counter = [&](std::string_view name, std::string_view help, uint64_t CheckpointCounters::*counted) {
    text.of_shards(server, name, "counter", help,
                   [&](const ShardStatus& s) { return s.checkpoints.*counted; });
  };
  counter("pskit_shard_checkpoint_parts_total", "Parts of checkpoints that the shard has written.",
          &CheckpointCounters::parts_written);
  counter("pskit_shard_checkpoints_failed_total", "Checkpoints that could not be written.",
          &CheckpointCounters::failed);
  counter("pskit_shard_checkpoints_given_up_total", "Checkpoints that the next one overtook.",
          &CheckpointCounters::given_up);
  counter("pskit_shard_checkpoints_total", "Checkpoints that count, at the first shard of the job.",
          &CheckpointCounters::written);
  text.of_shards(server, "pskit_shard_checkpoint_step", "gauge", "Step of the last one.",
                 [](const ShardStatus& s) { return s.checkpoints.last_step; });
  text.of_shards(server, "pskit_shard_checkpoint_bytes", "gauge", "Size of the last one.",
                 [](const ShardStatus& s) { return s.checkpoints.last_bytes; });
  text.of_shards(server, "pskit_shard_checkpoint_seconds", "gauge", "Seconds that the last one took.",
                 [](const ShardStatus& s) { return s.checkpoints.last_seconds; });
}

void add_logs(MetricsText& text, const ServerStatus& server) {
  auto counter = [&](std::string_view name, std::string_view help, uint64_t LogCounters::*counted) {
    text.of_shards(server, name, "counter", help, [&](const ShardStatus& s) { return s.log.*counted; });
  };
  counter("pskit_shard_log_events_total", "Changes that were logged.", &LogCounters::events);
  counter("pskit_shard_log_bytes_total", "Bytes that were logged.", &LogCounters::bytes);
  counter("pskit_shard_log_syncs_total", "How often the log was synced, for many changes at once.",
          &LogCounters::syncs);
  counter("pskit_shard_log_replayed_total", "Changes of its log that the server made again when it came.",
          &LogCounters::replayed);
}

// Writes the samples of one histogram.  Prometheus wants the buckets summed up: the one of bound `le`
// counts all requests up to that bound, and the last one, +Inf, counts all, like _count.
void add_seconds(MetricsText& text, const Labels& labels, const RequestSeconds& seconds) {
  uint64_t count = 0;
  for (size_t b = 0; b < seconds.counts.size(); ++b) {
    count += seconds.counts[b];
    Labels bucket = labels;
    bucket.push_back({"le", b < seconds.kBounds.size() ? cat(seconds.kBounds[b]) : "+Inf"});
    text.sample(bucket, count, "_bucket");
  }
  text.sample(labels, seconds.sum, "_sum");
  text.sample(labels, count, "_count");
}

void add_request_seconds(MetricsText& text, const ServerStatus& server) {
  text.family("pskit_shard_request_seconds", "histogram",
              "From the arrival of a request to its answer, waiting for other trainers included.");
  for (size_t s = 0; s < server.shards.size(); ++s) {
    const std::string shard = std::to_string(s);
    add_seconds(text, {{"shard", shard}, {"request", "pull"}}, server.shards[s].pull_seconds);
    add_seconds(text, {{"shard", shard}, {"request", "push"}}, server.shards[s].push_seconds);
  }
}

void add_memory(MetricsText& text, const ServerStatus& server) {
  auto name = [](const TableStatus& table) { return table.name; };
  text.of_parts(server, "pskit_shard_rows", "Rows held.", "table", &ShardStatus::tables, name,
                [](const TableStatus& table) { return table.rows; });
  text.of_parts(server, "pskit_shard_table_bytes", "Memory of a table.", "table", &ShardStatus::tables, name,
                [](const TableStatus& table) { return table.bytes; });
  text.family("pskit_memory_limit_bytes", "gauge", "What tables and messages may take together.");
  text.sample({}, server.memory_limit);
  text.of_shards(server, "pskit_shard_message_bytes", "gauge", "Memory of messages that are held.",
                 [](const ShardStatus& s) { return s.message_bytes; });
  text.of_parts(
      server, "pskit_shard_held_bytes", "Memory that peers have the shard hold.", "kind", &ShardStatus::held,
      [](const HeldStatus& held) { return held.kind; }, [](const HeldStatus& held) { return held.bytes; });
}

void add_trainers(MetricsText& text, const ServerStatus& server) {
  auto rank = [](const TrainerStatus& trainer) { return std::to_string(trainer.rank); };
  text.of_parts(server, "pskit_trainer_clock_steps", "Steps that a trainer has pushed.", "trainer",
                &ShardStatus::trainers, rank, [](const TrainerStatus& trainer) { return trainer.clock; });
  text.of_parts(server, "pskit_trainer_lag_steps", "Steps behind the trainer that is furthest.", "trainer",
                &ShardStatus::trainers, rank, [](const TrainerStatus& trainer) { return trainer.lag; });
  text.of_parts(server, "pskit_trainer_connections", "Connections of a trainer.", "trainer",
                &ShardStatus::trainers, rank,
                [](const TrainerStatus& trainer) { return trainer.connections; });
  text.of_parts(server, "pskit_trainer_held_bytes", "Memory that is held for a trainer's requests.",
                "trainer", &ShardStatus::trainers, rank,
                [](const TrainerStatus& trainer) { return trainer.held_bytes; });
}

void add_net(MetricsText& text, const ServerStatus& server) {
  auto counter = [&](std::string_view name, std::string_view help, uint64_t NetCounters::*counted) {
    text.of_shards(server, name, "counter", help, [&](const ShardStatus& s) { return s.net.*counted; });
  };
  text.of_shards(server, "pskit_shard_connections", "gauge", "Connections that are open.",
                 [](const ShardStatus& s) { return s.connections; });
  counter("pskit_shard_connections_opened_total", "Connections accepted.", &NetCounters::connections_opened);
  counter("pskit_shard_connections_refused_total", "Connections beyond the limit.",
          &NetCounters::connections_refused);
  counter("pskit_shard_received_bytes_total", "Bytes received.", &NetCounters::bytes_received);
  counter("pskit_shard_sent_bytes_total", "Bytes sent.", &NetCounters::bytes_sent);
  counter("pskit_shard_frames_refused_total", "Frames that are damaged, unknown or too long.",
          &NetCounters::frames_refused);
  counter("pskit_shard_streams_broken_total", "Connections whose bytes were no frames.",
          &NetCounters::streams_broken);
  text.of_shards(server, "pskit_shard_peers_refused_total", "counter",
                 "Peers that showed no right token or certificate.",
                 [](const ShardStatus& s) { return s.peers_refused; });
  counter("pskit_shard_peers_timed_out_total", "Connections closed for silence or slowness.",
          &NetCounters::peers_timed_out);
}

}  // namespace

std::string metrics_text(const ServerStatus& server) {
  MetricsText text;
  add_process(text, server);
  add_requests(text, server);
  add_request_seconds(text, server);
  add_checkpoints(text, server);
  add_logs(text, server);
  add_memory(text, server);
  add_trainers(text, server);
  add_net(text, server);
  return text.release();
}

}  // namespace ps
