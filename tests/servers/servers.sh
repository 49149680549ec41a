#!/usr/bin/env bash
# The SQS-compatible servers of others that the tests are run against: LocalStack, ministack and moto.
#
#   servers.sh install [FOLDER]   into virtual environments under FOLDER (target/ci-tools unless told otherwise)
#   servers.sh start [FOLDER]     on loopback, each on a port that is free; prints what to export, one a line:
#                                 eval "$(tests/servers/servers.sh start)"
#   servers.sh stop [FOLDER]      ends what `start` started
#
# A server takes the port of its own variable where that is set: LOCALSTACK_PORT, MINISTACK_PORT, MOTO_PORT.
# `start FOLDER NAME...` starts these alone. Writing `+43200` into the file of a ..._CLOCK variable puts that server's
# clock 12 hours ahead of ours (write another file, and rename it): ministack and moto run under libfaketime, LocalStack
# has a clock of its own that reads the same file.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
command=${1:-}
folder=${2:-$here/../../target/ci-tools}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
run=$folder/servers-running

say() {
    printf '%s\n' "$*" >&2
}

# A virtual environment with what was named, pinned by our copy of the versions: `venv NAME CONSTRAINTS PACKAGE...`.
venv() {
    local venv=$folder/servers-$1 constraints=$here/$2
    shift 2
    local stamp
    stamp=$venv/installed-$(cat "$constraints" - <<<"$*" | sha256sum | cut -c1-16)
    [ -f "$stamp" ] && return
    rm -rf "$venv"
    python3 -m venv "$venv" && "$venv/bin/pip" install -q -c "$constraints" "$@" >&2 && touch "$stamp"
}

# Prints where libfaketime is, unpacked beside the system where it is not installed; nothing if it is not to be had.
libfaketime() {
    local library
    for library in /usr/lib/*/faketime "$folder"/faketime/usr/lib/*/faketime; do
        [ -f "$library/libfaketimeMT.so.1" ] && printf '%s' "$library/libfaketimeMT.so.1" && return
    done
    return 0
}

install() {
    # LocalStack wants older versions of what the others need, and service-identity without saying so.
    venv localstack constraints-localstack.txt 'localstack-core[base-runtime]==4.13.1' service-identity
    venv others constraints-emu.txt ministack==1.5.33 'moto[sqs]==5.2.5' flask flask-cors
    if [ -z "$(libfaketime)" ]; then
        mkdir -p "$folder/faketime"
        (
            cd "$folder/faketime"
            apt-get download -q libfaketime >&2 || { apt-get update -q >&2 && apt-get download -q libfaketime >&2; }
            dpkg -x libfaketime_*.deb . && rm libfaketime_*.deb
        ) || say "libfaketime is not to be had: what needs a clock that jumps will be skipped"
    fi
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Starts a server that is ready when PATH answers: `launch NAME PORT PATH COMMAND...`.
launch() {
    local name=$1 port=$2 path=$3
    shift 3
    local variable=SQS_LEASE_${name^^} clock=$run/$name.clock library
    echo +0 >"$clock"
    library=$(libfaketime)
    if [ "$name" = localstack ]; then
        set -- env CLOCK="$clock" "$@"
    elif [ -n "$library" ]; then
        set -- env LD_PRELOAD="$library" FAKETIME_TIMESTAMP_FILE="$clock" FAKETIME_NO_CACHE=1 "$@"
    else
        clock=
    fi
    # A session of its own: what the server starts ends with it.
    setsid "$@" >"$run/$name.log" 2>&1 </dev/null &
    echo $! >"$run/$name.pid"
    exports+=("export $variable=http://127.0.0.1:$port")
    [ -z "$clock" ] || exports+=("export ${variable}_CLOCK=$clock")
    waiting+=("$name http://127.0.0.1:$port$path")
}

start() {
    stop
    mkdir -p "$run"
    waiting=() exports=()
    local name port
    for name in "${@:-localstack ministack moto}"; do
        # Word splitting of the default is meant.
        for name in $name; do
            port=${name^^}_PORT
            port=${!port:-$(free_port)}
            case $name in
            localstack)
                launch localstack "$port" /_localstack/health env SERVICES=sqs STRICT_SERVICE_LOADING=1 \
                    EAGER_SERVICE_LOADING=1 GATEWAY_LISTEN="127.0.0.1:$port" LOCALSTACK_HOST="127.0.0.1:$port" \
                    DNS_ADDRESS=0 SKIP_SSL_CERT_DOWNLOAD=1 DISABLE_EVENTS=1 SQS_ENDPOINT_STRATEGY=path \
                    SQS_DISABLE_CLOUDWATCH_METRICS=1 SQS_ENABLE_MESSAGE_RETENTION_PERIOD=1 \
                    FILESYSTEM_ROOT="$run/localstack" LS_LOG=warn \
                    "$folder/servers-localstack/bin/python" "$here/on_loopback.py"
                ;;
            ministack)
                # Without these two it listens on every address.
                launch ministack "$port" /_ministack/health env BIND_HOST=127.0.0.1 IOT_MTLS_ENABLED=0 \
                    MINISTACK_HOST=127.0.0.1 GATEWAY_PORT="$port" SERVICES=sqs \
                    "$folder/servers-others/bin/ministack"
                ;;
            moto)
                launch moto "$port" / "$folder/servers-others/bin/moto_server" -H 127.0.0.1 -p "$port"
                ;;
            *) say "no server is called $name"; return 1 ;;
            esac
        done
    done
    local one url
    for one in "${waiting[@]}"; do
        read -r name url <<<"$one"
        await "$name" "$url" || { say "$name did not start:"; tail -20 "$run/$name.log" >&2; stop; return 1; }
    done
    printf '%s\n' "${exports[@]}"
}

# Polls until the server answers, for 90 seconds at most.
await() {
    python3 - "$2" "$(cat "$run/$1.pid")" <<'END'
import os, sys, time, urllib.error, urllib.request

url, pid = sys.argv[1], int(sys.argv[2])
for _ in range(900):
    try:
        urllib.request.urlopen(url, timeout=5)
        sys.exit(0)
    except urllib.error.HTTPError:
        sys.exit(0)
    except OSError:
        time.sleep(0.1)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        sys.exit(1)
sys.exit(1)
END
}

# Asks each server to end, and ends it after 5 seconds. A process id that has been given to somebody else since is left
# alone: its command line does not name the folder.
stop() {
    local file pid
    for file in "$run"/*.pid; do
        [ -f "$file" ] || continue
        pid=$(cat "$file")
        if is_ours "$pid"; then
            kill -- "-$pid" 2>/dev/null || true
            for _ in $(seq 50); do
                is_ours "$pid" || break
                sleep 0.1
            done
            ! is_ours "$pid" || kill -9 -- "-$pid" 2>/dev/null || true
        fi
    done
    rm -rf "$run"
}

is_ours() {
    [ -r "/proc/$1/cmdline" ] && tr '\0' '\n' 2>/dev/null <"/proc/$1/cmdline" | grep -q "^$folder/servers-"
}

case $command in
install) install ;;
start) start "${@:3}" ;;
stop) stop ;;
*)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
    exit 2
    ;;
esac
