"""The model of users, selected among the models that extend User: there is one table of users."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from .bases import USER, MergedModel
from .files import CONFIG

# The base of the models of access tokens, and their relation to users.
TOKEN, OWNER = "AccessToken", "user"
HOW = (
    f"the relation `{OWNER}` of {TOKEN}, in {CONFIG} or in a model that extends {TOKEN}, says which"
    " model users are"
)


def choose_users(
    candidates: Sequence[MergedModel], others: Sequence[MergedModel]
) -> MergedModel | None:
    """Return the model of users among those that extend User; warn of the others.

    The model to which access tokens belong; otherwise one that no other extends, that is public,
    and to which other models have relations. Reports a problem if several are left.
    """
    left = list(candidates)
    for is_preferred in _preferences(candidates, others):
        left = list(filter(is_preferred, left)) or left
    if len(left) > 1:
        names = " and ".join(model.source.name for model in left)
        left[0].declared["base"].add(f"{names} extend {USER}: {HOW}")
    for model in candidates:
        if model not in left:
            reason = f"is not served: users are {left[0].source.name}; {HOW}"
            model.declared["base"].warn(reason)
    return left[0] if left else None


def _preferences(
    candidates: Iterable[MergedModel], others: Sequence[MergedModel]
) -> list[Callable[[MergedModel], bool]]:
    owners = set(_targets(model for model in others if model.root == TOKEN))
    related = {name for _, name in _targets(others)}
    bases = {USER, *(str(model.source.declared.mapping.get("base")) for model in candidates)}
    return [
        lambda model: (OWNER, model.source.name.lower()) in owners,
        lambda model: model.source.name not in bases,
        lambda model: model.is_public,
        lambda model: model.source.name.lower() in related,
    ]


def _targets(models: Iterable[MergedModel]) -> Iterator[tuple[str, str]]:
    """Yield relations by name, with their target models in lower case."""
    for model in models:
        for name, relation in model.relations.items():
            yield name, str(relation.mapping.get("model")).lower()
