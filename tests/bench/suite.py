#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Prints all results of bench as one table in Markdown: shapes x types x batch x beam x threads.

    tests/bench/suite.py ./dragoman [--shapes base,student,student-ssru] [--types f32,bf16,i8] [--batch 1,8,32] [--beam 1,4]
                         [--threads 1,2] [--time 2s] [--save FILE] [--compare FILE]

A column is a combination of beam and batch, a row a shape, a type and a number of threads. A
cell is the target tokens for each second of processor time of a thread (time that other programs
take does not count) and, in brackets, the share of what the processor can do, measured in the
same process; with --compare there is a third figure, the ratio to an earlier run (--save).
--wall instead shows the tokens of all threads together for each second on the clock, and no
shares."""
import argparse
import subprocess


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for name, value in (("shapes", "base,student,student-ssru"), ("types", "f32,bf16,i8"), ("batch", "1,8,32"), ("beam", "1,4"),
                        ("threads", "1"), ("time", "2s"), ("save", ""), ("compare", "")):
        parser.add_argument("--" + name, default=value)
    parser.add_argument("--wall", action="store_true")
    return parser.parse_args()


def pairs(line):
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def run(args, shape, kind, threads):
    command = [args.program, "bench", "--random", shape, "--type", kind, "--batch", args.batch, "--beam", args.beam,
               "--threads", threads, "--time", args.time, "--limits"]
    if args.compare:
        command += ["--compare", args.compare]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    args = parse()
    batches, beams = args.batch.split(","), args.beam.split(",")
    figure = "tokens_per_second" if args.wall else "tokens_per_cpu_second"
    kept, limits, peaks = "", "", []
    columns = [f"beam {beam}, {batch}" for beam in beams for batch in batches]
    print("| shape, type, threads |", " | ".join(columns), "| peak MiB |")
    print("|---" * (len(columns) + 2) + "|")
    for shape in args.shapes.split(","):
        for kind in args.types.split(","):
            for threads in args.threads.split(","):
                text = run(args, shape, kind, threads)
                kept += text
                cells = {}
                for line in map(pairs, text.splitlines()):
                    at = (line.get("beam"), line.get("batch"))
                    if line["case"] == "decode":
                        cells[at] = f"{float(line[figure]):,.0f}"
                        peaks = [line["peak_mib"]]
                    elif line["case"] == "share" and not args.wall:
                        cells[at] += f" ({100 * float(line['of_arithmetic']):.0f} %)"
                    elif line["case"] == "limits":
                        limits = line
                for line in map(pairs, text.splitlines()):
                    if line["case"] == "ratio" and figure in line:
                        cells[line["beam"], line["batch"]] += f" x{float(line[figure]):.2f}"
                row = [cells[beam, batch] for beam in beams for batch in batches]
                print(f"| {shape}, {kind}, {threads} |", " | ".join(row + peaks), "|", flush=True)
    print("\nLimits of one thread:", ", ".join(f"{key} {value}" for key, value in limits.items() if key != "case"))
    if args.save:
        with open(args.save, "w", encoding="utf-8") as file:
            file.write(kept)


if __name__ == "__main__":
    main()
