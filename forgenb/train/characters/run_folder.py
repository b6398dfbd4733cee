"""The folder of a run: its choices, vocabulary, curve and checkpoints.

``config.json`` is written first and makes a folder a run; whatever moment a process is killed at, the folder
resumes from ``last.safetensors``, or from the start where there is none yet.

Imports `config`, `places`, `files`, `documents`, `vocabulary` and the tokenizer; no model and no optimiser.
"""

import contextlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.documents import MOST, bounded, encoded, parsed, shown
from forgenb.storage.files import check_own, remove_temporaries, write_whole
from forgenb.storage.opening import StrPath, read_small
from forgenb.train import checks
from forgenb.train.characters.config import TrainConfig
from forgenb.train.characters.vocabulary import read_vocabulary
from forgenb.train.persistence.places import Places, make_folder, remove_folders

__all__ = ["RunFolder", "latest_run", "next_run"]

FORMAT = 1
VOCABULARY = "vocab.json"
FILES = ("config.json", VOCABULARY, "metrics.jsonl", "last.safetensors", "best.safetensors")


@dataclass(frozen=True)
class RunFolder(Places):
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
        made, held = make_folder(Path(checks.place_of("a run", path)))
        if held:
            raise ArgumentError(
                f"The run folder {os.fspath(path)!r} is not empty (it holds {held[0]!r}), and nothing is "
                "overwritten: choose another with --out, or go on with that run by --resume."
            )
        folder = cls(Path(path), config, text_sha256, characters, made)
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
        place = Path(checks.place_of("a run", path)) / "config.json"
        if not os.path.lexists(place):
            raise CheckpointError(
                f"{os.fspath(path)!r} holds no run: there is no config.json in it. Give the folder that a "
                "training printed, or start one with --out."
            )
        check_own(Path(path) / name for name in FILES)
        about = parsed(read_small(place, MOST), f"{str(place)!r} is damaged: it")
        version = about.get("format")
        if version is None and os.path.lexists(Path(path) / "model.safetensors"):
            raise CheckpointError(
                f"{os.fspath(path)!r} holds no run but a model of the Hugging Face hub: "
                "forgenb.models.GPT.from_pretrained reads it, and forgenb generate and surprise do with --pretrained."
            )
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

    def discard(self) -> None:
        """Remove a run that could not begin, and those folders that were made for it."""
        for file in (self.path / name for name in FILES):
            with contextlib.suppress(OSError):
                file.unlink()
        remove_temporaries(self.path)
        remove_folders(self.made)

    def _write_config(self) -> None:
        about = {
            "format": FORMAT,
            "text_sha256": self.text_sha256,
            "characters": self.characters,
            "config": self.config.to_dict(),
        }
        place = self.path / "config.json"
        write_whole(place, (encoded(about, repr(str(place)), indent=2) + "\n").encode())


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
