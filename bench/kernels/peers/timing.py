"""GPU time of one call, with weights that are not in the L2 cache, as a serving loop sees it: a CUDA graph of calls that
go round copies of the weights; the median of several replays. Several graphs are replayed in turn, so that what is
compared sees the same clocks and temperature."""
import random, statistics
import torch

L2_BYTES = 60 << 20
COLD_BYTES = 4 * L2_BYTES        # weights are rotated through more than this
MIN_LAUNCHES = 24
SLOW_MS = 0.4                    # of one call; then a few launches are enough


def copies_for(weight_bytes):
    """How many copies of a layer's weights make every one of them cold when its turn comes."""
    return max(2, min(512, -(-COLD_BYTES // max(1, int(weight_bytes)))))


class Timed:
    """`calls`, one for each copy of the weights, captured in turn in one graph."""

    def __init__(self, calls, stream):
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(stream):
            for call in calls[:2]:
                call()
            stream.synchronize()
            self.begin.record(); calls[0](); self.end.record()
            stream.synchronize()
            slow = self.begin.elapsed_time(self.end) > SLOW_MS
            order = list(calls) if not slow else list(calls[:3])
            while len(order) < (3 if slow else MIN_LAUNCHES):
                order += calls
            self.launches = len(order)
            self.graph = torch.cuda.CUDAGraph()         # without torch.cuda.graph(), which collects garbage each time
            self.graph.capture_begin(capture_error_mode="thread_local")
            for call in order:
                call()
            self.graph.capture_end()
        self.calls = calls             # a graph does not keep its tensors, and freed memory becomes somebody else's output
        self.times = []

    def replay(self, stream):
        with torch.cuda.stream(stream):
            self.begin.record(); self.graph.replay(); self.end.record()
            stream.synchronize()
        self.times.append(self.begin.elapsed_time(self.end) * 1e3 / self.launches)

    @property
    def us(self):
        return statistics.median(self.times)


def capture(calls):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    return Timed(calls, stream), stream


def in_turns(captured, replays):
    """captured: {name: (Timed, stream)}. One replay of each that does not count, then `replays` rounds, each in another order,
    so that nobody always follows the same neighbour."""
    for timed, stream in captured.values():
        timed.replay(stream)
        timed.times.clear()
    order = list(captured.values())
    shuffle = random.Random(len(order)).shuffle
    for _ in range(replays):
        shuffle(order)
        for timed, stream in order:
            timed.replay(stream)
    return {name: timed.us for name, (timed, _) in captured.items()}
