#!/usr/bin/env python3
"""Rubik's Cube in PyTorch: training on the lengths of random walks, and beam search.

This is the program that beside_pytorch measures Tandem against: one straightforward script, in which
all work on states is done by tensor operations on the device. It prints one line of JSON.

    pytorch_walks.py train --width 256 --blocks 2 --norm layer --batch 2000 --seconds 30
    pytorch_walks.py search --width 256 --blocks 2 --norm layer --beam 4096 --depth 30 --puzzles 4
"""

import argparse
import itertools
import json
import time

import torch
from torch import nn
from torch.nn import functional

COLOURS = 6
WALK = 22


def cube_moves():
    """Returns the 12 quarter turns as permutations (12, 54): child = state[moves[a]]."""
    stickers = [(x, y, z, axis) for axis in range(3) for x, y, z in itertools.product((-1, 0, 1), repeat=3)
                if abs((x, y, z)[axis]) == 1]
    stickers.sort(key=lambda s: (s[3], s[s[3]]))  # face by face: nine stickers of each colour
    number = {sticker: i for i, sticker in enumerate(stickers)}
    moves = []
    for axis, side, turns in itertools.product(range(3), (-1, 1), (1, 3)):
        u, v = (a for a in range(3) if a != axis)
        move = list(range(len(stickers)))
        for sticker, i in number.items():
            if sticker[axis] != side:
                continue
            place, normal = list(sticker[:3]), sticker[3]
            for _ in range(turns):
                place[u], place[v] = -place[v], place[u]
                normal = {u: v, v: u}.get(normal, normal)
            move[number[(*place, normal)]] = i
        moves.append(move)
    return torch.tensor(moves)


class Block(nn.Module):
    def __init__(self, width, norm):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(width, width), norm(width), nn.ReLU())
        self.second = nn.Sequential(nn.Linear(width, width), norm(width))

    def forward(self, x):
        return torch.relu(self.second(self.first(x)) + x)


class Net(nn.Module):
    def __init__(self, width, blocks, norm):
        super().__init__()
        norm = {"layer": nn.LayerNorm, "batch": nn.BatchNorm1d, "none": lambda _: nn.Identity()}[norm]
        self.hidden = nn.Sequential(nn.Linear(54 * COLOURS, width), norm(width), nn.ReLU())
        self.blocks = nn.Sequential(*(Block(width, norm) for _ in range(blocks)))
        self.output = nn.Linear(width, 1)

    def forward(self, states):
        x = functional.one_hot(states.long(), COLOURS).flatten(1).to(self.output.weight.dtype)
        return self.output(self.blocks(self.hidden(x))).squeeze(1)


class Cube:
    def __init__(self, device):
        self.moves = cube_moves().to(device)
        self.solved = torch.arange(54, device=device, dtype=torch.uint8) // 9
        self.device = device

    def walks(self, count, length):
        """Returns (count * length, 54) states and their distances along walks that never turn
        straight back."""
        states = self.solved.expand(count, 54)
        last = torch.randint(12, (count,), device=self.device)
        steps = []
        for step in range(length):
            draw = torch.randint(12 if step == 0 else 11, (count,), device=self.device)
            # Actions 2 k and 2 k + 1 undo each other.
            action = draw if step == 0 else draw + (draw >= (last ^ 1))
            states = states.gather(1, self.moves[action])
            last = action
            steps.append(states)
        labels = torch.arange(1, length + 1, device=self.device, dtype=torch.float)
        return torch.stack(steps, 1).flatten(0, 1), labels.repeat(count)


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def train(args, device):
    cube = Cube(device)
    net = Net(args.width, args.blocks, args.norm).to(device)
    if args.compile:
        net = torch.compile(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    rows = 0
    start = None
    pool = None
    end = time.monotonic() + args.seconds
    step = 0
    while time.monotonic() < end or start is None:
        # A pool of 50 batches, shuffled, so that a batch does not consist of a few walks.
        if step % 50 == 0:
            states, labels = cube.walks(-(-50 * args.batch // WALK), WALK)
            order = torch.randperm(len(states), device=device)[:50 * args.batch]
            pool = list(zip(states[order].split(args.batch), labels[order].split(args.batch)))
        states, labels = pool[step % 50]
        with torch.autocast(device.type, torch.bfloat16, enabled=args.bf16):
            estimates = net(states)
        loss = functional.mse_loss(estimates.float(), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        step += 1
        if start is None and step >= args.warm_up:
            synchronize(device)
            start = time.monotonic()
            end = start + args.seconds
        elif start is not None:
            rows += args.batch
    synchronize(device)
    seconds = time.monotonic() - start
    return {"examples_per_s": rows / seconds, "loss": loss.item(), "seconds": seconds}


@torch.inference_mode()
def beam_search(cube, net, start, width, depth, words, chunk):
    """Returns (depth of the solution or None, number of states whose children it generated)."""
    states = start[None]
    seen = torch.zeros(0, dtype=torch.long, device=cube.device)
    expanded = 0
    for level in range(1, depth + 1):
        children = states[:, cube.moves].flatten(0, 1)
        expanded += len(states)
        hashes = (children.long() * words).sum(1)
        _, first = unique_with_index(hashes)
        children, hashes = children[first], hashes[first]
        new = ~torch.isin(hashes, seen)
        children, hashes = children[new], hashes[new]
        if (children == cube.solved).all(1).any():
            return level, expanded
        estimates = torch.cat([net(part) for part in children.split(chunk)]).float()
        if len(children) > width:
            best = estimates.topk(width, largest=False).indices
            children, hashes = children[best], hashes[best]
        seen = torch.cat([seen[-2 * width:], hashes])
        states = children
    return None, expanded


def unique_with_index(hashes):
    """Returns the distinct hashes and where each of them is."""
    values, order = hashes.sort()
    is_first = torch.ones_like(values, dtype=torch.bool)
    is_first[1:] = values[1:] != values[:-1]
    return values[is_first], order[is_first]


def search(args, device):
    cube = Cube(device)
    net = Net(args.width, args.blocks, args.norm).to(device).eval()
    if args.bf16:
        net = net.to(torch.bfloat16)
    if args.compile:
        net = torch.compile(net)
    words = torch.randint(-2**63, 2**63 - 1, (54,), device=device, dtype=torch.long)
    states, _ = cube.walks(args.puzzles + 1, 100)
    starts = states.view(args.puzzles + 1, 100, 54)[:, -1]
    expanded = seconds = 0
    for i, start in enumerate(starts):
        synchronize(device)
        began = time.monotonic()
        _, count = beam_search(cube, net, start, args.beam, args.depth, words, args.chunk)
        synchronize(device)
        if i > 0:  # the first one warms up
            expanded += count
            seconds += time.monotonic() - began
    return {"expanded_per_s": expanded / seconds, "expanded": expanded, "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["train", "search"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, help="CPU threads (default: PyTorch's)")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--norm", choices=["layer", "batch", "none"], default="layer")
    parser.add_argument("--fp32", dest="bf16", action="store_false", help="instead of bf16")
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    parser.add_argument("--batch", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--warm-up", type=int, default=20, help="steps that do not count")
    parser.add_argument("--beam", type=int, default=4096)
    parser.add_argument("--depth", type=int, default=30)
    parser.add_argument("--puzzles", type=int, default=4)
    parser.add_argument("--chunk", type=int, default=8192, help="states evaluated at once")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    device = torch.device(args.device)
    print(json.dumps({"train": train, "search": search}[args.task](args, device)))


if __name__ == "__main__":
    main()
