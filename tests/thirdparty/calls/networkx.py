"""Graphs: dictionaries of dictionaries, heaps, power iterations, sparse matrices, functions wrapped by generated code."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np

from thirdparty.harness import Call

DISTRIBUTION = "networkx"
FIELD = "graphs"

WEIGHTS = [1.0, 2.0, 4.0, 1.5]
ENDS = (("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"))


def graph(weights: Sequence[float]) -> nx.Graph:
    g = nx.Graph()
    for (u, v), w in zip(ENDS, weights):
        g.add_edge(u, v, weight=w)
    return g


def directed(weights: Sequence[float]) -> nx.DiGraph:
    g = nx.DiGraph()
    for (u, v), w in zip(ENDS, weights):
        g.add_edge(u, v, weight=w, capacity=w)
    g.add_edge("d", "a", weight=1.0, capacity=1.0)
    return g


def shortest_path(weights: Sequence[float]) -> float:
    return nx.shortest_path_length(graph(weights), "a", "d", weight="weight")


def all_distances(weights: Sequence[float]) -> dict[str, float]:
    return dict(nx.floyd_warshall(graph(weights))["a"])


def eigenvector_centrality(weights: Sequence[float]) -> dict[str, float]:
    return nx.eigenvector_centrality(graph(weights), weight="weight", tol=1e-12, max_iter=1000)


def resistance(weights: Sequence[float]) -> float:
    return nx.resistance_distance(graph(weights), "a", "d", weight="weight", invert_weight=True)


CALLS = {
    "shortest_path": Call(shortest_path, WEIGHTS),
    "of_an_array": Call(shortest_path, np.array(WEIGHTS)),
    "all_distances": Call(all_distances, WEIGHTS),
    "spanning_tree": Call(lambda w: nx.minimum_spanning_tree(graph(w)).size(weight="weight"), WEIGHTS),
    "maximum_flow": Call(lambda w: nx.maximum_flow_value(directed(w), "a", "d"), WEIGHTS),
    "page_rank": Call(lambda w: nx.pagerank(directed(w), tol=1e-11, max_iter=500), WEIGHTS),
    "eigenvector_centrality": Call(eigenvector_centrality, WEIGHTS),
    "closeness": Call(lambda w: nx.closeness_centrality(graph(w), distance="weight"), WEIGHTS),
    "laplacian_spectrum": Call(lambda w: nx.laplacian_spectrum(graph(w)), WEIGHTS),
    "resistance": Call(resistance, WEIGHTS),
}
