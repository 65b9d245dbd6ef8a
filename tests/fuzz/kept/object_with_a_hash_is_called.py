"""A callable object is called without its hash being asked for, which is code of the program."""

LEAVES = dict(a=0.7)


def arguments(a):
    return (a,)


class Scale:
    def __init__(self, w):
        self.w, self.asked = w, 0.0

    def __hash__(self):
        self.asked = self.asked + self.w
        return 1

    def __call__(self, x):
        return x * self.w


def program(a):
    scale = Scale(2.0 * a)
    return scale(a) + sum(map(scale, [a, 1.0])) + max(a, 1.0, key=scale) + scale.asked
