"""Workers of contenders that are no processes of their own: real ones here, and ones that are made up."""

import json
from typing import ClassVar

from forgenb.bench.contenders import worker


class Entered:
    """What a ``with`` block opens and closes for nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class MadeUpWorker(Entered):
    """Answers what its class was told to, else its `reply`; those that are asked for a turn are noted."""

    answers: ClassVar[dict] = {}
    turns: ClassVar[list] = []

    def __init__(self, contender, threads, python=None, module="worker"):
        self.contender, self.module = contender, module

    def ask(self, do, **fields):
        mine = self.answers.get((self.contender, do))
        if mine is None:
            return self.reply(do, fields)
        return mine(**fields) if callable(mine) else mine


class WorkerHere(Entered):
    """Answers as a `WorkerProcess` does."""

    def __init__(self, made):
        self._made = made

    def ask(self, do, **fields):
        request = json.loads(json.dumps({"do": do, **fields}))
        return json.loads(json.dumps(worker.answer(self._made, request)))


def after_the_first(kind, start):
    """What starts workers: the first of a contender as `start` does, the others, of the class `kind`, here."""
    started = set()

    def worker_of(contender, threads, python=None, module="worker"):
        if contender in started:
            return WorkerHere(kind(contender, threads))
        started.add(contender)
        return start(contender, threads, python, module)

    return worker_of
