# shellcheck shell=bash disable=SC2034
# What the launch scripts share.  Not a program.
PATH=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../../build/release/bin:$PATH

servers=1 ports=1 trainers=2
server_ids=() trainer_ids=()

# read_options ARGUMENTS...: sets servers, ports, trainers, hosts, and num_options, how many arguments these took.
read_options() {
  local option OPTIND=1
  while getopts s:p:n:H: option; do
    case $option in
      s) servers=$OPTARG ;;
      p) ports=$OPTARG ;;
      n) trainers=$OPTARG ;;
      H) hosts=$OPTARG ;;
      *) usage ;;
    esac
  done
  num_options=$((OPTIND - 1))
  [[ $servers =~ ^[1-9][0-9]*$ && $ports =~ ^[1-9][0-9]*$ && $trainers =~ ^[1-9][0-9]*$ ]] || usage
  (($# > num_options)) || usage
}

# Prints the usage lines at the head of the script, and ends it.
usage() {
  sed -n '/^# usage/,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}

# wait_for_file FILE ID: until FILE has something in it; fails when the process has ended.
wait_for_file() {
  until [[ -s $1 ]]; do
    kill -0 "$2" 2>/dev/null || wait "$2"
    sleep 0.02
  done
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

# Asks the servers to end, and waits until they have.
end_servers() {
  ((${#server_ids[@]} > 0)) || return 0
  kill -TERM "${server_ids[@]}" 2>/dev/null || true
  wait "${server_ids[@]}" || true
  server_ids=()
}
