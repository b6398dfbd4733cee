"""What pyproject.toml cannot say: a wheel carries the chapters, which lie in tutorials/, inside of `forgenb.course`."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PLACE = "forgenb/course/tutorials"


class WithChapters(build_py):
    """Copies them; an editable installation finds them where they lie."""

    def run(self):
        """Build the packages, then add the chapters."""
        super().run()
        if not self.editable_mode:
            for source, target in self._chapters():
                self.mkpath(str(Path(target).parent))
                self.copy_file(source, target)

    def get_outputs(self, include_bytecode=True):
        """What was built, chapters included."""
        return [*super().get_outputs(include_bytecode), *(target for _, target in self._chapters())]

    def _chapters(self):
        found = sorted(Path("tutorials").glob("*.py"))
        return [(str(path), str(Path(self.build_lib, PLACE, path.name))) for path in found]


setup(cmdclass={"build_py": WithChapters})
