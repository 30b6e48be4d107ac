#!/bin/sh
# Start a SLURM cluster on this machine, for tests: tests/cluster/start.sh FOLDER [NODES]
#
# Installs SLURM, munge and MariaDB (Debian or Ubuntu, as root) if they are missing, and starts the
# daemons that do not run, all as root and on the loopback interface. Everything they write is in
# FOLDER; outside it there is a link, /etc/slurm/slurm.conf. The nodes are n1, n2, ..., with a
# processor and 12000 MB each, the account is `lab` and the partition `main`.
# Stop it with tests/cluster/stop.sh FOLDER.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd) nodes=${2:-2} host=$(hostname -s)
if [ -e /etc/slurm/slurm.conf ] && ! [ /etc/slurm/slurm.conf -ef "$folder/slurm.conf" ]; then
    echo "/etc/slurm/slurm.conf: another cluster is configured on this machine" >&2
    exit 1
fi
chmod 755 "$folder"  # munge rejects a folder that others cannot enter
export SLURM_CONF="$folder/slurm.conf" MYSQL_UNIX_PORT="$folder/mysql.socket"

missing=
for package in slurmctld slurmd slurm-client slurmdbd mariadb-server munge; do
    dpkg -s $package >/dev/null 2>&1 || missing="$missing $package"
done
if [ "$missing" ]; then
    # Packages would start services of the whole machine.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        trap 'rm -f $policy' EXIT
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod 755 $policy
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
fi

mkdir -p /etc/slurm
ln -sfn "$SLURM_CONF" /etc/slurm/slurm.conf
cat >"$SLURM_CONF" <<END
ClusterName=lab
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=26817
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=26819
AccountingStoragePass=$folder/munge.socket
AccountingStoreFlags=job_comment
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill,UsePss
DefMemPerCPU=500
ReturnToService=2
SlurmdTimeout=15
KillWait=5
MinJobAge=60
SlurmdParameters=config_overrides
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
$(for i in $(seq "$nodes"); do
    echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((26820 + i))" \
        CPUs=1 RealMemory=12000
done)
PartitionName=main Nodes=ALL Default=YES MaxTime=1-00:00:00 DefaultTime=01:00:00
END
echo CgroupAutomount=no >"$folder/cgroup.conf"
cat >"$folder/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
DbdHost=$host
DbdAddr=127.0.0.1
DbdPort=26819
CommunicationParameters=NoInAddrAny
SlurmUser=root
LogFile=$folder/slurmdbd.log
PidFile=$folder/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
END
chmod 600 "$folder/slurmdbd.conf"

# The number in a pid file may be another process's by now; a zombie has no program.
down() {
    case $(readlink "/proc/$(cat "$folder/$1.pid" 2>&1)/exe") in
    */slurm* | */mariadbd | */munged) return 1 ;;
    esac
}
until_works() {
    for _ in $(seq 300); do
        timeout 5 "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "in vain for 30 s and more: $*" >&2
    return 1
}

[ -s "$folder/munge.key" ] || (umask 077 && head -c 1024 /dev/urandom >"$folder/munge.key")
if down munge; then
    munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
        --pid-file="$folder/munge.pid" --log-file="$folder/munge.log" \
        --seed-file="$folder/munge.seed"
fi
[ -d "$folder/mysql" ] || mariadb-install-db --no-defaults --user=root --datadir="$folder/mysql" \
    --auth-root-authentication-method=socket --skip-test-db >"$folder/mysql.log" 2>&1
if down mysql; then
    setsid mariadbd --no-defaults --user=root --datadir="$folder/mysql" --skip-networking \
        --socket="$MYSQL_UNIX_PORT" --pid-file="$folder/mysql.pid" \
        --innodb-flush-log-at-trx-commit=2 </dev/null >>"$folder/mysql.log" 2>&1 &
fi
until_works mariadb-admin --no-defaults --user=root ping
if down slurmdbd; then slurmdbd; fi
until_works sacctmgr -n list cluster
if [ ! -e "$folder/state" ]; then  # else slurmctld has run with them
    sacctmgr -i -Q add cluster lab >/dev/null
    sacctmgr -i -Q add account lab cluster=lab Description=lab Organization=lab >/dev/null
    sacctmgr -i -Q add user root account=lab cluster=lab DefaultAccount=lab >/dev/null
    mkdir "$folder/state"
fi
if down slurmctld; then slurmctld; fi
until_works scontrol ping
for i in $(seq "$nodes"); do
    mkdir -p "$folder/spool.n$i"
    if down "slurmd.n$i"; then slurmd -N "n$i"; fi
done
up() { [ "$(sinfo -h -N -t idle,mix,alloc -o %N | wc -l)" = "$nodes" ]; }
for _ in $(seq 300); do
    up && exit
    sleep 0.1
done
sinfo -N -l >&2
exit 1
