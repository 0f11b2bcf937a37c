"""Plots the learning curve of a run: plot_run.py RUN OUT.svg [--evaluation FILE] [--over-examples]

FILE is what `tandem evaluate --checkpoints all --json FILE` wrote: how well the networks that the run
kept solve given states.
"""

import argparse
import itertools
import json
import pathlib

import matplotlib.pyplot as plt

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("run", type=pathlib.Path, metavar="RUN", help="folder of the run")
parser.add_argument("out", metavar="OUT", help="figure to write: .svg, .png or .pdf")
parser.add_argument("--evaluation", type=pathlib.Path, metavar="FILE", help="networks to show as well")
parser.add_argument("--over-examples", action="store_true", help="over training examples, not seconds")
arguments = parser.parse_args()

updates = [json.loads(line) for line in (arguments.run / "metrics.jsonl").read_text().splitlines()]
for earlier, update in itertools.pairwise(updates):
    update["examples"] += earlier["examples"]  # the run's until then, which those of a network also are
networks = json.loads(arguments.evaluation.read_text())["networks"] if arguments.evaluation else []
of_update, of_network, unit = (("examples", "examples", "training examples") if arguments.over_examples else
                               ("elapsed_s", "trained_s", "seconds of training"))
figure, panels = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")


def plot(panel, points, x, y, label, style="o-"):
    points = [each for each in points if each.get(x) is not None and each.get(y) is not None]
    if points:
        panel.plot([each[x] for each in points], [each[y] for each in points], style, markersize=4, label=label)


(rates, lengths), (errors, losses) = panels
plot(rates, networks, of_network, "solve_rate", "solved by the search")
plot(rates, networks, of_network, "share_optimal", "solved by a shortest solution")
plot(rates, updates, of_update, "solve_rate", "validation states solved during training")
plot(lengths, networks, of_network, "mean_length", "mean length of the solutions found")
plot(lengths, networks, of_network, "mean_optimal", "mean length of the shortest solutions", "--")
plot(errors, networks, of_network, "value_error", "of the states, against optimal lengths")
plot(errors, updates, of_update, "value_error", "validation, against optimal lengths")
plot(errors, updates, of_update, "walk_length_error", "validation, against walk lengths")
plot(losses, updates, of_update, "loss", "mean of each update", "-")
for panel, name in ((rates, "share of the states"), (lengths, "moves"),
                    (errors, "error of the estimates (root mean square)"), (losses, "loss of training")):
    panel.set(xlabel=unit, ylabel=name)
    if panel.has_data():
        panel.legend()
rates.set_ylim(0, 1)
figure.savefig(arguments.out)
