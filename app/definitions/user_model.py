"""Which model users are, if several extend User: there is one table of users."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from app.problems import Problems

from .bases import USER, Merged
from .files import CONFIG

# The base of the models of access tokens, and their relation to the users.
TOKEN, OWNER = "AccessToken", "user"
HOW = (
    f"the relation `{OWNER}` of {TOKEN}, in {CONFIG} or in a model that extends {TOKEN}, says which"
    " model users are"
)


def choose_users(
    candidates: Sequence[Merged], others: Iterable[Merged], problems: Problems
) -> Merged | None:
    """Return the model that users are, of those that extend User; warn of the rest.

    The one that access tokens belong to; else one that no other extends, that is public, and that
    the other models have relations to. Reports a problem if several are left.
    """
    others = list(others)
    tokens = [each for each in others if each.root == TOKEN]
    named = set(_targets(tokens, OWNER))
    bases = {USER, *(each.source.declared.get("base") for each in candidates)}
    related = set(_targets(others))
    preferences: list[Callable[[Merged], bool]] = [
        lambda each: each.source.name.lower() in named,
        lambda each: each.source.name not in bases,
        lambda each: each.is_public,
        lambda each: each.source.name.lower() in related,
    ]
    left = list(candidates)
    for is_preferred in preferences:
        left = [each for each in left if is_preferred(each)] or left
    if len(left) > 1:
        names = " and ".join(each.source.name for each in left)
        problems.add(f"{left[0].source.file}: base", f"{names} extend {USER}: {HOW}")
    for each in candidates:
        if each not in left:
            reason = f"is not served: users are {left[0].source.name}; {HOW}"
            problems.warn(f"{each.source.file}: base", reason)
    return left[0] if left else None


def _targets(models: Iterable[Merged], relation: str | None = None) -> Iterable[str]:
    """Yield the models that relations lead to, or those of one name, in lower case."""
    for model in models:
        for name, (_, declared) in model.relations.items():
            if isinstance(declared, Mapping) and relation in (None, name):
                yield str(declared.get("model")).lower()
