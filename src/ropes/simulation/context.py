"""The context-manager side of renderers."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class ClosesAtExit(ABC):
    """A context manager that closes itself at the end of the block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release what is held; a second call does nothing."""
