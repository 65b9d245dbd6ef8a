"""Minimum cut by maximum flow: Dinic, "Algorithm for solution of a problem of maximum flow in networks", 1970."""

from __future__ import annotations

from math import inf


class Network:
    """A directed graph with capacities; edges are kept in pairs, so that ``e ^ 1`` is the reverse of ``e``."""

    def __init__(self) -> None:
        self.edges: list[list[int]] = []  # the outgoing edges of each node
        self.ends: list[int] = []
        self.capacity: list[float] = []

    def node(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def edge(self, start: int, end: int, capacity: float) -> None:
        for node, other, limit in ((start, end, capacity), (end, start, 0.0)):
            self.edges[node].append(len(self.ends))
            self.ends.append(other)
            self.capacity.append(limit)

    def source_side(self, source: int, sink: int) -> set[int]:
        """The nodes on the source's side of a minimum cut.

        Raises:
            ValueError: every cut is infinite.
        """
        while True:
            level = self._levels(source, sink)
            if sink not in level:
                return set(level)
            self._block(source, sink, level)

    def _levels(self, source: int, sink: int) -> dict[int, int]:
        """The distance of each reachable node from the source, along edges with capacity left."""
        level = {source: 0}
        found = [source]
        for node in found:
            for e in self.edges[node]:
                end = self.ends[e]
                if self.capacity[e] > 0 and end not in level:
                    level[end] = level[node] + 1
                    found.append(end)
        return level

    def _block(self, source: int, sink: int, level: dict[int, int]) -> None:
        """Send a blocking flow: after it, every shortest path has an edge without capacity left."""
        edges, ends, capacity = self.edges, self.ends, self.capacity
        at = dict.fromkeys(level, 0)
        path: list[int] = []
        node = source
        while True:
            if node == sink:
                flow = min(capacity[e] for e in path)
                if flow == inf:
                    raise ValueError("a value that is needed can neither be saved nor computed again")
                for e in path:
                    capacity[e] -= flow
                    capacity[e ^ 1] += flow
                first = next(i for i, e in enumerate(path) if capacity[e] <= 0)
                node = ends[path[first] ^ 1]
                del path[first:]
            while at[node] < len(edges[node]):
                e = edges[node][at[node]]
                end = ends[e]
                if capacity[e] > 0 and level.get(end, -1) == level[node] + 1:
                    path.append(e)
                    node = end
                    break
                at[node] += 1
            else:
                if node == source:
                    return
                node = ends[path.pop() ^ 1]
                at[node] += 1
