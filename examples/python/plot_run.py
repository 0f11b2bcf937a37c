"""Plots the learning curve of a run: plot_run.py RUN OUT.svg"""

import json
import pathlib
import sys

import matplotlib.pyplot as plt

run, out = map(pathlib.Path, sys.argv[1:])
lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
left.semilogy([line["elapsed_s"] for line in lines], [line["loss"] for line in lines])
left.set(xlabel="seconds", ylabel="loss")
validated = [line for line in lines if "solve_rate" in line]
right.plot([line["elapsed_s"] for line in validated], [line["solve_rate"] for line in validated], "o-")
right.set(xlabel="seconds", ylabel="share of validation states solved", ylim=(0, 1))
figure.savefig(out)
