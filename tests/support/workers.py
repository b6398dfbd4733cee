"""A contender's worker in the process of the tests, where the process is not what is tested."""

import json

from forgenb.bench.contenders import worker


class WorkerHere:
    """Answers as a `WorkerProcess` does."""

    def __init__(self, made):
        self._made = made

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

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
