#!/bin/bash
# A Slurm cluster on this machine for tests: munged, slurmctld and two slurmd with all their state below one folder, on
# ports of their own, without systemd and without a network.
#   cluster.sh start FOLDER     starts it, and waits until both nodes are idle; "skip: REASON" if that is not possible
#   cluster.sh stop FOLDER      ends the daemons that it has started
set -u
what=$1
folder=$2

stop() {
  for name in slurmd-n1 slurmd-n2 slurmctld munged; do
    [ -s "$folder/$name.pid" ] || continue
    pid=$(cat "$folder/$name.pid")
    # Only a process that still uses this folder is one of this cluster.
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q "$folder" || continue
    kill "$pid" 2>/dev/null
    for _ in $(seq 50); do
      [ -d "/proc/$pid" ] || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null
  done
  return 0
}

skip() {
  stop
  echo "skip: $1"
  exit 0
}

if [ "$what" = stop ]; then
  stop
  exit 0
fi

for program in munged slurmctld slurmd sbatch squeue scontrol; do
  command -v "$program" >/dev/null || PATH=$PATH:/usr/sbin
  command -v "$program" >/dev/null || skip "$program is not installed (Debian: slurm-wlm)"
done
[ "$(id -u)" = 0 ] || skip "slurmd needs root"

umask 022
mkdir -p "$folder"
chmod 755 "$folder"  # munged runs as another user
mkdir -p "$folder"/{munge,state,spool-n1,spool-n2}
chmod 700 "$folder/munge"
dd if=/dev/urandom of="$folder/munge/key" bs=1 count=1024 status=none
chmod 600 "$folder/munge/key"
as_munge=()
if id munge >/dev/null 2>&1; then
  chown -R munge "$folder/munge"
  as_munge=(setpriv --reuid=munge --regid=munge --clear-groups)
fi
# --force: a socket below /tmp, which all users may write to.
"${as_munge[@]}" munged --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" --pid-file="$folder/munge/pid" \
  --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" >"$folder/munged.out" 2>&1 || skip "munged does not start: $(head -1 "$folder/munged.out")"
cp "$folder/munge/pid" "$folder/munged.pid"

port=$((20000 + $$ % 20000))
host=$(hostname -s)
cat >"$folder/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmctldPort=$port
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
StateSaveLocation=$folder/state
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmdLogFile=$folder/slurmd-%n.log
SlurmdSpoolDir=$folder/spool-%n
SlurmdTimeout=60
KillWait=1
MinJobAge=60
SchedulerParameters=batch_sched_delay=0,sched_min_interval=50000
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$folder/slurm.conf
slurmctld -f "$SLURM_CONF" >"$folder/slurmctld.out" 2>&1 || skip "slurmctld does not start: $(tail -1 "$folder/slurmctld.out")"
for node in n1 n2; do
  slurmd -f "$SLURM_CONF" -N "$node" >"$folder/slurmd-$node.out" 2>&1 || skip "slurmd does not start: $(tail -1 "$folder/slurmd-$node.out")"
done
for _ in $(seq 150); do
  [ "$(sinfo --noheader --Node --format=%T 2>/dev/null | grep -c '^idle$')" = 2 ] && echo "ready" && exit 0
  sleep 0.2
done
skip "the nodes do not become idle: $(sinfo --noheader --Node 2>&1 | head -2 | tr '\n' ' ')"
