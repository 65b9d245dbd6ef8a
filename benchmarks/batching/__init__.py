"""Gradients of functions of trees and sequences, batch by batch: one sample after the other, ``autobatch``, and batched by hand.

Run: python -m benchmarks.batching [--quick]

Contenders: eager gradients of one sample after the other; ``mo.autobatch``; NumPy, with the samples batched and the adjoint written by
hand. One core is used. The gradients are compared before they are timed. Runs alternate, and the median of each counts. ``programs`` holds
those that ``autobatch`` was written with; ``held_out`` one that was written before its speed was looked at.
"""
