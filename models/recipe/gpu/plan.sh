#!/bin/sh
# SPDX-License-Identifier: ISC
# A plan for thirty minutes of one large GPU, in three runs of at most ten minutes:
#
#     models/recipe/gpu/pack.py RUN pairs.xz           at home, once `dragoman train` has prepared
#                                                      fr-en in RUN
#     models/recipe/gpu/plan.sh 1 pairs.xz WORK OUT    on the GPU: both teachers           9 min
#     models/recipe/gpu/plan.sh 2 pairs.xz WORK OUT    on the GPU: their answers           9 min
#     models/recipe/gpu/plan.sh 3 pairs.xz WORK OUT    on the GPU: both students, to OUT   8 min
#
# This leaves three to four minutes for starting the machine and PyTorch. WORK keeps the state from
# run to run and stays on that machine. Only OUT is copied home: 22.6 MB for each direction, in
# files of 12 MiB. At home, run
#
#     cat OUT/fr-en.part* >MODEL/model.safetensors     MODEL has RUN's config.json and source.spm
#     dragoman train --init MODEL --out FURTHER --guided-attention 0.2 ... (see larger.sh)
#
# The last command takes an hour on two cores. It trains the attention head that places tags and
# names, because the training on the GPU does not use word alignments. Then run
# `dragoman quantize --type i8 FURTHER models/fr-en`.
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
