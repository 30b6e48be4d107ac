#!/bin/sh
# Stop the cluster that tests/cluster/start.sh started in a folder: tests/cluster/stop.sh FOLDER
#
# Cancels its jobs and ends its daemons by their pid files. The folder stays.
set -u
folder=$(cd "$1" && pwd) || exit

if [ -s "$folder/slurmctld.pid" ]; then
    timeout 10 scancel --user=root
    for _ in $(seq 100); do  # jobs would outlive their nodes
        [ "$(timeout 5 squeue -h 2>&1)" ] || break
        sleep 0.1
    done
fi
for file in "$folder"/slurmd.*.pid "$folder"/slurmctld.pid "$folder"/slurmdbd.pid \
    "$folder"/mysql.pid "$folder"/munge.pid; do
    [ -s "$file" ] || continue
    pid=$(cat "$file")
    # The number may be another process's by now; a zombie has no program.
    case $(readlink "/proc/$pid/exe") in
    */slurm* | */mariadbd | */munged) ;;
    *) continue ;;
    esac
    kill "$pid"
    for _ in $(seq 150); do
        [ -e "/proc/$pid/exe" ] || continue 2
        sleep 0.1
    done
    kill -9 "$pid"
done
if [ /etc/slurm/slurm.conf -ef "$folder/slurm.conf" ]; then rm /etc/slurm/slurm.conf; fi
