"""The table of methods: those of this package, and those of other packages' entry points `ropes.methods`."""

from ropes.common.plugins import load_plugins
from ropes.errors import UserError, require_name
from ropes.methods.anchored import methods as anchored
from ropes.methods.delta import methods as delta
from ropes.methods.method import Learns, Method
from ropes.methods.optimisation import PRESETS
from ropes.methods.recipes import Recipe
from ropes.methods.ropes import methods as ropes
from ropes.methods.supervised import methods as supervised
from ropes.methods.vae import methods as vae

#: One module a family. A method of this package is an entry of its family's `METHODS`.
_FAMILIES = (anchored, delta, ropes, supervised, vae)
_OWN = [method for family in _FAMILIES for method in family.METHODS]


def method_table() -> tuple[dict[str, Method], dict[str, str]]:
    """Load the table of methods, plug-ins included.

    Returns:
        Name → method, in alphabetical order; and name → fault of each plug-in that cannot be used.
    """
    plugins, broken = load_plugins("ropes.methods", _fault)
    return dict(sorted(({method.name: method for method in _OWN} | plugins).items())), broken


def _fault(name: str, method: object) -> str | None:
    """The fault of an entry point's object; None if it can join the table."""
    if not isinstance(method, Method):
        return f"its entry point is a {type(method).__name__}, not a Method"
    if method.name != name:
        return f"its entry point is called {name} and its Method {method.name}"
    if name in OWN_METHODS:
        return f"method {name} is part of ropes; choose another name"
    if method.learns != "joints" or method.reader is None:
        return "a plug-in must learn joints and have a reader"
    return None


#: Methods of this package.
OWN_METHODS = tuple(sorted(each.name for each in _OWN))
#: Name → method of any package; and name → fault of each method of another package that cannot be used.
_METHODS, BROKEN_METHODS = method_table()
#: Names of all methods, those of other packages included.
METHODS = tuple(_METHODS)


def methods_of(*learns: Learns) -> tuple[str, ...]:
    """Names of the methods that learn joints, factors or actions, in alphabetical order."""
    return tuple(name for name, method in _METHODS.items() if method.learns in learns)


def method_named(name: str) -> Method:
    """The method of that name.

    Raises:
        UserError: see `require_method`.
    """
    require_method(name)
    return _METHODS[name]


def require_method(name: str) -> None:
    """Check that there is a method of that name.

    Raises:
        UserError: there is none, with the most similar name; or its package cannot be loaded.
    """
    if name in BROKEN_METHODS and name not in METHODS:
        raise UserError(f"method {name} cannot be loaded ({BROKEN_METHODS[name]}); update or uninstall its package")
    require_name(name, METHODS, "method")


def method_of(label: str) -> str:
    """The method of a fit labelled METHOD or METHOD@VARIANT in an experiment."""
    return label.partition("@")[0]


def recipe_of(method: str, preset: str = "compact", *, labels: float = 1.0) -> Recipe:
    """The recipe of a method under a preset.

    Args:
        method: see `METHODS`.
        preset: see `ropes.methods.recipes.PRESETS`; as in `ropes.fit`, compact if not given.
        labels: share of the labels, for methods that read labels; ignored by the others.

    Raises:
        UserError: no method or preset of that name.
    """
    entry = method_named(method)
    require_name(preset, PRESETS, "preset")
    recipe: Recipe = entry.recipe(preset, labels)
    return recipe
