"""The folder of a run: its choices, vocabulary, curve and checkpoints.

``config.json`` is written first and makes a folder a run; whatever moment a process is killed at, the folder
resumes from ``last.safetensors``, or from the start where there is none yet.

Imports `config`, `files`, `documents`, `vocabulary` and the tokenizer; no model and no optimiser.
"""

import contextlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.train.config import TrainConfig
from forgenb.train.documents import MOST, bounded, encoded, parsed, shown
from forgenb.train.files import check_own, is_temporary, remove_temporaries, sync_folder, write_whole
from forgenb.train.opening import StrPath, read_small, reason
from forgenb.train.vocabulary import read_vocabulary

__all__ = ["RunFolder", "latest_run", "next_run"]

FORMAT = 1
VOCABULARY = "vocab.json"
FILES = ("config.json", VOCABULARY, "metrics.jsonl", "last.safetensors", "best.safetensors")


@dataclass(frozen=True)
class RunFolder:
    """A folder that holds a run. Make one with `create`, or `open` one that is there.

    Parameters
    ----------
    path
        The folder.
    config
        The run's choices.
    text_sha256, characters
        Hash and length of the text, by which a resumed run knows that it still learns the same.
    made
        The folders that `create` had to make, the innermost first.
    """

    path: Path
    config: TrainConfig
    text_sha256: str
    characters: int
    made: tuple[Path, ...] = ()

    @property
    def last(self) -> Path:
        """The checkpoint that training resumes from."""
        return self.path / "last.safetensors"

    @property
    def best(self) -> Path:
        """The checkpoint of the lowest validation loss, without optimiser state."""
        return self.path / "best.safetensors"

    @property
    def metrics(self) -> Path:
        """The curve, one JSON object a line."""
        return self.path / "metrics.jsonl"

    @classmethod
    def create(cls, path: StrPath, config: TrainConfig, text_sha256: str, characters: int) -> "RunFolder":
        """Make the folder with its ``config.json``.

        Raises
        ------
        ArgumentError
            There is something in it already, or it cannot be made; nothing is left behind.
        CheckpointError
            The file cannot be written; nothing is left behind.
        """
        folder = cls(Path(path), config, text_sha256, characters, _make(Path(path)))
        try:
            folder._write_config()
        except BaseException:
            folder.discard()
            raise
        return folder

    @classmethod
    def open(cls, path: StrPath) -> "RunFolder":
        """Read the ``config.json`` of a folder, and look at what else it holds.

        Raises
        ------
        CheckpointError
            The folder holds no run; its ``config.json`` or ``vocab.json`` is damaged; or one of its files is a link, a
            folder or a device, through which a run would read or write what is not its own.
        """
        place = Path(path) / "config.json"
        if not os.path.lexists(place):
            raise CheckpointError(
                f"{os.fspath(path)!r} holds no run: there is no config.json in it. Give the folder that a "
                "training printed, or start one with --out."
            )
        check_own(Path(path) / name for name in FILES)
        about = parsed(read_small(place, MOST), f"{str(place)!r} is damaged: it")
        version = about.get("format")
        if type(version) is not int or version != FORMAT:
            raise CheckpointError(f"{str(place)!r} has format {shown(version)}, this forgenb reads {FORMAT}.")
        digest, characters = about.get("text_sha256"), about.get("characters")
        if not isinstance(digest, str) or type(characters) is not int or characters < 1:
            raise CheckpointError(f"{str(place)!r} is incomplete: it lacks the hash or length of the text.")
        config = TrainConfig.from_dict(about.get("config"), repr(str(place)))
        if os.path.lexists(Path(path) / VOCABULARY):
            read_vocabulary(Path(path) / VOCABULARY)
        return cls(Path(path), config, digest, characters)

    def with_steps(self, steps: int) -> "RunFolder":
        """The same folder with another number of steps, which is written down."""
        changed = replace(self, config=replace(self.config, steps=steps))
        changed._write_config()
        return changed

    def write_vocabulary(self, tokenizer: CharTokenizer) -> None:
        """Write ``vocab.json`` unless it is there."""
        place = self.path / VOCABULARY
        if not place.exists():
            write_whole(place, bounded(tokenizer.to_json(), repr(str(place))).encode())

    def clean(self) -> None:
        """Remove what a killed process left half-written; nobody else may be writing."""
        remove_temporaries(self.path)

    def discard(self) -> None:
        """Remove a run that could not begin, and those folders that were made for it."""
        for file in (self.path / name for name in FILES):
            with contextlib.suppress(OSError):
                file.unlink()
        self.clean()
        _remove(self.made)

    def _write_config(self) -> None:
        about = {
            "format": FORMAT,
            "text_sha256": self.text_sha256,
            "characters": self.characters,
            "config": self.config.to_dict(),
        }
        place = self.path / "config.json"
        write_whole(place, (encoded(about, repr(str(place)), indent=2) + "\n").encode())


def _make(path: Path) -> tuple[Path, ...]:
    """Make an empty folder where there is none; returns the folders made, the innermost first."""
    missing = tuple(folder for folder in (path, *path.parents) if not os.path.exists(folder))
    try:
        path.mkdir(parents=True, exist_ok=True)
        held = [entry.name for entry in path.iterdir() if not is_temporary(entry.name)]
        for folder in missing:
            sync_folder(folder.parent)
    except OSError as error:
        _remove(missing)
        raise ArgumentError(
            f"The run folder {str(path)!r} cannot be made: {reason(error)}. Choose another with --out."
        ) from error
    if held:
        raise ArgumentError(
            f"The run folder {str(path)!r} is not empty (it holds {min(held)!r}), and nothing is "
            "overwritten: choose another with --out, or go on with that run by --resume."
        )
    return missing


def _remove(folders: tuple[Path, ...]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _numbered(base: Path) -> list[int]:
    try:
        return sorted(int(entry.name) for entry in base.iterdir() if entry.name.isdecimal())
    except OSError:
        return []


def next_run(base: StrPath = "runs") -> Path:
    """Return the first folder ``runs/N`` after all that are there."""
    return Path(base) / str(max(_numbered(Path(base)), default=0) + 1)


def latest_run(base: StrPath = "runs") -> Path:
    """Return the last folder ``runs/N``.

    Raises
    ------
    ArgumentError
        There is none.
    """
    found = _numbered(Path(base))
    if not found:
        raise ArgumentError(f"There is no run in {os.fspath(base)!r}: train one, or name one with --run.")
    return Path(base) / str(found[-1])
