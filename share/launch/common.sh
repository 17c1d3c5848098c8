# shellcheck shell=bash disable=SC2034
# Functions that the launch scripts share.  Not a program.
PATH=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../../build/release/bin:$PATH

servers=1 least_servers=1 ports=1 trainers=2 computes=0 restarts=0
server_ids=() trainer_ids=()

# read_options ARGUMENTS...: sets servers, ports, trainers, computes, restarts, hosts, compute_hosts, and num_options, how
# many arguments these took.  A script that has not all of the options names its own in $own_options; one that can do
# without servers sets least_servers to 0.
read_options() {
  local option OPTIND=1
  while [[ ${!OPTIND:-} != --recipe* ]] && getopts "${own_options:-s:p:n:c:r:H:C:}" option; do
    case $option in
      s) servers=$OPTARG ;;
      p) ports=$OPTARG ;;
      n) trainers=$OPTARG ;;
      c) computes=$OPTARG ;;
      r) restarts=$OPTARG ;;
      H) hosts=$OPTARG ;;
      C) compute_hosts=$OPTARG ;;
      *) usage ;;
    esac
  done
  num_options=$((OPTIND - 1))
  [[ $servers =~ ^(0|[1-9][0-9]*)$ && $ports =~ ^[1-9][0-9]*$ && $trainers =~ ^[1-9][0-9]*$ ]] || usage
  [[ $restarts =~ ^[0-9]+$ && $computes =~ ^[0-9]+$ ]] || usage
  ((servers >= least_servers && (servers > 0 || computes == 0))) || usage
  (($# > num_options)) || usage
}

# fill_in_recipe FILE ARGUMENTS...: sets arguments to those given, in which FILE stands for `--recipe NAME` if they begin
# with that: the job that the recipe becomes with the data, so that servers and trainers have the same one.
fill_in_recipe() {
  local file=$1
  shift
  arguments=("$@")
  [[ $1 == --recipe || $1 == --recipe=* ]] || return 0
  ps-train "$@" --print-config >"$file"
  if [[ $1 == --recipe ]]; then shift; fi
  shift
  arguments=("$file" "$@")
}

# Prints the usage lines at the head of the script, and ends it.
usage() {
  sed -n '/^# usage/,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}

# make_token FILE: a token by which the job's servers and trainers know each other, and one for status pages, if flags of
# servers ask for pages; its owner alone may read it.
make_token() {
  local role
  (umask 077 && for role in train status; do
    echo "$role $(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"
  done >"$1")
}

# wait_for_file FILE ID: until FILE has something in it; fails when the process has ended.
wait_for_file() {
  until [[ -s $1 ]]; do
    kill -0 "$2" 2>/dev/null || wait "$2" || return
    sleep 0.02
  done
}

# free_ports COUNT: prints the first of so many consecutive ports that nobody listens on, below those that the system
# gives to whoever connects: a server that comes again finds its own free.  They are this shell's until it ends: links to
# its number keep other jobs of the user, which may begin at the same time, from the same ports.
free_ports() {
  local folder=${XDG_RUNTIME_DIR:-${HOME:-/tmp}/.cache}/pskit-ports link first port
  mkdir -p "$folder"
  (
    flock 9
    for link in "$folder"/[0-9]*; do
      if [[ -L $link ]] && ! kill -0 "$(readlink "$link")" 2>/dev/null; then rm -f "$link"; fi
    done
    while :; do
      first=$((10000 + RANDOM % 20000))
      for ((port = first; port < first + $1; ++port)); do
        [[ ! -L $folder/$port ]] || continue 2
        ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || continue 2
      done
      for ((port = first; port < first + $1; ++port)); do ln -s "$$" "$folder/$port"; done
      echo "$first"
      break
    done
  ) 9>"$folder/lock"
}

# The process that supervise starts: it writes its process id, and then runs the command in its own place.
run_supervised() {
  echo "$BASHPID" >"$id_file"
  if [[ $(type -t "$1") == function ]]; then "$@"; else exec "$@"; fi
}

# A signal to a shell that was just forked is lost, as the trap of the one before is its own until it is taken away: what
# has said who it is has none any more.
end_supervised() {
  until [[ -s $id_file ]]; do kill -0 "$id" 2>/dev/null || return 0; sleep 0.01; done
  kill -TERM "$id" 2>/dev/null || true
}

# supervise ID_FILE RESTARTS COMMAND...: runs the command, and again when a signal killed it, up to so many times.  The
# file has its process id.  Ends with its status; what ends this ends it.
supervise() {
  local id_file=$1 restarts=$2 id=0 ending=0 status=143
  shift 2
  trap 'ending=1; ((id == 0)) || end_supervised' TERM INT
  while ((ending == 0)); do
    id=0
    : >"$id_file"
    run_supervised "$@" &
    id=$!
    ((ending == 0)) || end_supervised
    status=0
    wait "$id" || status=$?
    # A signal ends the waiting, not the process.
    if ((ending == 1 && status > 128)); then
      local last=0
      wait "$id" || last=$?
      ((last == 127)) || status=$last
    fi
    if ((status != 134 && status != 137 && status != 139 || restarts == 0 || ending == 1)); then break; fi
    restarts=$((restarts - 1))
  done
  return "$status"
}

# run_server COMMAND...: the command of ps-serve that supervise runs.  A server that comes again finds the ports that the
# one before wrote, and goes on from its checkpoints.
run_server() {
  if [[ -s $id_file.ports ]]; then set -- "$@" --resume; fi
  exec "$@" --port-file "$id_file.ports"
}

# elsewhere COMMAND...: prints a script that supervises the command on another machine, where `bash -c` runs it.
elsewhere() {
  declare -f run_server run_supervised end_supervised supervise
  # shellcheck disable=SC2016  # it is the other shell that expands these
  printf 'folder=$(mktemp -d) status=0\nsupervise "$folder/id" %s' "$restarts"
  printf ' %q' "$@"
  # shellcheck disable=SC2016
  printf ' || status=$?\nrm -r "$folder"\nexit "$status"\n'
}

# address HOST PORT: prints them as one; an IPv6 number gets its brackets.
address() {
  if [[ $1 == *:* ]]; then echo "[$1]:$2"; else echo "$1:$2"; fi
}

# deal_computes PORT HOST...: computes=N compute trainers are dealt to the hosts in turn, and have ports from PORT on there.
# Sets compute_addresses, one of HOST:PORT each.
deal_computes() {
  local port=$1 c
  shift
  compute_addresses=()
  for ((c = 0; c < computes; ++c)); do
    compute_addresses[c]=$(address "${*:c % $# + 1:1}" $((port + c / $#)))
  done
}

# set_role: sets role, the flags by which trainers are readers of the compute trainers of compute_addresses, if any.
set_role() {
  role=()
  if ((computes > 0)); then role=(--role reader --compute "$(IFS=, && echo "${compute_addresses[*]}")"); fi
}

# set_meeting SERVERS PEER: sets meeting, the flags by which trainers find the servers at these addresses, or without
# servers the first of themselves.
set_meeting() {
  meeting=(--servers "$1")
  if ((servers == 0)); then meeting=(--peers "$2"); fi
}

# Ends the trainers of a job without servers, which nobody else would end.
end_peers() {
  if ((servers == 0)); then end_trainers; fi
}

# Waits for all trainers; ends with the status of the first that fails, and then ends the others.
wait_for_trainers() {
  local status=0 id
  local -A left=()
  for id in "${trainer_ids[@]}"; do left[$id]=1; done
  while ((${#left[@]} > 0)); do
    wait -n -p id "${!left[@]}" || status=$?
    unset "left[$id]"
    if ((status != 0)); then
      kill "${!left[@]}" 2>/dev/null || true
      exit "$status"
    fi
  done
}

# train_all: runs the trainers, which the script's function start_trainers starts with the flags that it is given; it adds
# them to trainer_ids.  Ends with the status of the first that fails, and then ends the others.  Without servers, trainers
# that have lost one of them end too: then all are started again, up to $restarts times, and go on from their checkpoint.
train_all() {
  if ((servers > 0)); then
    start_trainers
    wait_for_trainers
    return
  fi
  local again=() status tries=$restarts
  restarts=0 # of one alone, which the others would not wait for
  while :; do
    trainer_ids=() status=0
    start_trainers "${again[@]}"
    wait_for_peers || status=$?
    if ((status == 0)); then return; fi
    if ((tries == 0)) || ! is_loss "$status"; then exit "$status"; fi
    tries=$((tries - 1)) again=(--resume)
  done
}

# is_loss STATUS: a trainer ended so because a signal killed it, or because another was gone.
is_loss() { (($1 == 4 || $1 == 134 || $1 == 137 || $1 == 139)); }

# Waits for trainers without servers: of those that have lost one, until the last has noticed.  Returns the status of the
# first that failed; where that is no loss, the others are ended.
wait_for_peers() {
  local status=0 ended id
  local -A left=()
  for id in "${trainer_ids[@]}"; do left[$id]=1; done
  while ((${#left[@]} > 0)); do
    ended=0
    wait -n -p id "${!left[@]}" || ended=$?
    unset "left[$id]"
    if ((ended == 0)); then continue; fi
    if ((status == 0)) || ! is_loss "$ended"; then status=$ended; fi
    if ! is_loss "$ended"; then break; fi
  done
  if ((${#left[@]} > 0)); then end_trainers; fi
  return "$status"
}

# Asks the trainers to end, and waits until they have.
end_trainers() {
  ((${#trainer_ids[@]} > 0)) || return 0
  kill -TERM "${trainer_ids[@]}" 2>/dev/null || true
  wait "${trainer_ids[@]}" 2>/dev/null || true
  trainer_ids=()
}

# Asks the servers to end, and waits until they have.
end_servers() {
  ((${#server_ids[@]} > 0)) || return 0
  kill -TERM "${server_ids[@]}" 2>/dev/null || true
  wait "${server_ids[@]}" || true
  server_ids=()
}
