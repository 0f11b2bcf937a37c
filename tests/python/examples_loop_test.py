"""Tests tandem.Examples: rows for a loop of the caller.

With --long, it interrupts 200 loops and gets 50,000 batches; tests/CMakeLists.txt runs both.
"""

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import numpy as np
import torch

import tandem
from small_run import SMALL, FolderTest, network_in_pytorch

torch.set_num_threads(1)  # threads of OpenMP and TBB would have the names of the loop's threads

HEADS = {"v": 1, "q": 6, "policy": 6, "vp": 7}
ROWS = 50  # of a batch
BATCHES = 4  # of an update


class Net(torch.nn.Module):
    """A small network for cube2, whose states have 24 stickers of 6 colours."""

    def __init__(self, outputs=1, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.layers = torch.nn.Sequential(torch.nn.Linear(144, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(),
                                          torch.nn.Linear(16, outputs))

    def forward(self, inputs):
        return self.layers(torch.nn.functional.one_hot(inputs.long(), 6).flatten(1).float())


def config(target="value_iteration", head="v", pipeline=None, **generate):
    return {"domain": {"name": "cube2"}, "network": {"head": head}, "pipeline": pipeline or {},
            "generate": {"target": target, "max_scramble": 8, "workers": 1, "chunk_rows": 64, **generate}}


def examples(of=None, net=None, updates=4, **more):
    return tandem.Examples(of or config(), net, batch_size=ROWS, batches_per_update=BATCHES, updates=updates, **more)


class Loop:
    """A network and its optimizer, which trains on a batch."""

    def __init__(self, outputs=1):
        self.net = Net(outputs)
        self.optimizer = torch.optim.Adam(self.net.parameters(), 0.01)

    def step(self, batch):
        self.optimizer.zero_grad()
        torch.nn.functional.mse_loss(self.net(batch.inputs), batch.targets).backward()
        self.optimizer.step()

    def rows(self, of=None, **more):
        """Trains, and returns the bytes of all rows."""
        found = []
        with examples(of, self.net, **more) as batches:
            for batch in batches:
                found.append(bytes_of(batch))
                self.step(batch)
        return found


def bytes_of(batch):
    return b"".join(column.numpy().tobytes() for column in batch[:3] if column is not None)


def threads():
    """The names of all threads of this process, also of those that Python does not know."""
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                names.append(file.read().strip())
        except OSError:  # it has ended
            pass
    return names


def loop_threads():
    """The threads of loops that do not end within a minute. A loop that is collected in its own thread ends a
    little later, and the system may list a thread a little longer."""
    deadline = time.monotonic() + 60
    while True:
        gc.collect()
        left = [name for name in threads() if name in ("generator", "prefetch")]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.01)


class Rows(FolderTest):
    def test_async_and_sequential_give_equal_rows_for_every_target_and_head(self):
        for target, head, generate in [("value_iteration", "v", {}), ("capped_value_iteration", "q", {}),
                                       ("q_learning", "q", {}), ("policy", "policy", {}),
                                       ("value_iteration", "vp", {}), ("own_solutions", "policy", {"search": "beam"}),
                                       ("own_solutions", "vp", {"search": "greedy"}), ("walk_length", "v", {}),
                                       ("value_iteration", "v", {"search": "greedy", "search_iterations": 10,
                                                                 "curriculum": True})]:
            with self.subTest(target=target, head=head, **generate):
                found = [Loop(HEADS[head]).rows(config(target, head, {"mode": mode, "policy_lag": 1}, **generate))
                         for mode in ("async", "sequential")]
                self.assertEqual(len(found[0]), 4 * BATCHES)
                self.assertEqual(*found)
                self.assertEqual(len(set(found[0])), 4 * BATCHES)

    def test_without_lag_labels_are_those_of_the_newest_weights(self):
        lagging = Loop().rows(config(pipeline={"mode": "sequential", "policy_lag": 1}))
        newest = Loop().rows(config(pipeline={"mode": "sequential"}))
        self.assertEqual(newest[:BATCHES], lagging[:BATCHES])
        self.assertNotEqual(newest[BATCHES:2 * BATCHES], lagging[BATCHES:2 * BATCHES])

    def test_labels_are_costs_plus_the_estimates_of_the_network_one_update_before(self):
        for refresh_every, labelled_by in ((1, (0, 0, 1, 2)), (2, (0, 0, 0, 2))):
            loop, weights = Loop(), []
            cube = tandem.Domain("cube2")
            for batch in examples(config(pipeline={"refresh_every": refresh_every}), loop.net):
                if len(weights) == batch.update:
                    weights.append({name: value.clone() for name, value in loop.net.state_dict().items()})
                states = batch.inputs.numpy()
                old = Net().eval()
                old.load_state_dict(weights[labelled_by[batch.update]])
                children = cube.expand(states)
                with torch.no_grad():
                    estimates = old(torch.from_numpy(children.reshape(-1, 24))).numpy().reshape(-1, 6)
                estimates[cube.is_goal(children.reshape(-1, 24)).reshape(-1, 6)] = 0
                labels = 1 + np.maximum(estimates, 0).min(axis=1)
                labels[cube.is_goal(states)] = 0
                np.testing.assert_allclose(batch.targets.numpy()[:, 0], labels, atol=1e-5)
                loop.step(batch)

    def test_a_loop_that_does_what_a_run_does_gets_its_weights(self):
        start = {**SMALL, "generate": {"target": "value_iteration", "max_scramble": 8, "workers": 1},
                 "backend": "reference"}
        tandem.train(start, self.folder / "start", {"train.max_updates": 1})
        first = self.folder / "start" / "checkpoint.safetensors"
        for settings in ({}, {"pipeline.mode": "sequential", "pipeline.refresh_every": 2}):
            settings = {**settings, "network.init_from": first}
            run = self.folder / f"run{len(settings)}"
            tandem.train(start, run, settings)
            net = network_in_pytorch(first, depth=6).train()
            optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
            for batch in tandem.Examples(start, net, settings=settings, updates=6):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(net(batch.inputs), batch.targets).backward()
                optimizer.step()
            trained = network_in_pytorch(run / "checkpoint.safetensors", depth=6)
            for (name, found), expected in zip(net.named_parameters(), trained.parameters()):
                torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-3, msg=name)

    def test_rows_are_functions_of_the_seed(self):
        rows = [bytes_of(batch) for batch in examples(config("walk_length"))]
        again = [bytes_of(batch) for batch in examples(config("walk_length"))]
        other = [bytes_of(batch) for batch in examples(config("walk_length"), settings={"seed": 2})]
        self.assertEqual(rows, again)
        self.assertNotEqual(rows, other)

    def test_a_batch_says_what_it_is(self):
        found = list(examples(config("walk_length", "q"), updates=2))
        self.assertEqual([(batch.update, batch.ends_update) for batch in found],
                         [(update, number == BATCHES - 1) for update in range(2) for number in range(BATCHES)])
        for batch in found:
            self.assertEqual([(column.dtype, tuple(column.shape)) for column in batch[:3]],
                             [(torch.uint8, (ROWS, 24)), (torch.float32, (ROWS, 6)), (torch.float32, (ROWS, 6))])
            self.assertTrue(bool((batch.inputs < 6).all() and (batch.weights <= 1).all()))
        self.assertIsNone(next(examples(config("walk_length"))).weights)

    def test_two_ranks_make_the_rows_of_one_process_with_twice_the_batch(self):
        def rows(batch_size, **rank):
            found = tandem.Examples(config("walk_length"), batch_size=batch_size, batches_per_update=BATCHES,
                                    updates=1, **rank)
            return [bytes(row) for batch in found for row in np.hstack(
                [batch.inputs.numpy(), batch.targets.numpy().view(np.uint8)])]

        together = rows(ROWS, rank=0, world_size=2) + rows(ROWS, rank=1, world_size=2)
        self.assertEqual(sorted(together), sorted(rows(2 * ROWS)))
        self.assertNotEqual(sorted(together[:len(together) // 2]), sorted(together[len(together) // 2:]))

    def test_batches_keep_their_rows_after_later_ones(self):
        kept = list(examples(config("walk_length")))
        self.assertEqual([bytes_of(batch) for batch in kept],
                         [bytes_of(batch) for batch in examples(config("walk_length"))])

    def test_a_distributed_loop_gets_the_rows_of_its_rank(self):
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        self.addCleanup(torch.distributed.destroy_process_group)
        for rank in range(2):
            loop, found = Loop(), []
            parallel = torch.nn.parallel.DistributedDataParallel(loop.net)  # its copy must be of the module inside
            with unittest.mock.patch("torch.distributed.get_rank", return_value=rank):
                batches = examples(None, parallel)
            for batch in batches:
                found.append(bytes_of(batch))
                loop.step(batch)
            self.assertEqual(found, Loop().rows(rank=rank, world_size=2))

    def test_stats_are_shares(self):
        loop = Loop()
        batches = examples(None, loop.net, updates=None)
        self.assertEqual(batches.stats(), (0, 0, 0))
        for batch in batches:
            if batch.update == 3:
                break
            time.sleep(0.01)  # the loop is slower than the generator
        stats = batches.stats()
        self.assertGreater(stats.seconds, 0)
        for share in stats[1:]:
            self.assertTrue(0 <= share <= 1, stats)


class State(FolderTest):
    def test_a_resumed_loop_gets_the_remaining_rows(self):
        curriculum = {"search": "greedy", "search_iterations": 10, "curriculum": True}
        for pipeline in ({}, {"refresh_every": 2}, {"mode": "sequential"},
                         {"mode": "sequential", "policy_lag": 1}, {"mode": "sequential", "refresh_every": 3}):
            of = config(pipeline=pipeline, **curriculum)
            whole = Loop().rows(of)
            for stop in (0, 1, BATCHES - 1, BATCHES, BATCHES + 1, 2 * BATCHES, 3 * BATCHES + 2):
                with self.subTest(pipeline=pipeline, stop=stop):
                    self.assertEqual(self.interrupted(of, stop), whole)

    def interrupted(self, of, stop):
        first, found = Loop(), []
        batches = examples(of, first.net)
        for _ in range(stop):
            batch = next(batches)
            found.append(bytes_of(batch))
            first.step(batch)
        state = batches.state_dict()
        batches.close()
        self.assertEqual(batches.state_dict()["batches"], stop)

        second = Loop()
        second.net.load_state_dict(first.net.state_dict())
        second.optimizer.load_state_dict(first.optimizer.state_dict())
        resumed = examples(of, second.net)
        next(resumed)  # rows that are there are dropped
        resumed.load_state_dict(state)
        if stop:
            resumed.load_state_dict(resumed.state_dict())
        for batch in resumed:
            found.append(bytes_of(batch))
            second.step(batch)
        return found

    def test_a_state_can_be_saved_by_torch(self):
        loop = Loop()
        batches = examples(None, loop.net)
        for _ in range(BATCHES + 1):
            loop.step(next(batches))
        torch.save(batches.state_dict(), self.folder / "state.pt")
        batches.load_state_dict(torch.load(self.folder / "state.pt", weights_only=True))
        self.assertEqual(batches.update, 1)

    def test_a_state_past_the_last_update_has_no_batches(self):
        batches = examples(config("walk_length"), updates=3)
        for _ in range(2 * BATCHES + 1):
            next(batches)
        shorter = examples(config("walk_length"), updates=1)
        shorter.load_state_dict(batches.state_dict())
        self.assertEqual(list(shorter), [])

    def test_wrong_states_are_named(self):
        batches = examples(None, Net())
        next(batches)
        with self.assertRaisesRegex(ValueError, "state: found the keys"):
            batches.load_state_dict({"batches": 1})
        state = batches.state_dict()
        with self.assertRaisesRegex(ValueError, "state: its seed is 77, expected "):
            batches.load_state_dict({**state, "rows": {**state["rows"], "seed": "77"}})
        with self.assertRaisesRegex(ValueError, "device: found 'gpu', expected cpu, cuda or cuda:N"):
            examples(None, Net(), device="gpu")
        wrong = examples(None, torch.nn.Sequential(torch.nn.Flatten(), Net(2), torch.nn.Linear(2, 1)))
        with self.assertRaisesRegex(ValueError, "weights are those of another network"):
            wrong.load_state_dict(batches.state_dict())


class Errors(unittest.TestCase):
    def test_wrong_arguments_are_named(self):
        for message, change in [
                ("network: .*value_iteration", {}),
                ("network: expected a torch.nn.Module, found function", {"net": lambda inputs: inputs}),
                ("rank: found 2 of world_size 2", {"net": Net(), "rank": 2, "world_size": 2}),
                ("rank: found None of world_size 2", {"net": Net(), "world_size": 2}),
                ("pipeline.mode", {"net": Net(), "settings": {
                    "pipeline.mode": "sync_main", "generate.search": "greedy", "replay.updates": 1,
                    "generate.search_iterations": 5}}),
                ("replay.updates", {"net": Net(), "settings": {"replay.updates": 1}}),
                ("loss_thresh", {"net": Net(), "settings": {"pipeline.loss_thresh": 1}}),
                ("generate.program", {"net": Net(), "settings": {"generate.program": "tensor"}}),
                ("network.head", {"net": Net(), "settings": {"network.head": "q_in"}}),
                ("train.batch_size", {"net": Net(), "settings": {"train.batch_size": 0}}),
                ("generate.max_scramble", {"of": config("walk_length", max_scramble=100_000)})]:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                settings = {"train.iterations_per_update": BATCHES, "train.batch_size": ROWS,
                            **change.pop("settings", {})}
                tandem.Examples(change.pop("of", config()), change.pop("net", None), settings=settings, **change)
        self.assertEqual(loop_threads(), [])

    def test_a_wrong_shape_is_raised_in_the_loop(self):
        batches = examples(None, Net(2))
        with self.assertRaisesRegex(ValueError, r"the network returned an array of shape \(\d+, 2\), expected"):
            next(batches)
        with self.assertRaisesRegex(RuntimeError, "closed"):
            next(batches)

    def test_an_exception_in_the_network_is_raised_in_the_loop(self):
        class Fails(Net):
            def forward(self, inputs):
                if threading.current_thread() is not threading.main_thread() and self.layers[0].bias[0] > 100:
                    raise LookupError("no estimate")
                return super().forward(inputs)

        net = Fails()
        seen = 0
        with self.assertRaisesRegex(LookupError, "no estimate"):
            for batch in examples(None, net):
                seen = batch.update
                with torch.no_grad():
                    net.layers[0].bias[0] = 1000
        self.assertEqual(seen, 1)  # both updates were labelled before
        self.assertEqual(loop_threads(), [])

    def test_nan_estimates_are_refused(self):
        net = Net()
        with torch.no_grad():
            net.layers[-1].bias.fill_(float("nan"))
        with self.assertRaisesRegex(RuntimeError, "NaN"):
            next(examples(None, net))


def interrupt(how, rng):
    """Ends a loop somewhere, in the way that `how` names, and returns whether it ended as it should."""
    net = Net()
    batches = tandem.Examples(config(), net, batch_size=ROWS, batches_per_update=BATCHES)
    after = rng.randrange(3 * BATCHES)
    if how == "close":
        threading.Timer(rng.random() * 0.02, batches.close).start()
    if how == "thread":
        thread = threading.Thread(target=lambda: [next(batches) for _ in range(after)])
        thread.start()
        thread.join()
        return True
    if how == "cycle":
        batches.itself = batches
    try:
        for number, _ in enumerate(batches):
            if number < after:
                continue
            if how == "exception":
                raise LookupError
            if how == "interrupt":
                os.kill(os.getpid(), signal.SIGINT)
            if how in ("cycle", "break"):
                break
    except LookupError:
        return how == "exception"
    except KeyboardInterrupt:
        next(batches)  # the loop may go on
        return how == "interrupt"
    except RuntimeError as error:
        return how == "close" and "closed" in str(error)
    return how in ("cycle", "break")


class Ends(unittest.TestCase):
    def interrupt_in_all_ways(self, times):
        rng = random.Random(0)
        for _ in range(times):
            for how in ("exception", "close", "interrupt", "thread", "cycle", "break"):
                self.assertTrue(interrupt(how, rng), how)
        for timer in threading.enumerate():
            if isinstance(timer, threading.Timer):
                timer.join()
        self.assertEqual(loop_threads(), [])

    def test_a_loop_that_another_thread_closes_says_so(self):
        for after in range(100):
            batches = examples(config("walk_length"), updates=10**6)
            closing = threading.Timer(after * 0.0002, batches.close)
            closing.start()
            with self.assertRaisesRegex(RuntimeError, "closed"):
                for _ in batches:
                    pass
            closing.join()

    def test_interrupted_loops_leave_no_threads(self):
        self.interrupt_in_all_ways(34 if "--long" in sys.argv else 2)

    def test_ctrl_c_ends_a_wait_for_rows_and_the_loop_may_go_on(self):
        class Slow(Net):
            def forward(self, inputs):
                time.sleep(0.01)
                return super().forward(inputs)

        expected = Loop().rows(updates=2)
        loop = Loop()
        loop.net.__class__ = Slow
        batches = examples(None, loop.net, updates=2)
        found = []
        interrupts = 0
        while len(found) < 2 * BATCHES:
            timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                batch = next(batches)
                timer.cancel()
            except KeyboardInterrupt:
                interrupts += 1
                continue
            finally:
                try:
                    timer.join()
                except KeyboardInterrupt:
                    interrupts += 1
            found.append(bytes_of(batch))
            loop.step(batch)
        self.assertGreater(interrupts, 0)
        self.assertEqual(found, expected)

    def test_the_handler_of_a_signal_may_close_the_loop_that_waits(self):
        class Slow(Net):
            def forward(self, inputs):
                time.sleep(0.5)
                return super().forward(inputs)

        batches = examples(None, Slow())
        before = signal.signal(signal.SIGTERM, lambda *_: batches.close())
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        with self.assertRaisesRegex(RuntimeError, "the examples are closed"):
            next(batches)
        timer.join()
        self.assertEqual(loop_threads(), [])

    def test_a_loop_that_is_collected_in_its_own_thread_ends(self):
        class Collects(Net):
            def forward(self, inputs):
                gc.collect()
                return super().forward(inputs)

        batches = tandem.Examples(config(), Collects(), batch_size=ROWS, batches_per_update=BATCHES)
        next(batches)
        batches.itself = batches
        del batches
        self.assertEqual(loop_threads(), [])

    def test_a_closed_loop_raises_and_closes_again(self):
        batches = examples(config("walk_length"))
        next(batches)
        self.assertFalse(batches.closed)
        batches.close()
        batches.close()
        self.assertTrue(batches.closed)
        with self.assertRaisesRegex(RuntimeError, "the examples are closed"):
            next(batches)

    def test_a_program_ends_that_closed_nothing(self):
        program = ("import sys; sys.path.insert(0, sys.argv[1])\n"
                   "from examples_loop_test import *\n"
                   "batches = tandem.Examples(config(), Net(), batch_size=50, batches_per_update=4)\n"
                   "batches.itself = batches\nnext(batches)\nprint('end')\n")
        ended = subprocess.run([sys.executable, "-c", program, os.path.dirname(__file__)], capture_output=True,
                               text=True, timeout=120)
        self.assertEqual((ended.returncode, ended.stdout), (0, "end\n"), ended.stderr)


@unittest.skipUnless("--long" in sys.argv, "takes minutes")
class Long(unittest.TestCase):
    def test_50000_batches_leave_memory_flat(self):
        def memory():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        loop = Loop()
        after = []
        batches = examples(None, loop.net, updates=None)
        for number, batch in enumerate(batches, 1):
            loop.step(batch)
            if number % 5000 == 0:
                after.append(memory())
            if number == 50_000:
                break
        self.assertLess(after[-1] - after[1], 8 << 20, after)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2, argv=[arg for arg in sys.argv if arg != "--long"]))
