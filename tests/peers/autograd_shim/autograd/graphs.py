"""What autograd does with its graph, under its name ``autograd.misc``."""

import importlib.util
import os
import sys
import types


def const_graph(fun, *args, **kwargs):
    raise NotImplementedError("const_graph replays autograd's graph; morula has none")


def install(package):
    """Put the module in its place; ``flatten`` is autograd's own, by morula's pullbacks."""
    module = sys.modules["autograd.misc"] = types.ModuleType("autograd.misc")
    source = os.path.join(package.__path__[-1], "misc", "flatten.py")
    spec = importlib.util.spec_from_file_location("autograd.misc.flatten", source)
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    module.flatten, module.const_graph = own.flatten, const_graph
    package.misc = module
