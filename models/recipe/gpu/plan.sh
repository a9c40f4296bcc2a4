#!/bin/sh
# SPDX-License-Identifier: ISC
# Thirty minutes of one large GPU, in three runs of at most ten:
#
#     models/recipe/gpu/pack.py RUN pairs.xz           at home, after `dragoman train` has prepared fr-en in RUN
#     models/recipe/gpu/plan.sh 1 pairs.xz WORK OUT    there: both teachers                      9 min
#     models/recipe/gpu/plan.sh 2 pairs.xz WORK OUT    there: their answers                      9 min
#     models/recipe/gpu/plan.sh 3 pairs.xz WORK OUT    there: both students, to OUT in parts     8 min
#
# Three to four minutes are left for the start of the machine and of PyTorch. WORK keeps the state from run
# to run and stays there; what comes home is OUT, 22.6 MB for each direction in files of 12 MiB. At home
#
#     cat OUT/fr-en.part* >MODEL/model.safetensors     beside RUN's config.json and source.spm
#     dragoman train --init MODEL --out FURTHER --guided-attention 0.2 ... (larger.sh has the options)
#
# The last call, an hour on two cores, teaches the head of attention that places tags and names: the GPU
# does without the links of words. Then `dragoman quantize --type i8 FURTHER models/fr-en`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
run=$1 pairs=$2 work=$3 out=$4
gpu() { python3 "$here/gpu.py" "$@"; }
for direction in fr-en en-fr; do
    case $run in
        1) gpu teach $direction "$pairs" "$work" --minutes 4.4 ;;
        2) gpu answer $direction "$pairs" "$work" --minutes 4.4 ;;
        3)
            gpu study $direction "$pairs" "$work" --minutes 3.7
            gpu give $direction "$pairs" "$work" "$out"
            ;;
        *)
            echo "plan.sh: run $run is not 1, 2 or 3" >&2
            exit 2
            ;;
    esac
done
