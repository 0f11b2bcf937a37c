"""Prints what DeepXube computes, for scripts/check_deepxube. It runs in the environment that
scripts/deepxube_env makes.

Takes COUNT states after 0 to STEPS random steps, and prints as JSON their numbers (`states`), the
network's values (`values`: one for each state, or for QFix a list with one for each action), and the
children of the last state, one for each action (`children`). Writes problems for `deepxube solve`
to the file INSTANCES.
"""

import argparse
import json
import pickle
import random

import numpy as np
import torch

# The import of anything of DeepXube registers its domains.
from deepxube.nnet.nnet_utils import load_nnet
from deepxube.utils.command_line_utils import get_domain_from_arg, get_heur_nnet_par_from_arg

COUNT_TO_SOLVE = 5
STEPS_TO_SOLVE = 4


def numbers_of(state):
    """Returns the numbers of a state of cube3 (colours), npuzzle or lightsout (tiles)."""
    return [int(n) for n in (state.colors if hasattr(state, "colors") else state.tiles)]


def walks(domain, steps):
    """Returns the ends of random walks of these lengths, and the goals."""
    states, goals = domain.sample_goalstate_goal_pairs(len(steps))
    return domain.random_walk(states, list(steps))[0], goals


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain", metavar="DOMAIN", help="as `deepxube --domain` takes it")
    parser.add_argument("heur", metavar="HEUR", help="as `deepxube --heur` takes it")
    parser.add_argument("kind", choices=["V", "QFix"])
    parser.add_argument("file", metavar="FILE", help="weights of the network")
    parser.add_argument("count", type=int, metavar="COUNT")
    parser.add_argument("steps", type=int, metavar="STEPS")
    parser.add_argument("instances", metavar="INSTANCES")
    return parser.parse_args()


def main():
    args = parse()
    random.seed(1)
    np.random.seed(1)
    domain, name = get_domain_from_arg(args.domain)
    states, goals = walks(domain, [random.randint(0, args.steps) for _ in range(args.count)])
    par = get_heur_nnet_par_from_arg(domain, name, args.heur, args.kind)[0]
    values_of = par.get_nnet_fn(load_nnet(args.file, par.get_nnet()), None, torch.device("cpu"), None)
    actions = domain.get_actions_fixed()
    if args.kind == "V":
        values = values_of(states, goals)
    else:
        values = values_of(states, goals, [actions] * len(states))
    children = domain.next_state([states[-1]] * len(actions), actions)[0]
    to_solve, to_solve_goals = walks(domain, [STEPS_TO_SOLVE] * COUNT_TO_SOLVE)
    with open(args.instances, "wb") as out:
        pickle.dump({"states": to_solve, "goals": to_solve_goals}, out)
    print(json.dumps({"states": [numbers_of(s) for s in states], "values": values,
                      "children": [numbers_of(s) for s in children]}))


if __name__ == "__main__":
    main()
